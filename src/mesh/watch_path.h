/** Events of the machine as causes of each other, from which the critical path of a run follows;
 *  mesh_watch.c passes them on. */
#ifndef WSC_MESH_WATCH_PATH_H
#define WSC_MESH_WATCH_PATH_H
#include "mesh_state.h"
#include "watch_state.h"

#include <stdint.h>

void mesh_watch_fail(struct mesh_watch *w);
struct mesh_watch_flow *mesh_watch_flow(struct mesh_watch *w, int64_t pe);
/* Free @p f and all it owns; NULL is allowed. */
void mesh_watch_flow_free(struct mesh_watch_flow *f);
struct mesh_watch_origin *mesh_watch_slot(struct mesh_watch *w, struct mesh_watch_origin **queue,
                                          int slot);
void mesh_path_task(struct mesh_pe *pe, int queue);
void mesh_path_wait(struct mesh_pe *pe);
void mesh_path_join(struct mesh_pe *pe, int thread);
void mesh_path_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_path_arrival(struct mesh_pe *pe, int thread);
void mesh_path_element(struct mesh_pe *pe, int thread);
void mesh_path_op_end(struct mesh_pe *pe, int thread, int64_t end);
/* Set the path to the last event of the run. */
void mesh_path_end(struct mesh *m);
#endif
