/** The emulated hardware: what follows from the constants of a cluster file.  Layer 2.
 *
 *  The only place where cycles become picoseconds.  Nothing here knows a model.
 */
#ifndef WSC_HW_H
#define WSC_HW_H
#include <wsc/conf.h>

#include <stdint.h>

/** A view of a cluster file, borrowed for the life of the run. */
struct hw {
    const struct conf_cluster *cluster;
};

/** Constants that differ from @p cluster where `effects` switches a mechanism off: no latencies, no
 *  jitter.  A shallow copy; the original owns what it points to.  (The switches of the boundary, of
 *  the reduction and of the input are looked at where these happen.) */
void hw_apply_effects(struct conf_cluster *out, const struct conf_cluster *cluster);
/** Picoseconds of @p cycles wafer cycles, rounded up, exact in integers; @p cycles >= 0, less than
 *  106 days, clock at most 1 THz. */
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
/** Power of the whole cluster with @p n_csx wafers, watts. */
double hw_cluster_power_w(const struct hw *hw, int64_t n_csx);
#endif
