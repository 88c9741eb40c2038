/** Copies between the whole vector of a stage and the part of a shard. Weights are joined from
 *  parts, and gradients are cut into parts. */
#ifndef WSC_STREAM_STRIPING_H
#define WSC_STREAM_STRIPING_H
#include <wsc/stream.h>

/* Elements [first, end) of the whole vector of a stage. */
struct stream_range {
    int64_t first, end;
};

/* Number of elements of a part that lie before element @p end of the whole vector of weights, or of
 * gradients. */
int64_t stream_part_before(const struct model *model, int stage, struct stream_part_of of,
                           bool gradients, int64_t end);
/* Copy the elements of @p range that lie in part @p of of a stage from @p part to the whole vector
 * @p whole; elements of @p elem_bytes bytes. */
void stream_part_scatter(const struct model *model, int stage, struct stream_part_of of,
                         struct stream_range range, int64_t elem_bytes, const void *part,
                         void *whole);
/* Copy the elements of @p range that lie in part @p of of a stage's gradients from the whole vector
 * @p whole (n_grads of the stage) to @p part. */
void stream_part_gather(const struct model *model, int stage, struct stream_part_of of,
                        struct stream_range range, const float *whole, float *part);
#endif
