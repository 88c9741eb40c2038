// SPDX-License-Identifier: Apache-2.0
/* Constants of the machine that nothing in a run or a sweep reads: recovery without faults, input
 * workers without a rate, the sparse datapath under dense weights, mechanisms that `effects`
 * switches off.  One row per key (or section) with the condition and the reason in words.  A
 * machine file describes a machine as a whole, so that only what the command line sets gets a
 * warning.  A bound that a run does not reach (a capacity, a rate that is never the slowest) has
 * its effect. The keys of params files have a table of the same form in src/zoo/idle_keys.c. */
#include <wsc/cluster.h>

#include <stdio.h>
#include <string.h>

/* ---- conditions: true when the keys of their rows have no effect ----------------------------- */

static bool always(const struct cluster_use *u)
{
    (void)u;
    return true;
}

static bool in_16_bits(const struct cluster_use *u)
{
    return u->params->model.mixed_precision;
}

static bool in_32_bits(const struct cluster_use *u)
{
    return !in_16_bits(u);
}

static bool on_mesh(const struct cluster_use *u)
{
    return u->on_mesh;
}

static bool no_arrivals(const struct cluster_use *u)
{
    return !u->machine->wafer.data_triggered;
}

static bool dense(const struct cluster_use *u)
{
    return !u->params->sparsity.n;
}

/* On the mesh, dense products that arriving data start keep several sums, too. */
static bool no_accumulators(const struct cluster_use *u)
{
    return dense(u) && !(u->on_mesh && u->machine->wafer.data_triggered);
}

static bool no_adapters(const struct cluster_use *u)
{
    return !u->params->model.lora_params.n;
}

static bool not_diffusion(const struct cluster_use *u)
{
    return u->params->model.objective != ZOO_DIFFUSION;
}

/* Loops remain in products with cached keys and in gradients of non-zeros. */
static bool no_loops(const struct cluster_use *u)
{
    const struct hw_wafer *w = &u->machine->wafer;
    return w->data_triggered && u->params->runconfig.mode != ZOO_GENERATE &&
           (dense(u) || w->sparse_gradient == HW_GRADIENT_DENSE);
}

static bool fixed_masks(const struct cluster_use *u)
{
    const struct zoo_sparsities *s = &u->params->sparsity;
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].algorithm != ZOO_SPARSITY_STATIC) return false;
    return true;
}

static bool no_training(const struct cluster_use *u)
{
    return u->kind == CLUSTER_USE_RUN && !zoo_mode_trains(u->params->runconfig.mode);
}

/* Steady steps move no payloads. */
static bool no_payloads(const struct cluster_use *u)
{
    return u->kind != CLUSTER_USE_RUN;
}

static bool rates_alone(const struct cluster_use *u)
{
    return u->kind == CLUSTER_USE_VALUES;
}

static bool one_system(const struct cluster_use *u)
{
    return u->num_csx == 1;
}

static bool no_whole_training(const struct cluster_use *u)
{
    return u->kind != CLUSTER_USE_TRAININGS;
}

static bool no_failures(const struct cluster_use *u)
{
    return no_whole_training(u) || !(u->machine->reliability.mtbf_hours > 0);
}

static bool no_checkpoints(const struct cluster_use *u)
{
    const bool writes = u->params->runconfig.checkpoint_steps > 0 && !no_training(u);
    return u->kind == CLUSTER_USE_RUN ? !writes : no_whole_training(u);
}

/* No fault of a kind in @p kinds, a bit for each. */
static bool no_fault_of(const struct cluster_use *u, unsigned kinds)
{
    const struct hw_fault_list *f = &u->machine->faults;
    for (int i = 0; i < f->n; i++)
        if (kinds >> f->item[i].kind & 1) return false;
    return true;
}

static bool no_lost_wafer(const struct cluster_use *u)
{
    return no_fault_of(u, 1U << HW_FAULT_LOST_WAFER);
}

static bool no_lost_node(const struct cluster_use *u)
{
    return no_fault_of(u, 1U << HW_FAULT_LOST_NODE);
}

static bool no_lost_shard(const struct cluster_use *u)
{
    return no_fault_of(u, 1U << HW_FAULT_LOST_SHARD);
}

static bool nothing_lost(const struct cluster_use *u)
{
    return no_lost_wafer(u) && no_lost_node(u) && no_lost_shard(u);
}

static bool no_lost_packets(const struct cluster_use *u)
{
    return no_fault_of(u, 1U << HW_FAULT_LOSSY_LINK);
}

