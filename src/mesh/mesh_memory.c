// SPDX-License-Identifier: Apache-2.0
/* Manages the memory of the PEs, 48 KB each. A reservation that does not fit is named in the
 * error; host memory grows as addresses are touched. mesh_copy.c has the copies between host and
 * PEs. */
#include "mesh_memory.h"
#include "mesh_state.h"
#include "pool.h"
#include "recording.h"

#include <wsc/mem.h>

#include <string.h>

/* Allocate memory of @p bytes, rounded up: small sizes from the region's pool, others from the
 * heap, which reuses freed memory of other sizes. */
static uint8_t *new_memory(struct mesh_region *r, int64_t *bytes)
{
    int size = mesh_pool_size(*bytes);
    if (size == MESH_POOL_SIZES) return wsc_alloc_raw(WSC_MEM_MESH, (size_t)*bytes, 1);
    *bytes = mesh_pool_bytes(size);
    return mesh_pool_take(&r->memory, size);
}

static void old_memory(struct mesh_region *r, uint8_t *memory, int64_t bytes)
{
    int size = mesh_pool_size(bytes);
    if (!bytes) return;
    if (size == MESH_POOL_SIZES)
        wsc_free(memory);
    else
        mesh_pool_give(&r->memory, size, memory);
}

/* Memory grows at once to what is reserved, and at least doubles, so that it is seldom copied. */
enum wsc_err mesh_touch(struct mesh_pe *pe, int64_t end)
{
    if (end <= pe->memory_bytes) return WSC_OK;
    int64_t bytes = end > pe->reserved ? end : pe->reserved;
    if (bytes < 2 * (int64_t)pe->memory_bytes) bytes = 2 * (int64_t)pe->memory_bytes;
    if (bytes > MESH_SRAM_BYTES) bytes = MESH_SRAM_BYTES;
    uint8_t *memory = new_memory(pe->region, &bytes);
    if (!memory) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "memory of a PE");
    if (pe->memory_bytes) memcpy(memory, pe->memory, (size_t)pe->memory_bytes);
    memset(memory + pe->memory_bytes, 0, (size_t)(bytes - pe->memory_bytes));
    old_memory(pe->region, pe->memory, pe->memory_bytes);
    pe->memory = memory;
    pe->memory_bytes = (int32_t)bytes;
    return WSC_OK;
}

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Reserve one address in the whole rectangle, after the reservations of the fullest PE, so that
 * one program fits all PEs. @p skew moves the start to another bank. */
enum wsc_err mesh_reserve(struct mesh *m, struct mesh_rect rect, int64_t bytes, int skew,
                          const char *what, int *address)
{
    enum { ALIGNMENT = 8 };
    TRY(mesh_check_rect(m, rect));
    const struct mesh_pe *fullest = mesh_pe_at(m, rect.x, rect.y);
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            if (mesh_pe_at(m, x, y)->reserved > fullest->reserved) fullest = mesh_pe_at(m, x, y);
    int64_t first = round_up(fullest->reserved, ALIGNMENT) + skew;
    if (bytes < 0 || skew < 0 || skew >= ALIGNMENT || bytes > MESH_SRAM_BYTES - first)
        return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): %s asks for %lld bytes, %lld of %d are left",
                         fullest->x, fullest->y, what, (long long)bytes,
                         (long long)(MESH_SRAM_BYTES - first), MESH_SRAM_BYTES);
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            mesh_pe_at(m, x, y)->reserved = (int32_t)(first + bytes);
    *address = (int)first;
    return WSC_OK;
}

enum wsc_err mesh_release(struct mesh *m, struct mesh_rect rect, int address)
{
    TRY(mesh_check_rect(m, rect));
    if (address < 0)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): address %d to release from", rect.x, rect.y,
                         address);
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            if (mesh_pe_at(m, x, y)->reserved > address) mesh_pe_at(m, x, y)->reserved = address;
    return WSC_OK;
}

enum wsc_err mesh_check_range(const struct mesh_pe *pe, int64_t first, int64_t bytes)
{
    if (first >= 0 && bytes >= 0 && first <= MESH_SRAM_BYTES - bytes) return WSC_OK;
    return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): %lld bytes at %lld lie outside its memory of %d",
                     pe->x, pe->y, (long long)bytes, (long long)first, MESH_SRAM_BYTES);
}

enum wsc_err mesh_load(const struct mesh_pe *pe, int address, uint32_t *value)
{
    *value = 0;
    mesh_record_refuse(pe->region);
    TRY(mesh_check_range(pe, address, sizeof *value));
    int64_t bytes = pe->memory_bytes - address; /* what was never touched reads as zero */
    if (bytes > (int64_t)sizeof *value) bytes = sizeof *value;
    if (bytes > 0) memcpy(value, pe->memory + address, (size_t)bytes);
    return WSC_OK;
}

enum wsc_err mesh_store(struct mesh_pe *pe, int address, uint32_t value)
{
    mesh_record_refuse(pe->region);
    TRY(mesh_check_range(pe, address, sizeof value));
    TRY(mesh_touch(pe, address + (int64_t)sizeof value));
    memcpy(pe->memory + address, &value, sizeof value);
    return WSC_OK;
}
