// SPDX-License-Identifier: Apache-2.0
/* Computes the loss of answers as spans (Rajpurkar et al. 2016; Devlin et al. 2019, 4.2). Each
 * token has two logits: for the first and for the last token of the answer. The loss is two cross
 * entropies over all tokens of the sequence, padding included as in the Model Zoo, with x_te the
 * logit of token t for end e:
 *
 *     L = sum over e of log(sum over t of exp(x_te)) - x_(label e) e
 *
 * An end without a label adds nothing. host_head_loss.c calls; encoder_samples.c marks the labels.
 */
#include "host_spans.h"
#include "host_head_input.h"

#include <math.h>

/* True when row @p row of the share is the first (end 0) or last (end 1) token of its answer. */
static bool is_label(const struct host *k, int64_t row, int end)
{
    const int bit = end ? ZOO_ANSWER_LAST : ZOO_ANSWER_FIRST;
    return k->batch->mask[row] && k->batch->labels[row] & bit;
}

void host_spans_keep(const struct host_span *b, const float *logits, struct host_token *token)
{
    for (int64_t i = 0; i < b->n; i++)
        for (int end = 0; end < MODEL_SPAN_ENDS; end++)
            token[i].end[end] = logits[MODEL_SPAN_ENDS * i + end];
}

/* Loss of one end of the answer in the sequence whose rows begin at @p first. */
static struct model_answer_end end_loss(const struct host *k, struct host_token *token,
                                        int64_t first, int end)
{
    const int64_t T = k->T;
    int64_t label = -1, best = 0;
    double sum = 0;
    for (int64_t t = 0; t < T; t++) {
        if (token[first + t].end[end] > token[first + best].end[end]) best = t;
        if (label < 0 && is_label(k, first + t, end)) label = t;
    }
    const double max = (double)token[first + best].end[end];
    for (int64_t t = 0; t < T; t++)
        sum += exp((double)token[first + t].end[end] - max);
    /* exp(x - INFINITY) is 0: no gradient */
    for (int64_t t = 0; t < T; t++)
        token[first + t].log_sum[end] = label < 0 ? INFINITY : max + log(sum);
    if (label < 0) return (struct model_answer_end){0};
    return (struct model_answer_end){.labelled = true,
                                     .found = best == label,
                                     .nats =
                                         max + log(sum) - (double)token[first + label].end[end]};
}

void host_spans_loss(const struct host *k, const struct host_span *leaf, struct host_token *token,
                     struct model_loss *sum)
{
    for (int64_t first = leaf->row; first < leaf->row + leaf->n; first += k->T) {
        struct model_answer a = {.weight = host_head(k)->weight};
        for (int end = 0; end < MODEL_SPAN_ENDS; end++)
            a.end[end] = end_loss(k, token, first, end);
        model_answer_add(&a, sum);
    }
}

void host_spans_backward(const struct host *k, const struct host_span *b,
                         const struct host_token *token, float *logits)
{
    const double scale = k->model->logits_scale * k->gradient_scale * host_head(k)->weight;
    for (int64_t i = 0; i < b->n; i++)
        for (int end = 0; end < MODEL_SPAN_ENDS; end++) {
            float *x = &logits[MODEL_SPAN_ENDS * i + end];
            const double log_sum = token[b->row + i].log_sum[end];
            const bool hit = isfinite(log_sum) && is_label(k, b->row + i, end);
            *x = (float)(scale * (exp((double)*x - log_sum) - (hit ? 1 : 0)));
        }
}