static bool no_stored_packets(const struct cluster_use *u)
{
    return !u->machine->effects.network || u->machine->swarmx.forwarding != HW_STORE_PACKET;
}

static bool no_packets(const struct cluster_use *u)
{
    const bool headers = u->machine->effects.network && u->machine->swarmx.header_bytes;
    return no_lost_packets(u) && no_stored_packets(u) && !headers;
}

/* Planes count where one may be lost, packets are stored on one, or a port is crowded by them. */
static bool no_planes(const struct cluster_use *u)
{
    const struct hw_machine *m = u->machine;
    const bool crowded = m->effects.network && m->effects.reduce && m->memoryx.incast < 1;
    return no_fault_of(u, 1U << HW_FAULT_LOST_PLANES) && no_stored_packets(u) && !crowded;
}

static bool unlimited_workers(const struct cluster_use *u)
{
    const struct hw_feed *in = &u->machine->input;
    return !in->worker_tokens_per_s && !in->sample_ps;
}

static bool unlimited_servers(const struct cluster_use *u)
{
    return !u->machine->activation.server_rate_bytes_per_s;
}

static bool uncounted_servers(const struct cluster_use *u)
{
    return !u->machine->activation.servers && !(u->params->runconfig.num_act_servers > 0);
}

static bool unlimited_activation(const struct cluster_use *u)
{
    return !u->machine->activation.rate_bytes_per_s;
}

/* Mechanisms that are switched off. */
#define SWITCHED_OFF(effect, without)                                                              \
    static bool effect##_off(const struct cluster_use *u)                                          \
    {                                                                                              \
        return !u->machine->effects.effect;                                                        \
    }
HW_EFFECT_MAP(SWITCHED_OFF)
HW_EFFECT_BETWEEN_MAP(SWITCHED_OFF)
#undef SWITCHED_OFF

/* ---- the table ------------------------------------------------------------------------------- */

