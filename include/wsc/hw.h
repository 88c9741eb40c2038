/** The emulated hardware: what follows from the constants of a cluster file.  Layer 2.
 *
 *  The only place where cycles become picoseconds.  Nothing here knows a model.
 */
#ifndef WSC_HW_H
#define WSC_HW_H
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

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
