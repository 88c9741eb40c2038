// SPDX-License-Identifier: Apache-2.0
/* Passes of the emulated cluster: how a batch lies on the wafers, and one pass of all roles.
 *
 * cluster_plan_batch() asks cycles for the plan of a wafer and cuts the global batch into
 * micro-shards and micro-batches; cluster_make_masks() runs the shards alone before the first pass;
 * cluster_run_pass() spawns a fiber for each local role and runs
 * them to the end of the pass; cluster_rates_of() turns the virtual time of steps into rates.
 * Passes that are recorded: cluster_record.c. */
#include <wsc/cluster.h>
#include <wsc/units.h>

/* No seed, or one that is not positive, is 0. */
uint64_t cluster_seed(const struct zoo_params *params)
{
    return params->runconfig.seed > 0 ? (uint64_t)params->runconfig.seed : 0;
}

/* The plan of a wafer with @p share samples of the batch, which has @p lanes lanes; 0: as many as
 * are fastest. */
static enum wsc_err plan_share(const struct cluster *c, const struct zoo_input *input,
                               bool training, int64_t share, int lanes, struct cycles_plan *plan)
{
    const int64_t sequences = model_sequences(c->model), micro = input->micro_batch_size;
    const struct cycles_asked asked = {.micro_batch = micro > 0 ? micro * sequences : micro,
                                       .lanes = lanes,
                                       .together = c->params->reduction_leaf};
    struct model_density densest;
    const bool sparse = model_density_at(c->model, -1, MODEL_DENSEST, &densest);
    return cycles_plan_wafer(plan, &c->hw, c->model, share * sequences, &asked, training,
                             sparse ? &densest : NULL);
}

enum wsc_err cluster_plan_whole(const struct cluster *c, const struct zoo_input *input,
                                bool training, struct cycles_plan *plan)
{
    return plan_share(c, input, training, input->batch_size, 0, plan);
}

/* Transfers of a step are counted in int. A step of so many has no use: at a microsecond each it
 * would take the emulated machine minutes, and the host days. */
static enum wsc_err check_transfers(const struct cluster *c, const struct zoo_input *input,
                                    bool training, const struct stream_batch *batch)
{
    enum { MOST = 1 << 28 };
    const int64_t each = model_n_transfers(c->model, training);
    if (batch->n_micro <= MOST / each) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: a batch of %lld samples is %lld micro-batches of %lld "
                                  "transfers each, more than %d transfers in a step",
                                  c->params->file, (long long)input->batch_size,
                                  (long long)batch->n_micro, (long long)each, MOST),
                        "a smaller batch_size, a larger micro_batch_size, or more systems");
}

enum wsc_err cluster_plan_batch(const struct cluster *c, const struct zoo_input *input,
                                bool training, struct cycles_plan *plan, struct stream_batch *batch)
{
    const int64_t leaf = c->params->reduction_leaf;
    *batch = (struct stream_batch){.batch_size = input->batch_size,
                                   .micro_shard_samples = leaf,
                                   .n_micro_shards = (input->batch_size + leaf - 1) / leaf,
                                   .n_micro = 1,
                                   .n_wafers = c->net->topology->n_wafers};
    const int64_t lanes = c->params->lanes;
    TRY(plan_share(c, input, training, stream_max_samples(batch), lanes > 0 ? (int)lanes : 0,
                   plan));
    batch->n_micro = plan->n_micro;
    return check_transfers(c, input, training, batch);
}

enum wsc_err cluster_make_masks(struct cluster *c)
{
    if (!c->values || !model_has_masks(c->model)) return WSC_OK;
    for (int i = 0; i < c->net->topology->n_shards; i++)
        if (c->memoryx[i]) TRY(memoryx_spawn_masks(c->memoryx[i]));
    return comm_run(c->comm);
}

/* Roles are kept by their position in the machine; in the tree that is left they have other
 * numbers. */
enum wsc_err cluster_run_pass(struct cluster *c, const struct stream_pass *pass,
                              const struct wafer_work *work)
{
    const struct stream_topology *t = c->net->topology;
    for (int i = 0; i < t->n_shards; i++)
        if (c->memoryx[i]) TRY(memoryx_spawn(c->memoryx[i], pass));
    for (int i = 0; i < t->n_nodes; i++) {
        struct swarmx *node = c->swarmx[t->node[i].position];
        if (node) TRY(swarmx_spawn(node, i, pass));
    }
    for (int i = 0; i < t->n_wafers; i++) {
        struct wafer *wafer = c->wafer[t->wafer_position[i]];
        if (wafer) TRY(wafer_spawn(wafer, i, pass, work));
    }
    return comm_run(c->comm);
}

struct cluster_rates cluster_rates_of(const struct hw *hw, const struct model *model, int64_t n_csx,
                                      int64_t samples, int64_t time_ps,
                                      double useful_flop_per_token)
{
    struct cluster_rates r = {0};
    if (time_ps <= 0) return r;
    const double seconds = wsc_seconds((double)time_ps);
    const double peak = (double)hw->cluster->wafer.peak_flop_per_s * (double)n_csx;
    r.samples_per_s = (double)samples / seconds;
    r.tokens_per_s = r.samples_per_s * (double)model_tokens(model);
    r.mfu = r.tokens_per_s * useful_flop_per_token / peak;
    r.joules_per_token = hw_cluster_power_w(hw, n_csx) / r.tokens_per_s;
    return r;
}