/* A key may have several rows; `.*` at the end: a whole section. */
static const struct {
    const char *path;
    bool (*idle)(const struct cluster_use *u);
    const char *why;
} rows[] = {
    {"wafer.simd_fmach", always, "no program adds up in 16 bits"},
#define SIMULATED                                                                                  \
    "kernels are simulated; at most the plan and the analytical cycles beside them change"
#define MEMORY_OF_MESH "an emulated PE has 48 KiB; at most the plan changes"
    {"wafer.simd_fmachs", on_mesh, SIMULATED},
    {"wafer.simd_fmacs", on_mesh, SIMULATED},
    {"wafer.simd_fadds", on_mesh, SIMULATED},
    {"wafer.simd_fmuls", on_mesh, SIMULATED},
    {"wafer.simd_faddh", on_mesh, SIMULATED},
    {"wafer.vector_setup_cycles", on_mesh, SIMULATED},
    {"wafer.vector_setup_fp32_cycles", on_mesh, SIMULATED},
    {"wafer.vector_setup_add_cycles", on_mesh, SIMULATED},
    {"wafer.vector_setup_copy_cycles", on_mesh, SIMULATED},
    {"wafer.ramp_cycles", on_mesh, SIMULATED},
    {"wafer.masked_scores", on_mesh, SIMULATED},
    {"wafer.kernel_factor", on_mesh, SIMULATED},
    {"wafer.sram_per_pe", on_mesh, MEMORY_OF_MESH},
    {"wafer.sram_reserved_per_pe", on_mesh, MEMORY_OF_MESH},
    {"wafer.simd_fmachs", in_32_bits, "mixed_precision is off"},
    {"wafer.simd_faddh", in_32_bits, "mixed_precision is off"},
    {"wafer.vector_setup_cycles", in_32_bits, "mixed_precision is off"},
    {"wafer.simd_fmacs", in_16_bits, "mixed_precision is on"},
    {"wafer.vector_setup_fp32_cycles", in_16_bits, "mixed_precision is on"},
    {"wafer.arrival_cycles", no_arrivals, "wafer.data_triggered is false"},
    {"wafer.vector_loop_cycles", no_loops, "arriving data start all multiply-adds"},
    {"wafer.sum_accumulators", no_accumulators, "no weights are sparse"},
    {"wafer.sparse_index_cycles", dense, "no weights are sparse"},
    {"wafer.sparse_gradient", dense, "no weights are sparse"},
    {"wafer.backward_kernels", no_training, "the mode does not train"},
    {"wafer.adapter_kernels", no_adapters, "no matrix has a low-rank adapter"},
    {"wafer.condition_kernels", not_diffusion, "the model is no diffusion transformer"},
    {"stream.sparse_weight_bytes", dense, "no weights are sparse"},
    {"stream.sparse_gradient_bytes", dense, "no weights are sparse"},
    {"stream.sparse_gradient_bytes", reduce_off, "effects.reduce is off"},
    {"stream.mask_rate", fixed_masks, "no mask changes"},
    {"stream.mask_rate", boundary_off, "effects.boundary is off"},
    {"stream.chunk", no_payloads, "nothing is sent on the host"},
    {"stream.chunks_in_flight", no_payloads, "nothing is sent on the host"},
    {"stream.keep", no_payloads, "nothing is sent on the host"},
    {"stream.shares", no_payloads, "nothing is sent on the host"},
    {"wafer.system_power", rates_alone, "a sweep of values has no energy"},
    {"swarmx.node_power", rates_alone, "a sweep of values has no energy"},
    {"memoryx.shard_power", rates_alone, "a sweep of values has no energy"},
    {"wafer.peak", rates_alone, "a sweep of values has no fraction of the peak"},
    {"swarmx.fanout", one_system, "one system needs no SwarmX node"},
    {"swarmx.link_rate", one_system, "one system needs no SwarmX node"},
    {"swarmx.link_latency", one_system, "one system needs no SwarmX node"},
    {"swarmx.latency", one_system, "one system needs no SwarmX node"},
    {"swarmx.add_latency", one_system, "one system needs no SwarmX node"},
    {"swarmx.node_power", one_system, "one system needs no SwarmX node"},
    {"swarmx.forwarding", one_system, "one system needs no SwarmX node"},
    {"swarmx.add_latency", no_training, "the mode does not train"},
    {"swarmx.add_latency", reduce_off, "effects.reduce is off"},
    {"swarmx.link_latency", latency_off, "effects.latency is off"},
    {"swarmx.latency", latency_off, "effects.latency is off"},
    {"swarmx.add_latency", latency_off, "effects.latency is off"},
    {"memoryx.link_latency", latency_off, "effects.latency is off"},
    {"swarmx.header", network_off, "effects.network is off"},
    {"swarmx.forwarding", network_off, "effects.network is off"},
    {"memoryx.incast", network_off, "effects.network is off"},
    {"memoryx.incast", reduce_off, "effects.reduce is off"},
    {"swarmx.planes", no_planes,
     "no planes are lost, no node stores packets, memoryx.incast crowds no port"},
    {"memoryx.update_rate", boundary_off, "effects.boundary is off"},
    {"memoryx.update_latency", boundary_off, "effects.boundary is off"},
    {"memoryx.update_rate", no_training, "the mode does not train"},
    {"memoryx.update_latency", no_training, "the mode does not train"},
    {"jitter", jitter_off, "effects.jitter is off"},
    {"jitter_stage", jitter_off, "effects.jitter is off"},
    {"jitter_system", jitter_off, "effects.jitter is off"},
    {"jitter_system", one_system, "system 0 is the typical one"},
    {"input.*", input_off, "effects.input is off"},
    {"input.workers", unlimited_workers, "input.worker_rate and input.sample_time are 0"},
    {"input.workers_per_node", unlimited_workers, "input.worker_rate and input.sample_time are 0"},
    {"activation.*", activation_off, "effects.activation is off"},
    {"activation.servers", unlimited_servers, "activation.server_rate is 0"},
    {"activation.server_rate", uncounted_servers, "activation.servers is 0"},
    {"activation.nodes", unlimited_activation, "activation.rate is 0"},
    {"control.*", control_off, "effects.control is off"},
    {"control.*", one_system, "one system needs no coordinator"},
    {"checkpoint.rate", checkpoint_off, "effects.checkpoint is off"},
    {"checkpoint.rate", no_checkpoints, "no checkpoint is written in the time that is kept"},
    {"effects.checkpoint", no_checkpoints, "no checkpoint is written in the time that is kept"},
    {"reliability.*", restarts_off, "effects.restarts is off"},
    {"reliability.*", no_whole_training, "failures count in whole trainings: wsc scale --tokens"},
    {"effects.restarts", no_whole_training,
     "failures count in whole trainings: wsc scale --tokens"},
    {"reliability.restart", no_failures, "reliability.mtbf_hours is 0"},
    {"recovery.detection", nothing_lost, "no fault takes a wafer, node or shard away"},
    {"recovery.redistribution", no_lost_wafer, "there is no fault lost_wafer"},
    {"recovery.reroute", no_lost_node, "there is no fault lost_node"},
    {"recovery.restore_rate", no_lost_shard, "there is no fault lost_shard"},
    {"retransmit.timeout", no_lost_packets, "there is no fault lossy_link"},
    {"retransmit.packet", no_packets,
     "no packets are lost or stored, and swarmx.header is 0 or off"}};

