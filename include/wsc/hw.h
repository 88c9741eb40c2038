/** The emulated machine: its constants from a machine file, its faults, and the times and sizes
 * that follow from them.  Layer 2.
 *
 *  A machine file (configs/cluster/cs2.yaml is the built-in one) is parsed into struct hw_machine;
 *  struct hw is a view of it with the faults of the present step.  This is the only module where
 *  cycles become picoseconds, and it knows no model.  Base units throughout: ps, bytes, bytes/s,
 * Hz, W; wafers, SwarmX nodes and MemoryX shards are counted from 0, steps in machine files from 1.
 *
 *  Nothing here communicates: every rank parses the same bytes and samples the same faults.
 */
#ifndef WSC_HW_H
#define WSC_HW_H
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Upper bound on the MemoryX shards of a machine. */
enum { HW_MAX_SHARDS = 64 };

/* ---- faults ---------------------------------------------------------------------------------- */

/** Kinds of faults; docs/FAULTS.md describes them, fault_events.c has a row for each. */
enum hw_fault_kind {
    HW_FAULT_STRAGGLER,   /**< a system computes slower */
    HW_FAULT_JITTER,      /**< a system's compute time varies from step to step */
    HW_FAULT_LOST_WAFER,  /**< a system is gone; the others share its part of the batch */
    HW_FAULT_SLOW_LINK,   /**< a link has a part of its rate */
    HW_FAULT_LOSSY_LINK,  /**< a link loses packets */
    HW_FAULT_LOST_PLANES, /**< planes of all links of a SwarmX node */
    HW_FAULT_LOST_NODE,   /**< a SwarmX node is gone; the tree is rebuilt without it */
    HW_FAULT_LOST_SHARD,  /**< a MemoryX shard loses its memory */
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
/** One fault of a machine: an entry of `faults:` or a `--fault`. */
struct hw_fault {
    enum hw_fault_kind kind;
    enum hw_place place;
    int64_t where; /**< index of the wafer, node or shard; CONF_NULL: every one */
    int64_t from;  /**< the first step that it touches, from 1 */
    int64_t steps; /**< how many; 0: to the end */
    double rate;   /**< probability that it begins in a step, for each place; 0: at @c from */
    double amount; /**< factor, deviation, fraction of packets, planes; 0 where there is none */
    char text[HW_FAULT_TEXT_BYTES]; /**< as `--fault` takes it */
};
/** The key of @p place in machine files: "wafer", "node" or "shard"; static. */
const char *hw_place_name(enum hw_place place);

/* ---- machine --------------------------------------------------------------------------------- */

/** What one stage streams. */
enum hw_granularity {
    HW_STREAM_BLOCK, /**< a transformer block */
    HW_STREAM_MATRIX /**< one matrix of a block */
};

/** The emulated machine: the values of a machine file in base units (ps, bytes, bytes/s, Hz, W).
 *  Each member has its key in src/hw/machine_keys.c; hw_machine_fini() frees what it owns. */
struct hw_machine {
    char *name;      /**< e.g. "CS-2"; owned */
    char *base;      /**< the file that this one is based on, as written, or NULL; owned */
    int64_t systems; /**< of the installation; 0 = any number */
    struct hw_wafer {
        int64_t clock_hz;
        int64_t pe_cols, pe_rows; /**< usable PEs, x by y */
        int64_t sram_bytes_per_pe;
        int64_t sram_reserved_bytes_per_pe; /**< code, queues, staging: not for activations */
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
        double arrival_cycles;       /**< from one operation that arriving data start to the next,
                                          beside its elements */
        int64_t vector_loop_cycles;  /**< from one vector operation of a loop to the next, beside
                                          the start: operand addresses, the scalar */
        int64_t hop_cycles;          /**< router to router */
        int64_t ramp_cycles;         /**< router to PE, each way */
        int64_t exp_cycles;          /**< one exponential on one PE */
        int64_t divide_cycles;       /**< one division or square root on one PE */
        int64_t io_rate_bytes_per_s; /**< one direction */
        double masked_scores;        /**< of the scores that the mask hides, the share computed */
        int64_t stage_latency_ps;    /**< fixed start cost of a stage in the forward pass */
        int64_t stage_latency_backward_ps; /**< the same in the backward pass */
        double kernel_factor;    /**< on the cycles of all kernels; 1: as the formulas say */
        int64_t peak_flop_per_s; /**< dense 16-bit, for MFU only */
        int64_t system_power_w;
    } wafer;
    struct hw_swarmx {
        int64_t fanout;
        int64_t link_rate_bytes_per_s; /**< one direction, all planes together */
        int64_t link_latency_ps;       /**< one hop: link and network cards */
        int64_t latency_ps;            /**< a node: first byte in to first byte out, down */
        int64_t
            add_latency_ps; /**< a node: first byte in to first byte out, up, with the addition */
        int64_t node_power_w;
        int64_t planes; /**< parallel networks that make up a link */
    } swarmx;
    struct hw_memoryx {
        int64_t shards;
        int64_t link_rate_bytes_per_s; /**< one shard, one direction */
        int64_t link_latency_ps;
        int64_t update_rate_params_per_s; /**< one shard */
        int64_t update_latency_ps;        /**< gradient complete to first updated weight */
        int64_t capacity_bytes;           /**< all shards */
        int64_t bytes_per_parameter;      /**< master weight, moments, gradient */
        int64_t shard_power_w;
    } memoryx;
    struct hw_stream {
        enum hw_granularity granularity;
        int64_t prefetch_window_bytes; /**< weights granted ahead of the stage being consumed */
        int64_t chunk_bytes;           /**< host transport: largest piece of one MPI message */
        int64_t chunks_in_flight;      /**< host transport: pieces posted at once per message */
    } stream;
    double jitter; /**< standard deviation of a wafer's compute time from step to step, relative */
    struct hw_feed {
        int64_t rate_bytes_per_s; /**< samples into one system */
        int64_t bytes_per_token;
    } input;
    /** Mechanisms that make many systems slower than one, each with a switch. */
    struct hw_effects {
        bool boundary, reduce, latency, jitter, input;
    } effects;
    /** Times of recovery from a fault; a step without a new fault needs none of them. */
    struct hw_recovery {
        int64_t detection_ps;             /**< from the failure of a part to its detection */
        int64_t redistribution_ps;        /**< the batch of a lost system goes to the others */
        int64_t reroute_ps;               /**< the SwarmX tree is rebuilt without a node */
        int64_t restore_rate_bytes_per_s; /**< a checkpoint into one shard */
    } recovery;
    /** Links that lose packets: go-back-N, see <wsc/vtime.h>. */
    struct hw_retransmit {
        int64_t packet_bytes;
        int64_t timeout_ps; /**< until a loss is noticed that no later packet reports */
    } retransmit;
    struct hw_fault_list {
        struct hw_fault *item; /**< owned, in the order of file and command line */
        int n;
    } faults;
    uint64_t hash;            /**< of all values: identifies the machine in results */
    struct hw_source *source; /**< owned; where each constant comes from, table order */
    int n_sources;            /**< length of `source` */
    char *file;               /**< name of the file for messages; owned */
};

/** Provenance and uncertainty of one constant, for tables and reports. */
struct hw_source {
    const char *key;  /**< "wafer.clock"; static */
    char *value;      /**< as written, with unit; owned */
    const char *kind; /**< documented, derived, assumed or calibrated; static */
    char *source;     /**< document, derivation or assumption in words; owned */
    /** Where the true value may lie, base units; low <= high, both the value itself when nothing
     *  is uncertain or when the constant is no number. */
    double low, high;
};

/* ---- machine files --------------------------------------------------------------------------- */

/** Read a machine file and the files that it is based on (`base: other.yaml`) as one text of @p n
 *  bytes for hw_machine_parse(); *@p text is owned by the caller, NULL after an error.  WSC_CONFIG:
 *  a file is missing, or the files form a cycle; the message names the line. */
enum wsc_err hw_machine_read(const char *path, char **text, size_t *n) WSC_CHECKED;
/** Parse a machine file from memory.  NULL @p bytes takes the built-in CS-2 (the text of
 *  configs/cluster/cs2.yaml, compiled in), NULL @p file its name.  Only the @p sets below
 * `cluster.` are looked at.  WSC_CONFIG with all errors of the file; hw_machine_fini() @p out also
 * then. */
enum wsc_err hw_machine_parse(struct hw_machine *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
/** Free what @p cluster owns and set it to zero. */
void hw_machine_fini(struct hw_machine *cluster);
/** True when @p bytes look like a machine file (a `schema_version` with `wafer` or `base`). */
bool hw_is_machine_file(const char *bytes, size_t n_bytes);
/** The key table of machine files; static. */
const struct conf_table *hw_machine_table(void);
/** Kinds of faults and their keys, indexed by enum hw_fault_kind; static. */
const struct conf_variants *hw_fault_kinds(void);

/* ---- variations of a machine ------------------------------------------------------------------
 */

/** A numeric constant of machine files, for sweeps and sensitivity studies. */
struct hw_constant {
    const char *path; /**< without `cluster.`; static */
    int row;          /**< of the key table */
    bool whole;       /**< takes whole numbers only (of its base unit) */
};
/** Find the constant at @p path, with or without `cluster.`.  WSC_CONFIG, naming @p path: no such
 * key, or no number. */
enum wsc_err hw_constant_find(const char *path, struct hw_constant *out) WSC_CHECKED;
/** Read @p text, a value with its unit, into *@p value in base units.  WSC_CONFIG names the path.
 */
enum wsc_err hw_constant_read(const struct hw_constant *constant, const char *text,
                              double *value) WSC_CHECKED;
/** Write @p value (base units) with its unit into @p text, to four digits where it has more; 48
 * bytes are enough. */
void hw_constant_write(const struct hw_constant *constant, double value, char *text, size_t size);
/** The value of @p constant in @p cluster, base units. */
double hw_constant_get(const struct hw_constant *constant, const struct hw_machine *cluster);
/** Set @p constant to @p value (base units), rounded where it takes whole numbers only.  Sources
 * stay as they are, so @p cluster may be a shallow copy.  WSC_CONFIG: out of the key's range. */
enum wsc_err hw_constant_set(const struct hw_constant *constant, struct hw_machine *cluster,
                             double value) WSC_CHECKED;

/* ---- times and sizes --------------------------------------------------------------------------
 */

struct hw_faults;
/** A machine with its faults, borrowed for the life of the run. */
struct hw {
    const struct hw_machine *cluster; /**< constants */
    const struct hw_faults *faults;   /**< in the state of the present step; NULL: none */
};

/** Copy @p cluster to @p out without the mechanisms that its `effects` switch off: latencies and
 *  jitter become 0.  The copy is shallow: @p cluster owns what it points to.  The switches of the
 *  boundary, the reduction and the input act where these are computed. */
void hw_apply_effects(struct hw_machine *out, const struct hw_machine *cluster);
/** Duration of @p cycles wafer cycles, ps: ceil(cycles * 1e12 / clock), exact in integers.
 *  @p cycles >= 0, clock at most 1 THz.  INT64_MAX when the duration exceeds 106 days. */
int64_t hw_cycles_to_ps(const struct hw *hw, int64_t cycles);
/** Time from the edge of the wafer to its farthest PE, ps: one hop per column and row. */
int64_t hw_drain_ps(const struct hw *hw);
/** Number of processing elements (PEs) of one wafer. */
int64_t hw_n_pes(const struct hw *hw);
/** SRAM of one PE that activations may use, bytes. */
int64_t hw_activation_bytes_per_pe(const struct hw *hw);
/** SRAM of one wafer that activations may use, bytes. */
int64_t hw_activation_bytes(const struct hw *hw);
/** Wafer cycles (a real number) in which @p bytes cross the wafer's edge in one direction. */
double hw_io_cycles(const struct hw *hw, double bytes);
/** Rate of a link that has @p rate_bytes_per_s on all planes when @p lost of them are gone,
 * bytes/s, at least 1.  0 <= @p lost < planes. */
int64_t hw_rate_without_planes(const struct hw *hw, int64_t rate_bytes_per_s, int64_t lost);
/** Power of the whole cluster with @p n_csx wafers, their SwarmX tree and all MemoryX shards, W. */
double hw_cluster_power_w(const struct hw *hw, int64_t n_csx);

/* ---- faults ---------------------------------------------------------------------------------- */

/** One occurrence of a fault at one place; steps are counted as finished steps before them. */
struct hw_event {
    const struct hw_fault *fault; /**< borrowed from the machine */
    int place;                    /**< index of the wafer, SwarmX node or MemoryX shard */
    int64_t first_step;           /**< the first step that it affects */
    int64_t end_step;             /**< the first step after it; INT64_MAX: it lasts to the end */
};
/** The machine and the run that faults are sampled for. */
struct hw_fault_scope {
    int n_places[HW_N_PLACES]; /**< numbers of wafers, SwarmX nodes and MemoryX shards */
    uint64_t seed;             /**< of the random waiting times */
    int64_t last_step; /**< events that begin at or after this many finished steps are left out */
    int without;       /**< index of a fault to leave out, which shows its cost; -1: none */
};
/** Turn the faults of @p cluster into events.  A fault with a rate waits, at each of its places, a
 *  geometrically distributed number of steps, sampled from (seed, fault, place, occurrence): it
 * begins in each step with the same probability, but not while it lasts.  Samples do not depend on
 * last_step or on the number of ranks.  *@p out is owned by the caller and borrows @p cluster; NULL
 * after an error.  WSC_CONFIG: a place that the machine does not have, the last wafer or SwarmX
 * node lost, all planes of a link lost, or more than 10,000 events. */
enum wsc_err hw_faults_create(struct hw_faults **out, const struct hw_machine *cluster,
                              const struct hw_fault_scope *scope) WSC_CHECKED;
/** Free @p faults and set *@p faults to NULL. */
void hw_faults_destroy(struct hw_faults **faults);
/** The @p n events, sorted by first_step, then by the order of the list, then by place. */
const struct hw_event *hw_faults_events(const struct hw_faults *faults, int *n);
/** Bring the machine to the state of step @p step (finished steps before it).  A step that is
 * repeated after a restore meets its faults again, and what was lost since then stays lost. */
void hw_faults_move(struct hw_faults *faults, int64_t step);
/** Event number @p i, from 0, of those that begin with the present step; NULL past the last one,
 * and when the step is a repetition. */
const struct hw_event *hw_faults_new(const struct hw_faults *faults, int i);
/** The latest step that hw_faults_move() has reached, -1 at first; a checkpoint keeps it. */
int64_t hw_faults_reached(const struct hw_faults *faults);
/** Resume after a restart: @p reached is the hw_faults_reached() of the earlier run.  Until the
 * next hw_faults_move() the machine has no faults. */
void hw_faults_go_on(struct hw_faults *faults, int64_t reached);
/** The next step after the present one at which a fault begins or ends; INT64_MAX: none. */
int64_t hw_faults_next(const struct hw_faults *faults);

/** Factor on the compute time of @p wafer in the present step, at least 1. */
double hw_straggler(const struct hw *hw, int wafer);
/** Relative standard deviation of the compute time of @p wafer in the present step: the jitter of
 * the machine and of its faults, which are independent, so that their squares add up. */
double hw_jitter(const struct hw *hw, int wafer);
/** Divisor of the rate of the link of a wafer or SwarmX node towards MemoryX, at least 1. */
double hw_link_slowness(const struct hw *hw, enum hw_place place, int which);
/** Probability with which the link of a wafer or SwarmX node towards MemoryX loses a packet. */
double hw_link_loss(const struct hw *hw, enum hw_place place, int which);
/** Number of planes that SwarmX node @p node has lost in the present step. */
int64_t hw_lost_planes(const struct hw *hw, int node);
/** True when wafer or SwarmX node @p which is lost in the present step. */
bool hw_is_lost(const struct hw *hw, enum hw_place place, int which);
/** Recovery time before the present step, ps: the maximum over its new events, as the parts of a
 *  machine recover in parallel.  @p shard_bytes: what a lost shard reads from the checkpoint. */
int64_t hw_recovery_ps(const struct hw *hw, int64_t shard_bytes);
#endif
