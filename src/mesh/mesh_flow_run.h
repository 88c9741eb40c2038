/** The cycles of a batch at once, for the streams that flow; mesh_flow.c calls the first function
 *  before a batch and the second one after it. */
#ifndef WSC_MESH_FLOW_RUN_H
#define WSC_MESH_FLOW_RUN_H
#include "mesh_flow_state.h"

/* Move the streams that begin at a PE which flows, before the batch. */
void mesh_flow_early(struct mesh_flow *f);
/* Move the streams that take words from a visited place, after the batch. */
void mesh_flow_late(struct mesh_flow *f);
#endif
