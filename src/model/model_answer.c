// SPDX-License-Identifier: Apache-2.0
/* The loss of an answer as a span of a text (Devlin et al. 2019, 4.2): the cross entropies of its
 * two ends are added, and an end without a label counts for nothing.  The heads of the host
 * (host_spans.c) and of the mesh (program_spans.c) call. */
#include <wsc/model.h>

void model_answer_add(const struct model_answer *a, struct model_loss *sum)
{
    int n_labels = 0, n_found = 0;
    for (int end = 0; end < MODEL_SPAN_ENDS; end++) {
        const struct model_answer_end *e = &a->end[end];
        if (!e->labelled) continue;
        sum->nats += e->nats;
        sum->loss_sum += a->weight * e->nats;
        n_labels++;
        n_found += e->found;
    }
    sum->n_tokens += n_labels;
    sum->n_correct += n_found;
    sum->n_sequences += n_labels == MODEL_SPAN_ENDS;
    sum->n_sequences_correct += n_found == MODEL_SPAN_ENDS;
}
