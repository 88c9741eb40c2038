// SPDX-License-Identifier: Apache-2.0
/* Copies between the host and memories of PEs, in rows of a rectangle. With several processes each
 * one copies the memory of its PEs and receives the rest; while a run is resumed the host gets the
 * data that it read before (snapshot.c). */
#include "mesh_memory.h"
#include "mesh_share.h"
#include "mesh_state.h"
#include "region.h"
#include "snapshot.h"

#include <string.h>

/* Copy between the host and the PEs of a rectangle, row by row: to host[0] or from host[1],
 * whichever is not NULL. */
static enum wsc_err copy(struct mesh *m, struct mesh_rect rect, int address, int64_t bytes,
                         void *const host[2])
{
    TRY(mesh_check_rect(m, rect));
    for (int64_t i = 0; i < (int64_t)rect.w * rect.h; i++) {
        struct mesh_pe *pe = mesh_pe_at(m, rect.x + (int)(i % rect.w), rect.y + (int)(i / rect.w));
        TRY(mesh_check_range(pe, address, bytes));
        if (!mesh_is_own(pe)) continue;
        TRY(mesh_touch(pe, address + bytes));
        if (host[0]) memcpy((char *)host[0] + i * bytes, pe->memory + address, (size_t)bytes);
        if (host[1]) memcpy(pe->memory + address, (char *)host[1] + i * bytes, (size_t)bytes);
    }
    return WSC_OK;
}

/* copy() does not write to host[1]; the union removes the `const` without a cast. */
enum wsc_err mesh_copy_in(struct mesh *m, struct mesh_rect rect, int address, const void *host,
                          int64_t bytes)
{
    union {
        const void *borrowed;
        void *same;
    } from = {.borrowed = host};
    if (!bytes || mesh_snapshot_repeats(m)) return mesh_check_rect(m, rect);
    return copy(m, rect, address, bytes, (void *[2]){NULL, from.same});
}

enum wsc_err mesh_copy_out(struct mesh *m, struct mesh_rect rect, int address, void *host,
                           int64_t bytes)
{
    if (!bytes) return mesh_check_rect(m, rect);
    if (!mesh_snapshot_repeats(m)) {
        TRY(copy(m, rect, address, bytes, (void *[2]){host, NULL}));
        TRY(mesh_share_rows(m, rect, host, bytes));
    }
    return mesh_snapshot_say(m, host, (int64_t)rect.w * rect.h * bytes);
}

enum wsc_err mesh_collect(const struct mesh *m, struct mesh_rect rect, void *host, int64_t bytes)
{
    TRY(mesh_check_rect(m, rect));
    if (!mesh_snapshot_repeats(m)) TRY(mesh_share_rows(m, rect, host, bytes));
    return mesh_snapshot_say(m, host, (int64_t)rect.w * rect.h * bytes);
}
