/** Hardware: reads the constants of the emulated machine, computes times and sizes from them, and
 *  applies faults.
 *
 *  A machine file (configs/cluster/cs2.yaml is the built-in one) is parsed into struct hw_machine;
 *  struct hw is a view of it with the faults of the current step. Only this module converts cycles
 *  to picoseconds; it does not know the model. Units are ps, bytes, bytes/s, Hz and W. Wafers,
 *  SwarmX nodes and MemoryX shards are counted from 0, steps in machine files from 1. Every
 *  constant has a source and one of the kinds documented, derived, assumed, calibrated.
 *
 *  No function communicates: every rank parses equal bytes and samples equal faults.
 *
 *      struct hw_machine machine;
 *      enum wsc_err rc = hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0);
 *      const struct hw hw = {.cluster = &machine};
 *      int64_t ps = hw_cycles_to_ps(&hw, 1000);
 *      hw_machine_fini(&machine);
 *
 *  This is the built-in CS-2; 1000 cycles at 850 MHz are 1176471 ps. Read next:
 *  src/hw/machine_keys.c, the table of keys with ranges; docs/FAULTS.md; <wsc/cluster.h>, which
 *  moves the faults from step to step. */
#ifndef WSC_HW_H
#define WSC_HW_H
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Upper bounds on the MemoryX shards and the systems of a machine. */
enum { HW_MAX_SHARDS = 64, HW_MAX_SYSTEMS = 4096 };

/* ---- faults ---------------------------------------------------------------------------------- */

/** Kinds of faults.  docs/FAULTS.md describes them; src/hw/fault_keys.c has a row with the keys of
 *  each, src/hw/fault_events.c one with its effect. */
enum hw_fault_kind {
    HW_FAULT_STRAGGLER,   /**< a system computes slower */
    HW_FAULT_JITTER,      /**< a system's compute time varies from step to step */
    HW_FAULT_LOST_WAFER,  /**< a system is gone; the others share its part of the batch */
    HW_FAULT_SLOW_LINK,   /**< a link has a part of its rate */
    HW_FAULT_LOSSY_LINK,  /**< a link loses packets */
    HW_FAULT_LOST_PLANES, /**< planes of all links of a SwarmX node */
    HW_FAULT_LOST_NODE,   /**< a SwarmX node is gone; the tree is rebuilt without it */
    HW_FAULT_LOST_SHARD,  /**< a MemoryX shard loses its memory */
    HW_FAULT_SLOW_INPUT,  /**< the input workers of a system are slower */
    HW_N_FAULT_KINDS
};
/** Part of the machine that a fault hits.  The link of a wafer or SwarmX node is the one towards
 *  MemoryX. */
enum hw_place {
    HW_PLACE_WAFER, /**< a wafer, which is one CS-2 system */
    HW_PLACE_NODE,  /**< a SwarmX node */
    HW_PLACE_SHARD, /**< a MemoryX shard */
    HW_N_PLACES
};
/** Size of hw_fault.text, bytes with its NUL. */
enum { HW_FAULT_TEXT_BYTES = 128 };
/** One fault of a machine: an entry of `faults:` or a `--fault`. A fault at every place, or with a
 *  rate, becomes several events (struct hw_event). */
struct hw_fault {
    enum hw_fault_kind kind;
    enum hw_place place;
    /** Index of the wafer, node or shard, 0 to 4095 in a file; CONF_NULL: every one. */
    int64_t where;
    /** First affected step, from 1. */
    int64_t from;
    /** Number of affected steps; 0: to the end. The loss of a wafer or node never ends; the loss of
     *  a shard's memory ends with its step. */
    int64_t steps;
    /** Probability, 0 to 1, that it begins in a step, for each wafer, node or shard; 0: it begins
     *  once, at @c from. */
    double rate;
    /** Severity: factor (straggler, slow link: at least 1), relative standard deviation (jitter: up
     *  to 0.2), probability for a packet (lossy link: up to 0.5), number of planes; 0 where there
     *  is none. */
    double amount;
    char text[HW_FAULT_TEXT_BYTES]; /**< the fault in the syntax of `--fault` */
};
/** What other modules must know of a kind of fault: bits. */
enum hw_fault_trait {
    /** Sampled in each step, so that equal steps take different times. */
    HW_FAULT_IS_SAMPLED = 1,
    /** What is lost stays lost and cannot be lost again. */
    HW_FAULT_IS_FOREVER = 2,
    /** A shard has lost its memory: the run goes back to the last checkpoint.  Over with the step
     *  in which it begins, and not met again when that step is repeated. */
    HW_FAULT_LOSES_MEMORY = 4
};
/** Has the kind of @p fault the trait? */
bool hw_fault_has(const struct hw_fault *fault, enum hw_fault_trait trait);
/** The key of @p place in machine files: "wafer", "node" or "shard"; static. */
const char *hw_place_name(enum hw_place place);

