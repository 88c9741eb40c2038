/** Repeats a recorded run: the operations with new values, without cycles.
 *
 *  repeat.c plays what recording_end.c has made. */
#ifndef WSC_MESH_PLAY_H
#define WSC_MESH_PLAY_H
#include "recorded.h"

/* Words of a run that is played: of no use between runs, so that one of these serves all of them.
 */
struct mesh_words {
    uint32_t *value, *received; /* owned (room, received_room): words of the run; of one step */
    int64_t room, received_room;
};
void mesh_words_fini(struct mesh_words *w);

/* True when the next run of @p m has the recorded program, with the same sources but for their
 * values, and sinks with room. */
bool mesh_play_fits(const struct mesh_recorded *r, const struct mesh *m);
/* Carry out the steps on the memory of the PEs, from the sources to the sinks. False: no memory for
 * the words, and nothing is done. */
bool mesh_play(const struct mesh_recorded *r, struct mesh_words *w, struct mesh *m);
#endif
