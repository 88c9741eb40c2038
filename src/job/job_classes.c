// SPDX-License-Identifier: Apache-2.0
/* Counts the classes of tokens over the batches of an evaluation and takes their F1, or counts the
 * sequences of its sets and takes the accuracy of each. Counts are whole numbers, so they do not
 * depend on the division of a batch over systems and ranks. */
#include "job_classes.h"

#include <wsc/data.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

int64_t job_n_classes(const struct job_state *s)
{
    const enum zoo_samples samples = s->job->params->eval_input.samples;
    if (!s->job->values || !job_evaluates(s)) return 0;
    if (samples == ZOO_SAMPLES_MNLI) return DATA_MNLI_SETS;
    return samples == ZOO_SAMPLES_TOKENS ? s->cluster->model->head[0].outputs : 0;
}

enum wsc_err job_classes_create(struct job_state *s)
{
    struct job_classes *c = &s->classes;
    const struct zoo_input *input = &s->job->params->eval_input;
    c->n = job_n_classes(s);
    if (!c->n) return WSC_OK;
    TRY_NEW(c->count, WSC_MEM_RUN, c->n);
    TRY_NEW(c->ignored, WSC_MEM_RUN, c->n);
    if (!s->eval.source || input->samples != ZOO_SAMPLES_TOKENS) return WSC_OK;
    return data_labels_ignored(input->label_vocab_file, c->ignored, c->n);
}

void job_classes_share(struct job_state *s)
{
    struct job_classes *c = &s->classes;
    for (int64_t i = 0; i < c->n; i++)
        c->ignored[i] = comm_max(s->comm, c->ignored[i]) > 0;
}

void job_classes_begin(struct job_state *s)
{
    struct job_classes *c = &s->classes;
    if (c->n) memset(c->count, 0, (size_t)c->n * sizeof *c->count);
}

enum wsc_err job_on_classes(void *ctx, const struct model_class_count *count, int64_t n)
{
    struct job_state *s = ctx;
    model_add_classes(s->classes.count, count, n);
    return WSC_OK;
}

/* Part of a set's sequences with the right class; NaN of an empty set. */
static double accuracy(const struct model_class_count *set)
{
    return set->labels ? (double)set->found / (double)set->labels : NAN;
}

int job_classes_evaluated(const struct job_state *s, struct job_score *score)
{
    const struct job_classes *c = &s->classes;
    if (!c->n) return 0;
    if (s->job->params->eval_input.samples == ZOO_SAMPLES_TOKENS) {
        score[0] = (struct job_score){"eval/f1_score", "eval_f1_score",
                                      model_macro_f1(c->count, c->ignored, c->n)};
        return 1;
    }
    score[0] = (struct job_score){"eval/accuracy_matched", "eval_accuracy_matched",
                                  accuracy(&c->count[DATA_MNLI_MATCHED])};
    score[1] = (struct job_score){"eval/accuracy_mismatched", "eval_accuracy_mismatched",
                                  accuracy(&c->count[DATA_MNLI_MISMATCHED])};
    return DATA_MNLI_SETS;
}

void job_classes_fini(struct job_classes *c)
{
    wsc_free(c->count);
    wsc_free(c->ignored);
    *c = (struct job_classes){0};
}
