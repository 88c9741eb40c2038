/** Events of the machine as slices on the rows of a trace, for the PEs that an observer traces;
 *  mesh_watch.c passes them on, trace_write.c writes them. */
#ifndef WSC_MESH_WATCH_TRACE_H
#define WSC_MESH_WATCH_TRACE_H
#include "mesh_state.h"
#include "watch_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_trace_begin(struct mesh *m);
void mesh_trace_finish(struct mesh *m);
void mesh_trace_free(struct mesh_watch *w);
/* Record that a wavelet occupies a row of PE @p pe for one cycle; @p o stores the event. */
void mesh_trace_wavelet(struct mesh *m, int64_t now, int64_t pe, int row, int colour,
                        uint64_t entry, struct mesh_watch_origin *o);
void mesh_trace_task(struct mesh_pe *pe, int id, int queue);
void mesh_trace_wait(struct mesh_pe *pe);
void mesh_trace_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_trace_arrival(struct mesh_pe *pe, int thread);
void mesh_trace_op_end(struct mesh_pe *pe, int thread, int64_t end);
#endif
