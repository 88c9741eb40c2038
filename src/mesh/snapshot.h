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
/* The cycle @p last, or an earlier one if a snapshot is due after it. */
int64_t mesh_snapshot_horizon(const struct mesh *m, int64_t last);
/* How a program of a run begins. */
enum mesh_beginning {
    MESH_BEGINS,   /* in cycle 0 */
    MESH_OVER,     /* it ended before the snapshot; only its results are returned */
    MESH_CONTINUES /* in the cycle of the snapshot */
};
enum mesh_beginning mesh_snapshot_beginning(const struct mesh *m);
/* Return the counts of a program that had ended, and the words that it sent over edges. */
enum wsc_err mesh_snapshot_results(struct mesh *m, struct mesh_stats *stats);
/* Restore the state of the snapshot at the beginning of a run; sets @p next to its first cycle. */
enum wsc_err mesh_snapshot_restore(struct mesh *m, int64_t *next);
/* Record that a program has ended with the counts @p stats. */
enum wsc_err mesh_snapshot_ended(struct mesh *m, struct mesh_stats *stats);
/* True while the host repeats what it did before the snapshot. */
bool mesh_snapshot_repeats(const struct mesh *m);
/* Pass @p n bytes that the host reads from the fabric: they are recorded or, while the host
 * repeats, replaced by those of the snapshot. */
enum wsc_err mesh_snapshot_say(const struct mesh *m, void *bytes, int64_t n);
/* Note the observer that was attached. */
void mesh_snapshot_watch(struct mesh *m, struct mesh_watch *w);
#endif
