// SPDX-License-Identifier: Apache-2.0
/* The only protocol among shards: every shard sends its part to shard 0, which combines the parts
 * in the order of shards and sends the total to all. So all shards compute with equal bits. Norms,
 * sums over whole tensors and the hash of the weights use it (memoryx_norms.c,
 * memoryx_tensorwise.c, memoryx_hash.c). */
#include "memoryx_exchange.h"

static enum wsc_err send(const struct memoryx_round *round, struct comm_link *link,
                         enum stream_msg_kind kind, struct comm_buf *take_payload, struct vtime at)
{
    const struct stream_msg msg = {.kind = kind,
                                   .step = round->step,
                                   .index = round->index,
                                   .span = vtime_at(at),
                                   .bytes = round->bytes,
                                   .payload = take_payload};
    return (round->bytes ? stream_send : stream_signal)(link, &msg);
}

/* Receive *@p payload; *@p at: when it arrives on this shard. */
static enum wsc_err receive(const struct memoryx *mx, const struct memoryx_round *round,
                            struct comm_link *link, enum stream_msg_kind kind,
                            struct comm_buf **payload, struct vtime *at)
{
    struct stream_msg msg;
    TRY(stream_recv(mx->ports, link, kind, round->step, round->index, &msg));
    *payload = msg.payload;
    *at = msg.span.last;
    return WSC_OK;
}

/* Receive the parts of the other shards and combine all parts; part[0] is that of shard 0. */
static enum wsc_err combine(const struct memoryx *mx, const struct memoryx_round *round,
                            struct comm_buf **part, struct comm_buf **total, struct vtime *at)
{
    const struct stream_ports *ports = mx->ports;
    struct vtime known[HW_MAX_SHARDS] = {0};
    known[0] = *at;
    for (int i = 0; i < ports->n_peers; i++)
        TRY(receive(mx, round, ports->peer_in[i], STREAM_MSG_PART, &part[i + 1], &known[i + 1]));
    if (round->bytes) *at = vtime_latest_of(comm_recorder(mx->net->comm), known, mx->n_shards);
    return part[0] ? round->combine(mx, round->ctx, part, total) : WSC_OK;
}

static enum wsc_err exchange_as_first(const struct memoryx *mx, const struct memoryx_round *round,
                                      struct comm_buf *take_own, struct comm_buf **total,
                                      struct vtime *at)
{
    const struct stream_ports *ports = mx->ports;
    struct comm_buf *part[HW_MAX_SHARDS] = {take_own};
    enum wsc_err rc = combine(mx, round, part, total, at);
    for (int m = 0; m < mx->n_shards; m++)
        comm_buf_unref(&part[m]);
    for (int i = 0; i < ports->n_peers && !rc; i++)
        rc = send(round, ports->peer_out[i], STREAM_MSG_TOTAL, comm_buf_ref(*total), *at);
    return rc;
}

static enum wsc_err exchange_with_first(const struct memoryx *mx, const struct memoryx_round *round,
                                        struct comm_buf *take_own, struct comm_buf **total,
                                        struct vtime *at)
{
    TRY(send(round, mx->ports->peer_out[0], STREAM_MSG_PART, take_own, *at));
    return receive(mx, round, mx->ports->peer_in[0], STREAM_MSG_TOTAL, total, at);
}

enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at)
{
    *total = NULL;
    const enum wsc_err rc =
        (mx->shard ? exchange_with_first : exchange_as_first)(mx, round, take_own, total, at);
    if (rc) comm_buf_unref(total);
    return rc;
}
