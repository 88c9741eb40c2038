// SPDX-License-Identifier: Apache-2.0
#include <wsc/swarmx.h>

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

struct swarmx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    const struct stream_node *node;   /* borrowed */
    int place;                        /* which one of the machine */
    int index;                        /* in the tree of the run in progress */
    const struct stream_pass *pass;   /* borrowed, of the run in progress */
    struct stream_sums sums;
    struct stream_losses losses;
};

enum wsc_err swarmx_create(struct swarmx **out, struct stream_net *net, int place)
{
    struct swarmx *sx;
    TRY_NEW(sx, WSC_MEM_SWARMX, 1);
    *out = sx;
    sx->net = net;
    sx->place = place;
    return WSC_OK;
}

void swarmx_destroy(struct swarmx **swarmx)
{
    if (*swarmx) stream_sums_clear(&(*swarmx)->sums);
    wsc_free(*swarmx);
    *swarmx = NULL;
}

/* ---- down ------------------------------------------------------------------------------------ */

/* Cut-through: the first byte leaves a node's latency after it came. */
static enum wsc_err broadcast(struct swarmx *sx, int64_t step, int index, int stage)
{
    struct comm_msg msg;
    TRY(stream_recv_weights(sx->net, sx->ports, step, index, stage, &msg));
    msg.span = vtime_span_after(comm_recorder(sx->net->comm), msg.span,
                                sx->net->hw->cluster->swarmx.latency_ps, VTIME_LATENCY);
    return stream_send_weights(sx->ports, &msg);
}

static enum wsc_err run_down(void *arg)
{
    struct swarmx *sx = arg;
    const struct stream_pass *p = sx->pass;
    const int n = model_n_transfers(sx->net->model, p->mode == STREAM_TRAIN);
    for (int64_t step = p->first_step; step < p->first_step + p->n_steps; step++)
        for (int i = 0; i < n * (int)p->batch.n_micro; i++)
            TRY(broadcast(sx, step, i, model_transfer_at(sx->net->model, i % n).stage));
    return WSC_OK;
}

/* ---- up -------------------------------------------------------------------------------------- */

/* Wafers below child @p c. */
static void child_wafers(const struct swarmx *sx, int c, int *first, int *end)
{
    int child = sx->node->first_child + c;
    const struct stream_node *below = &sx->net->topology->node[child];
    *first = sx->node->leaf ? child : below->first_wafer;
    *end = sx->node->leaf ? child + 1 : below->end_wafer;
}

static void child_nodes(const struct swarmx *sx, int64_t micro, int c, struct num_nodes *nodes)
{
    int w_first, w_end;
    int64_t first, end;
    child_wafers(sx, c, &w_first, &w_end);
    stream_leaves(&sx->pass->batch, micro, w_first, w_end, &first, &end);
    num_nodes_of_range(nodes, first, end, sx->pass->batch.n_leaves);
}

/* When the sum may leave: behind the slowest child, at line rate. */
static struct vtime_span reduce_span(const struct swarmx *sx, const struct vtime_span *child,
                                     int64_t bytes)
{
    struct vtime_recorder *r = comm_recorder(sx->net->comm);
    const struct vtime_span children = vtime_span_latest(r, child, sx->ports->down.n);
    const struct hw_swarmx *c = &sx->net->hw->cluster->swarmx;
    if (!sx->net->hw->cluster->effects.reduce) return children;
    const int64_t line_ps =
        vtime_duration_ps(bytes, stream_rate_of_node(sx->net->hw, sx->net->topology, sx->index));
    const struct vtime first = vtime_after(r, children.first, c->add_latency_ps, VTIME_ADD);
    const struct vtime_edge in[] = {{children.last, c->add_latency_ps, VTIME_ADD},
                                    {first, line_ps, VTIME_ADD}};
    return (struct vtime_span){first, vtime_latest(r, in, 2)};
}

static enum wsc_err add_child(struct swarmx *sx, int64_t micro, int stage, int c,
                              struct comm_msg *msg)
{
    struct num_nodes nodes;
    if (!msg->payload) return WSC_OK;
    child_nodes(sx, micro, c, &nodes);
    if (msg->kind == STREAM_MSG_LOSS) {
        stream_losses_append(&sx->losses, &nodes, sx->pass->batch.n_leaves,
                             comm_buf_data(msg->payload));
        comm_buf_unref(&msg->payload);
        return WSC_OK;
    }
    stream_sums_append(&sx->sums, &nodes, sx->pass->batch.n_leaves,
                       sx->net->model->stage[stage].n_elems, msg->payload);
    msg->payload = NULL;
    return WSC_OK;
}

static enum wsc_err pack(struct swarmx *sx, int stage, struct comm_msg *msg, int *n_sums)
{
    msg->payload = NULL;
    *n_sums = 0;
    if (!sx->pass->values) return WSC_OK;
    if (msg->kind == STREAM_MSG_LOSS) {
        int64_t bytes = sx->losses.nodes.n * (int64_t)sizeof(struct stream_loss);
        TRY(comm_buf_create(sx->net->comm, &msg->payload, bytes));
        memcpy(comm_buf_data(msg->payload), sx->losses.sum, (size_t)bytes);
        sx->losses.nodes.n = 0;
        return WSC_OK;
    }
    *n_sums = sx->sums.nodes.n;
    return stream_sums_pack(&sx->sums, sx->net->comm, sx->net->model->stage[stage].n_elems,
                            &msg->payload);
}

