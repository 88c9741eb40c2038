/** Exact selection of the k largest keys of a tensor that is cut over shards.
 *  Used for the masks of sparse tensors: random scores, magnitudes, gradients.
 */
#ifndef WSC_MEMORYX_SELECT_H
#define WSC_MEMORYX_SELECT_H
#include "memoryx_state.h"

/* One selection. Keys and k alone determine which elements are taken: those with the largest keys,
 * and of equal keys those with the lowest index in the tensor. */
struct memoryx_selection {
    int tensor;
    int64_t k; /* elements to take in each group; at most the eligible ones of all shards */
    /* Groups of equal size, row after row or column after column, each with its own selection; 0 or
     * 1: the whole tensor. */
    int64_t n_groups;
    bool by_columns;
    /* Keys of elements [first, first + n) of this shard's part, n <= STREAM_BLOCK_ELEMS. */
    void (*keys)(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key);
    const struct memoryx *mx; /* for the functions of keys */
    uint64_t seed, stream;    /* for random keys */
    const float *of;          /* for keys by magnitude: values of this shard's part (n) */
    /* one bit for each element: the eligible ones, or see `outside`; NULL: all */
    const uint64_t *mask;
    bool outside;    /* eligible are the elements that `mask` does not have */
    uint64_t *taken; /* bits of the taken elements are set, others stay */
};
/* Keys: random (Philox of seed, stream, element); by magnitude |x|; by magnitude, and of equal ones
 * those of the tensor's mask first. */
void memoryx_keys_random(const struct memoryx_selection *s, int64_t first, int64_t n,
                         uint32_t *key);
void memoryx_keys_magnitude(const struct memoryx_selection *s, int64_t first, int64_t n,
                            uint32_t *key);
void memoryx_keys_kept(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key);
/* Run @p n selections, in three rounds among the shards for every few hundred groups. All shards
 * call with the same tensors, groups and k. No virtual time. WSC_NOMEM. */
enum wsc_err memoryx_select(struct memoryx *mx, int64_t step, const struct memoryx_selection *list,
                            int n) WSC_CHECKED;
#endif
