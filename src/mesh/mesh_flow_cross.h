/** Streams that flow from one region of a process to the next.  team.c calls these functions
 * between mesh_flow_look() and mesh_flow_begin():
 *
 *      mesh_flow_meet()      one thread, when all regions have looked: is there more to do?
 *      mesh_flow_verify()    each thread
 *      mesh_flow_join()      each thread, when all have verified; mesh_flow.h
 *      mesh_flow_agree()     one thread, when all have found their streams
 */
#ifndef WSC_MESH_FLOW_CROSS_H
#define WSC_MESH_FLOW_CROSS_H
#include "mesh_state.h"

/* Decide whether streams may cross borders: sets m->crossing to MESH_CROSS_NONE, _VISITED (regions
 * only verify each other's places) or _TRIED. */
void mesh_flow_meet(struct mesh *m);
/* Mark steady places as unsteady if the place across the border does not take part in their
 * stream. */
void mesh_flow_verify(struct mesh_region *r);
/* Sets m->crossing to MESH_CROSS_EARLY or _LATE if all regions agree that streams cross, otherwise
 * to _VISITED. */
void mesh_flow_agree(struct mesh *m);
#endif