/* ---- machine --------------------------------------------------------------------------------- */

/** Granularity of streaming: the unit of a stage. A finer granularity overlaps weights and compute
 *  better, but has more stage latencies. */
enum hw_granularity {
    HW_STREAM_BLOCK, /**< a transformer block */
    HW_STREAM_MATRIX /**< one matrix of a block */
};
/** How the emulator divides a batch over wafers to compute values: at subtrees of the canonical
 *  tree, so that few gradient vectors are sent, or evenly. No effect on values or virtual time. */
enum hw_shares { HW_SHARES_SUBTREES, HW_SHARES_EVEN };

/** Which results of the weight gradient of a sparse matrix a wafer computes. */
enum hw_gradient {
    HW_GRADIENT_DENSE,  /**< all, as of a dense matrix */
    HW_GRADIENT_SAMPLED /**< only those of the non-zeros */
};

/** When a SwarmX node begins to forward a message. */
enum hw_forwarding {
    HW_CUT_THROUGH,  /**< when the first byte has arrived */
    HW_STORE_PACKET, /**< when the first packet has arrived */
    HW_STORE_MESSAGE /**< when the whole message has arrived */
};

/** Mechanisms inside a step: the names of their switches, `effects.NAME` in machine files, and what
 *  is without them. Keys, `--effects` and warnings follow from the row; hw_apply_effects() sets the
 *  constants that become 0. */
#define HW_EFFECT_MAP(XX)                                                                          \
    XX(boundary, "the optimizer takes no time and waits for no norm")                              \
    XX(reduce, "gradients reach MemoryX in no time")                                               \
    XX(latency, "links and SwarmX nodes have no latency")                                          \
    XX(jitter, "all systems take the same time for the same work")                                 \
    XX(input, "samples are always there")                                                          \
    XX(activation, "spilled activations move at the rate of the wafer's I/O")                      \
    XX(network, "packets have no headers, nodes forward at once, no port is crowded")              \
    XX(control, "no system waits for a coordinator")
/** Mechanisms between steps, which have no effect on a sweep of steps. */
#define HW_EFFECT_BETWEEN_MAP(XX)                                                                  \
    XX(checkpoint, "writing a checkpoint takes no time")                                           \
    XX(restarts, "no system fails in a whole training")

/** The emulated machine: the values of a machine file in base units (ps, bytes, bytes/s, Hz, W).
 *  Each member has its key in src/hw/machine_keys.c; hw_machine_fini() frees what it owns. Ranges
 *  are in that table.  Sources and uncertainties are in `source`, by key. */
