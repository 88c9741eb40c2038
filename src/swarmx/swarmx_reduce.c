// SPDX-License-Identifier: Apache-2.0
/* Upwards through a SwarmX node: receive from every child in order, add, send up.
 *
 * A child sends one sum for each maximal subtree of the canonical reduction inside the range of its
 * wafers.  Two siblings are added as soon as both are there, so the bits do not depend on the tree
 * of nodes.  The sum leaves after the slowest child, at the rate at which the node adds.
 * Called by swarmx_step.c. */
#include "swarmx_reduce.h"

#include <string.h>

/* Wafers below child @p c. */
static void child_wafers(const struct swarmx *sx, int c, int *first, int *end)
{
    const int child = sx->node->first_child + c;
    const struct stream_node *below = &sx->net->topology->node[child];
    *first = sx->node->leaf_switch ? child : below->first_wafer;
    *end = sx->node->leaf_switch ? child + 1 : below->end_wafer;
}

void swarmx_child_subtrees(const struct swarmx *sx, int64_t micro, int c, struct num_nodes *out)
{
    int first, end;
    child_wafers(sx, c, &first, &end);
    stream_subtrees(&sx->pass->batch, micro, first, end, out);
}

struct vtime_span swarmx_stored(const struct swarmx *sx, struct vtime_span in)
{
    const struct hw *hw = sx->net->hw;
    struct vtime_recorder *r = comm_recorder(sx->net->comm);
    if (hw->cluster->swarmx.forwarding == HW_STORE_MESSAGE) return vtime_at(in.last);
    const int64_t ps = hw_packet_ps(hw, stream_rate_of_node(hw, sx->net->topology, sx->index));
    if (!ps) return in;
    const struct vtime first = vtime_after(r, in.first, ps, VTIME_LATENCY);
    return (struct vtime_span){first, vtime_join(r, in.last, first)};
}

struct vtime_span swarmx_reduce_span(const struct swarmx *sx, const struct vtime_span *child,
                                     int64_t bytes)
{
    struct vtime_recorder *r = comm_recorder(sx->net->comm);
    struct vtime_span children = vtime_span_latest(r, child, sx->ports->down.n);
    const struct hw_swarmx *c = &sx->net->hw->cluster->swarmx;
    if (!sx->net->hw->cluster->effects.reduce) return children;
    children = swarmx_stored(sx, children);
    const int64_t line_ps =
        vtime_duration_ps(bytes, stream_rate_of_node(sx->net->hw, sx->net->topology, sx->index));
    const struct vtime first = vtime_after(r, children.first, c->add_latency_ps, VTIME_ADD);
    const struct vtime_edge in[] = {{children.last, c->add_latency_ps, VTIME_ADD},
                                    {first, line_ps, VTIME_ADD}};
    return (struct vtime_span){first, vtime_latest(r, in, 2)};
}

