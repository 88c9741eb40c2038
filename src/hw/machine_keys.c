// SPDX-License-Identifier: Apache-2.0
/* The key table of machine files: one row per constant with its unit, range and meaning, in the
 * order of docs/CONFIG.md.  Constants are required, as a machine is described as a whole; those
 * that came later have a neutral default, so that older files stay valid. */
#include "machine_parts.h"

#define FIELD(p, f) .path = (p), .offset = offsetof(struct hw_machine, f), .required = true
#define OPTIONAL(p, f, value)                                                                      \
    .path = (p), .offset = offsetof(struct hw_machine, f), .fallback = (value)
#define INT          .type = CONF_T_INT
#define BOOL         .type = CONF_T_BOOL
#define DOUBLE       .type = CONF_T_DOUBLE
#define QUANTITY(u)  .type = CONF_T_QUANTITY, .unit = WSC_UNIT_##u
#define MEASURE(t)   .measure = (t)
#define RANGE(a, b)  .min = (a), .max = (b)
#define DOC(t)       .doc = (t)
#define MAX_RATE     1e18 /* bytes/s, FLOP/s beyond any machine, and far from overflow */
#define MAX_LATENCY  1e15 /* ps: 1000 s */
#define MAX_BYTES    1e18
#define MAX_CYCLES   1e6
#define MAX_POWER    1e9  /* W */
#define MAX_RECOVERY 1e17 /* ps: a day and more */
/* Kernels on emulated fabrics, or their analytical cycles, read the constant. */
#define BY_DENSE   .readers = 1 << HW_KERNELS_DENSE
#define BY_SPARSE  .readers = 1 << HW_KERNELS_SPARSE
#define BY_KERNELS .readers = 1 << HW_KERNELS_DENSE | 1 << HW_KERNELS_SPARSE

