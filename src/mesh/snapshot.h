/** Times at which a run is written, and its continuation. run.c and mesh_cycle.c call these
 *  functions, and copies to the host pass through them. */
#ifndef WSC_MESH_SNAPSHOT_INTERNAL_H
#define WSC_MESH_SNAPSHOT_INTERNAL_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh_snapshot.h>

#include <stdbool.h>
#include <stdint.h>

/* Write the snapshots that are due between two cycles; @p next is the next cycle. False if the run
 * ends here, because of a signal or because the file could not be written (m->end_rc). */
bool mesh_snapshot_pass(struct mesh *m, int64_t next);
/* The cycle @p last, or an earlier one after which a snapshot is due. */
int64_t mesh_snapshot_horizon(const struct mesh *m, int64_t last);
/* How a program of a run begins. */
enum mesh_beginning {
    MESH_BEGINS,   /* in cycle 0 */
    MESH_OVER,     /* it had ended before the snapshot: only its results are given */
    MESH_CONTINUES /* in the cycle of the snapshot */
};
enum mesh_beginning mesh_snapshot_beginning(const struct mesh *m);
/* The counts and the words over edges of a program that had ended. */
enum wsc_err mesh_snapshot_results(struct mesh *m, struct mesh_stats *stats);
/* The state of the snapshot, after the beginning of a run; *@p next: its first cycle. */
enum wsc_err mesh_snapshot_restore(struct mesh *m, int64_t *next);
/* A program has ended with these counts. */
enum wsc_err mesh_snapshot_ended(struct mesh *m, struct mesh_stats *stats);
/* Does the host repeat what it did before the snapshot? */
bool mesh_snapshot_repeats(const struct mesh *m);
/* What the host reads of the fabric, @p n bytes: kept, or when it repeats given from the snapshot.
 */
enum wsc_err mesh_snapshot_say(const struct mesh *m, void *bytes, int64_t n);
/* An observer that was attached. */
void mesh_snapshot_watch(struct mesh *m, struct mesh_watch *w);
#endif
