/** The emulated hardware: what follows from the constants of a cluster file.  Layer 2.
 *
 *  The only place where cycles become picoseconds.  Nothing here knows a model.
 */
#ifndef WSC_HW_H
#define WSC_HW_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/hw.h>

#include <stdbool.h>
#include <stdint.h>

enum { HW_MAX_SHARDS = 64 };

/* ---- faults ---------------------------------------------------------------------------------- */

enum hw_fault_kind {
    HW_FAULT_STRAGGLER,   /**< a system computes slower */
    HW_FAULT_JITTER,      /**< a system's compute time varies from step to step */
    HW_FAULT_LOST_WAFER,  /**< a system is gone; the others share its part of the batch */
    HW_FAULT_SLOW_LINK,   /**< a link has a part of its rate */
    HW_FAULT_LOSSY_LINK,  /**< a link loses packets */
    HW_FAULT_LOST_PLANES, /**< planes of all links of a SwarmX node */
    HW_FAULT_LOST_NODE,   /**< a SwarmX node is gone; the tree is formed anew */
    HW_FAULT_LOST_SHARD,  /**< a MemoryX shard loses its memory */
    HW_N_FAULT_KINDS
};
/** Where faults happen.  The link of a wafer or SwarmX node is the one towards MemoryX. */
enum hw_place { HW_PLACE_WAFER, HW_PLACE_NODE, HW_PLACE_SHARD, HW_N_PLACES };
enum { HW_FAULT_TEXT_BYTES = 128 };
/** One entry of `faults:` or `--fault`. */
struct hw_fault {
    enum hw_fault_kind kind;
    enum hw_place place;
    int64_t where; /**< which wafer, node or shard; CONF_NULL: every one */
    int64_t from;  /**< the first step that it touches, from 1 */
    int64_t steps; /**< how many; 0: to the end */
    double rate;   /**< probability that it begins in a step, for each place; 0: at @c from */
    double amount; /**< factor, deviation, share of packets, planes; 0 where there is none */
    char text[HW_FAULT_TEXT_BYTES]; /**< as `--fault` takes it */
};
/** "wafer", "node", "shard". */
const char *hw_place_name(enum hw_place place);

/* ---- cluster --------------------------------------------------------------------------------- */

enum hw_granularity { HW_STREAM_BLOCK, HW_STREAM_MATRIX };

/** The emulated machine.  Base units: ps, bytes, bytes/s, Hz, W. */
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
        int64_t vector_setup_fp32_cycles; /**< the same, 32-bit operands */
        int64_t vector_setup_add_cycles;  /**< start of an addition, product or maximum */
        int64_t vector_setup_copy_cycles; /**< start of a copy or of scalar code over a vector */
        int64_t vector_loop_cycles;  /**< from one vector operation of a loop to the next, beside
                                          the start: operand addresses, the scalar */
        int64_t hop_cycles;          /**< router to router */
        int64_t ramp_cycles;         /**< router to PE, each way */
        int64_t exp_cycles;          /**< one exponential on one PE */
        int64_t divide_cycles;       /**< one division or square root on one PE */
        int64_t io_rate_bytes_per_s; /**< one direction */
        int64_t stage_latency_ps;    /**< fixed start cost of a stage */
        double kernel_factor;        /**< on the cycles of all kernels; 1: as the formulas say */
        int64_t peak_flop_per_s;     /**< dense 16-bit, for MFU only */
        int64_t system_power_w;
    } wafer;
    struct hw_swarmx {
        int64_t fanout;
        int64_t link_rate_bytes_per_s; /**< one direction, all planes together */
        int64_t link_latency_ps;       /**< one hop of cable and NICs */
        int64_t latency_ps;            /**< a node: first byte in to first byte out, down */
        int64_t add_latency_ps;        /**< the same upwards, with the addition */
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
    /** What it takes to go on after a fault; a step of a sound machine needs none of it. */
    struct hw_recovery {
        int64_t detection_ps;             /**< a part fails to the job knows */
        int64_t redistribution_ps;        /**< a lost system's share goes to the others */
        int64_t reroute_ps;               /**< a SwarmX tree gets along without a node */
        int64_t restore_rate_bytes_per_s; /**< a checkpoint into one shard */
    } recovery;
    /** Links that lose packets: go-back-N, see <wsc/vtime.h>. */
    struct hw_retransmit {
        int64_t packet_bytes;
        int64_t timeout_ps; /**< when no later packet tells that one is missing */
    } retransmit;
    struct hw_fault_list {
        struct hw_fault *item; /**< owned, in the order of file and command line */
        int n;
    } faults;
    uint64_t hash;            /**< of all values: which machine a number belongs to */
    struct hw_source *source; /**< owned; where each constant comes from, table order */
    int n_sources;
    char *file; /**< owned */
};

