// SPDX-License-Identifier: Apache-2.0
/* The emulated cluster: what a machine needs to have, and its creation.
 *
 * cluster_create() builds model, topology and links, then the roles whose rank this is, and refuses
 * what does not fit: more systems than the machine has, more parameters than MemoryX holds, more
 * memory than this host has.  What runs on it: cluster_pass.c; what happens between passes when
 * parts fail: cluster_faults.c.  Called by job, scaling, timeline and validation. */
#include <wsc/cluster.h>

#include "cluster_record.h"
#include "cluster_workers.h"

#include <wsc/mem.h>
#include <wsc/out.h>

#include <stdio.h>
#include <unistd.h>

/* num_wgt_servers of the params can only take shards away from those of the machine. */
int cluster_n_shards(const struct zoo_params *params, const struct hw_machine *cluster)
{
    int64_t n = cluster->memoryx.shards;
    if (params && params->runconfig.num_wgt_servers > 0 && params->runconfig.num_wgt_servers < n)
        n = params->runconfig.num_wgt_servers;
    return (int)n;
}

static enum wsc_err make_topology(struct stream_topology **out, const struct zoo_params *params,
                                  const struct hw_machine *cluster, int64_t num_csx)
{
    if (num_csx < 1 || num_csx > HW_MAX_SYSTEMS)
        return WSC_RAISE(WSC_CONFIG, "num_csx: %lld is not in 1 .. %d", (long long)num_csx,
                         HW_MAX_SYSTEMS);
    return stream_topology_create(out, cluster_n_shards(params, cluster), (int)num_csx,
                                  (int)cluster->swarmx.fanout);
}

enum wsc_err cluster_n_roles(const struct zoo_params *params, const struct hw_machine *cluster,
                             int64_t num_csx, int64_t *n_roles)
{
    struct stream_topology *t = NULL;
    enum wsc_err rc = make_topology(&t, params, cluster, num_csx);
    if (!rc && t) *n_roles = t->n_roles;
    stream_topology_destroy(&t);
    return rc;
}

enum wsc_err cluster_check_systems(const struct zoo_params *params,
                                   const struct hw_machine *cluster)
{
    const int64_t n = params->runconfig.num_csx;
    if (!cluster->systems || n <= cluster->systems) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY, "num_csx: %lld, but %s has %lld systems",
                                  (long long)n, cluster->name, (long long)cluster->systems),
                        "--set cluster.systems=0 lifts the limit");
}

/* What the emulated MemoryX would need for its own format of weights and optimizer state, whether
 * or not this run has values.  Of frozen tensors, and in modes without an update of all tensors, it
 * keeps the 32-bit weights alone. */
static enum wsc_err check_capacity(const struct model *model, const struct hw_machine *cluster,
                                   bool trains)
{
    enum { WEIGHT = sizeof(float) };
    const struct hw_memoryx *mx = &cluster->memoryx;
    const int64_t trained = trains ? model->n_trained : 0;
    const int64_t others = model->n_params - trained + model->n_reference;
    const double needed =
        (double)trained * (double)mx->bytes_per_parameter + (double)others * WEIGHT;
    if (needed <= (double)mx->capacity_bytes) return WSC_OK;
    char need_text[32], have_text[32], of_others[64] = "", of_trained[80] = "";
    out_si_unit(need_text, sizeof need_text, needed, "B");
    out_si_unit(have_text, sizeof have_text, (double)mx->capacity_bytes, "B");
    if (trained)
        (void)snprintf(of_trained, sizeof of_trained, "%lld parameters%s of %lld bytes%s",
                       (long long)trained, others ? " that train" : "",
                       (long long)mx->bytes_per_parameter, others ? " and " : "");
    if (others)
        (void)snprintf(of_others, sizeof of_others, "%lld %sof %d bytes", (long long)others,
                       trained ? "" : "parameters ", WEIGHT);
    enum wsc_err rc = WSC_RAISE(WSC_CAPACITY, "%s%s need %s of MemoryX, the cluster has %s",
                                of_trained, of_others, need_text, have_text);
    return wsc_err_hint(rc, "--set cluster.memoryx.capacity=... or another --cluster");
}

/* Values of the shards on this rank and weights that it keeps to not send them again must fit this
 * host: refuse before asking for the memory. */
static enum wsc_err check_host_memory(const struct cluster *c)
{
    const struct stream_topology *t = c->net->topology;
    const double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double trained = (double)c->model->n_trained;
    const double frozen = (double)(c->model->n_params + c->model->n_reference) - trained;
    const double per_shard =
        (trained * (double)memoryx_host_bytes_per_param(&c->params->optimizer) +
         frozen * (double)sizeof(float)) /
        t->n_shards;
    double needed = (double)stream_net_kept_bytes(c->net);
    for (int m = 0; m < t->n_shards; m++)
        if (comm_is_local(c->comm, stream_role_of_shard(t, m))) needed += per_shard;
    if (needed <= host) return WSC_OK;
    char need_text[32], have_text[32];
    out_si_unit(need_text, sizeof need_text, needed, "B");
    out_si_unit(have_text, sizeof have_text, host, "B");
    enum wsc_err rc =
        WSC_RAISE(WSC_NOMEM,
                  "%lld parameters with values need %s of memory on one rank, this host "
                  "has %s",
                  (long long)c->model->n_params, need_text, have_text);
    return wsc_err_hint(rc, "--numerics none keeps time without values; more ranks on more hosts "
                            "share the weights");
}

