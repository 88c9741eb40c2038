/** Gradients through a SwarmX node: piece by piece where ranks are on several hosts, otherwise
 *  whole. */
#ifndef WSC_SWARMX_PIECES_H
#define WSC_SWARMX_PIECES_H
#include "swarmx_state.h"

/* Adds the children's gradients at @p at and sends the sums to the parent, or to every shard its
 * part: while they arrive where links hand messages over early, otherwise whole
 * (swarmx_reduce.c).  Sums, messages and times are the same. */
enum wsc_err swarmx_reduce_gradients(struct swarmx *sx, const struct stream_at *at) WSC_CHECKED;
#endif
