/** Copies between a whole stage and a shard's part of it.
 *  Weights are put together from parts, and gradients are cut into them.
 */
#ifndef WSC_STREAM_STRIPING_H
#define WSC_STREAM_STRIPING_H
#include <wsc/stream.h>

/* Copy shard @p m's part @p part of a stage into the whole vector @p stage_vector; elements of
 * @p elem_bytes bytes. */
void stream_part_scatter(const struct model *model, int stage, int m, int n_shards,
                         const void *part, void *stage_vector, int64_t elem_bytes);
/* Copy shard @p m's part of a stage's gradients out of the whole vector @p gradients (n_grads of
 * the stage) into @p part. */
void stream_part_gather(const struct model *model, int stage, int m, int n_shards,
                        const float *gradients, float *part);
#endif
