/** Lookahead of processes that share a fabric: the number of cycles that a band of rows may run
 *  before anything can cross its borders. mesh_share.c calls it. */
#ifndef WSC_MESH_AHEAD_H
#define WSC_MESH_AHEAD_H
#include "mesh_state.h"

#include <stdint.h>

/* A channel of an own row at a border that takes from the neighbour's row or sends there, in some
 * position of its switch: all that crosses the border goes through one. */
struct mesh_crossing {
    int32_t router, channel; /* of the fabric */
};
/* Directions from which a channel takes and to which it sends, in all positions. */
unsigned mesh_inputs_of(const struct mesh *m, const struct mesh_channel *ch);
unsigned mesh_outputs_of(const struct mesh *m, const struct mesh_channel *ch);
/* A cycle up to which, itself not included, nothing leaves the @p n channels at @p crossing, as
 * long as nothing comes from the neighbours; at least the next one. */
int64_t mesh_ahead(const struct mesh *m, const struct mesh_crossing *crossing, int n);
#endif
