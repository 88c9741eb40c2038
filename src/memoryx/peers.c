// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

/* Shard 0 gathers, decides and tells; the others send and wait. */

enum wsc_err memoryx_gather(struct memoryx *mx, int32_t kind, int64_t step, int index,
                            struct comm_msg *msg)
{
    for (int i = 0; i < mx->ports->n_peers; i++)
        TRY(stream_recv_data(mx->ports->peer_in[i], kind, step, index, &msg[i]));
    return WSC_OK;
}

static enum wsc_err lead_exchange(struct memoryx *mx, const struct memoryx_round *round,
                                  struct comm_buf **own, struct comm_buf **total, struct vtime *at)
{
    struct comm_msg msg[HW_MAX_SHARDS];
    struct comm_buf *part[HW_MAX_SHARDS] = {*own};
    struct vtime known[HW_MAX_SHARDS];
    known[0] = *at;
    TRY(memoryx_gather(mx, STREAM_MSG_SUMS, round->step, round->index, msg));
    for (int i = 0; i < mx->ports->n_peers; i++) {
        known[i + 1] = msg[i].span.last;
        part[i + 1] = msg[i].payload;
    }
    *at = vtime_latest_of(comm_recorder(mx->net->comm), known, mx->n_shards);
    enum wsc_err rc = *own ? round->combine(mx, round->ctx, part, total) : WSC_OK;
    for (int m = 1; m < mx->n_shards; m++)
        comm_buf_unref(&part[m]);
    for (int i = 0; i < mx->ports->n_peers && !rc; i++) {
        const struct comm_msg out = {.kind = STREAM_MSG_TOTALS,
                                     .step = round->step,
                                     .index = round->index,
                                     .span = vtime_at(*at),
                                     .bytes = round->bytes,
                                     .payload = *total ? comm_buf_ref(*total) : NULL};
        rc = comm_send(mx->ports->peer_out[i], &out);
    }
    return rc;
}

static enum wsc_err follow_exchange(struct memoryx *mx, const struct memoryx_round *round,
                                    struct comm_buf **own, struct comm_buf **total,
                                    struct vtime *at)
{
    struct comm_msg msg = {.kind = STREAM_MSG_SUMS,
                           .step = round->step,
                           .index = round->index,
                           .span = vtime_at(*at),
                           .bytes = round->bytes,
                           .payload = *own};
    *own = NULL;
    TRY(comm_send(mx->ports->peer_out[0], &msg));
    TRY(stream_recv_data(mx->ports->peer_in[0], STREAM_MSG_TOTALS, round->step, round->index,
                         &msg));
    *total = msg.payload;
    *at = msg.span.last;
    return WSC_OK;
}

enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at)
{
    *total = NULL;
    enum wsc_err rc =
        (mx->shard ? follow_exchange : lead_exchange)(mx, round, &take_own, total, at);
    comm_buf_unref(&take_own);
    return rc;
}

enum wsc_err memoryx_share_hash(struct memoryx *mx, int64_t step, uint64_t *hash)
{
    struct comm_msg msg[HW_MAX_SHARDS];
    if (mx->shard) {
        struct comm_msg mine = {.kind = STREAM_MSG_HASH, .step = step};
        mine.field[0] = (int64_t)*hash;
        return comm_signal(mx->ports->peer_out[0], &mine);
    }
    TRY(memoryx_gather(mx, STREAM_MSG_HASH, step, 0, msg));
    for (int i = 0; i < mx->ports->n_peers; i++)
        *hash += (uint64_t)msg[i].field[0];
    return WSC_OK;
}
