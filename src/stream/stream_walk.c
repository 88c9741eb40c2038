// SPDX-License-Identifier: Apache-2.0
/* The walk over the stages of one batch, which all roles share:
 *
 *     for each micro-batch
 *         forward stages 0 .. n-1      after n-1 the loss sums go up, unless tokens are generated
 *         backward stages n-1 .. 0     training only; after each its gradients go up
 *
 * Generation leaves out the stages of an encoder after its first step.
 * The order inside a pass is that of model_transfer_at(); what goes up after a transfer is said
 * here and nowhere else.  Read src/wafer/wafer_step.c next, which has the walk's plainest loop. */
#include <wsc/stream.h>

struct stream_walk stream_walk_of_step(const struct model *model, const struct stream_pass *pass,
                                       int64_t step)
{
    const bool generates = pass->mode == STREAM_GENERATE;
    const int per_micro = model_n_transfers(model, pass->mode == STREAM_TRAIN);
    const int first =
        generates && step > pass->first_step ? model_first_stage(model, model->n_stacks - 1) : 0;
    return (struct stream_walk){
        .at = {.step = step, .updates = stream_updates_before(pass, step), .index = first - 1},
        .model = model,
        .in_micro = first - 1,
        .first = first,
        .losses_after = generates ? -1 : model->n_stages - 1,
        .n_per_micro = per_micro,
        .n = per_micro * (int)pass->batch.n_micro};
}
