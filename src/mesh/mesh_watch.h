/** Events of the machine as an observer counts them; it passes them on as causes (watch_path.h) and
 * slices (watch_trace.h). */
#ifndef WSC_MESH_MESH_WATCH_H
#define WSC_MESH_MESH_WATCH_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

/* Free the observations of the previous run; the observer and its configuration are kept. */
void mesh_watch_forget(struct mesh_watch *w);
/* Allocate memory for the sizes that are set. */
enum wsc_err mesh_watch_allocate(struct mesh_watch *w);
enum wsc_err mesh_watch_begin(struct mesh *m);
/* After a run of @p cycles: complete the counts of the PEs of this process. WSC_NOMEM when an
 * observation could not be stored. */
enum wsc_err mesh_watch_settle(struct mesh *m, int64_t cycles);
/* With the counts of all PEs: complete the critical path and the trace. */
void mesh_watch_finish(struct mesh *m);
void mesh_watch_channel(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch);
void mesh_watch_held(struct mesh *m, int64_t now, int64_t router, int colour);
void mesh_watch_left(struct mesh *m, int64_t now, int64_t router, int colour);
void mesh_watch_side(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch,
                     int d);
void mesh_watch_down(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch);
void mesh_watch_enters(struct mesh *m, int64_t now, const struct mesh_source *s,
                       const struct mesh_channel *to);
void mesh_watch_up(struct mesh_pe *pe, int queue, const struct mesh_channel *to);
void mesh_watch_task(struct mesh_pe *pe, int id, int queue);
void mesh_watch_wait(struct mesh_pe *pe);
void mesh_watch_join(struct mesh_pe *pe, int thread);
void mesh_watch_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_watch_element(struct mesh_pe *pe, int thread);
void mesh_watch_arrival(struct mesh_pe *pe, int thread);
void mesh_watch_crowded(struct mesh_pe *pe, int thread);
void mesh_watch_memory(struct mesh_pe *pe, int thread);
void mesh_watch_op_end(struct mesh_pe *pe, int thread, int64_t end);
void mesh_watch_advance_switch(struct mesh_pe *pe);
void mesh_watch_cycle(struct mesh_pe *pe);
#endif
