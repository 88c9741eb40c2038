// SPDX-License-Identifier: Apache-2.0
/* A step of one wafer. For each micro-batch it loads its share of the samples, then runs the stages
 * as their weights arrive, forward and in training backward; after each backward stage it sends the
 * gradients. It keeps activations, never weights. memoryx_step.c sends the weights and receives the
 * gradients; swarmx_step.c broadcasts and adds. wafer_stage.c has the functions of a stage;
 * wafer_report.c sends losses, times and squares; wafer_generate.c has generation. */
#include "wafer_step.h"

#include "wafer_load.h"
#include "wafer_report.h"
#include "wafer_stage.h"

enum wsc_err wafer_forward(struct wafer *w, const struct stream_at *at)
{
    struct wafer_stage s;
    TRY(wafer_recv_weights(w, at, &s));
    enum wsc_err rc = wafer_run_forward(w, at, &s);
    wafer_stage_fini(w, &s);
    return rc;
}

static enum wsc_err backward(struct wafer *w, const struct stream_at *at)
{
    struct wafer_stage s;
    TRY(wafer_recv_weights(w, at, &s));
    enum wsc_err rc = wafer_run_backward(w, at, &s);
    wafer_stage_fini(w, &s);
    return rc;
}

enum wsc_err wafer_step(struct wafer *w, int64_t step)
{
    struct stream_walk walk = stream_walk_of_step(w->net->model, w->pass, step);

    while (stream_walk_next(&walk)) {
        if (walk.at.starts_micro) TRY(wafer_load_share(w, &walk.at));
        TRY(walk.at.backward ? backward(w, &walk.at) : wafer_forward(w, &walk.at));
        if (walk.at.losses_after) TRY(wafer_send_losses(w, &walk.at));
        if (walk.at.ends_micro) wafer_add_squares(w);
    }
    return wafer_send_times(w, step);
}
