// SPDX-License-Identifier: Apache-2.0
/* What the roles send each other in a step: weights down, credits and gradients up.
 *
 * Whoever is below the MemoryX shards, the root of the tree or a lone wafer, has all of them as
 * parents: it puts the parts of a weight vector together, and cuts gradients into parts again.
 * Everybody else has one parent and passes whole vectors on.  Called by the step of each role. */
#include "stream_packed.h"
#include "stream_striping.h"

#include <wsc/check.h>

#include <string.h>

/* ---- weights --------------------------------------------------------------------------------- */

/* Put shard @p m's part into the whole vector, which the first part creates. */
static enum wsc_err put_part(const struct stream_ports *ports, int stage, int m,
                             struct comm_buf **take_part, struct comm_buf **whole)
{
    const struct model *model = ports->net->model;
    const int64_t elem_bytes = num_format_bytes(model->format);
    enum wsc_err rc = WSC_OK;
    if (!*take_part) return WSC_OK;
    if (!*whole)
        rc = comm_buf_create(ports->net->comm, whole, model->stage[stage].n_elems * elem_bytes);
    if (!rc)
        stream_part_scatter(model, stage, m, ports->up.n, comm_buf_data(*take_part),
                            comm_buf_data(*whole), elem_bytes);
    comm_buf_unref(take_part);
    return rc;
}

/* What is true of all shards: the latest of their times. */
static void join_fields(struct stream_weights *all, const struct stream_weights *part)
{
    WSC_CHECK(all->gradient_scale == part->gradient_scale, "shards scale gradients by %g and by %g",
              all->gradient_scale, part->gradient_scale);
    all->step_start = vtime_max(all->step_start, part->step_start);
    all->reduced = vtime_max(all->reduced, part->reduced);
    all->ready = vtime_max(all->ready, part->ready);
}

/* Receive what follows shard 0's part.  Parts of a packed stage are put together when all are
 * there: only then is it known where they lie; @p held (one for each shard) keeps them. */
static enum wsc_err recv_other_parts(const struct stream_ports *ports, const struct stream_at *at,
                                     struct stream_msg *msg, struct comm_buf **held,
                                     struct comm_buf **whole)
{
    struct vtime_span span[STREAM_MAX_FANOUT]; /* of the parents that there are */
    const bool packed = msg->payload && stream_is_packed(ports->net->model, at->stage);
    span[0] = msg->span;
    held[0] = packed ? msg->payload : NULL;
    if (packed) msg->payload = NULL;
    TRY(put_part(ports, at->stage, 0, &msg->payload, whole));
    for (int m = 1; m < ports->up.n; m++) {
        struct stream_msg part;
        TRY(stream_recv(ports, ports->up.weights[m], STREAM_MSG_WEIGHTS, at->step, at->index,
                        &part));
        held[m] = packed ? part.payload : NULL;
        if (packed) part.payload = NULL;
        TRY(put_part(ports, at->stage, m, &part.payload, whole));
        span[m] = part.span;
        join_fields(&msg->field.weights, &part.field.weights);
    }
    msg->span = vtime_span_latest(comm_recorder(ports->net->comm), span, ports->up.n);
    if (!packed) return WSC_OK;
    return stream_packed_join(ports->net->comm, ports->net->model, at->stage, held, ports->up.n,
                              whole);
}

enum wsc_err stream_recv_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg)
{
    struct comm_buf *held[STREAM_MAX_FANOUT] = {NULL}, *whole = NULL;
    msg->payload = NULL;
    TRY(stream_recv(ports, ports->up.weights[0], STREAM_MSG_WEIGHTS, at->step, at->index, msg));
    if (ports->up.n == 1) return WSC_OK;
    const enum wsc_err rc = recv_other_parts(ports, at, msg, held, &whole);
    for (int m = 0; m < ports->up.n; m++)
        comm_buf_unref(&held[m]);
    if (rc) comm_buf_unref(&whole);
    /* Stripes are rounded up, the whole is not. */
    msg->bytes = stream_amounts(ports->net, at->stage, at->updates)->weight_bytes;
    msg->payload = whole;
    return rc;
}

/* Elements of the stage that a sender has: a shard its part, others all. */
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

/* One reference of the payload for each child; a failed send stops there, and the caller's
 * reference goes in any case. */
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

/* A credit has the time of the latest child, since each child must have room. */
enum wsc_err stream_recv_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime *time)
{
    struct vtime granted[STREAM_MAX_FANOUT]; /* by the children that there are */
    struct stream_msg msg;
    for (int i = 0; i < ports->down.n; i++) {
        TRY(stream_recv(ports, ports->down.credit[i], STREAM_MSG_CREDIT, step, index, &msg));
        granted[i] = msg.span.last;
    }
    *time = vtime_latest_of(comm_recorder(ports->net->comm), granted, ports->down.n);
    return WSC_OK;
}

/* ---- upwards --------------------------------------------------------------------------------- */

/* Shard @p m's part of a list of whole vectors; NULL of none. */
static enum wsc_err cut_part(const struct stream_ports *ports, int stage, int m,
                             struct comm_buf *whole, int n_sums, struct comm_buf **part)
{
    const struct model *model = ports->net->model;
    const int n_shards = ports->up.n;
    const int64_t n_elems = model->stage[stage].n_grads;
    *part = NULL;
    if (!whole) return WSC_OK;
    if (stream_is_packed(model, stage))
        return stream_packed_cut(ports->net->comm, model, stage,
                                 (struct stream_part_of){m, n_shards}, whole, n_sums, part);
    const int64_t n_part = stream_stage_part_grads(model, stage, m, n_shards);
    TRY(comm_buf_create(ports->net->comm, part, n_sums * n_part * (int64_t)sizeof(float)));
    for (int i = 0; i < n_sums; i++)
        stream_part_gather(model, stage, m, n_shards,
                           (const float *)comm_buf_data(whole) + i * n_elems,
                           (float *)comm_buf_data(*part) + i * n_part);
    return WSC_OK;
}

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

enum wsc_err stream_send_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct vtime_span ready, struct comm_buf *take_sums, int n_sums)
{
    const int n = ports->up.n;
    const int64_t bytes = stream_amounts(ports->net, at->stage, at->updates)->grad_bytes;
    struct stream_msg msg = {.kind = STREAM_MSG_GRADIENTS,
                             .step = at->step,
                             .index = at->index,
                             .span = ready,
                             .bytes = stream_per_shard(bytes, n),
                             .payload = take_sums};
    enum wsc_err rc = WSC_OK;
    if (n == 1) {
        if (take_sums && comm_buf_is_there(take_sums)) comm_buf_set_order(take_sums, true);
        count_gradients(ports, at->stage, 0, take_sums, n_sums);
        return stream_send(ports->up.data[0], &msg);
    }
    for (int m = 0; m < n && !rc; m++) {
        rc = cut_part(ports, at->stage, m, take_sums, n_sums, &msg.payload);
        if (rc) break;
        count_gradients(ports, at->stage, m, msg.payload, n_sums);
        rc = stream_send(ports->up.data[m], &msg);
    }
    comm_buf_unref(&take_sums);
    return rc;
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

/* The whole message to each parent: losses and times are not striped. */
enum wsc_err stream_send_up(const struct stream_ports *ports, struct stream_msg *msg)
{
    enum wsc_err rc = WSC_OK;
    for (int m = 0; m < ports->up.n && !rc; m++) {
        (void)comm_buf_ref(msg->payload);
        rc = stream_send(ports->up.data[m], msg);
    }
    comm_buf_unref(&msg->payload);
    return rc;
}
