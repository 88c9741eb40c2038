// SPDX-License-Identifier: Apache-2.0
/* Creates and destroys a fabric: it checks sizes and allocates the arrays of routers and PEs.
 * mesh_clear() forgets a program and keeps memory. Next: mesh_link.c (routes), program.c (tasks),
 * run.c (cycles); mesh_state.h explains the layout of the data. */
#include "mesh_flow.h"
#include "mesh_link.h"
#include "mesh_queue.h"
#include "mesh_share.h"
#include "mesh_state.h"
#include "pool.h"
#include "program.h"
#include "region.h"
#include "repeat.h"

#include <wsc/mem.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 2048 };

/* Reset PE @p i to one without a program; its memory is kept. */
static void pe_init(struct mesh *m, int64_t i)
{
    struct mesh_pe *pe = &m->pe[i];
    *pe = (struct mesh_pe){.region = pe->region,
                           .index = (int32_t)i,
                           .x = (int16_t)(i % m->config.w),
                           .y = (int16_t)(i / m->config.w),
                           .awaits = UINT8_MAX,
                           .memory = pe->memory,
                           .memory_bytes = pe->memory_bytes,
                           .reserved = pe->reserved};
}

/* Sources. Hop: SDK documentation, HPDC'24 (WSE-2: 1), SDK debugging log and FABRICA (WSE-3: 2).
 * Ramp: HPDC'24, T_R = 2; WSE-3 to the PE: FABRICA, arrival to execution 3. Set-up of an operation
 * with a fabric operand: 0 on WSE-2, since the equations of HPDC'24 have no term for it; on WSE-3
 * FABRICA measures 7 cycles from dispatch to the link, of which 1 is execution and 2 are ramp. */
static const struct mesh_latencies latencies[] = {
    [MESH_WSE2] = {.hop = 1, .ramp_up = 2, .ramp_down = 2, .setup = 0},
    [MESH_WSE3] = {.hop = 2, .ramp_up = 2, .ramp_down = 3, .setup = 4},
};

struct mesh_latencies mesh_latencies_of(enum mesh_arch arch)
{
    return latencies[arch];
}

int mesh_held_wavelets(enum mesh_arch arch)
{
    return MESH_FIFO + MESH_DEEPEST_IN + latencies[arch].ramp_down;
}

bool mesh_arch_of(int64_t hop, enum mesh_arch *arch)
{
    for (int i = 0; i < (int)(sizeof latencies / sizeof *latencies); i++) {
        if (latencies[i].hop != hop) continue;
        *arch = (enum mesh_arch)i;
        return true;
    }
    return false;
}

static void set_latencies(struct mesh *m)
{
    const struct mesh_latencies of = mesh_latencies_of(m->config.arch);
    m->hop = of.hop;
    m->ramp_up = of.ramp_up;
    m->ramp_down = of.ramp_down;
    m->setup_fabric = of.setup;
    for (int d = 0; d < 5; d++)
        m->step[d] = mesh_dx[d] + (int64_t)mesh_dy[d] * m->config.w;
}

/* Free what belongs to a program. The arrays of places, channels and queues are kept for the next
 * program. */
static void free_program(struct mesh *m)
{
    wsc_free(m->extra);
    mesh_cells_free(m);
    wsc_free(m->source);
    wsc_free(m->sink);
    m->channel = NULL;
    m->extra = NULL;
    m->source = NULL;
    m->sink = NULL;
    m->n_channels = 0;
    m->n_extra = m->extra_capacity = m->n_sources = m->n_sinks = m->n_tasks = 0;
}

/* Reset the fabric to an empty one. The memory of the PEs keeps its contents and reservations, so
 * that programs can follow each other on the same data. */
enum wsc_err mesh_clear(struct mesh *m)
{
    free_program(m);
    TRY_NEW(m->cell, WSC_MEM_MESH, m->n_pes);
    memset(m->router, 0, (size_t)m->n_pes * sizeof *m->router);
    TRY(mesh_bindings_clear(m));
    for (int64_t i = 0; i < m->n_pes; i++)
        pe_init(m, i);
    for (int i = 0; i < m->n_regions; i++)
        mesh_region_clear(&m->region[i]);
    mesh_share_fini(m);
    m->share_rc = m->end_rc = WSC_OK;
    wsc_free(m->end_message);
    m->end_message = NULL;
    m->round = m->until = 0;
    m->stopped = false;
    m->n_ran = 0;
    m->linked = m->expired = m->together = false;
    return WSC_OK;
}

