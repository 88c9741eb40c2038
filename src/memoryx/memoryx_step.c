// SPDX-License-Identifier: Apache-2.0
/* A training step of one MemoryX shard, as two sequential programs (docs/decisions/0001): one sends
 * the weights of every stage, forward and then backward; the other receives the summed gradients
 * and updates the weights. Evaluation and generation have the forward part alone. swarmx_step.c and
 * wafer_step.c have the programs of the other roles, with the same transfers. memoryx_send.c,
 * memoryx_take.c and memoryx_update.c have the functions of a stage; memoryx_report.c has losses,
 * times and texts. */
#include "memoryx_step.h"

#include "memoryx_report.h"
#include "memoryx_send.h"
#include "memoryx_take.h"
#include "memoryx_update.h"

/* ---- weights down ---------------------------------------------------------------------------- */

static enum wsc_err step_send(struct memoryx *mx, int64_t step)
{
    struct stream_walk walk = stream_walk_of_step(mx->net->model, mx->pass, step);
    struct memoryx_credits credits = {.step = step, .n = walk.first};

    while (stream_walk_next(&walk)) {
        TRY(memoryx_wait_for_credits(mx, mx->window->need[walk.at.index], &credits));
        TRY(memoryx_send_weights(mx, &walk.at, credits.granted));
    }
    return memoryx_wait_for_credits(mx, mx->window->n_transfers - 1, &credits);
}

enum wsc_err memoryx_run_send(void *arg)
{
    struct memoryx *mx = arg;
    for (int64_t step = mx->pass->first_step; step < stream_end_step(mx->pass); step++) {
        TRY(memoryx_wait_for_update(mx, step));
        TRY(step_send(mx, step));
    }
    return WSC_OK;
}

/* ---- gradients up ---------------------------------------------------------------------------- */

static enum wsc_err step_take(struct memoryx *mx, int64_t step)
{
    struct stream_walk walk = stream_walk_of_step(mx->net->model, mx->pass, step);

    memoryx_begin_batch(mx, step);
    while (stream_walk_next(&walk)) {
        if (walk.at.losses_after) TRY(memoryx_take_losses(mx, &walk.at));
        if (walk.at.backward) TRY(memoryx_take_gradients(mx, &walk.at));
    }
    TRY(memoryx_take_times(mx, step));
    TRY(memoryx_finish_loss(mx, step));
    if (mx->pass->mode == STREAM_TRAIN) TRY(memoryx_update(mx, step));
    return memoryx_finish_batch(mx, step);
}

enum wsc_err memoryx_run_take(void *arg)
{
    struct memoryx *mx = arg;
    for (int64_t step = mx->pass->first_step; step < stream_end_step(mx->pass); step++)
        TRY(step_take(mx, step));
    return stream_sends_texts(mx->pass) ? memoryx_take_texts(mx) : WSC_OK;
}
