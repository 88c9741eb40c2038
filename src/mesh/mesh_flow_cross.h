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

/* Sets m->crossing: MESH_CROSS_NONE, _VISITED when regions have only to verify, or _TRIED. */
void mesh_flow_meet(struct mesh *m);
/* Steady places are unsteady if those beyond the border do not take part in their streams. */
void mesh_flow_verify(struct mesh_region *r);
/* Sets m->crossing: MESH_CROSS_EARLY or _LATE when streams flow over borders, or _VISITED. */
void mesh_flow_agree(struct mesh *m);
#endif
