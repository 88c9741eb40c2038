/** Sums of the squares of each leaf's gradient, which host_grad.c passes on while it adds the
 *  leaves up; host_measure_leaves() of <wsc/host.h> switches it on. */
#ifndef WSC_HOST_SQUARES_H
#define WSC_HOST_SQUARES_H
#include "host_gradient.h"
#include "host_state.h"

#include <stdint.h>

void host_squares_begin(struct host *k);
void host_squares_destroy(struct host *k);
/** Prepare for @p n_items blocks of the current gradients. */
void host_squares_expect(const struct host *k, int64_t n_items);
/** A block of a gradient: rows [r0, r0 + n), its elements and its index. */
struct host_squares_block {
    int64_t r0, n;
    int64_t n_elems; /**< elements that count: those of the mask, if there is one */
    int64_t item;    /**< index among the blocks of the current gradients */
};
/** Record the squares of block @p b of a gradient of leaf @p leaf (of the share); @p rows: its
 *  elements. */
void host_squares_take(const struct host *k, const struct host_grad *g, int64_t leaf,
                       const struct host_squares_block *b, const float *rows);
/** Add the sums of the blocks to those of their leaves, block by block. */
void host_squares_add(const struct host *k, int64_t n_items);
#endif
