// SPDX-License-Identifier: Apache-2.0
/* Counts the classes of tokens over the batches of an evaluation and takes their F1. Counts are
 * whole numbers, so they do not depend on the division of a batch over systems and ranks. */
#include "job_classes.h"

#include <wsc/mem.h>

#include <string.h>

int64_t job_n_classes(const struct job_state *s)
{
    const bool tokens = s->job->params->eval_input.samples == ZOO_SAMPLES_TOKENS;
    return s->job->values && tokens ? s->cluster->model->head[0].outputs : 0;
}

enum wsc_err job_classes_begin(struct job_state *s)
{
    struct job_classes *c = &s->classes;
    const int64_t n = job_n_classes(s);
    if (!n || !s->cluster->memoryx[0]) return WSC_OK;
    job_classes_fini(c);
    TRY_NEW(c->count, WSC_MEM_RUN, n);
    TRY_NEW(c->ignored, WSC_MEM_RUN, n);
    c->n = n;
    return data_labels_ignored(s->job->params->eval_input.label_vocab_file, c->ignored, n);
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
