/** Search for the streams that nothing can disturb during a batch of cycles, from the state at its
 *  beginning. mesh_flow.c calls it before a batch. */
#ifndef WSC_MESH_FLOW_FIND_H
#define WSC_MESH_FLOW_FIND_H
#include "mesh_flow_state.h"

/* Set f->flows to the steady places of the region in the batch that begins in cycle f->first; also
 * set f->crossing and f->unsteady. False when there are too few. */
bool mesh_flow_look_at(struct mesh_flow *f);
/* Call it when all regions have called mesh_flow_look_at(). Keeps in f->flows only places that
 * nothing can reach, and fills f->link with the channels between them and visited places. False if
 * there are too few. With f->joins, streams cross borders of regions if the other regions agree. */
bool mesh_flow_find(struct mesh_flow *f);
/* Call it after mesh_flow_find() if other regions do not agree: the places at such borders are
 * visited, and the remaining ones flow. */
bool mesh_flow_find_apart(struct mesh_flow *f);
#endif
