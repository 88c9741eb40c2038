/** Payloads of stages that have sparse tensors: weights as masks and non-zeros, gradients of the
 *  non-zeros alone.
 *
 *  Weights, whole or a shard's part: for each view of the stage a struct stream_packed_head, then
 *  view after view, each at a multiple of 8 bytes, its elements, or the words of its mask and its
 *  non-zeros.  Gradients: how many elements each view has in each part that the message carries,
 *  then vectors of that many elements.  A stage without sparse tensors travels as vectors alone.
 */
#ifndef WSC_STREAM_PACKED_H
#define WSC_STREAM_PACKED_H
#include <wsc/stream.h>

/* Join the parts of all shards, @p part[m], to *@p whole. The references to the parts are kept. */
enum wsc_err stream_packed_join(struct comm *comm, const struct model *model, int stage,
                                struct comm_buf *const *part, int n_shards,
                                struct comm_buf **whole) WSC_CHECKED;
/* Cut the part of shard of.m out of @p n_sums whole vectors of gradients. */
enum wsc_err stream_packed_cut(struct comm *comm, const struct model *model, int stage,
                               struct stream_part_of of, struct comm_buf *whole, int n_sums,
                               struct comm_buf **part) WSC_CHECKED;
#endif