/* A message with all of its payload. */
static enum wsc_err recv_child(struct swarmx *sx, int c, enum stream_msg_kind kind, int64_t step,
                               int index, struct stream_msg *msg)
{
    struct comm_link *link = sx->ports->down.data[c];
    TRY(stream_recv(sx->ports, link, kind, step, index, msg));
    if (msg->payload) comm_buf_wait(link, msg->payload, 0, comm_buf_bytes(msg->payload));
    return WSC_OK;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static enum wsc_err pack_sums(struct swarmx *sx, int64_t n_elems, struct comm_buf **out, int *n)
{
    *out = NULL;
    *n = sx->sums.nodes.n;
    return sx->pass->values ? stream_sums_pack(&sx->sums, sx->net->comm, n_elems, out) : WSC_OK;
}

/* Take a child's sums: @p take_payload says how long a vector is where tensors are sparse. */
static void take_sums(struct swarmx *sx, const struct stream_at *at, int child,
                      struct comm_buf *take_payload, int64_t *n_elems)
{
    const struct model *model = sx->net->model;
    const int n_shards = sx->net->topology->n_shards;
    const bool packed = stream_is_packed(model, at->stage);
    struct num_nodes subtrees;
    if (packed) sx->sums.head_bytes = stream_packed_grad_head(model, at->stage, n_shards);
    *n_elems =
        stream_grad_elems(model, at->stage, n_shards, packed ? comm_buf_data(take_payload) : NULL);
    swarmx_child_subtrees(sx, at->micro, child, &subtrees);
    stream_sums_append(&sx->sums, &subtrees, sx->pass->batch.n_micro_shards, *n_elems,
                       take_payload);
}

enum wsc_err swarmx_reduce_whole(struct swarmx *sx, const struct stream_at *at)
{
    int64_t n_elems = 0;
    const int64_t bytes = stream_amounts(sx->net, at->stage, at->updates)->grad_bytes;
    struct vtime_span child[STREAM_MAX_FANOUT] = {0};
    struct comm_buf *sums;
    int n_sums;
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct stream_msg msg;
        TRY(recv_child(sx, c, STREAM_MSG_GRADIENTS, at->step, at->index, &msg));
        child[c] = msg.span;
        if (msg.payload) take_sums(sx, at, c, msg.payload, &n_elems);
    }
    TRY(pack_sums(sx, n_elems, &sums, &n_sums));
    return stream_send_gradients(sx->ports, at, swarmx_reduce_span(sx, child, bytes), sums, n_sums);
}

/* ---- beside the line ------------------------------------------------------------------------- */

enum wsc_err swarmx_reduce_losses(struct swarmx *sx, const struct stream_at *at)
{
    struct stream_losses sums = {0};
    struct vtime_span child[STREAM_MAX_FANOUT] = {0};
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct stream_msg msg;
        struct num_nodes subtrees;
        TRY(recv_child(sx, c, STREAM_MSG_LOSSES, at->step, at->index, &msg));
        child[c] = msg.span;
        if (!msg.payload) continue;
        swarmx_child_subtrees(sx, at->micro, c, &subtrees);
        stream_losses_append(&sums, &subtrees, sx->pass->batch.n_micro_shards,
                             comm_buf_data(msg.payload));
        comm_buf_unref(&msg.payload);
    }
    const struct vtime_span span = swarmx_reduce_span(sx, child, STREAM_LOSS_BYTES);
    return stream_send_losses(sx->ports, at, span, sx->pass->values ? &sums : NULL);
}

/* Squares of the micro-shards' gradients that the children's times carry, as one list. */
static enum wsc_err join_squares(struct swarmx *sx, struct comm_buf *const *part,
                                 struct comm_buf **out)
{
    const struct stream_batch *b = &sx->pass->batch;
    const double *list[STREAM_MAX_FANOUT];
    int first_wafer[STREAM_MAX_FANOUT + 1], end = 0;
    const int n = sx->ports->down.n;
    if (!sx->pass->squares) return WSC_OK;
    for (int c = 0; c < n; c++) {
        child_wafers(sx, c, &first_wafer[c], &end);
        list[c] = comm_buf_data(part[c]);
    }
    first_wafer[n] = end;
    TRY(comm_buf_create(sx->net->comm, out,
                        stream_scalars_count(b, first_wafer[0], end) * (int64_t)sizeof(double)));
    stream_scalars_join(b, n, first_wafer, list, comm_buf_data(*out));
    return WSC_OK;
}

/* Scores of samples that the children's times carry, one after the other. */
static enum wsc_err join_scores(struct swarmx *sx, struct comm_buf *const *part,
                                struct comm_buf **out)
{
    int64_t bytes = 0, at = 0;
    if (!sx->pass->scores) return WSC_OK;
    for (int c = 0; c < sx->ports->down.n; c++)
        bytes += comm_buf_bytes(part[c]);
    TRY(comm_buf_create(sx->net->comm, out, bytes));
    for (int c = 0; c < sx->ports->down.n; c++) {
        const int64_t n = comm_buf_bytes(part[c]);
        if (n) memcpy((char *)comm_buf_data(*out) + at, comm_buf_data(part[c]), (size_t)n);
        at += n;
    }
    return WSC_OK;
}

