// SPDX-License-Identifier: Apache-2.0
/* Payloads that are read and sent while they arrive: cut-through on the host
 * (docs/decisions/0033).  A payload knows how many of its first bytes are there.  Who receives over
 * a link with `early` gets it with the header and may send it on at once: each piece leaves when it
 * has come.  Readers of other links, within the rank, wait until all of it is there.
 * comm_remote.c and src/swarmx/swarmx_pieces.c call. */
#include "comm_queue.h"

#include <wsc/check.h>

/* Send what is there, over the links that have begun to send the payload; wake who reads it when it
 * is complete. */
static enum wsc_err pass_on(struct comm_buf *buf)
{
    for (struct comm_link *link = buf->comm->links; link; link = link->next) {
        if (link->outgoing.n && link->outgoing.head->msg.payload == buf)
            TRY(comm_remote_go_on(link));
        if (buf->filled == buf->bytes && link->arrived.n && link->arrived.head->msg.payload == buf)
            comm_link_wake(link);
    }
    return WSC_OK;
}

enum wsc_err comm_buf_filled_to(struct comm_buf *buf, int64_t bytes)
{
    WSC_CHECK(bytes >= buf->filled && bytes <= buf->bytes, "%lld of %lld bytes after %lld",
              (long long)bytes, (long long)buf->bytes, (long long)buf->filled);
    buf->filled = bytes;
    if (buf->waiter && bytes >= buf->waited) {
        comm_fiber_make_ready(buf->comm, buf->waiter);
        buf->waiter = NULL;
    }
    return buf->passed_on ? pass_on(buf) : WSC_OK;
}

/* ---- receiving ------------------------------------------------------------------------------- */

enum wsc_err comm_pieces_begin(struct comm_link *link)
{
    link->piece_next = link->piece_posted = 0;
    if (!link->early) return WSC_OK;
    if (!link->piece_there) TRY_NEW(link->piece_there, WSC_MEM_COMM, link->comm->chunks_in_flight);
    link->incoming->msg.payload->filled = 0;
    return WSC_OK;
}

/* Pieces may complete in any order; the payload grows by those that follow each other. */
enum wsc_err comm_pieces_arrived(struct comm_link *link, int64_t piece)
{
    struct comm_buf *payload = link->incoming->msg.payload;
    const int64_t n = link->comm->chunks_in_flight, before = link->piece_next;
    if (!link->early) {
        link->piece_next++;
        return WSC_OK;
    }
    link->piece_there[piece % n] = true;
    while (link->piece_there[link->piece_next % n])
        link->piece_there[link->piece_next++ % n] = false;
    if (link->piece_next == before) return WSC_OK;
    const int64_t bytes = link->piece_next * link->comm->chunk_bytes;
    return comm_buf_filled_to(payload, bytes < payload->bytes ? bytes : payload->bytes);
}

/* ---- what fibers call ------------------------------------------------------------------------ */

enum wsc_err comm_buf_create_open(struct comm *comm, struct comm_buf **out, int64_t bytes)
{
    comm_enter(comm);
    const enum wsc_err rc = comm_buf_take(comm, out, bytes);
    if (!rc) {
        (*out)->filled = 0;
        (*out)->passed_on = true;
    }
    comm_leave(comm);
    return rc;
}

enum wsc_err comm_buf_fill(struct comm_buf *buf, int64_t bytes)
{
    comm_enter(buf->comm);
    const enum wsc_err rc = comm_buf_filled_to(buf, bytes);
    comm_leave(buf->comm);
    return rc;
}

void comm_buf_wait(struct comm_link *link, struct comm_buf *buf, int64_t bytes)
{
    struct comm *comm = link->comm;
    comm_enter(comm);
    while (buf->filled < bytes) {
        WSC_CHECK(!buf->waiter, "two fibers wait for a payload");
        struct comm_fiber *self = comm->running;
        buf->waiter = self;
        buf->waited = bytes;
        self->state = FIBER_RECEIVING;
        self->waits_for = link;
        comm_fiber_block(comm);
    }
    comm_leave(comm);
}
