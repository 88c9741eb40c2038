/** Copies between a whole stage and a shard's part of it.
 *  Weights are put together from parts, and gradients are cut into them.
 */
#ifndef WSC_STREAM_STRIPING_H
#define WSC_STREAM_STRIPING_H
#include <wsc/stream.h>

/* Elements [first, end) of the whole vector of a stage. */
struct stream_range {
    int64_t first, end;
};

/* Elements of a part that lie before element @p end of the whole vector of weights, or of
 * gradients. */
int64_t stream_part_before(const struct model *model, int stage, struct stream_part_of of,
                           bool gradients, int64_t end);
/* Copy what of @p range lies in the part @p of of a stage from @p part into the whole vector
 * @p whole; elements of @p elem_bytes bytes. */
void stream_part_scatter(const struct model *model, int stage, struct stream_part_of of,
                         struct stream_range range, int64_t elem_bytes, const void *part,
                         void *whole);
/* Copy what of @p range lies in the part @p of of a stage's gradients from the whole vector
 * @p whole (n_grads of the stage) into @p part. */
void stream_part_gather(const struct model *model, int stage, struct stream_part_of of,
                        struct stream_range range, const float *whole, float *part);
#endif
