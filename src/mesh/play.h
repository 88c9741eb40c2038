/** Repeats a recorded run: the operations with new values, without cycles. */
#ifndef WSC_MESH_PLAY_H
#define WSC_MESH_PLAY_H
#include "recording.h"

/* True when the next run of @p m has the recorded program, with the same sources but for their
 * values, and sinks with room. */
bool mesh_play_fits(const struct mesh_recording *c, const struct mesh *m);
/* Carry out the steps on the memory of the PEs, from the sources to the sinks. */
void mesh_play(struct mesh_recording *c, struct mesh *m);
#endif
