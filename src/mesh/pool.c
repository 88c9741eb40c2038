// SPDX-License-Identifier: Apache-2.0
/* Allocates memory of a region that comes and goes while the fabric runs: blocks of a power of two
 * cache lines from slabs, with one free list a size, and buffers that are kept from one program to
 * the next. A pool is not shared between threads. */
#include "pool.h"

#include <wsc/mem.h>

#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 1 << 21 };

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Large pages: the lines of a large array are visited in turn, so with small pages most visits
 * would also miss the TLB of the host. */
enum wsc_err mesh_buffer_take(struct mesh_buffer *b, int64_t bytes)
{
    const int64_t page = LARGE_PAGE;
    if (bytes <= b->bytes) return WSC_OK;
    mesh_buffer_give(b);
    if (bytes >= page) bytes = (bytes + page - 1) / page * page;
    b->base = wsc_alloc_raw(WSC_MEM_MESH, (size_t)(bytes < page ? bytes : bytes + page), 1);
    if (!b->base) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "memory of the fabric");
    b->bytes = bytes;
    b->data = b->base;
    if (bytes < page) return WSC_OK;
    b->data = (char *)b->base + (uintptr_t)page - (uintptr_t)b->base % (uintptr_t)page;
    (void)madvise(b->data, (size_t)bytes, MADV_HUGEPAGE); /* advice; without it slower */
    return WSC_OK;
}

void mesh_buffer_give(struct mesh_buffer *b)
{
    wsc_free(b->base);
    *b = (struct mesh_buffer){0};
}

enum wsc_err mesh_buffer_zero(struct mesh_buffer *b, int64_t bytes)
{
    TRY(mesh_buffer_take(b, bytes));
    if (bytes) memset(b->data, 0, (size_t)bytes);
    return WSC_OK;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Each slab is twice as large as the last one: a small fabric takes little memory, a large one
 * allocates seldom. */
enum { FIRST_SLAB = 1 << 14, LAST_SLAB = 1 << 22 };

struct mesh_slab {
    struct mesh_slab *next;
    struct mesh_buffer buffer; /* this is its first line */
};
_Static_assert(sizeof(struct mesh_slab) <= MESH_LINE, "the head of a slab is a cache line");

/* Sizes are powers of two of a cache line; MESH_POOL_SIZES: too large for the pool. */
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

/* Large blocks are spaced one line more than their length. Otherwise equal addresses of
 * neighbouring PEs would fall into the same sets of the host's caches. */
static int64_t spacing(int size)
{
    int64_t bytes = mesh_pool_bytes(size);
    return bytes < (int64_t)16 * MESH_LINE ? bytes : bytes + MESH_LINE;
}

static struct mesh_slab *new_slab(int64_t bytes)
{
    struct mesh_buffer b = {0};
    if (mesh_buffer_take(&b, bytes) || !b.data) return NULL;
    struct mesh_slab *slab = b.data;
    *slab = (struct mesh_slab){NULL, b};
    return slab;
}

/* Switch to the slab after the current one, which an earlier program may have left, or to a new
 * one. */
static bool next_slab(struct mesh_pool *p)
{
    struct mesh_slab *slab = p->current ? p->current->next : p->first;
    int64_t bytes = p->current ? 2 * p->current->buffer.bytes : FIRST_SLAB;
    if (!slab) {
        slab = new_slab(bytes < LAST_SLAB ? bytes : LAST_SLAB);
        if (!slab) return false;
        *(p->current ? &p->current->next : &p->first) = slab;
    }
    p->current = slab;
    p->used = MESH_LINE;
    return true;
}

/* Take a free block of the size, otherwise the next bytes of the slab. The first bytes of a free
 * block point to the next free one. */
void *mesh_pool_take(struct mesh_pool *p, int size)
{
    void *block = p->free[size];
    if (block) {
        memcpy(&p->free[size], block, sizeof(void *));
        return block;
    }
    if ((!p->current || p->used + spacing(size) > p->current->buffer.bytes) && !next_slab(p))
        return NULL;
    block = (char *)p->current + p->used;
    p->used += spacing(size);
    return block;
}

void mesh_pool_give(struct mesh_pool *p, int size, void *block)
{
    memcpy(block, &p->free[size], sizeof(void *));
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
        struct mesh_buffer b = slab->buffer;
        p->first = slab->next;
        mesh_buffer_give(&b);
    }
}
