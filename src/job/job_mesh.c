// SPDX-License-Identifier: Apache-2.0
/* Lanes of the emulated mesh.  The programs keep all activations on it, so that nothing spills.
 * job.c asks before the first pass and after losses, job_generate.c for prompts. */
#include "job_mesh.h"

/* Lanes in use: as many as the params say, as the planner would choose for the whole batch on one
 * wafer, or one. */
static enum wsc_err choose_lanes(const struct job_state *s, const struct zoo_input *input,
                                 bool training, struct cycles_plan *plan)
{
    const int64_t asked = s->job->params->lanes;
    struct cycles_plan whole;
    if (!asked) plan->lanes = 1;
    if (asked != CONF_AUTO) return WSC_OK;
    TRY(cluster_plan_whole(s->cluster, input, training, &whole));
    plan->lanes = whole.lanes;
    return WSC_OK;
}

/* No lane is idle throughout. */
static enum wsc_err check_filled(const struct job_state *s, const struct stream_batch *batch)
{
    const int64_t leaf = batch->micro_shard_samples, asked = s->job->params->lanes;
    const int64_t most = (stream_max_samples(batch) + leaf - 1) / leaf;
    if (asked <= most) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG,
                  "lanes: %lld, but a micro-batch has at most %lld micro-shard%s of "
                  "%lld sample%s on a wafer",
                  (long long)asked, (long long)most, wsc_plural(most), (long long)leaf,
                  wsc_plural(leaf)),
        "--set lanes=%lld, or a larger batch", (long long)most);
}

enum wsc_err job_mesh_plan(const struct job_state *s, const struct zoo_input *input,
                           const struct stream_batch *batch, bool training, bool must_fill,
                           struct cycles_plan *plan)
{
    if (s->job->numerics != KERNELS_MESH) return WSC_OK;
    plan->spill_bytes_per_sequence = 0;
    TRY(choose_lanes(s, input, training, plan));
    return must_fill ? check_filled(s, batch) : WSC_OK;
}

enum wsc_err job_mesh_try(const struct job_state *s, const struct stream_batch *batch,
                          bool training, const struct cycles_plan *plan)
{
    const int64_t each = model_sequences(s->cluster->model);
    const struct programs_room room = {.samples = stream_max_samples(batch) * each,
                                       .leaf_samples = batch->micro_shard_samples * each,
                                       .lanes = plan->lanes};
    struct programs_model *k;
    if (s->job->numerics != KERNELS_MESH) return WSC_OK;
    TRY(programs_model_create(&k, &s->cluster->hw, s->cluster->model, &room, training));
    programs_model_destroy(&k);
    return WSC_OK;
}
