/** Masks of sparse tensors: which weights of this shard's part are kept.
 *  A part of a sparse tensor has one bit per element, memoryx_part.mask (memoryx_state.h).  Weights
 *  and states outside a mask are +0.0 whenever weights are sent.
 */
#ifndef WSC_MEMORYX_MASK_H
#define WSC_MEMORYX_MASK_H
#include "memoryx_state.h"

#include <wsc/rng.h>

/* Stream of the random numbers of mask number @p update of tensor @p tensor; 0: the first mask. */
static inline uint64_t memoryx_mask_stream(int tensor, int64_t update)
{
    return wsc_rng_stream(WSC_RNG_MASK, (uint64_t)update << 24 | (uint64_t)tensor);
}
/* Seed of these random numbers: that of the entry of params, or of the run. */
uint64_t memoryx_mask_seed(const struct memoryx *mx, const struct zoo_sparsity *entry);
/* Set x[i] to +0.0 where the mask of @p s has no bit (NULL: nothing changes); x has part.n
 * elements. */
void memoryx_mask_apply(const struct memoryx_part *s, float *x);
/* Zero the weights of tensor @p tensor, and its states by element, outside its mask. */
void memoryx_prune(struct memoryx *mx, int tensor);
/* Program of a shard: make the first masks of tensors that have none, neither from a checkpoint nor
 * from an earlier call, and prune all sparse weights. Then choose the weights that train
 * (memoryx_choose_selected()). */
enum wsc_err memoryx_run_masks(void *mx);
#endif
