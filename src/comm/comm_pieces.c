// SPDX-License-Identifier: Apache-2.0
/* Payloads that are read and sent while they arrive: cut-through on the host
 * (docs/decisions/0035).  A payload knows how many of its first bytes are there.  Who receives over
 * a link with `early` gets it with the header and may send it on at once: each piece leaves when it
 * has come.  Readers of other links, within the rank, wait until all of it is there.
 * comm_remote.c sends and receives the pieces; here is what fibers call, src/swarmx/swarmx_pieces.c
 * among them. */
#include "comm_queue.h"

#include <wsc/check.h>

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
    const enum wsc_err rc = comm_remote_filled(buf, bytes);
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