struct hw_machine {
    char *name;      /**< e.g. "CS-2"; owned */
    char *base;      /**< the file that this one is based on, as written, or NULL; owned */
    int64_t systems; /**< of the installation; 0 = any number */
    /** One CS-2 system: its processing elements (PEs), network on the wafer, and I/O.  Rates of the
     *  datapath are elements per cycle and PE, above 0; set-ups are cycles per vector operation, at
     *  least 0.  docs/MODEL.md derives cycles from them. */
    struct hw_wafer {
        /** Clock of PEs and routers, 1 kHz to 1 THz. */
        int64_t clock_hz;
        int64_t pe_cols, pe_rows; /**< usable PEs, x by y */
        /** Memory of a PE, bytes. */
        int64_t sram_bytes_per_pe;
        /** Memory for code, queues and staging, not for activations; less than sram_bytes_per_pe.
         */
        int64_t sram_reserved_bytes_per_pe;
        double simd_fmach;                /**< 16-bit multiply-adds, 16-bit sum, per cycle and PE */
        double simd_fmachs;               /**< 16-bit multiply-adds, 32-bit sum, per cycle and PE */
        double simd_fmacs;                /**< 32-bit multiply-adds per cycle and PE */
        double simd_fadds;                /**< 32-bit additions per cycle and PE */
        double simd_fmuls;                /**< 32-bit products per cycle and PE */
        double simd_faddh;                /**< 16-bit additions or products per cycle and PE */
        int64_t vector_setup_cycles;      /**< start of a multiply-add, 16-bit operands */
        int64_t vector_setup_fp32_cycles; /**< start of a multiply-add, 32-bit operands */
        int64_t vector_setup_add_cycles;  /**< start of an addition, product or maximum */
        int64_t vector_setup_copy_cycles; /**< start of a copy or of scalar code over a vector */
        /** True: arriving data start multiply-adds. False: loops of scalar code start them. */
        bool data_triggered;
        /** From one data-triggered operation to the next, in addition to its elements. */
        double arrival_cycles;
        /** Loop overhead per vector operation, in addition to its start: operand addresses, the
         *  scalar. */
        int64_t vector_loop_cycles;
        int64_t hop_cycles;          /**< router to router */
        int64_t ramp_cycles;         /**< router to PE, each way */
        int64_t exp_cycles;          /**< one exponential on one PE */
        int64_t divide_cycles;       /**< one division or square root on one PE */
        int64_t io_rate_bytes_per_s; /**< one direction */
        /** Fraction of the masked attention scores that is computed, 0 to 1. */
        double masked_scores;
        /** Fixed cost of starting a kernel; a stage of the forward pass starts one. Calibrated in
         *  cs2.yaml. */
        int64_t stage_latency_ps;
        double backward_kernels; /**< kernels that a stage of the backward pass starts */
        /** Additional kernels that each low-rank adapter of a stage starts in the forward pass;
         *  backward_kernels times as many in the backward pass. */
        double adapter_kernels;
        /** Additional kernels that each conditioned norm and each gate of a diffusion transformer
         *  starts in the forward pass; backward_kernels times as many in the backward pass. */
        double condition_kernels;
        /** Factor on the cycles of all kernels, 0.1 to 10; 1: no change. It may be calibrated. */
        double kernel_factor;
        /** Products with sparse weights. sum_accumulators: outputs whose sums a PE holds at a time,
         *  2 to 64; sparse_index_cycles: cycles that an index adds to the multiply-add of its
         *  weight; sparse_gradient: computed results of a weight gradient. */
        int64_t sum_accumulators;
        double sparse_index_cycles;
        enum hw_gradient sparse_gradient;
        int64_t peak_flop_per_s; /**< dense 16-bit, for MFU only */
        /** Power of one system, W, for energy per token. */
        int64_t system_power_w;
    } wafer;
    /** The broadcast and reduce tree: rates, latencies and power of its nodes and links. */
    struct hw_swarmx {
        /** Children of a node, 2 to 64; there are ceil(log_fanout N) levels above N wafers. */
        int64_t fanout;
        int64_t link_rate_bytes_per_s; /**< one direction, all planes together */
        int64_t link_latency_ps;       /**< one hop: link and network cards */
        int64_t latency_ps;            /**< a node: first byte in to first byte out, down */
        int64_t
            add_latency_ps; /**< a node: first byte in to first byte out, up, with the addition */
        /** Power of one node, W. */
        int64_t node_power_w;
        /** Parallel networks that make up a link, 1 to 64; a lost one takes its part of the rate.
         */
        int64_t planes;
        /** Header of each packet, in addition to its payload of retransmit.packet_bytes. */
        int64_t header_bytes;
        enum hw_forwarding forwarding;
    } swarmx;
    /** The weight store: servers (shards) among which every tensor is striped. */
    struct hw_memoryx {
        /** Number of shards, 1 to HW_MAX_SHARDS. */
        int64_t shards;
        int64_t link_rate_bytes_per_s; /**< one shard, one direction */
        /** From a shard to the first node of the tree, ps. */
        int64_t link_latency_ps;
        /** Parameters per second that the optimizer of one shard updates. */
        int64_t update_rate_params_per_s;
        int64_t update_latency_ps; /**< gradient complete to first updated weight */
        /** Memory of all shards together; a model that needs more is WSC_CAPACITY. */
        int64_t capacity_bytes;
        /** Bytes of it for one parameter: master weight, moments, gradient. */
        int64_t bytes_per_parameter;
        /** Power of one shard, with its share of the other servers, W. */
        int64_t shard_power_w;
        double incast; /**< fraction of its rate at which a port receives from all planes at once */
    } memoryx;
    /** Streaming of weights. The settings of chunks and of kept weights concern the transport of
     *  the host and do not change virtual time. */
    struct hw_stream {
        /** Unit of a stage. */
        enum hw_granularity granularity;
        enum hw_shares shares; /**< host: division of a batch over wafers to compute values */
        /** Weights granted ahead of the stage being consumed; 0: one stage at a time. */
        int64_t prefetch_window_bytes;
        /** Bytes of one non-zero of a sparse tensor, with its index. */
        double sparse_weight_bytes, sparse_gradient_bytes;
        /** Elements per second that one shard examines when a mask is chosen. */
        int64_t mask_rate_params_per_s;
        int64_t chunk_bytes;      /**< host transport: largest piece of one MPI message */
        int64_t chunks_in_flight; /**< host transport: pieces posted at once per message */
        /** Host transport: weights that a receiver keeps, so that they are not sent again. */
        int64_t keep_bytes;
    } stream;
    double jitter; /**< standard deviation of a wafer's compute time from step to step, relative */
    double jitter_stage;  /**< from stage to stage of a step, independent of each other, relative */
    double jitter_system; /**< from system to system, constant over all steps, relative */
    /** Input workers: processes on host nodes that make the samples of the systems. */
    struct hw_feed {
        int64_t rate_bytes_per_s; /**< port of one worker node */
        int64_t bytes_per_token;
        int64_t nodes;               /**< worker nodes of all systems; 0: one for each system */
        int64_t workers;             /**< processes for each system, unless the params say */
        int64_t workers_per_node;    /**< processes that a node runs at full rate; 0: any number */
        int64_t worker_tokens_per_s; /**< one process; 0: no limit */
        /** Time of one process for a sample, in addition to its tokens. */
        int64_t sample_ps;
        /** Loader processes of each worker in a training and in an evaluation; from the params
         *  (num_workers), not a key of the machine. 0: the worker itself loads. */
        int64_t loaders, eval_loaders;
        /** True: samples are packed texts, with two more numbers per token; from the params
         *  (use_vsl). */
        bool packed, eval_packed;
    } input;
    /** Activation servers, which keep activations that do not fit the wafers. */
    struct hw_activation {
        int64_t rate_bytes_per_s;        /**< to and from all servers of one system; 0: no limit */
        int64_t server_rate_bytes_per_s; /**< to and from one; 0: no limit */
        int64_t servers;                 /**< of a system; 0: as many as the rate of all needs */
        int64_t nodes;                   /**< nodes for all systems; 0: one for each system */
    } activation;
    /** Coordination of several systems at the start of a step. */
    struct hw_control {
        int64_t latency_ps;    /**< a message between the coordinator and the host of a system */
        int64_t per_system_ps; /**< work of the coordinator for each system */
    } control;
    struct hw_checkpoint {
        int64_t rate_params_per_s; /**< of writing a checkpoint; 0: takes no time */
    } checkpoint;
    /** Failures that end the job, for the time of a whole training. */
    struct hw_reliability {
        double mtbf_hours;  /**< mean time between failures of one system; 0: none fails */
        int64_t restart_ps; /**< from a failure to the first step of the restarted job */
    } reliability;
    /** Mechanisms that cause scaling losses, each with a switch (`effects.*`); the machine has all
     *  of them on. The scaling-loss breakdown switches off those that act inside a step, one at a
     *  time; hw_effect() lists them. */
    struct hw_effects {
#define HW_EFFECT(name, without) bool name;
        HW_EFFECT_MAP(HW_EFFECT)
        HW_EFFECT_BETWEEN_MAP(HW_EFFECT)
#undef HW_EFFECT
    } effects;
    /** Times of recovery from a fault; a step without a new fault needs none of them. */
    struct hw_recovery {
        int64_t detection_ps;             /**< from the failure of a part to its detection */
        int64_t redistribution_ps;        /**< the batch of a lost system goes to the others */
        int64_t reroute_ps;               /**< the SwarmX tree is rebuilt without a node */
        int64_t restore_rate_bytes_per_s; /**< a checkpoint into one shard */
    } recovery;
    /** Links that lose packets: go-back-N, see vtime_link_send_over() in <wsc/vtime.h>. */
    struct hw_retransmit {
        /** Bytes of a packet, the unit of a loss. */
        int64_t packet_bytes;
        int64_t timeout_ps; /**< until a loss is noticed that no later packet reports */
    } retransmit;
    /** Faults of file and command line, at most 256. */
    struct hw_fault_list {
        struct hw_fault *item; /**< owned, in the order of file and command line */
        int n;
    } faults;
    uint64_t hash;            /**< hash of all values; identifies the machine in results */
    struct hw_source *source; /**< owned; where each constant comes from, table order */
    int n_sources;            /**< length of `source` */
    char *file;               /**< name of the file for messages; owned */
};