/** Provenance of one constant, for tables and reports. */
struct hw_source {
    const char *key;  /**< "wafer.clock"; static */
    char *value;      /**< as written, with unit; owned */
    const char *kind; /**< documented, derived, assumed or calibrated; static */
    char *source;     /**< owned */
    /** Where the true value may lie, base units; low <= high, both the value itself when nothing
     *  is uncertain or when the constant is no number. */
    double low, high;
};

/* ---- machine files --------------------------------------------------------------------------- */

/** Read a cluster file and what it is based on (`base: other.yaml`) as one text for
 *  hw_machine_parse(); owned by the caller.  A missing base and a circle are errors that name the
 *  line. */
enum wsc_err hw_machine_read(const char *path, char **text, size_t *n) WSC_CHECKED;
/** Parse a cluster file from memory; NULL @p bytes takes the built-in CS-2 (the text of
 *  configs/cluster/cs2.yaml, compiled in), NULL @p file its name.  Only the `cluster.` sets are
 *  looked at; hw_machine_fini() @p out also after an error. */
enum wsc_err hw_machine_parse(struct hw_machine *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
void hw_machine_fini(struct hw_machine *cluster);
/** True when @p bytes look like a cluster file (a `schema_version` with `wafer` or `base`). */
bool hw_is_machine_file(const char *bytes, size_t n_bytes);
/** The key table of machine files. */
const struct conf_table *hw_machine_table(void);
/** Kinds of faults and their keys, by enum hw_fault_kind. */
const struct conf_variants *hw_fault_kinds(void);

/* ---- variations of a machine ------------------------------------------------------------------
 */

/** A numeric constant of a cluster file. */
struct hw_constant {
    const char *path; /**< without `cluster.`; static */
    int row;          /**< of the key table */
    bool whole;       /**< takes whole numbers only (of its base unit) */
};
/** Find one; unknown paths and constants that are no number are errors that name @p path. */
enum wsc_err hw_constant_find(const char *path, struct hw_constant *out) WSC_CHECKED;
/** Read a value with its unit, in base units; errors name the path. */
enum wsc_err hw_constant_read(const struct hw_constant *constant, const char *text,
                              double *value) WSC_CHECKED;
/** Write @p value with its unit, to four digits where it has many; 48 bytes are enough. */
void hw_constant_write(const struct hw_constant *constant, double value, char *text, size_t size);
/** The value that @p cluster has. */
double hw_constant_get(const struct hw_constant *constant, const struct hw_machine *cluster);
/** Give it another one, rounded to a whole number where the constant takes no other; sources stay
 *  as they are, so @p cluster may be a shallow copy.  Out of the key's range is an error. */
enum wsc_err hw_constant_set(const struct hw_constant *constant, struct hw_machine *cluster,
                             double value) WSC_CHECKED;

/* ---- the emulated hardware ------------------------------------------------------------------- */

struct hw_faults;
/** A view of a cluster file, borrowed for the life of the run. */
struct hw {
    const struct hw_machine *cluster;
    const struct hw_faults *faults; /**< in the state of the step at hand; NULL: none */
};

/** Constants that differ from @p cluster where `effects` switches a mechanism off: no latencies, no
 *  jitter.  A shallow copy; the original owns what it points to.  (The switches of the boundary, of
 *  the reduction and of the input are looked at where these happen.) */
void hw_apply_effects(struct hw_machine *out, const struct hw_machine *cluster);
/** Picoseconds of @p cycles wafer cycles, rounded up, exact in integers; @p cycles >= 0, clock at
 *  most 1 THz.  INT64_MAX when they are more than 106 days. */
int64_t hw_cycles_to_ps(const struct hw *hw, int64_t cycles);
/** Time from the edge of the wafer to its farthest PE: one hop per column and row. */
int64_t hw_drain_ps(const struct hw *hw);
/** PEs of one wafer. */
int64_t hw_n_pes(const struct hw *hw);
/** SRAM that activations may use, bytes: of one PE, of one wafer. */
int64_t hw_activation_bytes_per_pe(const struct hw *hw);
int64_t hw_activation_bytes(const struct hw *hw);
/** Wafer cycles (a real number) in which @p bytes cross the wafer's edge in one direction. */
double hw_io_cycles(const struct hw *hw, double bytes);
/** Depth of the SwarmX tree for @p n_csx wafers: ceil(log_fanout n), 0 for one wafer or none. */
int hw_swarmx_levels(const struct hw *hw, int64_t n_csx);
/** Nodes of that tree: the sum over levels of ceil(children / fanout). */
int64_t hw_swarmx_nodes(const struct hw *hw, int64_t n_csx);
/** @p rate_bytes_per_s of a link with @p lost of its planes gone, at least 1. */
int64_t hw_rate_without_planes(const struct hw *hw, int64_t rate_bytes_per_s, int64_t lost);
/* ---- faults ---------------------------------------------------------------------------------- */

/** A fault at one place and time. */
struct hw_event {
    const struct hw_fault *fault; /**< borrowed from the cluster file */
    int place;                    /**< which wafer, SwarmX node or MemoryX shard */
    int64_t first_step;           /**< finished steps before the first one that it touches */
    int64_t end_step;             /**< and before the first one that it does not; INT64_MAX */
};
/** How many wafers, SwarmX nodes and MemoryX shards there are, and what draws. */
struct hw_fault_scope {
    int n_places[HW_N_PLACES];
    uint64_t seed;
    int64_t last_step; /**< events that begin at or after this many finished steps are left out */
    int without;       /**< leave out this fault of the list, to tell what it costs; -1: none */
};
/** What the faults of @p cluster come to.  A fault with a rate waits, at each of its places, a
 *  number of steps that is drawn from (seed, fault, place, how many before): geometric, so that it
 *  begins in each step with the same probability; it cannot begin while it lasts.  So what is drawn
 *  does not depend on last_step, ranks or who asks.
 *  Errors: a place that is not there, the last wafer or SwarmX node lost, as many planes lost as
 *  there are, more than 10,000 events. */
enum wsc_err hw_faults_create(struct hw_faults **out, const struct hw_machine *cluster,
                              const struct hw_fault_scope *scope) WSC_CHECKED;
void hw_faults_destroy(struct hw_faults **faults);
/** All events, by first_step, then in the order of the list and of the places. */
const struct hw_event *hw_faults_events(const struct hw_faults *faults, int *n);
/** Bring the machine to the state of step @p step (finished steps before it).  A step that was
 *  reached before meets the faults of that step again, but what was lost since then stays lost. */
void hw_faults_move(struct hw_faults *faults, int64_t step);
/** Events that begin with the present step, when it is reached for the first time: number @p i of
 *  them, from 0, or NULL. */
const struct hw_event *hw_faults_new(const struct hw_faults *faults, int i);
/** The latest step that was reached, -1 at first; and to go on with that of an earlier run, up to
 *  the next hw_faults_move() without faults. */
int64_t hw_faults_reached(const struct hw_faults *faults);
void hw_faults_go_on(struct hw_faults *faults, int64_t reached);
/** The next step after the present one in which the machine is another; INT64_MAX: none. */
int64_t hw_faults_next(const struct hw_faults *faults);

/** In the present step: factor on the compute time of @p wafer, at least 1. */
double hw_straggler(const struct hw *hw, int wafer);
/** Relative standard deviation of its compute time, that of the machine included: independent ones
 *  add up as squares. */
double hw_jitter(const struct hw *hw, int wafer);
/** Divisor of the rate of the link of a wafer or node towards MemoryX, and the probability with
 *  which it loses a packet. */
double hw_link_slowness(const struct hw *hw, enum hw_place place, int which);
double hw_link_loss(const struct hw *hw, enum hw_place place, int which);
/** Planes that SwarmX node @p node has lost. */
int64_t hw_lost_planes(const struct hw *hw, int node);
/** True when this wafer or node is gone. */
bool hw_is_lost(const struct hw *hw, enum hw_place place, int which);
/** Time from the new events of the present step to its start, ps: the longest, as the parts of a
 *  machine recover side by side.  @p shard_bytes: what a lost shard
 *  reads from the checkpoint. */
int64_t hw_recovery_ps(const struct hw *hw, int64_t shard_bytes);

/** Power of the whole cluster with @p n_csx wafers, watts. */
double hw_cluster_power_w(const struct hw *hw, int64_t n_csx);
#endif
