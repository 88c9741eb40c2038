// SPDX-License-Identifier: Apache-2.0
/* Payloads that are read and sent while they arrive: cut-through on the host (docs/decisions/0035).
 * A payload records how many of its first bytes are there, or of its last bytes if those are
 * produced and used first, as for gradients. The receiver on a link with `early` gets the payload
 * with the header and may send it on at once: each piece is sent when it has arrived. Readers of
 * other links, within the rank, wait for the complete payload. comm_remote.c sends and receives the
 * pieces; this file has the functions that fibers call, for example swarmx_pieces.c and
 * wafer_pieces.c. */
#include "comm_queue.h"

#include <wsc/check.h>

enum wsc_err comm_buf_create_open(struct comm *comm, struct comm_buf **out, int64_t bytes,
                                  bool last_first)
{
    comm_enter(comm);
    const enum wsc_err rc = comm_buf_take(comm, out, bytes);
    if (!rc) {
        (*out)->filled = 0;
        (*out)->last_first = last_first;
        (*out)->passed_on = true;
    }
    comm_leave(comm);
    return rc;
}

enum wsc_err comm_buf_fill(struct comm_buf *buf, int64_t bytes)
{
    comm_enter(buf->comm);
    const enum wsc_err rc = comm_remote_filled(buf, bytes);
    comm_leave(buf->comm);
    return rc;
}

void comm_buf_set_order(struct comm_buf *buf, bool last_first)
{
    comm_enter(buf->comm);
    WSC_CHECK(buf->filled == buf->bytes, "a payload that is coming in an order already");
    buf->last_first = last_first;
    comm_leave(buf->comm);
}

bool comm_buf_is_there(struct comm_buf *buf)
{
    comm_enter(buf->comm);
    const bool there = buf->filled == buf->bytes;
    comm_leave(buf->comm);
    return there;
}

void comm_buf_wait(struct comm_link *link, struct comm_buf *buf, int64_t first, int64_t end)
{
    struct comm *comm = link->comm;
    comm_enter(comm);
    const int64_t wanted = buf->last_first ? buf->bytes - first : end;
    while (buf->filled < wanted) {
        struct comm_fiber *self = comm_running(comm);
        self->waited = wanted;
        self->state = FIBER_RECEIVING;
        self->waits_for = link;
        self->next = buf->waiters;
        buf->waiters = self;
        comm_fiber_block(comm);
    }
    comm_leave(comm);
}
