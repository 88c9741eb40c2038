/** Sums over whole tensors that do not depend on the division over shards: one per tensor, for
 *  norms, trust ratios and root mean squares. */
#ifndef WSC_MEMORYX_TENSOR_SUMS_H
#define WSC_MEMORYX_TENSOR_SUMS_H
#include "memoryx_state.h"

/* What is summed: one block of STREAM_BLOCK_ELEMS elements, from @p first of the part of @p
 * tensor. */
struct memoryx_summand {
    double (*block)(const void *ctx, int tensor, int64_t first, int64_t n);
    const void *ctx;
};
/* Number of sums in a shard's part. */
int64_t memoryx_count_sums(const struct memoryx *mx, int shard);
/* The sums of this shard, tensor after tensor. */
enum wsc_err memoryx_own_sums(const struct memoryx *mx, const struct memoryx_summand *what,
                              double *out);
/* @p part[m]: the sums of shard m; @p total: one sum per tensor. */
void memoryx_joint_sums(const struct memoryx *mx, const double *const *part, double *total);
#endif
