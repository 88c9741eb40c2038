/** Search for the streams that nothing can disturb during a batch of cycles, from the state at its
 *  beginning. mesh_flow.c calls it before a batch. */
#ifndef WSC_MESH_FLOW_FIND_H
#define WSC_MESH_FLOW_FIND_H
#include "mesh_flow_state.h"

/* Fills f->flows with the steady places of the region in the batch from f->first on, f->crossing
 * and f->unsteady; false when there are too few. */
bool mesh_flow_look_at(struct mesh_flow *f);
/* When all regions have done so: leaves in f->flows those that nothing can reach, fills f->link
 * with what streams take from places that are visited; false when there is nothing that is worth
 * it. With f->joins streams flow over borders of regions, if the others let them. */
bool mesh_flow_find(struct mesh_flow *f);
/* After it, when they do not: what is left when the places at such borders are visited. */
bool mesh_flow_find_apart(struct mesh_flow *f);
#endif
