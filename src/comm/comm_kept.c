// SPDX-License-Identifier: Apache-2.0
/* A list of kept payloads, the most recently used first, with a limit in bytes. The weights of a
 * stage pass a link twice in a micro-batch, forward and backward. Both ends of a link between ranks
 * keep the last payloads in such a list. Both see the same messages in the same order, so the lists
 * are equal, and the sender sends a payload of the list as its index alone. The order of stages in
 * a step is a palindrome, for which the most recently used payloads are the best choice.
 * comm_remote.c calls, and MemoryX for packed weights. */
#include "comm_state.h"

#include <wsc/check.h>

#include <string.h>

/* Move entry @p i to the front. */
static void use(struct comm_kept *kept, int i)
{
    const struct comm_kept_entry entry = kept->entry[i];
    memmove(kept->entry + 1, kept->entry, (size_t)i * sizeof entry);
    kept->entry[0] = entry;
}

struct comm_buf *comm_kept_at(struct comm_kept *kept, int i)
{
    WSC_CHECK(i >= 0 && i < kept->n, "payload %d of %d kept ones", i, kept->n);
    use(kept, i);
    return kept->entry[0].buf;
}

int comm_kept_index(const struct comm_kept *kept, int64_t key)
{
    for (int i = 0; i < kept->n; i++)
        if (kept->entry[i].key == key) return i;
    return -1;
}

enum wsc_err comm_kept_put(struct comm_kept *kept, int64_t limit_bytes, int64_t key,
                           struct comm_buf *buf)
{
    if (buf->bytes > limit_bytes) return WSC_OK;
    while (kept->n && kept->bytes + buf->bytes > limit_bytes) {
        struct comm_kept_entry *last = &kept->entry[--kept->n];
        kept->bytes -= last->buf->bytes;
        comm_buf_give(&last->buf);
    }
    TRY_GROW(kept->entry, WSC_MEM_COMM, kept->room, kept->n + 1);
    buf->refs++;
    kept->entry[kept->n] = (struct comm_kept_entry){key, buf};
    kept->bytes += buf->bytes;
    use(kept, kept->n++);
    return WSC_OK;
}

void comm_kept_drop(struct comm_kept *kept)
{
    while (kept->n)
        comm_buf_give(&kept->entry[--kept->n].buf);
    kept->bytes = 0;
}

void comm_kept_fini(struct comm_kept *kept)
{
    comm_kept_drop(kept);
    wsc_free(kept->entry);
    kept->entry = NULL;
    kept->room = 0;
}

/* ---- what programs keep ---------------------------------------------------------------------- */

struct comm_buf *comm_keep_find(struct comm *comm, struct comm_kept *kept, int64_t key)
{
    struct comm_buf *buf = NULL;
    comm_enter(comm);
    const int i = comm_kept_index(kept, key);
    if (i >= 0) buf = comm_kept_at(kept, i);
    if (buf) buf->refs++;
    comm_leave(comm);
    return buf;
}

enum wsc_err comm_keep(struct comm *comm, struct comm_kept *kept, int64_t key, struct comm_buf *buf)
{
    if (comm->size == 1) return WSC_OK;
    comm_enter(comm);
    const enum wsc_err rc = comm_kept_put(kept, comm->keep_bytes, key, buf);
    comm_leave(comm);
    return rc;
}

void comm_keep_drop(struct comm *comm, struct comm_kept *kept)
{
    comm_enter(comm);
    comm_kept_fini(kept);
    comm_leave(comm);
}

void comm_link_forget(struct comm_link *link)
{
    if (!link || link->dst_local) return;
    comm_enter(link->comm);
    comm_kept_drop(&link->kept);
    link->forgets = true;
    comm_leave(link->comm);
}

void comm_set_keep(struct comm *comm, int64_t bytes)
{
    comm->keep_bytes = bytes;
}

int64_t comm_sent_bytes(const struct comm *comm)
{
    return comm->sent_bytes;
}
