// SPDX-License-Identifier: Apache-2.0
#include <wsc/stream.h>

#include <wsc/check.h>
#include <wsc/mem.h>

static void expect(const struct comm_msg *msg, int32_t kind, int64_t step, int index)
{
    WSC_CHECK(msg->kind == kind && msg->step == step && msg->index == index,
              "got message %d of step %lld, index %d; expected %d of step %lld, index %d",
              (int)msg->kind, (long long)msg->step, (int)msg->index, (int)kind, (long long)step,
              index);
}

enum wsc_err stream_recv_data(struct comm_link *link, int32_t kind, int64_t step, int index,
                              struct comm_msg *msg)
{
    TRY(comm_recv(link, msg));
    expect(msg, kind, step, index);
    return WSC_OK;
}

/* Put shard @p m's part into the whole vector, which the first part creates. */
static enum wsc_err put_part(struct stream_net *net, int stage, int m, int n_shards,
                             struct comm_msg *part, struct comm_buf **whole)
{
    if (!part->payload) return WSC_OK;
    const int64_t elem_bytes = num_format_bytes(net->model->format);
    if (!*whole)
        TRY(comm_buf_create(net->comm, whole, net->model->stage[stage].n_elems * elem_bytes));
    stream_slice_scatter(net->model, stage, m, n_shards, comm_buf_data(part->payload),
                         comm_buf_data(*whole), elem_bytes);
    comm_buf_unref(&part->payload);
    return WSC_OK;
}

enum wsc_err stream_recv_weights(struct stream_net *net, const struct stream_ports *ports,
                                 int64_t step, int index, int stage, struct comm_msg *msg)
{
    const struct stream_side *up = &ports->up;
    TRY(stream_recv_data(up->weights[0], STREAM_MSG_WEIGHTS, step, index, msg));
    if (up->n == 1) return WSC_OK;
    struct comm_buf *whole = NULL;
    struct vtime_span span[STREAM_MAX_FANOUT];
    span[0] = msg->span;
    TRY(put_part(net, stage, 0, up->n, msg, &whole));
    for (int m = 1; m < up->n; m++) {
        struct comm_msg part;
        TRY(stream_recv_data(up->weights[m], STREAM_MSG_WEIGHTS, step, index, &part));
        TRY(put_part(net, stage, m, up->n, &part, &whole));
        span[m] = part.span;
        for (int f = 0; f < COMM_MSG_FIELDS; f++)
            if (part.field[f] > msg->field[f]) msg->field[f] = part.field[f];
    }
    msg->span = vtime_span_latest(comm_recorder(net->comm), span, up->n);
    msg->bytes =
        stream_weight_bytes(net->model, stage); /* stripes are rounded up, the whole is not */
    msg->payload = whole;
    return WSC_OK;
}

enum wsc_err stream_send_weights(const struct stream_ports *ports, struct comm_msg *msg)
{
    for (int i = 0; i < ports->down.n; i++) {
        struct comm_msg copy = *msg;
        copy.payload = comm_buf_ref(msg->payload);
        TRY(comm_send(ports->down.weights[i], &copy));
    }
    comm_buf_unref(&msg->payload);
    return WSC_OK;
}

enum wsc_err stream_send_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime at)
{
    const struct comm_msg msg = {
        .kind = STREAM_MSG_CREDIT, .index = index, .step = step, .span = vtime_at(at)};
    for (int i = 0; i < ports->up.n; i++)
        TRY(comm_signal(ports->up.credit[i], &msg));
    return WSC_OK;
}

enum wsc_err stream_recv_credit(const struct stream_net *net, const struct stream_ports *ports,
                                int64_t step, int index, struct vtime *at)
{
    struct vtime granted[STREAM_MAX_FANOUT];
    for (int i = 0; i < ports->down.n; i++) {
        struct comm_msg msg;
        TRY(stream_recv_data(ports->down.credit[i], STREAM_MSG_CREDIT, step, index, &msg));
        granted[i] = msg.span.last;
    }
    *at = vtime_latest_of(comm_recorder(net->comm), granted, ports->down.n);
    return WSC_OK;
}

/* Shard @p m's part of a list of whole vectors. */
static enum wsc_err cut_part(struct stream_net *net, int stage, int m, int n_shards, int n_sums,
                             struct comm_buf *whole, struct comm_buf **part)
{
    const int64_t n_elems = net->model->stage[stage].n_elems;
    const int64_t n_part = stream_stage_slice_elems(net->model, stage, m, n_shards);
    TRY(comm_buf_create(net->comm, part, n_sums * n_part * (int64_t)sizeof(float)));
    for (int i = 0; i < n_sums; i++)
        stream_slice_gather(net->model, stage, m, n_shards,
                            (const float *)comm_buf_data(whole) + i * n_elems,
                            (float *)comm_buf_data(*part) + i * n_part, sizeof(float));
    return WSC_OK;
}

/* Gradients are cut over the shards; anything else goes to each of them whole. */
static enum wsc_err make_part(struct stream_net *net, const struct comm_msg *msg, int stage,
                              int n_sums, int m, struct comm_msg *part)
{
    const int n_shards = net->topology->n_shards;
    *part = *msg;
    if (msg->kind != STREAM_MSG_GRADS) {
        part->payload = comm_buf_ref(msg->payload);
        return WSC_OK;
    }
    part->bytes = stream_per_shard_bytes(msg->bytes, n_shards);
    if (!msg->payload) return WSC_OK;
    part->payload = NULL;
    return cut_part(net, stage, m, n_shards, n_sums, msg->payload, &part->payload);
}

enum wsc_err stream_send_up(struct stream_net *net, const struct stream_ports *ports,
                            struct comm_msg *msg, int stage, int n_sums)
{
    if (ports->up.n == 1) return comm_send(ports->up.data[0], msg);
    for (int m = 0; m < ports->up.n; m++) {
        struct comm_msg part;
        TRY(make_part(net, msg, stage, n_sums, m, &part));
        TRY(comm_send(ports->up.data[m], &part));
    }
    comm_buf_unref(&msg->payload);
    return WSC_OK;
}
