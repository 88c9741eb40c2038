// SPDX-License-Identifier: Apache-2.0
/* Passes whose virtual time is recorded: the recorders of all programs run in the steps that are
 * asked for, and rank 0 gets their events together with what shard 0 reports of these steps.
 * Nothing else about the pass changes.  Read by timeline. */
#include "cluster_record.h"

#include <wsc/mem.h>

enum wsc_err cluster_on_batch(void *ctx, const struct memoryx_batch *batch)
{
    struct cluster *c = ctx;
    struct cluster_record *r = c->record;
    const int64_t step = batch->step - (r && r->mode == STREAM_TRAIN);
    if (r && step >= r->first_step && step < r->first_step + r->n_steps) {
        r->batch[step - r->first_step] = *batch;
        r->batch[step - r->first_step].layer_grad_norm = NULL; /* borrowed for the call alone */
    }
    return c->hooks.on_batch ? c->hooks.on_batch(c->hooks.ctx, batch) : WSC_OK;
}

enum wsc_err cluster_on_texts(void *ctx, const int32_t *words, int64_t n_words)
{
    const struct cluster *c = ctx;
    return c->hooks.on_texts ? c->hooks.on_texts(c->hooks.ctx, words, n_words) : WSC_OK;
}

enum wsc_err cluster_on_scores(void *ctx, int64_t step, const struct stream_score *score, int64_t n)
{
    const struct cluster *c = ctx;
    return c->hooks.on_scores ? c->hooks.on_scores(c->hooks.ctx, step, score, n) : WSC_OK;
}

enum wsc_err cluster_on_classes(void *ctx, const struct model_class_count *count, int64_t n)
{
    const struct cluster *c = ctx;
    return c->hooks.on_classes ? c->hooks.on_classes(c->hooks.ctx, count, n) : WSC_OK;
}

void cluster_record_fini(struct cluster_record *r)
{
    for (int i = 0; r->program && i < r->n_programs; i++)
        vtime_recorder_fini(&r->program[i]);
    wsc_free(r->program);
    wsc_free(r->batch);
    *r = (struct cluster_record){0};
}

/* Recording ends with the pass even when the pass failed. */
static enum wsc_err record(struct cluster *c, const struct stream_pass *pass,
                           const struct wafer_work *work, struct cluster_record *out)
{
    const int64_t end = pass->first_step + pass->n_steps;
    TRY_NEW(out->batch, WSC_MEM_TIMELINE, out->n_steps);
    if (comm_rank(c->comm) == 0)
        TRY_NEW(out->program, WSC_MEM_TIMELINE, out->n_programs = comm_n_programs(c->comm));
    TRY(comm_record(c->comm, out->first_step, out->first_step + out->n_steps));
    c->record = out;
    enum wsc_err rc = cluster_run_pass(c, pass, work);
    c->record = NULL;
    TRY(comm_record(c->comm, end, end));
    TRY(rc);
    return comm_record_gather(c->comm, out->program);
}

enum wsc_err cluster_run_recorded(struct cluster *c, const struct stream_pass *pass,
                                  const struct wafer_work *work, int64_t first_step,
                                  int64_t n_steps, struct cluster_record *out)
{
    *out = (struct cluster_record){.mode = pass->mode,
                                   .first_step = first_step,
                                   .n_steps = n_steps,
                                   .updates = stream_updates_before(pass, first_step),
                                   .n_micro = pass->batch.n_micro,
                                   .plan = work->plan,
                                   .n_wafers = c->net->topology->n_wafers,
                                   .n_nodes = c->net->topology->n_nodes,
                                   .hw = &c->hw};
    enum wsc_err rc = record(c, pass, work, out);
    if (rc) cluster_record_fini(out);
    return rc;
}
