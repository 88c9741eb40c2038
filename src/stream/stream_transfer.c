// SPDX-License-Identifier: Apache-2.0
/* The messages between roles in a step: weights down, credits and gradients up. The role below the
 * MemoryX shards, which is the root of the tree or the only wafer, has all shards as parents: it
 * joins the parts of a weight vector, and cuts gradients into parts (stream_parts.c). Any other
 * role has one parent and forwards whole vectors. Called by the step of each role. */
#include "stream_parts.h"

#include <wsc/check.h>

#include <string.h>

/* ---- weights --------------------------------------------------------------------------------- */

/* Join the fields of the weights of all shards: the latest of their times. */
static void join_fields(struct stream_weights *all, const struct stream_weights *part)
{
    WSC_CHECK(all->gradient_scale == part->gradient_scale, "shards scale gradients by %g and by %g",
              all->gradient_scale, part->gradient_scale);
    all->step_start = vtime_max(all->step_start, part->step_start);
    all->reduced = vtime_max(all->reduced, part->reduced);
    all->ready = vtime_max(all->ready, part->ready);
}

/* Receive the parts that follow that of shard 0, which @p msg has. @p part: all parts. */
static enum wsc_err recv_other_parts(const struct stream_ports *ports, const struct stream_at *at,
                                     struct stream_msg *msg, struct comm_buf **part)
{
    struct vtime_span span[STREAM_MAX_FANOUT]; /* one for each parent */
    span[0] = msg->span;
    part[0] = msg->payload;
    msg->payload = NULL;
    for (int m = 1; m < ports->up.n; m++) {
        struct stream_msg other;
        TRY(stream_recv(ports, ports->up.weights[m], STREAM_MSG_WEIGHTS, at->step, at->index,
                        &other));
        part[m] = other.payload;
        span[m] = other.span;
        join_fields(&msg->field.weights, &other.field.weights);
    }
    msg->span = vtime_span_latest(comm_recorder(ports->net->comm), span, ports->up.n);
    /* The stripe of a shard is rounded up, the whole is not. */
    msg->bytes = stream_amounts(ports->net, at->stage, at->updates)->weight_bytes;
    return WSC_OK;
}

enum wsc_err stream_recv_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg)
{
    struct comm_buf *part[STREAM_MAX_FANOUT] = {NULL};
    msg->payload = NULL;
    TRY(stream_recv(ports, ports->up.weights[0], STREAM_MSG_WEIGHTS, at->step, at->index, msg));
    if (ports->up.n == 1) return WSC_OK;
    enum wsc_err rc = recv_other_parts(ports, at, msg, part);
    if (!rc && part[0]) return stream_parts_join(ports, at, part, &msg->payload);
    for (int m = 0; m < ports->up.n; m++)
        comm_buf_unref(&part[m]);
    return rc;
}

enum wsc_err stream_wait_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct comm_buf *weights, int64_t first, int64_t end)
{
    const int64_t elem_bytes = num_format_bytes(ports->net->model->format);
    if (ports->up.n == 1)
        comm_buf_wait(ports->up.weights[0], weights, first, end);
    else if (!comm_buf_is_there(weights))
        return stream_parts_join_until(
            ports, at, (at->backward ? comm_buf_bytes(weights) - first : end) / elem_bytes);
    return WSC_OK;
}

enum wsc_err stream_pass_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg)
{
    TRY(stream_send_weights(ports, at, msg));
    if (ports->up.n == 1) return WSC_OK;
    return stream_parts_join_until(ports, at, ports->net->model->stage[at->stage].n_elems);
}

/* Elements of the stage that a sender has: a shard its part, other roles all. */
static int64_t elems_of(const struct stream_ports *ports, int stage, int shard, int n_shards)
{
    const struct model *model = ports->net->model;
    return n_shards > 1 ? stream_stage_part_elems(model, stage, shard, n_shards)
                        : model->stage[stage].n_elems;
}

static void count_weights(const struct stream_ports *ports, int stage, int child,
                          const struct comm_buf *payload)
{
    const int n_shards = ports->net->topology->n_shards;
    const bool shard = ports->role < n_shards;
    struct stream_carried *c = ports->down.carried[child];
    if (!payload) return;
    c->weights += comm_buf_bytes(payload);
    c->dense_weights += elems_of(ports, stage, ports->role, shard ? n_shards : 1) *
                        num_format_bytes(ports->net->model->format);
}

/* Each child gets a reference to the payload. After a failed send the other children get none; the
 * caller's reference is released in any case. */
enum wsc_err stream_send_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg)
{
    enum wsc_err rc = WSC_OK;
    if (msg->payload && comm_buf_is_there(msg->payload))
        comm_buf_set_order(msg->payload, at->backward);
    for (int i = 0; i < ports->down.n && !rc; i++) {
        count_weights(ports, at->stage, i, msg->payload);
        (void)comm_buf_ref(msg->payload);
        rc = stream_send(ports->down.weights[i], msg);
    }
    comm_buf_unref(&msg->payload);
    return rc;
}

/* ---- credits --------------------------------------------------------------------------------- */

enum wsc_err stream_send_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime time)
{
    const struct stream_msg msg = {
        .kind = STREAM_MSG_CREDIT, .index = index, .step = step, .span = vtime_at(time)};
    for (int i = 0; i < ports->up.n; i++)
        TRY(stream_signal(ports->up.credit[i], &msg));
    return WSC_OK;
}

