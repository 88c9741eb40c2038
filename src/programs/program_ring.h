/** An all-gather on a row: every position sends words to all positions. Words are sent in blocks,
 *  and a block in rounds: in each round every position of the block sends its words, from west to
 *  east. Words of a group are gathered at its first position (a switch advances to the positions
 *  after it and back), those of all groups at position 0 in the same way. Position 0 broadcasts. */
#ifndef WSC_PROGRAMS_RING_H
#define WSC_PROGRAMS_RING_H
#include "program_chain.h"
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>

/** A block of words: those of positions first .. end - 1 or, with @c part, words slot .. slot +
 *  words - 1 of one position. */
struct programs_ring_block {
    int first, end, slot;
    int before;      /**< words of the positions before the first one */
    int words;       /**< words of one round */
    bool part, last; /**< last: has the last words of its position */
};
struct programs_ring {
    int n;            /**< positions */
    const int *count; /**< words of each position in all blocks; borrowed */
    int n_blocks, most;
    struct programs_ring_block *block; /**< owned */
};
/** Divide the words of @p n positions into blocks of at most @p most words. */
enum wsc_err programs_ring_init(struct programs_ring *r, int n, const int *count, int most);
void programs_ring_fini(struct programs_ring *r);
/** Set routes on a row and bind the task that sends. */
enum wsc_err programs_ring_route(struct programs_grid *g, const struct programs_line *l,
                                 mesh_task_fn send);
/** The words that a PE sends: word @p slot of round i is at address + 4 (slot stride + i). */
struct programs_ring_send {
    const struct programs_ring *ring;
    int rounds, address, stride;
    bool half;   /**< words are 16-bit numbers ... */
    bool narrow; /**< ... but stored as 32-bit ones */
};
/** Body of the sending task. A round begins when the words of the last one have returned
 *  (programs_ring_passed()). All control wavelets of that round have then passed, so no word can
 *  overtake one. */
enum wsc_err programs_ring_step(struct mesh_pe *pe, const struct programs_ring_send *s,
                                int position);
/** Report that the PE has received all words of a round. */
enum wsc_err programs_ring_passed(struct mesh_pe *pe);
#endif
