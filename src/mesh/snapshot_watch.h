/** What an observer has counted so far, as bytes of a snapshot. */
#ifndef WSC_MESH_SNAPSHOT_WATCH_H
#define WSC_MESH_SNAPSHOT_WATCH_H
#include "mesh_state.h"
#include "snapshot_stream.h"

#include <wsc/err.h>

#include <stdbool.h>

/* Has the observer (or NULL) seen a run begin? */
bool mesh_snapshot_has_watch(const struct mesh_watch *w);
/* All of it; read into an observer with the same configuration, whatever it holds. */
enum wsc_err mesh_snapshot_watch_state(struct mesh_watch *w, struct mesh_stream *s);
#endif
