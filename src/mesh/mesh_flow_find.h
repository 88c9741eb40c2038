/** Which streams nothing can disturb during a batch of cycles, by the state at its beginning;
 *  mesh_flow.c asks before a batch. */
#ifndef WSC_MESH_FLOW_FIND_H
#define WSC_MESH_FLOW_FIND_H
#include "mesh_flow_state.h"

/* Fills f->flows for the batch from f->first on, and f->link with what streams take from places
 * that are visited; false when there is nothing that is worth it. */
bool mesh_flow_find(struct mesh_flow *f);
#endif
