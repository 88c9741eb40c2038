/** The cycles of a batch at once, for the streams that flow; mesh_flow.c calls the first function
 *  before a batch and the second one after it. */
#ifndef WSC_MESH_FLOW_RUN_H
#define WSC_MESH_FLOW_RUN_H
#include "mesh_flow_state.h"

/* Streams that begin at a PE which flows. */
void mesh_flow_early(struct mesh_flow *f);
/* Streams that take from a place that was visited, when the batch has been run. */
void mesh_flow_late(struct mesh_flow *f);
#endif