/* Losses or gradients of one micro-batch: children in order, then up. */
static enum wsc_err reduce(struct swarmx *sx, int32_t kind, int64_t step, int index, int stage)
{
    const int n = model_n_transfers(sx->net->model, sx->pass->mode == STREAM_TRAIN);
    struct comm_msg out = {.kind = kind, .step = step, .index = index};
    struct vtime_span child[STREAM_MAX_FANOUT];
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct comm_msg msg;
        TRY(stream_recv_data(sx->ports->down.data[c], kind, step, index, &msg));
        child[c] = msg.span;
        out.bytes = msg.bytes;
        TRY(add_child(sx, index / n, stage, c, &msg));
    }
    out.span = reduce_span(sx, child, out.bytes);
    int n_sums;
    TRY(pack(sx, stage, &out, &n_sums));
    return stream_send_up(sx->net, sx->ports, &out, stage, n_sums);
}

static enum wsc_err pass_credit(struct swarmx *sx, int64_t step, int index)
{
    struct vtime at;
    TRY(stream_recv_credit(sx->net, sx->ports, step, index, &at));
    return stream_send_credit(sx->ports, step, index, at);
}

/* Squares of the leaves' gradients that the children's times carry, as one list. */
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

/* The child that ended last speaks for all. */
static enum wsc_err pass_times(struct swarmx *sx, int64_t step)
{
    struct comm_msg out = {0};
    struct comm_buf *part[STREAM_MAX_FANOUT] = {0};
    struct vtime_span child[STREAM_MAX_FANOUT];
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct comm_msg msg;
        TRY(stream_recv_data(sx->ports->down.data[c], STREAM_MSG_TIMES, step, 0, &msg));
        part[c] = msg.payload;
        child[c] = msg.span;
        if (!c || msg.field[STREAM_F_END] > out.field[STREAM_F_END]) out = msg;
    }
    out.payload = NULL;
    TRY(join_squares(sx, part, &out.payload));
    for (int c = 0; c < sx->ports->down.n; c++)
        comm_buf_unref(&part[c]);
    out.span = reduce_span(sx, child, out.bytes);
    return stream_send_up(sx->net, sx->ports, &out, 0, 0);
}

/* What the wafers below wrote, in their order. */
static enum wsc_err pass_tokens(struct swarmx *sx, int64_t step)
{
    struct comm_msg out = {0};
    struct vtime_span child[STREAM_MAX_FANOUT];
    for (int c = 0; c < sx->ports->down.n; c++) {
        struct comm_msg msg;
        struct comm_buf *joint;
        TRY(stream_recv_data(sx->ports->down.data[c], STREAM_MSG_TOKENS, step, 0, &msg));
        int64_t before = out.payload ? comm_buf_bytes(out.payload) : 0;
        int64_t more = comm_buf_bytes(msg.payload);
        TRY(comm_buf_create(sx->net->comm, &joint, before + more));
        if (before) memcpy(comm_buf_data(joint), comm_buf_data(out.payload), (size_t)before);
        if (more)
            memcpy((char *)comm_buf_data(joint) + before, comm_buf_data(msg.payload), (size_t)more);
        comm_buf_unref(&out.payload);
        comm_buf_unref(&msg.payload);
        msg.bytes += out.bytes;
        child[c] = msg.span;
        out = msg;
        out.payload = joint;
    }
    out.span = vtime_span_latest(comm_recorder(sx->net->comm), child, sx->ports->down.n);
    return stream_send_up(sx->net, sx->ports, &out, 0, 0);
}

static enum wsc_err reduce_batch(struct swarmx *sx, int64_t step)
{
    const struct model *model = sx->net->model;
    const bool training = sx->pass->mode == STREAM_TRAIN;
    const int n = model_n_transfers(model, training);
    for (int i = 0; i < n * (int)sx->pass->batch.n_micro; i++) {
        struct model_transfer t = model_transfer_at(model, i % n);
        TRY(pass_credit(sx, step, i));
        if (i % n == model->n_stages - 1 && sx->pass->mode != STREAM_GENERATE)
            TRY(reduce(sx, STREAM_MSG_LOSS, step, i, t.stage));
        if (t.backward) TRY(reduce(sx, STREAM_MSG_GRADS, step, i, t.stage));
    }
    return pass_times(sx, step);
}

static enum wsc_err run_up(void *arg)
{
    struct swarmx *sx = arg;
    const struct stream_pass *p = sx->pass;
    for (int64_t step = p->first_step; step < p->first_step + p->n_steps; step++)
        TRY(reduce_batch(sx, step));
    const bool writes = p->mode == STREAM_GENERATE && p->values;
    return writes ? pass_tokens(sx, p->first_step + p->n_steps) : WSC_OK;
}

enum wsc_err swarmx_spawn(struct swarmx *swarmx, int index, const struct stream_pass *pass)
{
    struct stream_net *net = swarmx->net;
    const int role = stream_role_of_node(net->topology, index);
    char name[48];
    swarmx->index = index;
    swarmx->node = &net->topology->node[index];
    swarmx->ports = &net->ports[role];
    swarmx->pass = pass;
    (void)snprintf(name, sizeof name, "SwarmX node %d (down)", swarmx->place);
    TRY(comm_spawn(net->comm, role, run_down, swarmx, 0, name));
    (void)snprintf(name, sizeof name, "SwarmX node %d (up)", swarmx->place);
    return comm_spawn(net->comm, role, run_up, swarmx, 0, name);
}
