// SPDX-License-Identifier: Apache-2.0
/* Payloads with reference counts. A broadcast inside one process shares one payload among all
 * receivers; the release of the last reference frees it. */
#include "comm_state.h"

#include <wsc/check.h>

/* A released buffer is kept for the next payload of about its size, so that a step allocates
 * nothing. The kept buffers are at most those that one step has in flight. */
enum { MAX_WASTE_FACTOR = 2 };

/* The first free buffer that fits and wastes at most its size. */
static struct comm_buf *take_free(struct comm *comm, int64_t bytes)
{
    for (struct comm_buf **p = &comm->free_bufs; *p; p = &(*p)->next) {
        struct comm_buf *b = *p;
        if (b->capacity < bytes || b->capacity > MAX_WASTE_FACTOR * bytes + 4096) continue;
        *p = b->next;
        comm->free_buf_bytes -= b->capacity;
        return b;
    }
    return NULL;
}

enum wsc_err comm_buf_take(struct comm *comm, struct comm_buf **out, int64_t bytes)
{
    struct comm_buf *b = take_free(comm, bytes);
    if (!b) {
        TRY_NEW(b, WSC_MEM_COMM, 1);
        b->comm = comm;
        b->capacity = bytes;
        b->data = wsc_alloc_raw(WSC_MEM_COMM, (size_t)bytes, 1);
        if (!b->data) {
            wsc_free(b);
            return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "allocate payload");
        }
    }
    b->bytes = b->filled = bytes;
    b->passed_on = b->last_first = false;
    b->waiters = NULL;
    b->refs = 1;
    b->next = NULL;
    *out = b;
    return WSC_OK;
}

enum wsc_err comm_buf_create(struct comm *comm, struct comm_buf **out, int64_t bytes)
{
    comm_enter(comm);
    const enum wsc_err rc = comm_buf_take(comm, out, bytes);
    comm_leave(comm);
    return rc;
}

void *comm_buf_data(struct comm_buf *buf)
{
    return buf->data;
}

int64_t comm_buf_bytes(const struct comm_buf *buf)
{
    return buf->bytes;
}

struct comm_buf *comm_buf_ref(struct comm_buf *buf)
{
    if (!buf) return NULL;
    comm_enter(buf->comm);
    buf->refs++;
    comm_leave(buf->comm);
    return buf;
}

void comm_buf_give(struct comm_buf **buf)
{
    struct comm_buf *b = *buf;
    *buf = NULL;
    if (!b) return;
    WSC_CHECK(b->refs > 0, "payload released twice");
    if (--b->refs) return;
    b->next = b->comm->free_bufs;
    b->comm->free_bufs = b;
    b->comm->free_buf_bytes += b->capacity;
}

void comm_buf_unref(struct comm_buf **buf)
{
    struct comm *comm = *buf ? (*buf)->comm : NULL;
    if (!comm) return;
    comm_enter(comm);
    comm_buf_give(buf);
    comm_leave(comm);
}
