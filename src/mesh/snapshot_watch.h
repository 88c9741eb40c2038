/** Counts, paths and traces of an observer as bytes of
 *  a snapshot. snapshot.c calls it. */
#ifndef WSC_MESH_SNAPSHOT_WATCH_H
#define WSC_MESH_SNAPSHOT_WATCH_H
#include "mesh_state.h"
#include "snapshot_stream.h"

#include <wsc/err.h>

#include <stdbool.h>

/* True when the observer (or NULL) has seen a run begin. */
bool mesh_snapshot_has_watch(const struct mesh_watch *w);
/* Pass what an observer with causes or traces keeps of the PEs from @p first up to @p end: paths
 * and events. Reading replaces those that it has. */
enum wsc_err mesh_snapshot_watch_places(struct mesh_watch *w, struct mesh_stream *s, int64_t first,
                                        int64_t end);
/* Pass the state of an observer. Reading needs an observer with equal configuration and replaces
 * its state. */
enum wsc_err mesh_snapshot_watch_state(struct mesh_watch *w, struct mesh_stream *s);
#endif
