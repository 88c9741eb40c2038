/** Exact selection of the k largest keys of a tensor that is cut over shards.
 *  Used for the masks of sparse tensors: random scores, magnitudes, gradients.
 */
#ifndef WSC_MEMORYX_SELECT_H
#define WSC_MEMORYX_SELECT_H
#include "memoryx_state.h"

/* One selection.  Which elements are taken depends on keys and k alone: the largest keys, of equal
 * ones the elements with the lowest index in the tensor. */
struct memoryx_selection {
    int tensor;
    int64_t k; /* elements to take of each group; at most those that are eligible on all shards */
    /* Chunks of equal size of the tensor, row after row or column after column, each a selection of
     * its own; 0 or 1: one. */
    int64_t n_groups;
    bool by_columns;
    /* Keys of elements [first, first + n) of this shard's part, n <= STREAM_BLOCK_ELEMS. */
    void (*keys)(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key);
    const struct memoryx *mx; /* for keys */
    uint64_t seed, stream;    /* for keys at random */
    const float *of;          /* for keys by magnitude, of this shard's part (n) */
    const uint64_t *mask;     /* eligible elements, a bit each; NULL: all */
    bool outside;             /* eligible are those that `mask` does not have */
    uint64_t *taken;          /* their bits are set, others stay */
};
/* Keys: Philox of (seed, stream, element); magnitude, in the order of |x|; the same, and of equal
 * ones those that the tensor's mask has first. */
void memoryx_keys_random(const struct memoryx_selection *s, int64_t first, int64_t n,
                         uint32_t *key);
void memoryx_keys_magnitude(const struct memoryx_selection *s, int64_t first, int64_t n,
                            uint32_t *key);
void memoryx_keys_kept(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key);
/* Make @p n selections, in three rounds among the shards for every few hundred groups; all shards
 * call it with the same tensors, groups and k.  Takes no virtual time.  WSC_NOMEM. */
enum wsc_err memoryx_select(struct memoryx *mx, int64_t step, const struct memoryx_selection *list,
                            int n) WSC_CHECKED;
#endif
