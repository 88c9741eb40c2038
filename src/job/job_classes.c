// SPDX-License-Identifier: Apache-2.0
/* Counts the classes of tokens over the batches of an evaluation and takes their F1. Counts are
 * whole numbers, so they do not depend on the division of a batch over systems and ranks. */
#include "job_classes.h"

#include <wsc/mem.h>

#include <string.h>

int64_t job_n_classes(const struct job_state *s)
{
    const bool tokens = s->job->params->eval_input.samples == ZOO_SAMPLES_TOKENS;
    return s->job->values && job_evaluates(s) && tokens ? s->cluster->model->head[0].outputs : 0;
}

enum wsc_err job_classes_create(struct job_state *s)
{
    struct job_classes *c = &s->classes;
    c->n = job_n_classes(s);
    if (!c->n) return WSC_OK;
    TRY_NEW(c->count, WSC_MEM_RUN, c->n);
    TRY_NEW(c->ignored, WSC_MEM_RUN, c->n);
    if (!s->eval.source) return WSC_OK;
    return data_labels_ignored(s->job->params->eval_input.label_vocab_file, c->ignored, c->n);
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

double job_classes_f1(const struct job_state *s)
{
    return model_macro_f1(s->classes.count, s->classes.ignored, s->classes.n);
}

void job_classes_fini(struct job_classes *c)
{
    wsc_free(c->count);
    wsc_free(c->ignored);
    *c = (struct job_classes){0};
}
