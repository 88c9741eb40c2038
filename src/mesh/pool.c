// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

#include <string.h>
#include <sys/mman.h>

/* Slabs double from one to the next: a small fabric stays small, a large one asks seldom. */
enum { FIRST_SLAB = 1 << 14, LAST_SLAB = 1 << 22, LARGE_PAGE = 1 << 21 };

struct mesh_slab {
    struct mesh_slab *next;
    int64_t bytes;
};

int mesh_pool_size(int64_t bytes)
{
    int size = 0;
    while (size < MESH_POOL_SIZES && mesh_pool_bytes(size) < bytes)
        size++;
    return size;
}

int64_t mesh_pool_bytes(int size)
{
    return (int64_t)MESH_LINE << size;
}

/* Large blocks lie a line farther apart than they are long: the same address of neighbouring PEs
 * would else compete for the same places of the host's caches. */
static int64_t spacing(int size)
{
    int64_t bytes = mesh_pool_bytes(size);
    return bytes < 16 * MESH_LINE ? bytes : bytes + MESH_LINE;
}

static bool next_slab(struct mesh_pool *p)
{
    struct mesh_slab *slab = p->current ? p->current->next : p->first;
    int64_t bytes = p->current ? 2 * p->current->bytes : FIRST_SLAB;
    if (bytes > LAST_SLAB) bytes = LAST_SLAB;
    if (!slab) {
        slab = wsc_alloc_raw(WSC_MEM_MESH, (size_t)bytes, 1);
        if (!slab) return false;
        mesh_large_pages(slab, bytes);
        *slab = (struct mesh_slab){NULL, bytes};
        *(p->current ? &p->current->next : &p->first) = slab;
    }
    p->current = slab;
    p->used = MESH_LINE; /* the slab's own */
    return true;
}

void *mesh_pool_take(struct mesh_pool *p, int size)
{
    void *block = p->free[size];
    if (block) {
        memcpy(&p->free[size], block, sizeof block);
        return block;
    }
    if ((!p->current || p->used + spacing(size) > p->current->bytes) && !next_slab(p)) return NULL;
    block = (char *)p->current + p->used;
    p->used += spacing(size);
    return block;
}

void mesh_pool_give(struct mesh_pool *p, int size, void *block)
{
    memcpy(block, &p->free[size], sizeof block);
    p->free[size] = block;
}

void mesh_pool_reset(struct mesh_pool *p)
{
    p->current = p->first;
    p->used = MESH_LINE;
    memset(p->free, 0, sizeof p->free);
}

void mesh_pool_fini(struct mesh_pool *p)
{
    while (p->first) {
        struct mesh_slab *slab = p->first;
        p->first = slab->next;
        wsc_free(slab);
    }
}

void mesh_large_pages(void *block, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)block, first = (begin + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE;
    uintptr_t end = (begin + (uintptr_t)bytes) & -(uintptr_t)LARGE_PAGE;
    /* Advice: a host that does not take it is slower, no more. */
    if (first < end) (void)madvise((char *)block + (first - begin), end - first, MADV_HUGEPAGE);
}

enum wsc_err mesh_buffer_zero(struct mesh_buffer *b, int64_t bytes)
{
    if (bytes <= b->bytes) {
        if (bytes) memset(b->data, 0, (size_t)bytes);
        return WSC_OK;
    }
    wsc_free(b->data);
    *b = (struct mesh_buffer){0};
    b->data = wsc_alloc_raw(WSC_MEM_MESH, (size_t)bytes, 1);
    if (!b->data) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "queues of the fabric");
    mesh_large_pages(b->data, bytes);
    memset(b->data, 0, (size_t)bytes);
    b->bytes = bytes;
    return WSC_OK;
}