/* The time of the credit is that of the latest child, since each child must have room. */
enum wsc_err stream_recv_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime *time)
{
    struct vtime granted[STREAM_MAX_FANOUT]; /* one for each child */
    struct stream_msg msg;
    for (int i = 0; i < ports->down.n; i++) {
        TRY(stream_recv(ports, ports->down.credit[i], STREAM_MSG_CREDIT, step, index, &msg));
        granted[i] = msg.span.last;
    }
    *time = vtime_latest_of(comm_recorder(ports->net->comm), granted, ports->down.n);
    return WSC_OK;
}

/* ---- upwards --------------------------------------------------------------------------------- */

static void count_gradients(const struct stream_ports *ports, int stage, int parent,
                            const struct comm_buf *payload, int n_sums)
{
    struct stream_carried *c = ports->up.carried[parent];
    if (!payload || !n_sums) return;
    c->gradients += comm_buf_bytes(payload);
    c->least_gradients += comm_buf_bytes(payload) / n_sums;
    c->dense_gradients +=
        n_sums * elems_of(ports, stage, parent, ports->up.n) * (int64_t)sizeof(float);
}

static struct stream_msg gradients_msg(const struct stream_ports *ports, const struct stream_at *at,
                                       struct vtime_span ready)
{
    const int64_t bytes = stream_amounts(ports->net, at->stage, at->updates)->grad_bytes;
    return (struct stream_msg){.kind = STREAM_MSG_GRADIENTS,
                               .step = at->step,
                               .index = at->index,
                               .span = ready,
                               .bytes = stream_per_shard(bytes, ports->up.n)};
}

/* Send gradients to parent @p m; takes the reference of the payload. */
static enum wsc_err send_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   int m, struct stream_msg *msg, int n_sums)
{
    if (msg->payload && comm_buf_is_there(msg->payload)) comm_buf_set_order(msg->payload, true);
    count_gradients(ports, at->stage, m, msg->payload, n_sums);
    return stream_send(ports->up.data[m], msg);
}

enum wsc_err stream_send_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct vtime_span ready, struct comm_buf *take_sums, int n_sums)
{
    struct stream_msg msg = gradients_msg(ports, at, ready);
    enum wsc_err rc = WSC_OK;
    if (ports->up.n == 1) {
        msg.payload = take_sums;
        return send_gradients(ports, at, 0, &msg, n_sums);
    }
    for (int m = 0; m < ports->up.n && !rc; m++) {
        rc = stream_parts_cut(ports, at->stage, m, take_sums, n_sums, &msg.payload);
        if (!rc) rc = send_gradients(ports, at, m, &msg, n_sums);
    }
    comm_buf_unref(&take_sums);
    return rc;
}

enum wsc_err stream_open_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct vtime_span ready, int n_sums, struct comm_buf **sums)
{
    const int n = ports->up.n;
    const int64_t n_elems = n_sums * ports->net->model->stage[at->stage].n_grads;
    struct comm_buf *part[STREAM_MAX_FANOUT] = {NULL};
    struct stream_msg msg = gradients_msg(ports, at, ready);
    TRY(comm_buf_create_open(ports->net->comm, sums, n_elems * (int64_t)sizeof(float), true));
    part[0] = n == 1 ? comm_buf_ref(*sums) : NULL;
    enum wsc_err rc = n == 1 ? WSC_OK : stream_parts_open(ports, at->stage, n_sums, part);
    for (int m = 0; m < n && !rc; m++) {
        msg.payload = part[m];
        part[m] = NULL;
        rc = send_gradients(ports, at, m, &msg, n_sums);
    }
    for (int m = 0; m < n; m++)
        comm_buf_unref(&part[m]);
    return rc;
}

enum wsc_err stream_fill_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct comm_buf *sums, int n_sums, int64_t n_final)
{
    TRY(comm_buf_fill(sums, n_final * (int64_t)sizeof(float)));
    if (ports->up.n == 1) return WSC_OK;
    return stream_parts_cut_until(ports, at->stage, n_sums, comm_buf_data(sums), n_final);
}

enum wsc_err stream_send_losses(const struct stream_ports *ports, const struct stream_at *at,
                                struct vtime_span ready, const struct stream_losses *sums)
{
    struct stream_msg msg = {.kind = STREAM_MSG_LOSSES,
                             .step = at->step,
                             .index = at->index,
                             .span = ready,
                             .bytes = STREAM_LOSS_BYTES};
    if (sums) {
        const int64_t bytes = sums->nodes.n * (int64_t)sizeof *sums->sum;
        TRY(comm_buf_create(ports->net->comm, &msg.payload, bytes));
        memcpy(comm_buf_data(msg.payload), sums->sum, (size_t)bytes);
    }
    return stream_send_up(ports, &msg);
}

/* Send the whole message to each parent: losses and times are not striped.  Times are the
 * emulator's own report of a step that has ended.  They occupy no link: a packet of theirs that is
 * lost would delay the next step, which a run that resumes before it would not know. */
enum wsc_err stream_send_up(const struct stream_ports *ports, struct stream_msg *msg)
{
    enum wsc_err rc = WSC_OK;
    for (int m = 0; m < ports->up.n && !rc; m++) {
        (void)comm_buf_ref(msg->payload);
        rc = msg->kind == STREAM_MSG_TIMES ? stream_signal(ports->up.data[m], msg)
                                           : stream_send(ports->up.data[m], msg);
    }
    comm_buf_unref(&msg->payload);
    return rc;
}