static int64_t lines(int64_t bytes)
{
    return (bytes + MESH_LINE - 1) / MESH_LINE * MESH_LINE;
}

/* Allocate routers, PEs and main threads in one block, the most frequently accessed array first. */
static enum wsc_err allocate(struct mesh *m)
{
    const int64_t routers = lines(m->n_pes * (int64_t)sizeof *m->router),
                  pes = lines(m->n_pes * (int64_t)sizeof *m->pe),
                  threads = lines(m->n_pes * (int64_t)sizeof *m->main);
    TRY(mesh_buffer_take(&m->places, routers + pes + threads));
    char *next = m->places.data;
    memset(next, 0, (size_t)(routers + pes));
    m->router = (void *)next;
    m->pe = (void *)(next + routers);
    m->main = (void *)(next + routers + pes);
    return mesh_regions_init(m);
}

enum wsc_err mesh_create(struct mesh **out, const struct mesh_config *config)
{
    struct mesh *m;
    *out = NULL;
    if (config->threads < 0 || config->threads > MESH_MAX_THREADS)
        return WSC_RAISE(WSC_USAGE, "mesh: %d threads, expected 0 to %d", config->threads,
                         MESH_MAX_THREADS);
    if (config->w < 1 || config->h < 1 || config->w > MAX_SIDE || config->h > MAX_SIDE)
        return WSC_RAISE(WSC_USAGE, "mesh: a fabric of %d x %d, expected 1 to %d PEs a side",
                         config->w, config->h, MAX_SIDE);
    if ((unsigned)config->arch > MESH_WSE3 || (unsigned)config->half >= NUM_N_HALVES ||
        config->max_cycles < 0 || config->max_cycles > INT32_MAX)
        return WSC_RAISE(WSC_USAGE, "mesh: architecture %d, 16-bit format %d, at most %lld cycles",
                         (int)config->arch, (int)config->half, (long long)config->max_cycles);
    if (config->share && config->share->parts > config->h)
        return WSC_RAISE(WSC_USAGE, "mesh: %d processes share a fabric of %d rows",
                         config->share->parts, config->h);
    TRY_NEW(m, WSC_MEM_MESH, 1);
    m->config = *config;
    if (!m->config.max_cycles || m->config.max_cycles > INT32_MAX) m->config.max_cycles = INT32_MAX;
    m->n_pes = (int64_t)config->w * config->h;
    set_latencies(m);
    enum wsc_err rc = allocate(m);
    if (!rc) rc = mesh_clear(m);
    if (rc) {
        mesh_destroy(&m);
        return rc;
    }
    *out = m;
    return WSC_OK;
}

void mesh_destroy(struct mesh **mesh)
{
    struct mesh *m = *mesh;
    if (!m) return;
    for (int64_t i = 0; m->pe && i < m->n_pes; i++)
        if (mesh_pool_size(m->pe[i].memory_bytes) == MESH_POOL_SIZES) wsc_free(m->pe[i].memory);
    for (int i = 0; i < m->n_regions && m->region; i++)
        mesh_flow_free(m->region[i].flow);
    mesh_regions_fini(m);
    mesh_share_fini(m);
    free_program(m);
    mesh_repeats_free(m->repeats);
    wsc_free(m->end_message);
    mesh_bindings_free(m);
    mesh_buffer_give(&m->channels);
    mesh_buffer_give(&m->queues);
    mesh_buffer_give(&m->places);
    wsc_free(m);
    *mesh = NULL;
}

int mesh_x(const struct mesh_pe *pe)
{
    return pe->x;
}

int mesh_y(const struct mesh_pe *pe)
{
    return pe->y;
}

void *mesh_user(const struct mesh_pe *pe)
{
    return pe->region->m->config.user;
}

int64_t mesh_now(const struct mesh_pe *pe)
{
    return pe->region->now;
}
