/** Upwards through a SwarmX node.
 *  Gradients, and beside them losses, times and texts.
 */
#ifndef WSC_SWARMX_REDUCE_H
#define WSC_SWARMX_REDUCE_H
#include "swarmx_state.h"

/* Wafers below child @p c. */
void swarmx_child_wafers(const struct swarmx *sx, int c, int *first, int *end);
/* Subtrees of which child @p c sends sums. */
void swarmx_child_subtrees(const struct swarmx *sx, int64_t micro, int c, struct num_nodes *out);
/* When the sum of messages of @p bytes that come in as @p child[c] may leave: after the slowest
 * child, at line rate. */
struct vtime_span swarmx_reduce_span(const struct swarmx *sx, const struct vtime_span *child,
                                     int64_t bytes);
/* When the node has of a message that comes in as @p in what it needs to begin to forward it. */
struct vtime_span swarmx_stored(const struct swarmx *sx, struct vtime_span in);
/* Add the children's gradients of the stage at @p at and send the sums up. */
enum wsc_err swarmx_reduce_gradients(struct swarmx *sx, const struct stream_at *at);
/* Add the children's losses of the micro-batch at @p at and send the sums up. */
enum wsc_err swarmx_reduce_losses(struct swarmx *sx, const struct stream_at *at);
/* Send up the times of the child that ended last, with the squares of all. */
enum wsc_err swarmx_reduce_times(struct swarmx *sx, int64_t step);
/* Send up what all wafers below generated. */
enum wsc_err swarmx_gather_texts(struct swarmx *sx);
#endif
