/** Lookahead of processes that share a fabric: the number of cycles that a band of rows may run
 *  before anything can cross its borders. mesh_share.c calls it. */
#ifndef WSC_MESH_AHEAD_H
#define WSC_MESH_AHEAD_H
#include "mesh_state.h"

#include <stdint.h>

/* A channel in the row of this process at a border, which takes wavelets from the neighbour's row
 * or sends them there in some switch position. All traffic over the border goes through such
 * channels. */
struct mesh_crossing {
    int32_t router, channel; /* of the fabric */
};
/* Directions from which a channel takes wavelets, or to which it sends them, over all positions of
 * its switch. */
unsigned mesh_inputs_of(const struct mesh *m, const struct mesh_channel *ch);
unsigned mesh_outputs_of(const struct mesh *m, const struct mesh_channel *ch);
/* A lower bound of the cycle in which a wavelet leaves one of the @p n channels at @p crossing, as
 * long as none comes from the neighbours; at least the next cycle. */
int64_t mesh_ahead(const struct mesh *m, const struct mesh_crossing *crossing, int n);
#endif
