/** The state of a row of the fabric as bytes of a snapshot, the same for any division of the rows
 *  into bands of threads or processes. */
#ifndef WSC_MESH_SNAPSHOT_PE_H
#define WSC_MESH_SNAPSHOT_PE_H
#include "mesh_state.h"
#include "snapshot_stream.h"

#include <wsc/err.h>

#include <stdint.h>

/* Timers of the regions of this process, sorted by PE of the fabric; owned. */
struct mesh_snapshot_timers {
    struct mesh_timer *timer; /* at: of the fabric */
    int64_t n, capacity;
};
/* Collect the timers before rows are written. */
enum wsc_err mesh_snapshot_timers(const struct mesh *m, struct mesh_snapshot_timers *t);
/* Pass row @p y through the stream, between the end of a cycle and the next one. @p only_channels:
 * the part that a process keeps of a neighbour's row; used only for reading. */
enum wsc_err mesh_snapshot_row(struct mesh *m, struct mesh_stream *s, int y,
                               const struct mesh_snapshot_timers *t, bool only_channels);
#endif