/* Counts of classes that the children's times carry, added up: whole numbers, in any order. */
static enum wsc_err add_classes(struct swarmx *sx, struct comm_buf *const *part,
                                struct comm_buf **out)
{
    const int64_t n = sx->pass->n_classes;
    if (!n) return WSC_OK;
    TRY(comm_buf_create(sx->net->comm, out, n * (int64_t)sizeof(struct model_class_count)));
    struct model_class_count *sum = comm_buf_data(*out);
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int c = 0; c < sx->ports->down.n; c++)
        model_add_classes(sum, comm_buf_data(part[c]), n);
    return WSC_OK;
}

/* Receive the times of all children and keep those of the one that ended last: the first of equals.
 * part[c] is the payload of child c. */
static enum wsc_err recv_times(struct swarmx *sx, int64_t step, struct stream_times *slowest,
                               struct vtime_span *child, struct comm_buf **part)
{
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct stream_msg msg;
        TRY(recv_child(sx, c, STREAM_MSG_TIMES, step, 0, &msg));
        child[c] = msg.span;
        part[c] = msg.payload;
        if (!c || msg.field.times.end.ps > slowest->end.ps) *slowest = msg.field.times;
    }
    return WSC_OK;
}

enum wsc_err swarmx_reduce_times(struct swarmx *sx, int64_t step)
{
    struct stream_msg out = {.kind = STREAM_MSG_TIMES, .step = step, .bytes = STREAM_SIGNAL_BYTES};
    struct comm_buf *part[STREAM_MAX_FANOUT] = {0};
    struct vtime_span child[STREAM_MAX_FANOUT] = {0};
    enum wsc_err rc = recv_times(sx, step, &out.field.times, child, part);
    if (!rc) rc = join_squares(sx, part, &out.payload);
    if (!rc) rc = join_scores(sx, part, &out.payload);
    if (!rc) rc = add_classes(sx, part, &out.payload);
    for (int c = 0; c < sx->ports->down.n; c++)
        comm_buf_unref(&part[c]);
    TRY(rc);
    out.span = swarmx_reduce_span(sx, child, out.bytes);
    return stream_send_up(sx->ports, &out);
}

/* Append *@p take_more to *@p texts, which may be NULL. */
static enum wsc_err append_texts(struct swarmx *sx, struct comm_buf **texts,
                                 struct comm_buf *take_more)
{
    struct comm_buf *joint = NULL;
    const int64_t before = *texts ? comm_buf_bytes(*texts) : 0, more = comm_buf_bytes(take_more);
    enum wsc_err rc = comm_buf_create(sx->net->comm, &joint, before + more);
    if (!rc && before) memcpy(comm_buf_data(joint), comm_buf_data(*texts), (size_t)before);
    if (!rc && more)
        memcpy((char *)comm_buf_data(joint) + before, comm_buf_data(take_more), (size_t)more);
    comm_buf_unref(texts);
    comm_buf_unref(&take_more);
    *texts = joint;
    return rc;
}

/* In the order of the wafers. */
enum wsc_err swarmx_gather_texts(struct swarmx *sx)
{
    struct stream_msg out = {.kind = STREAM_MSG_TEXTS, .step = stream_end_step(sx->pass)};
    struct vtime_span child[STREAM_MAX_FANOUT] = {0};
    enum wsc_err rc = WSC_OK;
    for (int c = 0; c < sx->ports->down.n && !rc; c++) {
        struct stream_msg msg;
        rc = recv_child(sx, c, STREAM_MSG_TEXTS, out.step, 0, &msg);
        if (rc) break;
        child[c] = msg.span;
        out.bytes += msg.bytes;
        rc = append_texts(sx, &out.payload, msg.payload);
    }
    if (!rc) {
        out.span = vtime_span_latest(comm_recorder(sx->net->comm), child, sx->ports->down.n);
        return stream_send_up(sx->ports, &out);
    }
    comm_buf_unref(&out.payload);
    return rc;
}
