// SPDX-License-Identifier: Apache-2.0
/* A step of one SwarmX node, as two sequential programs that share no data: one broadcasts the
 * weights of every stage down, the other adds the gradients that come up and passes credits on.
 * The node keeps nothing between stages.
 *
 * Facing it: memoryx_step.c and wafer_step.c, which walk the same transfers.  swarmx_reduce.c has
 * the sums. */
#include "swarmx_step.h"

#include "swarmx_pieces.h"
#include "swarmx_reduce.h"

/* ---- weights down ---------------------------------------------------------------------------- */

/* The first byte leaves a node's latency after what is forwarded first has come. */
static enum wsc_err broadcast(struct swarmx *sx, const struct stream_at *at)
{
    struct stream_msg weights;
    TRY(stream_recv_weights(sx->ports, at, &weights));
    weights.span = swarmx_stored(sx, weights.span);
    weights.span = vtime_span_after(comm_recorder(sx->net->comm), weights.span,
                                    sx->net->hw->cluster->swarmx.latency_ps, VTIME_LATENCY);
    return stream_pass_weights(sx->ports, at, &weights);
}

static enum wsc_err step_down(struct swarmx *sx, int64_t step)
{
    struct stream_walk walk = stream_walk_of_step(sx->net->model, sx->pass, step);

    for (int i = 0; i < sx->ports->down.n && sx->pass->mode == STREAM_TRAIN; i++)
        comm_link_forget(sx->ports->down.weights[i]); /* those of the step before have changed */
    while (stream_walk_next(&walk))
        TRY(broadcast(sx, &walk.at));
    return WSC_OK;
}

enum wsc_err swarmx_run_down(void *arg)
{
    struct swarmx *sx = arg;
    for (int64_t step = sx->pass->first_step; step < stream_end_step(sx->pass); step++)
        TRY(step_down(sx, step));
    return WSC_OK;
}

/* ---- gradients up ---------------------------------------------------------------------------- */

static enum wsc_err pass_credit(struct swarmx *sx, const struct stream_at *at)
{
    struct vtime latest;
    TRY(stream_recv_credit(sx->ports, at->step, at->index, &latest));
    return stream_send_credit(sx->ports, at->step, at->index, latest);
}

static enum wsc_err step_up(struct swarmx *sx, int64_t step)
{
    struct stream_walk walk = stream_walk_of_step(sx->net->model, sx->pass, step);

    while (stream_walk_next(&walk)) {
        TRY(pass_credit(sx, &walk.at));
        if (walk.at.losses_after) TRY(swarmx_reduce_losses(sx, &walk.at));
        if (walk.at.backward) TRY(swarmx_reduce_gradients(sx, &walk.at));
    }
    return swarmx_reduce_times(sx, step);
}

enum wsc_err swarmx_run_up(void *arg)
{
    struct swarmx *sx = arg;
    for (int64_t step = sx->pass->first_step; step < stream_end_step(sx->pass); step++)
        TRY(step_up(sx, step));
    return stream_sends_texts(sx->pass) ? swarmx_gather_texts(sx) : WSC_OK;
}