const char *cluster_idle_why(const struct cluster_use *use, const char *path)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = strlen(rows[i].path) - 1;
        const bool section = rows[i].path[n] == '*';
        const bool same = section ? !strncmp(rows[i].path, path, n) : !strcmp(rows[i].path, path);
        if (same && rows[i].idle(use)) return rows[i].why;
    }
    return NULL;
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Servers that the params ask for, where the machine has no use for them. */
static void warn_of_servers(struct conf_diag *d, const struct cluster_use *u)
{
    const struct zoo_runconfig *rc = &u->params->runconfig;
    const struct hw_machine *m = u->machine;
    const struct conf_pos file = {0};
    const char *workers = cluster_idle_why(u, "input.workers"),
               *servers = cluster_idle_why(u, "activation.servers");
    if (rc->num_workers_per_csx > 0 && rc->num_workers_per_csx != m->input.workers && workers)
        conf_diag_warn(d, file, "runconfig.num_workers_per_csx", "without effect: %s: cluster.%s",
                       m->name, workers);
    if (rc->num_act_servers > 0 && rc->num_act_servers != m->activation.servers && servers)
        conf_diag_warn(d, file, "runconfig.num_act_servers", "without effect: %s: cluster.%s",
                       m->name, servers);
    if (rc->num_wgt_servers > m->memoryx.shards)
        conf_diag_warn(d, file, "runconfig.num_wgt_servers",
                       "without effect: %s has %lld; hint: --set cluster.memoryx.shards=%lld",
                       m->name, (long long)m->memoryx.shards, (long long)rc->num_wgt_servers);
}

/* micro_batch_size explore, with its bounds, where no sizes are compared. */
static void warn_of_exploring(struct conf_diag *d, const struct cluster_use *u)
{
    const struct zoo_params *p = u->params;
    const struct {
        const struct zoo_input *input;
        const char *key;
    } all[] = {{&p->train_input, "train_input.micro_batch_size"},
               {&p->eval_input, "eval_input.micro_batch_size"}};
    const char *file = d->file;
    if (u->explores && zoo_explores(p)) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].input->present || all[i].input->micro_batch_size != CONF_EXPLORE) continue;
        d->file = zoo_params_place(p, all[i].key); /* the warning begins with it */
        conf_diag_warn(d, (struct conf_pos){0}, NULL,
                       "explore: without effect here: the planner chooses, as with auto; hint: "
                       "wsc run of a training prints the speed of each size");
    }
    d->file = file;
}

/* Patterns of `sparsity` that select no tensor: a model that was meant to be sparse is dense.  The
 * error of a model that cannot be made is left to the command, which makes it again and knows which
 * rank reports. */
static void warn_of_patterns(struct conf_diag *d, const struct cluster_use *u)
{
    struct model *model;
    const char *pattern, *file = d->file;
    char shown[CONF_QUOTE_BYTES];
    int at = 0;
    if (!u->params->sparsity.n) return;
    if (model_create(&model, u->params, u->machine->stream.granularity)) return;
    d->file = zoo_params_place(u->params, "sparsity"); /* the warnings begin with it */
    while ((pattern = model_unmatched_pattern(model, u->params, &at)))
        conf_diag_warn(d, (struct conf_pos){0}, NULL,
                       "no tensor matches the pattern %s; hint: wsc run --validate_only lists the "
                       "tensors",
                       conf_quote(pattern, shown));
    d->file = file;
    model_destroy(&model);
}

enum wsc_err cluster_warn_idle(const struct cluster_use *use, struct zoo_params *to)
{
    char text[CONF_MAX_PATH + 16];
    const struct conf_set set = {.text = text};
    struct conf_diag d = {.file = to->file,
                          .sets = &set,
                          .n_sets = 1,
                          .warning = &to->warning,
                          .n_warnings = &to->n_warnings};
    const struct conf_pos on_command_line = {.line = -1};
    for (int i = 0; i < use->machine->n_sources; i++) {
        const struct hw_source *s = &use->machine->source[i];
        const char *why = s->is_set ? cluster_idle_why(use, s->key) : NULL;
        if (!why) continue;
        (void)snprintf(text, sizeof text, "cluster.%s", s->key);
        conf_diag_warn(&d, on_command_line, s->key, "without effect: %s", why);
    }
    warn_of_servers(&d, use);
    warn_of_exploring(&d, use);
    warn_of_patterns(&d, use);
    return conf_diag_finish(&d);
}