/** Maximum number of constants that are fitted together, and of the others with which the error of
 *  one of them may be correlated. */
enum { HW_MAX_CALIBRATED = 6, HW_MAX_CORRELATIONS = HW_MAX_CALIBRATED - 1 };
/** Provenance and uncertainty of one constant, for tables and reports. In the order of the key
 *  table; only for constants, not for the name or faults. */
struct hw_source {
    const char *key;   /**< "wafer.clock"; static */
    char *value;       /**< as written, with unit; owned */
    const char *kind;  /**< documented, derived, assumed or calibrated; static */
    char *source;      /**< document, derivation or assumption in words; owned */
    char *uncertainty; /**< as written; owned; NULL: the file states none */
    /** Range of the true value, base units; low <= high. Both equal the value if it is exact or not
     *  a number. Defaults if the file states no uncertainty: documented exact, derived 5 %,
     *  calibrated 10 %, assumed from half to twice the value. */
    double low, high;
    const char *unit; /**< of a plain number, which `value` does not carry; NULL: none; static */
    bool is_set;      /**< given on the command line */
    bool is_default;  /**< not in the file, which leaves the constant at its default */
    /** Correlations of the error of a calibrated constant with the errors of other constants of the
     *  same fit, n_correlations of them. Errors are independent if the file states none. */
    struct hw_correlation {
        const char *key; /**< of the other constant; static */
        double value;    /**< correlation coefficient, -1 < value < 1 */
    } correlation[HW_MAX_CORRELATIONS];
    int n_correlations;
};

