/** Runs that repeat: the second run with a key is recorded, later ones are played.
 *
 *  run.c calls these functions; mesh_repeat() is in <wsc/mesh.h>. */
#ifndef WSC_MESH_REPEAT_H
#define WSC_MESH_REPEAT_H
#include "mesh_state.h"

#include <wsc/err.h>

/* Carry out the next run, which mesh_repeat() announced, without cycles, if a recording fits it.
 * True: done, and @p stats are those of the recorded run. */
bool mesh_repeat_play(struct mesh *m, struct mesh_stats *stats);
/* True when the next run is to be recorded. */
bool mesh_repeat_wants(const struct mesh *m);
/* Record the next run; @p simulate runs it. */
enum wsc_err mesh_repeat_record(struct mesh *m, struct mesh_stats *stats,
                                enum wsc_err (*simulate)(struct mesh *m,
                                                         struct mesh_stats *stats)) WSC_CHECKED;
/* The run has ended, with @p stats or (NULL) an error: forget its key. */
void mesh_repeat_end(struct mesh *m, const struct mesh_stats *stats);
void mesh_repeats_free(struct mesh_repeats *r);
#endif
