// SPDX-License-Identifier: Apache-2.0
/* What the wafers of a step compute, by kind of operation, from the analytical model alone: the
 * second table of `wsc validate`. */
#include "validation_impl.h"

#include <wsc/cluster.h>

static void add(struct cycles_breakdown *sum, const struct cycles_breakdown *c)
{
    sum->products += c->products;
    sum->attention += c->attention;
    sum->elementwise += c->elementwise;
    sum->recompute += c->recompute;
}

static void add_micro_batch(const struct cluster *c, const struct cycles_plan *plan,
                            int64_t n_samples, bool trains, struct validation_parts *out)
{
    const int n = model_n_transfers(c->model, trains);
    for (int k = 0; k < n; k++) {
        const struct model_transfer t = model_transfer_at(c->model, k);
        struct model_density some;
        const struct model_density *d =
            model_density_at(c->model, t.stage, 0, &some) ? &some : NULL;
        const struct cycles_breakdown cycles =
            cycles_stage_breakdown(&c->hw, c->model, plan, t.stage, t.backward, n_samples, d);
        add(&out->cycles, &cycles);
        out->latency_ps += cycles_latency_ps(c->hw.cluster, c->model, t.stage, t.backward);
    }
}

static enum wsc_err add_parts(const struct cluster *c, bool trains, struct validation_parts *out)
{
    struct cycles_plan plan;
    struct stream_batch batch;
    TRY(cluster_plan_batch(c, &c->params->train_input, trains, &plan, &batch));
    *out = (struct validation_parts){.lanes = plan.lanes, .micro_batch = plan.micro_batch};
    for (int64_t micro = 0; micro < batch.n_micro; micro++) {
        int64_t first, end;
        stream_micro_shards(&batch, micro, 0, 1, &first, &end);
        add_micro_batch(c, &plan, stream_samples(&batch, first, end), trains, out);
    }
    return WSC_OK;
}

enum wsc_err validation_parts_of(const struct zoo_params *params, const struct hw_machine *cluster,
                                 bool trains, struct validation_parts *out)
{
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    const struct memoryx_hooks hooks = {0};
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&c, comm, params, cluster, false, &hooks);
    if (!rc) rc = add_parts(c, trains, out);
    cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}