/* clang-format off */
static const struct conf_key keys[] = {
    {.path = "schema_version", .type = CONF_T_CHOICE, .status = CONF_ONLY, .required = true,
     .choices = CONF_CHOICES({"1", 0}), DOC("version of this list of keys")},
    {FIELD("name", name), .type = CONF_T_STRING,
     DOC("name of the system, for reports; a file with `base` and constants of its own that has no "
         "name is named by its file")},
    {OPTIONAL("base", base, NULL), .type = CONF_T_STRING,
     DOC("cluster file whose constants hold where this one has none, relative to this one's "
         "folder")},

    {FIELD("wafer.clock", wafer.clock_hz), QUANTITY(FREQUENCY), RANGE(1e3, 1e12),
     DOC("clock of processing elements (PEs) and routers")},
    {FIELD("wafer.pe_cols", wafer.pe_cols), INT, RANGE(1, 1e5), DOC("usable PEs along x")},
    {FIELD("wafer.pe_rows", wafer.pe_rows), INT, RANGE(1, 1e5), DOC("usable PEs along y")},
    {FIELD("wafer.sram_per_pe", wafer.sram_bytes_per_pe), QUANTITY(BYTES), RANGE(1, 1 << 30),
     DOC("memory of a PE")},
    {FIELD("wafer.sram_reserved_per_pe", wafer.sram_reserved_bytes_per_pe), QUANTITY(BYTES),
     RANGE(0, 1 << 30), DOC("of it for code, queues and staging, not for activations")},
    {FIELD("wafer.simd_fmach", wafer.simd_fmach), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     DOC("16-bit multiply-adds with a 16-bit sum, per cycle and PE")},
    {FIELD("wafer.simd_fmachs", wafer.simd_fmachs), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     DOC("16-bit multiply-adds with a 32-bit sum, per cycle and PE")},
    {FIELD("wafer.simd_fmacs", wafer.simd_fmacs), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     BY_KERNELS, DOC("32-bit multiply-adds, per cycle and PE")},
    {FIELD("wafer.simd_fadds", wafer.simd_fadds), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     BY_KERNELS, DOC("32-bit additions, per cycle and PE")},
    {FIELD("wafer.simd_fmuls", wafer.simd_fmuls), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     BY_KERNELS, DOC("32-bit products, per cycle and PE")},
    {FIELD("wafer.simd_faddh", wafer.simd_faddh), DOUBLE, MEASURE("elements/cycle"), RANGE(0.001, 1024),
     BY_KERNELS, DOC("16-bit additions or products, per cycle and PE")},
    {FIELD("wafer.vector_setup_cycles", wafer.vector_setup_cycles), INT, MEASURE("cycles"), RANGE(0, MAX_CYCLES),
     BY_KERNELS, DOC("start of a multiply-add, 16-bit operands")},
    {FIELD("wafer.vector_setup_fp32_cycles", wafer.vector_setup_fp32_cycles), INT, MEASURE("cycles"),
     RANGE(0, MAX_CYCLES), BY_KERNELS, DOC("start of a multiply-add, 32-bit operands")},
    {FIELD("wafer.vector_setup_add_cycles", wafer.vector_setup_add_cycles), INT, MEASURE("cycles"),
     RANGE(0, MAX_CYCLES), BY_KERNELS, DOC("start of an addition, product or maximum")},
    {FIELD("wafer.vector_setup_copy_cycles", wafer.vector_setup_copy_cycles), INT, MEASURE("cycles"),
     RANGE(0, MAX_CYCLES), BY_KERNELS, DOC("start of a copy, or of scalar code over a vector")},
    {FIELD("wafer.vector_loop_cycles", wafer.vector_loop_cycles), INT, MEASURE("cycles"), RANGE(0, MAX_CYCLES),
     BY_KERNELS, DOC("from one vector operation of a loop to the next, beside the start")},
    {OPTIONAL("wafer.data_triggered", wafer.data_triggered, "true"), BOOL, BY_KERNELS,
     DOC("arriving data start multiply-adds, in the model and on the mesh; otherwise loops of "
         "scalar code do")},
    {FIELD("wafer.arrival_cycles", wafer.arrival_cycles), DOUBLE, MEASURE("cycles"), RANGE(0, MAX_CYCLES), BY_KERNELS,
     DOC("from one multiply-add that arriving data start to the next, beside its elements")},
    {FIELD("wafer.hop_cycles", wafer.hop_cycles), INT, MEASURE("cycles"), RANGE(0, MAX_CYCLES),
     BY_KERNELS, DOC("router to neighbouring router")},
    {FIELD("wafer.ramp_cycles", wafer.ramp_cycles), INT, MEASURE("cycles"), RANGE(0, MAX_CYCLES),
     BY_KERNELS, DOC("router to PE, each way")},
    {FIELD("wafer.exp_cycles", wafer.exp_cycles), INT, MEASURE("cycles"), RANGE(1, MAX_CYCLES),
     BY_DENSE, DOC("one exponential on one PE")},
    {FIELD("wafer.divide_cycles", wafer.divide_cycles), INT, MEASURE("cycles"), RANGE(1, MAX_CYCLES),
     BY_DENSE, DOC("one division or square root on one PE")},
    {FIELD("wafer.masked_scores", wafer.masked_scores), DOUBLE, RANGE(0, 1),
     DOC("of the attention scores that causality and windows hide, the fraction that is computed; "
         "those of other packed texts all are")},
    {FIELD("wafer.io_rate", wafer.io_rate_bytes_per_s), QUANTITY(RATE), RANGE(1, MAX_RATE),
     DOC("off-wafer links, one direction")},
    {FIELD("wafer.stage_latency", wafer.stage_latency_ps), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("fixed cost of starting a kernel, one for each stage of the forward pass")},
    {FIELD("wafer.backward_kernels", wafer.backward_kernels), DOUBLE, RANGE(0, 16),
     DOC("kernels of a stage of the backward pass, each with that cost")},
    {OPTIONAL("wafer.adapter_kernels", wafer.adapter_kernels, "2"), DOUBLE, RANGE(0, 16),
     DOC("kernels of each low-rank adapter of a stage of the forward pass, with that cost too")},
    {OPTIONAL("wafer.condition_kernels", wafer.condition_kernels, "1"), DOUBLE, RANGE(0, 16),
     DOC("kernels of each norm and each gate of a diffusion transformer that time step and class "
         "condition, of a stage of the forward pass, with that cost too")},
    {OPTIONAL("wafer.kernel_factor", wafer.kernel_factor, "1"), DOUBLE, RANGE(0.1, 10),
     DOC("on the cycles of all kernels; 1 is what the formulas say")},
    {OPTIONAL("wafer.sum_accumulators", wafer.sum_accumulators, "2"), INT, RANGE(2, 64),
     BY_KERNELS, DOC("outputs of a product with sparse weights whose sums a PE holds at a time")},
    {OPTIONAL("wafer.sparse_index_cycles", wafer.sparse_index_cycles, "0"), DOUBLE, MEASURE("cycles"),
     RANGE(0, MAX_CYCLES), BY_SPARSE,
     DOC("what the index of a sparse weight adds to its multiply-add")},
    {OPTIONAL("wafer.sparse_gradient", wafer.sparse_gradient, "sampled"), .type = CONF_T_CHOICE,
     .choices = CONF_CHOICES({"dense", HW_GRADIENT_DENSE}, {"sampled", HW_GRADIENT_SAMPLED}),
     BY_SPARSE,
     DOC("results of the weight gradient of a sparse matrix that are computed: all, or those of "
         "the non-zeros where that is faster")},
    {FIELD("wafer.peak", wafer.peak_flop_per_s), QUANTITY(FLOPS), RANGE(1, MAX_RATE * 9),
     DOC("dense 16-bit peak, for the utilisation that is reported")},
    {FIELD("wafer.system_power", wafer.system_power_w), QUANTITY(POWER), RANGE(0, MAX_POWER),
     DOC("power of one system")},

    {FIELD("swarmx.fanout", swarmx.fanout), INT, RANGE(2, 64), DOC("children of a node")},
    {FIELD("swarmx.link_rate", swarmx.link_rate_bytes_per_s), QUANTITY(RATE), RANGE(1, MAX_RATE),
     DOC("one link, all planes, one direction")},
    {FIELD("swarmx.link_latency", swarmx.link_latency_ps), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("wire and network cards of one hop")},
    {FIELD("swarmx.latency", swarmx.latency_ps), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("a node on the way down, first byte in to first byte out")},
    {FIELD("swarmx.add_latency", swarmx.add_latency_ps), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("a node on the way up, with the addition")},
    {FIELD("swarmx.node_power", swarmx.node_power_w), QUANTITY(POWER), RANGE(0, MAX_POWER),
     DOC("power of a node")},

    {FIELD("memoryx.shards", memoryx.shards), INT, RANGE(1, HW_MAX_SHARDS),
     DOC("servers that share the weights")},
    {FIELD("memoryx.link_rate", memoryx.link_rate_bytes_per_s), QUANTITY(RATE),
     RANGE(1, MAX_RATE), DOC("one shard, one direction")},
    {FIELD("memoryx.link_latency", memoryx.link_latency_ps), QUANTITY(TIME),
     RANGE(0, MAX_LATENCY), DOC("shard to the first node of the tree")},
    {FIELD("memoryx.update_rate", memoryx.update_rate_params_per_s), QUANTITY(PARAMS_RATE),
     RANGE(1, MAX_RATE), DOC("optimizer of one shard")},
    {FIELD("memoryx.update_latency", memoryx.update_latency_ps), QUANTITY(TIME),
     RANGE(0, MAX_LATENCY), DOC("gradient complete to first updated weight")},
    {FIELD("memoryx.capacity", memoryx.capacity_bytes), QUANTITY(BYTES), RANGE(1, MAX_BYTES),
     DOC("memory of all shards")},
    {FIELD("memoryx.bytes_per_parameter", memoryx.bytes_per_parameter), INT, MEASURE("bytes"), RANGE(1, 1024),
     DOC("master weight, moments, gradient")},
    {FIELD("memoryx.shard_power", memoryx.shard_power_w), QUANTITY(POWER), RANGE(0, MAX_POWER),
     DOC("power of a shard, with its share of the other servers")},

    {FIELD("stream.granularity", stream.granularity), .type = CONF_T_CHOICE,
     .choices = CONF_CHOICES({"block", HW_STREAM_BLOCK}, {"matrix", HW_STREAM_MATRIX}),
     DOC("what streams at a time: a transformer block or one of its matrices")},
    {FIELD("stream.prefetch_window", stream.prefetch_window_bytes), QUANTITY(BYTES),
     RANGE(0, MAX_BYTES), DOC("weights granted ahead of the stage being consumed")},
    {OPTIONAL("stream.sparse_weight_bytes", stream.sparse_weight_bytes, "4"), DOUBLE, MEASURE("bytes"),
     RANGE(0.01, 64), DOC("a non-zero weight with its index, on every link")},
    {OPTIONAL("stream.sparse_gradient_bytes", stream.sparse_gradient_bytes, "4"), DOUBLE, MEASURE("bytes"),
     RANGE(0.01, 64), DOC("the gradient of a non-zero weight, on every link")},
    {OPTIONAL("stream.mask_rate", stream.mask_rate_params_per_s, "6e9 params/s"),
     QUANTITY(PARAMS_RATE), RANGE(1, MAX_RATE),
     DOC("elements that one shard looks at when it chooses new non-zeros")},
    {FIELD("stream.chunk", stream.chunk_bytes), QUANTITY(BYTES), RANGE(64, 1 << 30),
     DOC("host transport: largest piece of one message; no effect on virtual time")},
    {FIELD("stream.chunks_in_flight", stream.chunks_in_flight), INT, RANGE(1, 1024),
     DOC("host transport: pieces posted at once; no effect on virtual time")},
    {OPTIONAL("stream.shares", stream.shares, "subtrees"), .type = CONF_T_CHOICE,
     .choices = CONF_CHOICES({"subtrees", HW_SHARES_SUBTREES}, {"even", HW_SHARES_EVEN}),
     DOC("host: cut a training batch over wafers such that an edge carries at most two gradient "
         "vectors in a micro-batch, or evenly; no effect on values or virtual time")},
    {OPTIONAL("stream.keep", stream.keep_bytes, "256 MiB"), QUANTITY(BYTES), RANGE(0, MAX_BYTES),
     DOC("host transport: weights that a receiving rank keeps to not get them again in the same "
         "step; no effect on virtual time")},

    {OPTIONAL("systems", systems, "0"), INT, RANGE(0, HW_MAX_SYSTEMS),
     DOC("systems of the installation; 0: as many as asked for")},

    {OPTIONAL("jitter", jitter, "0"), DOUBLE, RANGE(0, 0.2),
     DOC("relative standard deviation of a system's compute time from step to step")},
    {OPTIONAL("jitter_stage", jitter_stage, "0"), DOUBLE, RANGE(0, 0.2),
     DOC("the same from stage to stage of a step")},
    {OPTIONAL("jitter_system", jitter_system, "0"), DOUBLE, RANGE(0, 0.2),
     DOC("the same from system to system, constant in time; system 0 is the typical one")},
    {OPTIONAL("input.rate", input.rate_bytes_per_s, "12.5 GB/s"), QUANTITY(RATE),
     RANGE(1, MAX_RATE), DOC("port of an input worker node; samples are fetched one step ahead")},
    {OPTIONAL("input.bytes_per_token", input.bytes_per_token, "12"), INT, MEASURE("bytes"), RANGE(1, 1e6),
     DOC("of a sample: token, label and mask; packed texts have 8 more")},
    {OPTIONAL("input.nodes", input.nodes, "0"), INT, RANGE(0, HW_MAX_SYSTEMS),
     DOC("input worker nodes of the installation, which its systems share; 0: one for each")},
    {OPTIONAL("input.workers", input.workers, "1"), INT, RANGE(1, 1024),
     DOC("processes that make the samples of a system, where runconfig.num_workers_per_csx does "
         "not say")},
    {OPTIONAL("input.workers_per_node", input.workers_per_node, "0"), INT, RANGE(0, 1024),
     DOC("processes that a node runs at full rate; 0: any number")},
    {OPTIONAL("input.worker_rate", input.worker_tokens_per_s, "0"), INT, MEASURE("tokens/s"), RANGE(0, 1e12),
     DOC("tokens that a process makes; 0: no limit")},
    {OPTIONAL("input.sample_time", input.sample_ps, "0 s"), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("of a process for each sample, beside its tokens: the call, the look-up in the file")},
    {OPTIONAL("activation.rate", activation.rate_bytes_per_s, "0 B/s"), QUANTITY(RATE),
     RANGE(0, MAX_RATE),
     DOC("spilled activations of a system to or from all its servers; 0: no limit")},
    {OPTIONAL("activation.server_rate", activation.server_rate_bytes_per_s, "0 B/s"),
     QUANTITY(RATE), RANGE(0, MAX_RATE / 1024), DOC("the same of one server; 0: no limit")},
    {OPTIONAL("activation.servers", activation.servers, "0"), INT, RANGE(0, 1024),
     DOC("servers of a system, where runconfig.num_act_servers does not say; 0: as many as "
         "activation.rate needs")},
    {OPTIONAL("activation.nodes", activation.nodes, "0"), INT, RANGE(0, HW_MAX_SYSTEMS),
     DOC("activation nodes of the installation, which its systems share; 0: one for each")},
    {OPTIONAL("control.latency", control.latency_ps, "0 s"), QUANTITY(TIME), RANGE(0, MAX_LATENCY),
     DOC("message between the coordinator and the host of a system, twice a step of several "
         "systems")},
    {OPTIONAL("control.per_system", control.per_system_ps, "0 s"), QUANTITY(TIME),
     RANGE(0, MAX_LATENCY), DOC("work of the coordinator for each system and step")},
    {OPTIONAL("checkpoint.rate", checkpoint.rate_params_per_s, "0 params/s"),
     QUANTITY(PARAMS_RATE), RANGE(0, MAX_RATE),
     DOC("writing a checkpoint, which holds up the next step; 0: takes no time")},
    {OPTIONAL("reliability.mtbf_hours", reliability.mtbf_hours, "0"), DOUBLE, MEASURE("h"), RANGE(0, 1e9),
     DOC("mean time between failures of one system that end the job, for the time of a whole "
         "training; 0: none fails")},
    {OPTIONAL("reliability.restart", reliability.restart_ps, "0 s"), QUANTITY(TIME),
     RANGE(0, MAX_RECOVERY), DOC("from a failure to the first step after it")},
    {OPTIONAL("swarmx.planes", swarmx.planes, "12"), INT, RANGE(1, 64),
     DOC("parallel networks that make up a link")},
    {OPTIONAL("swarmx.header", swarmx.header_bytes, "0 B"), QUANTITY(BYTES), RANGE(0, 1 << 20),
     DOC("of a packet on every link, beside its payload retransmit.packet")},
    {OPTIONAL("swarmx.forwarding", swarmx.forwarding, "cut_through"), .type = CONF_T_CHOICE,
     .choices = CONF_CHOICES({"cut_through", HW_CUT_THROUGH}, {"packet", HW_STORE_PACKET},
                             {"message", HW_STORE_MESSAGE}),
     DOC("when a node begins to send what comes in: with the first byte, when a packet of "
         "retransmit.packet is there, when all is there")},
    {OPTIONAL("memoryx.incast", memoryx.incast, "1"), DOUBLE, RANGE(0.01, 1),
     DOC("part of its rate at which the port of a shard receives from all planes at once")},

#define EFFECT(name, without)                                                                      \
    {OPTIONAL("effects." #name, effects.name, "true"), BOOL, DOC("off: " without)},
    HW_EFFECT_MAP(EFFECT) HW_EFFECT_BETWEEN_MAP(EFFECT)
#undef EFFECT

    {OPTIONAL("recovery.detection", recovery.detection_ps, "40 s"), QUANTITY(TIME),
     RANGE(0, MAX_RECOVERY), DOC("a part fails to the job knows")},
    {OPTIONAL("recovery.redistribution", recovery.redistribution_ps, "60 s"), QUANTITY(TIME),
     RANGE(0, MAX_RECOVERY), DOC("the share of a lost system goes to the others")},
    {OPTIONAL("recovery.reroute", recovery.reroute_ps, "1 s"), QUANTITY(TIME),
     RANGE(0, MAX_RECOVERY), DOC("the SwarmX tree is rebuilt without a node")},
    {OPTIONAL("recovery.restore_rate", recovery.restore_rate_bytes_per_s, "2 GB/s"),
     QUANTITY(RATE), RANGE(1, MAX_RATE), DOC("a checkpoint into one MemoryX shard")},
    {OPTIONAL("retransmit.packet", retransmit.packet_bytes, "4 KiB"), QUANTITY(BYTES),
     RANGE(1, 1 << 30), DOC("what a lossy link loses at a time")},
    {OPTIONAL("retransmit.timeout", retransmit.timeout_ps, "67.1 ms"), QUANTITY(TIME),
     RANGE(0, MAX_LATENCY), DOC("until the last packet of a message is sent again")},
    {OPTIONAL("faults", faults, NULL), .type = CONF_T_SPECIAL, .read = hw_read_faults,
     .form = "list of faults", DOC("what goes wrong: FAULTS.md; `--fault` adds one")},
};
/* clang-format on */

const struct conf_table *hw_machine_table(void)
{
    static const struct conf_table table = {
        .key = keys, .n = sizeof keys / sizeof *keys, .sourced = true};
    return &table;
}

bool hw_kernels_read(enum hw_kernels kernels, const char *path)
{
    const int row = conf_keys_find(hw_machine_table(), path);
    return row >= 0 && keys[row].readers >> kernels & 1;
}
