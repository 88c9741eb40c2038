/** Words that every position of a row sends to all of the row, in turns. Words come in blocks and
 *  within a block in rounds: in each round every position of the block sends its words, from west
 *  to east. Positions are collected in groups at the group's first one (a switch advances to those
 *  after it and back), the groups in the same way at position 0, which broadcasts all words. */
#ifndef WSC_PROGRAMS_RING_H
#define WSC_PROGRAMS_RING_H
#include "program_chain.h"
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>

/** Positions first .. end - 1; or words slot .. slot + words - 1 of one position, with @c part. */
struct programs_ring_block {
    int first, end, slot;
    int before;      /**< words of the positions before the first one */
    int words;       /**< of a round */
    bool part, last; /**< last: of the words of its position */
};
struct programs_ring {
    int n;            /**< positions */
    const int *count; /**< words of each position in all blocks; borrowed */
    int n_blocks, most;
    struct programs_ring_block *block; /**< owned */
};
/** Blocks of at most @p most words. */
enum wsc_err programs_ring_init(struct programs_ring *r, int n, const int *count, int most);
void programs_ring_fini(struct programs_ring *r);
/** Routes on a row, and the task that sends. */
enum wsc_err programs_ring_route(struct programs_grid *g, const struct programs_line *l,
                                 mesh_task_fn send);
/** What a PE sends: word @p slot of round i lies at address + 4 (slot stride + i). */
struct programs_ring_send {
    const struct programs_ring *ring;
    int rounds, address, stride;
    bool half;   /**< words are 16-bit numbers ... */
    bool narrow; /**< ... which lie in memory as 32-bit ones */
};
/** Body of the task.  A round begins when the one before has come back (programs_ring_passed):
 *  what turns a switch is then gone, and nothing overtakes it. */
enum wsc_err programs_ring_step(struct mesh_pe *pe, const struct programs_ring_send *s,
                                int position);
/** The PE has got all words of a round. */
enum wsc_err programs_ring_passed(struct mesh_pe *pe);
#endif