/* Only the roles of this rank; those of other ranks stay NULL and are reached over comm. */
enum wsc_err cluster_create_roles(struct cluster *c)
{
    const struct stream_topology *t = c->machine;
    const struct memoryx_config config = {
        c->params,
        c->values,
        cluster_seed(c->params),
        {cluster_on_batch, cluster_on_texts, cluster_on_scores, cluster_on_classes, c}};
    TRY_NEW(c->memoryx, WSC_MEM_RUN, t->n_shards);
    TRY_NEW(c->swarmx, WSC_MEM_RUN, t->n_nodes + 1);
    TRY_NEW(c->wafer, WSC_MEM_RUN, t->n_wafers);
    TRY(cluster_workers_create(c));
    for (int role = 0; role < t->n_roles; role++) {
        int i;
        enum stream_kind kind = stream_kind_of_role(t, role, &i);
        if (!comm_is_local(c->comm, role)) continue;
        if (kind == STREAM_MEMORYX) TRY(memoryx_create(&c->memoryx[i], c->net, i, &config));
        if (kind == STREAM_SWARMX) TRY(swarmx_create(&c->swarmx[i], c->net, i));
        if (kind == STREAM_WAFER)
            TRY(wafer_create(&c->wafer[i], c->net, cluster_prices_of(c, i), i));
    }
    return WSC_OK;
}

static void destroy_roles(struct cluster *c)
{
    const struct stream_topology *t = c->machine;
    for (int i = 0; c->memoryx && i < t->n_shards; i++)
        memoryx_destroy(&c->memoryx[i]);
    for (int i = 0; c->swarmx && i < t->n_nodes; i++)
        swarmx_destroy(&c->swarmx[i]);
    for (int i = 0; c->wafer && i < t->n_wafers; i++)
        wafer_destroy(&c->wafer[i]);
    cluster_workers_destroy(c);
    wsc_free(c->memoryx);
    wsc_free(c->swarmx);
    wsc_free(c->wafer);
}

void cluster_destroy(struct cluster **cluster)
{
    struct cluster *c = *cluster;
    *cluster = NULL;
    if (!c) return;
    if (c->machine) destroy_roles(c);
    stream_net_destroy(&c->net);
    stream_topology_destroy(&c->machine);
    hw_faults_destroy(&c->faults);
    model_destroy(&c->model);
    wsc_free(c);
}

/* The topology of the whole machine is kept beside the one in use (net), which shrinks when parts
 * are lost. */
static enum wsc_err build(struct cluster *c, const struct hw_machine *cluster)
{
    const struct zoo_params *params = c->params;
    struct stream_topology *whole = NULL;
    TRY(model_create(&c->model, params, cluster->stream.granularity));
    TRY(cluster_check_systems(params, cluster));
    TRY(check_capacity(c->model, cluster, zoo_mode_trains(params->runconfig.mode)));
    TRY(make_topology(&c->machine, params, cluster, params->runconfig.num_csx));
    TRY(cluster_faults_plan(c, 0, -1));
    TRY(stream_topology_create_without(&whole, c->machine, NULL, NULL));
    TRY(stream_net_create(&c->net, c->comm, &c->hw, c->model, whole, cluster_seed(params)));
    return c->values ? check_host_memory(c) : WSC_OK;
}

/* Servers, and processes of input workers, that the params ask for. */
static void apply_servers(struct hw_machine *out, const struct zoo_params *params)
{
    const struct zoo_runconfig *rc = &params->runconfig;
    out->memoryx.shards = cluster_n_shards(params, out);
    out->input.loaders = params->train_input.num_workers;
    out->input.eval_loaders = params->eval_input.num_workers;
    out->input.packed = params->train_input.use_vsl;
    out->input.eval_packed = params->eval_input.use_vsl;
    if (rc->num_workers_per_csx > 0) out->input.workers = rc->num_workers_per_csx;
    if (rc->num_act_servers > 0) out->activation.servers = rc->num_act_servers;
}

enum wsc_err cluster_create_empty(struct cluster **out, struct comm *comm,
                                  const struct zoo_params *params, const struct hw_machine *cluster,
                                  bool values, const struct memoryx_hooks *hooks)
{
    struct cluster *c;
    *out = NULL;
    TRY_NEW(c, WSC_MEM_RUN, 1);
    c->comm = comm;
    hw_apply_effects(&c->effective, cluster);
    apply_servers(&c->effective, params);
    c->hw.cluster = &c->effective;
    c->hw.n_csx = params->runconfig.num_csx;
    c->params = params;
    c->values = values;
    c->hooks = *hooks;
    const enum wsc_err rc = build(c, cluster);
    if (rc) cluster_destroy(&c);
    *out = c;
    return rc;
}

enum wsc_err cluster_create(struct cluster **out, struct comm *comm,
                            const struct zoo_params *params, const struct hw_machine *cluster,
                            bool values, const struct memoryx_hooks *hooks)
{
    enum wsc_err rc = cluster_create_empty(out, comm, params, cluster, values, hooks);
    if (*out) rc = cluster_create_roles(*out);
    if (rc) cluster_destroy(out);
    return rc;
}
