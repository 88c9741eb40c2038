/** Numbers of elements in masks, of one shard and of all.
 *  memoryx_mask.c and memoryx_regrow.c call. */
#ifndef WSC_MEMORYX_MASK_COUNT_H
#define WSC_MEMORYX_MASK_COUNT_H
#include "memoryx_state.h"

/* Number of elements in the mask of part @p s. */
int64_t memoryx_mask_count(const struct memoryx_part *s);
/* Replace @p count (@p n > 0) by its sums over all shards. All shards call it. */
enum wsc_err memoryx_add_counts(struct memoryx *mx, int64_t step, int64_t *count,
                                int n) WSC_CHECKED;
/* Warn of the first tensor whose mask has another number of elements than its schedule, by more
 * than 1 % of the tensor. All shards call it. */
enum wsc_err memoryx_compare_masks(struct memoryx *mx) WSC_CHECKED;
#endif