/* ---- machine files --------------------------------------------------------------------------- */

/** Read a machine file and the files that it is based on (`base: other.yaml`) as one text of @p n
 *  bytes for hw_machine_parse(). The caller owns *@p text, NULL after an error. WSC_CONFIG: a file
 *  is missing, or the files form a cycle; the message names the line. At most CONF_MAX_FILES files.
 *  Call it on rank 0 and share the text (comm_share()); the text has the names of all files, so
 *  that other ranks report equal messages. */
enum wsc_err hw_machine_read(const char *path, char **text, size_t *n) WSC_CHECKED;
/** Parse a machine file from memory. NULL @p bytes selects the built-in CS-2 (the text of
 *  configs/cluster/cs2.yaml, compiled in), NULL @p file its name. Only @p sets below `cluster.` are
 *  used; `cluster.faults+=...` adds a fault. A machine without a name of its own that differs from
 * the one whose name it inherits is named by its file. WSC_CONFIG with all errors of the file,
 *  WSC_NOMEM; call hw_machine_fini() on @p out also after an error. */
enum wsc_err hw_machine_parse(struct hw_machine *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
/** Free what @p cluster owns and set it to zero. */
void hw_machine_fini(struct hw_machine *cluster);
/** True when @p bytes look like a machine file: most keys at its top are those of one. */
bool hw_is_machine_file(const char *bytes, size_t n_bytes);
/** The key table of machine files; static. */
const struct conf_table *hw_machine_table(void);
/** True for a row of hw_machine_table() whose value is `{value, kind, source, uncertainty,
 * correlation}`. */
bool hw_key_is_constant(const struct conf_key *key);
/** Kernels that run on emulated fabrics and have analytical cycles: kernels of dense models, and
 *  kernels with sparse weights. */
enum hw_kernels { HW_KERNELS_DENSE, HW_KERNELS_SPARSE };
/** True if these kernels read the constant @p path, such as `wafer.ramp_cycles`. */
bool hw_kernels_read(enum hw_kernels kernels, const char *path);
/** Kinds of sources of a constant: how its value is known. */
enum hw_source_kind { HW_DOCUMENTED, HW_DERIVED, HW_ASSUMED, HW_CALIBRATED, HW_N_SOURCE_KINDS };
/** Values of `kind` of a constant, in the order of enum hw_source_kind; static. */
const struct conf_choice *hw_source_kinds(void);
/** Kinds of faults and their keys, indexed by enum hw_fault_kind; static. */
const struct conf_variants *hw_fault_kinds(void);

/* ---- variations of a machine ------------------------------------------------------------------
 */

/** A numeric constant of machine files, for sweeps and sensitivity studies; obtained from
 *  hw_constant_find().
 *
 *      TRY(hw_constant_find("wafer.stage_latency", &c));
 *      TRY(hw_constant_read(&c, "15 us", &value));
 *      TRY(hw_constant_set(&c, &copy, value)); */
struct hw_constant {
    const char *path; /**< without `cluster.`; static */
    int row;          /**< row of the key table */
    bool whole;       /**< its value is a whole number of base units */
};
/** Correlation of the errors of the constants @p a and @p b (keys of hw_source), stated in the file
 *  of @p c for @p a or @p b; 1 if @p a is @p b, 0 if nothing is stated. */
double hw_correlation(const struct hw_machine *c, const char *a, const char *b);
/** Find the constant at @p path, with or without `cluster.`. WSC_CONFIG, naming @p path: there is
 *  no such key, or it is not a number. */
enum wsc_err hw_constant_find(const char *path, struct hw_constant *out) WSC_CHECKED;
/** Read @p text, a value with its unit, into *@p value in base units.  WSC_CONFIG names the path.
 */
enum wsc_err hw_constant_read(const struct hw_constant *constant, const char *text,
                              double *value) WSC_CHECKED;
/** Write @p value (base units) with its unit into @p text; a quantity with more than four digits is
 *  rounded to four. 48 bytes are enough. */
void hw_constant_write(const struct hw_constant *constant, double value, char *text, size_t size);
/** Write @p value (base units) with its unit into @p text, with as many digits as
 * hw_constant_read() needs to read the value that hw_constant_set() sets. 48 bytes are enough. */
void hw_constant_write_exact(const struct hw_constant *constant, double value, char *text,
                             size_t size);
/** Write @p value as hw_constant_write() does, and after a plain number its unit ("5 cycles"),
 * which hw_constant_read() does not accept. 48 bytes are enough. */
void hw_constant_show(const struct hw_constant *constant, double value, char *text, size_t size);
/** The value of @p constant in @p cluster, base units. */
double hw_constant_get(const struct hw_constant *constant, const struct hw_machine *cluster);
/** Write the range of the key of @p constant into *@p low and *@p high, base units. */
void hw_constant_range(const struct hw_constant *constant, double *low, double *high);
/** Set @p constant to @p value (base units), rounded if it is a whole number. Sources are not
 *  changed, so @p cluster may be a shallow copy. WSC_CONFIG: out of the range of the key. */
enum wsc_err hw_constant_set(const struct hw_constant *constant, struct hw_machine *cluster,
                             double value) WSC_CHECKED;

/* ---- times and sizes --------------------------------------------------------------------------
 */

struct hw_faults;
/** A machine with its faults, borrowed for the life of the run. Functions below without a `step`
 *  argument refer to the current step of @c faults. */
struct hw {
    const struct hw_machine *cluster; /**< constants */
    const struct hw_faults *faults;   /**< in the state of the current step; NULL: none */
    int64_t n_csx;                    /**< systems that share its servers; 0: one */
};

/** Copy @p cluster to @p out and apply `effects`. Rates of links become rates of the payload of
 *  packets, and values of a mechanism that is switched off become neutral (latencies and jitter 0,
 *  no limit of a server). The switches of the boundary and the reduction act where these are
 *  computed. The copy is shallow: @p out must not outlive @p cluster and is not freed by
 *  hw_machine_fini(). */
void hw_apply_effects(struct hw_machine *out, const struct hw_machine *cluster);
/** The switch in @p cluster of mechanism number @p i, from 0, of those that act inside a step, each
 *  a key `effects.*`; *@p name is its name in tables (static). NULL past the last one. */
bool *hw_effect(struct hw_machine *cluster, int i, const char **name);
/** Duration of @p cycles wafer cycles, ps: ceil(cycles * 1e12 / clock), exact in integers.
 *  @p cycles >= 0, clock at most 1 THz.  INT64_MAX when the duration exceeds 106 days. */
int64_t hw_cycles_to_ps(const struct hw *hw, int64_t cycles);
/** Time from the edge of the wafer to its farthest PE, ps: one hop per column and row. */
int64_t hw_traversal_ps(const struct hw *hw);

/** Fixed cost of starting a stage, ps: the latency of a kernel times the kernels of the pass
 *  (docs/MODEL.md, "Plan"). The matrices of the stage have @p n_adapters low-rank adapters;
 *  @p n_conditions of its norms and gates are conditioned. */
int64_t hw_stage_latency_ps(const struct hw_machine *machine, int n_adapters, int n_conditions,
                            bool backward);
/** Number of processing elements (PEs) of one wafer. */
int64_t hw_n_pes(const struct hw *hw);
/** SRAM of one PE that activations may use, bytes. */
int64_t hw_activation_bytes_per_pe(const struct hw *hw);
/** SRAM of one wafer that activations may use, bytes. */
int64_t hw_activation_bytes(const struct hw *hw);
/** Wafer cycles (a real number) in which @p bytes cross the wafer's edge in one direction. A lower
 *  bound: no latency, no protocol. */
double hw_io_cycles(const struct hw *hw, double bytes);
/** Rate at which spilled activations of one system move to or from its servers, bytes/s: the
 * minimum of the rates of the wafer's I/O, of the servers of the system, and of its part of shared
 * nodes.
 */
int64_t hw_spill_rate(const struct hw *hw);
/** Wafer cycles (a real number) in which @p bytes of spilled activations move. */
double hw_spill_cycles(const struct hw *hw, double bytes);
/** Input samples of a wafer. */
struct hw_samples {
    int64_t n, n_tokens; /**< samples; tokens of all of them */
    bool evaluation;     /**< true: samples of eval_input; false: of train_input */
};
/** Time in which the input workers of @p wafer supply @p samples, ps: the maximum of the times of
 *  their processes and of the port of their node. */
int64_t hw_input_ps(const struct hw *hw, int wafer, const struct hw_samples *samples);
/** Time that the coordinator needs to start a step on all systems, ps; 0 for one system. */
int64_t hw_control_ps(const struct hw *hw);
/** Time until a store-and-forward node of the tree has received the first packet, ps: one packet on
 *  one plane; 0 if nodes do not store packets. @p rate_bytes_per_s: rate on all planes. */
int64_t hw_packet_ps(const struct hw *hw, int64_t rate_bytes_per_s);
/** Rate of a link without @p lost of its planes, bytes/s, at least 1. @p rate_bytes_per_s: rate on
 *  all planes. 0 <= @p lost < planes. */
int64_t hw_rate_without_planes(const struct hw *hw, int64_t rate_bytes_per_s, int64_t lost);
/** Power of the cluster with @p n_csx wafers, their SwarmX tree and the shards of hw->cluster, W.
 * The energy of a step is this power times its duration. */
double hw_cluster_power_w(const struct hw *hw, int64_t n_csx);

/* ---- faults ---------------------------------------------------------------------------------- */

/** One occurrence of a fault at one place. The number of a step is the number of steps finished
 *  before it. The event begins with the first step >= first_step. */
struct hw_event {
    const struct hw_fault *fault; /**< borrowed from the machine */
    int place;                    /**< index of the wafer, SwarmX node or MemoryX shard */
    int64_t first_step;           /**< the first step that it affects */
    int64_t end_step;             /**< the first step after it; INT64_MAX: it lasts to the end */
};
/** The machine and the run that faults are sampled for. */
struct hw_fault_scope {
    int n_places[HW_N_PLACES]; /**< numbers of wafers, SwarmX nodes and MemoryX shards */
    uint64_t seed;             /**< seed of the random waiting times */
    int64_t last_step; /**< events that begin at or after this many finished steps are left out */
    int without;       /**< index of a fault to leave out, to measure its cost; -1: none */
};
/** Compute the events of the faults of @p cluster. A fault with a rate begins, at each of its
 *  places, in each step with the same probability, but not while it lasts; the number of steps
 *  before it is geometrically distributed and sampled from (seed, fault, place, occurrence).
 * Samples do not depend on last_step or on the number of ranks. The caller owns *@p out, which
 * borrows
 *  @p cluster; NULL after an error. WSC_CONFIG: a place that the machine does not have, the last
 *  wafer or SwarmX node lost, all planes of a link lost, or more than 10,000 events. */
enum wsc_err hw_faults_create(struct hw_faults **out, const struct hw_machine *cluster,
                              const struct hw_fault_scope *scope) WSC_CHECKED;
/** Free @p faults and set *@p faults to NULL. */
void hw_faults_destroy(struct hw_faults **faults);
/** The @p n events, sorted by first_step, then by the order of the list, then by place. Borrowed
 *  from @p faults. */
const struct hw_event *hw_faults_events(const struct hw_faults *faults, int *n);
/** Set the current step to @p step (finished steps before it). A step that is repeated after a
 *  restore has its faults again, and parts lost since that step stay lost. */
void hw_faults_move(struct hw_faults *faults, int64_t step);
/** Event number @p i, from 0, of the events that begin with the current step; NULL past the last
 *  one, and if the step is a repetition. */
const struct hw_event *hw_faults_new(const struct hw_faults *faults, int i);
/** The latest step that hw_faults_move() has reached, -1 at first; a checkpoint keeps it. */
int64_t hw_faults_reached(const struct hw_faults *faults);
/** Resume after a restart: @p reached is the hw_faults_reached() of the earlier run. Until the next
 *  hw_faults_move() the machine has no faults. Events up to @p reached are not new, so they cost no
 *  recovery time again. */
void hw_faults_go_on(struct hw_faults *faults, int64_t reached);
/** The next step after the current one at which a fault begins or ends; INT64_MAX: none. */
int64_t hw_faults_next(const struct hw_faults *faults);

/** Factor on the compute time of @p wafer in the current step, at least 1: the product over the
 *  stragglers at the wafer. */
double hw_straggler(const struct hw *hw, int wafer);
/** Relative standard deviation of the compute time of @p wafer in the current step: the root of the
 *  sum of squares of the jitter of the machine and of its faults, which are independent. Jitter
 * from stage to stage and from system to system is separate, in struct hw_machine. */
double hw_jitter(const struct hw *hw, int wafer);
/** Divisor of the rate of the link of a wafer or SwarmX node towards MemoryX, at least 1: the
 *  product over the faults of the link. */
double hw_link_slowness(const struct hw *hw, enum hw_place place, int which);
/** Probability that the link of a wafer or SwarmX node towards MemoryX loses a packet. Several
 *  faults of a link are independent: a packet must pass all of them. */
double hw_link_loss(const struct hw *hw, enum hw_place place, int which);
/** Number of planes that SwarmX node @p node has lost in the current step. */
int64_t hw_lost_planes(const struct hw *hw, int node);
/** True if wafer or SwarmX node @p which is lost in the current step. */
bool hw_is_lost(const struct hw *hw, enum hw_place place, int which);
/** Recovery time before the current step, ps: the maximum over its new events, because the parts of
 *  a machine recover in parallel. @p shard_bytes: bytes that a lost shard reads from the
 * checkpoint.
 */
int64_t hw_recovery_ps(const struct hw *hw, int64_t shard_bytes);
#endif
