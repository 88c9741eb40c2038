// SPDX-License-Identifier: Apache-2.0
/* Virtual time of a checkpoint, with and without values. Where a training step follows, its first
 * weights are late, and the wafers wait. Where an evaluation follows, the step before it ends when
 * all shards have written, so that the evaluation has times of its own. memoryx_update.c calls. */
#include "memoryx_pause.h"

#include "memoryx_exchange.h"
#include "memoryx_report.h"

#include <string.h>

static enum wsc_err find_latest(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                                struct comm_buf **total)
{
    int64_t latest = 0, one;
    (void)ctx;
    TRY(comm_buf_create(mx->net->comm, total, (int64_t)sizeof latest));
    for (int m = 0; m < mx->n_shards; m++) {
        memcpy(&one, comm_buf_data(part[m]), sizeof one);
        if (one > latest) latest = one;
    }
    memcpy(comm_buf_data(*total), &latest, sizeof latest);
    return WSC_OK;
}

/* Set *@p ps to that of the latest shard; no virtual time passes. */
static enum wsc_err wait_for_all(struct memoryx *mx, int64_t step, int64_t *ps)
{
    const struct memoryx_round round = {
        .step = step, .index = MEMORYX_ROUND_PAUSE, .combine = find_latest};
    struct comm_buf *part = NULL, *total = NULL;
    struct vtime ignored = {0};
    TRY(comm_buf_create(mx->net->comm, &part, (int64_t)sizeof *ps));
    memcpy(comm_buf_data(part), ps, sizeof *ps);
    TRY(memoryx_exchange(mx, &round, part, &total, &ignored));
    memcpy(ps, comm_buf_data(total), sizeof *ps);
    comm_buf_unref(&total);
    return WSC_OK;
}

static enum wsc_err end_step(struct memoryx *mx, int64_t step)
{
    struct vtime written = {.ps = mx->times.updating.ps};
    TRY(wait_for_all(mx, step, &written.ps));
    if (written.ps <= mx->times.step_end.ps) return WSC_OK;
    mx->batch.pause_ps = written.ps - mx->times.step_end.ps;
    mx->times.step_end = written;
    return memoryx_check_time(mx, step, written);
}

enum wsc_err memoryx_pause(struct memoryx *mx, int64_t step)
{
    const struct model *model = mx->net->model;
    const int64_t every = mx->config.params->runconfig.checkpoint_steps;
    struct vtime_recorder *r = comm_recorder(mx->net->comm);
    if (every <= 0 || (step + 1) % every) return WSC_OK;
    const int64_t ps = vtime_duration_ps(model->n_params + model->n_reference,
                                         mx->net->hw->cluster->checkpoint.rate_params_per_s);
    if (!ps) return WSC_OK;
    const struct vtime updated = vtime_latest_of(r, mx->times.ready, model->n_stages);
    mx->times.updating = vtime_after(r, updated, ps, VTIME_CHECKPOINT);
    for (int s = 0; s < model->n_stages; s++)
        mx->times.ready[s] = mx->times.updating;
    return step + 1 == mx->pass->eval_step ? end_step(mx, step) : WSC_OK;
}
