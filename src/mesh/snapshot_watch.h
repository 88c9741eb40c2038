/** Counts, paths and traces of an observer as bytes of
 *  a snapshot. snapshot.c calls it. */
#ifndef WSC_MESH_SNAPSHOT_WATCH_H
#define WSC_MESH_SNAPSHOT_WATCH_H
#include "mesh_state.h"
#include "snapshot_stream.h"

#include <wsc/err.h>

#include <stdbool.h>

/* Has the observer (or NULL) seen a run begin? */
bool mesh_snapshot_has_watch(const struct mesh_watch *w);
/* What an observer with causes or traces keeps of the PEs from @p first up to @p end: paths and
 * events; read, they replace those it has. */
enum wsc_err mesh_snapshot_watch_places(struct mesh_watch *w, struct mesh_stream *s, int64_t first,
                                        int64_t end);
/* The state of an observer; read into one with the same configuration, whatever it holds. */
enum wsc_err mesh_snapshot_watch_state(struct mesh_watch *w, struct mesh_stream *s);
#endif
