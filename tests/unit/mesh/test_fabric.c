// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/mesh.h>

#include <string.h>

/* Small scenes with the cycle of every event derived by hand.  On WSE-2, counted from 0: an element
 * executed in cycle c is in the router at c + 1 + 2 (execution, ramp), L hops later at c + 3 + L,
 * and executed by the receiver at c + 3 + L + 2; cycles = last execution + 1. */

enum { MAX_SEEN = 64, GO = 8, DONE = 9 };

struct scene {
    struct mesh *m;
    struct mesh_stats stats;
    int n, address;
    int n_seen;
    int64_t seen[MAX_SEEN]; /* cycles at which probes ran, in order */
    uint32_t data[MAX_SEEN];
};

static void scene_init(struct scene *s, int w, int h, enum mesh_arch arch)
{
    memset(s, 0, sizeof *s);
    T_OK(mesh_create(
        &s->m, &(struct mesh_config){.w = w, .h = h, .arch = arch, .max_cycles = 1 << 20, .user = s}));
    T_OK(mesh_reserve(s->m, (struct mesh_rect){0, 0, w, h}, 4096, 0, "data", &s->address));
}

static void scene_end(struct scene *s)
{
    mesh_destroy(&s->m);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

static struct mesh_rect one(int x, int y)
{
    return (struct mesh_rect){x, y, 1, 1};
}

static struct mesh_rect row(int x, int n)
{
    return (struct mesh_rect){x, 0, n, 1};
}

static void route(struct scene *s, struct mesh_rect at, int colour, int rx, int tx)
{
    T_OK(mesh_route(s->m, at, colour, &(struct mesh_route){.rx = (uint8_t)rx, .tx = (uint8_t)tx}));
}

static enum wsc_err probe(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    s->data[s->n_seen] = data;
    s->seen[s->n_seen++] = mesh_now(pe);
    return WSC_OK;
}

static void bind(struct scene *s, struct mesh_rect at, int id, mesh_task_fn fn)
{
    T_OK(mesh_task(s->m, at, id, fn, MESH_LOW));
}

/* PE (0, 0) sends n words on colour 1, the others of the row receive them. */
static enum wsc_err send_n(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(1, s->n), mesh_mem(s->address, s->n),
                   (struct mesh_dsd){0});
}

static enum wsc_err receive_n(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_mem(s->address, s->n), mesh_in(1, s->n),
                   (struct mesh_dsd){0});
}

static void row_of_receivers(struct scene *s, int p)
{
    route(s, one(0, 0), 1, MESH_RAMP, MESH_EAST);
    if (p > 2) route(s, row(1, p - 2), 1, MESH_WEST, MESH_RAMP | MESH_EAST);
    route(s, one(p - 1, 0), 1, MESH_WEST, MESH_RAMP);
    T_OK(mesh_output_queue(s->m, one(0, 0), 2, 1));
    T_OK(mesh_input_queue(s->m, row(1, p - 1), 2, 1));
    bind(s, one(0, 0), GO, send_n);
    bind(s, row(1, p - 1), GO, receive_n);
    T_OK(mesh_start(s->m, row(0, p), GO));
}

TEST(mesh, message_takes_words_plus_distance_plus_five)
{
    for (int p = 2; p < 9; p++) {
        for (int n = 1; n < 20; n += 6) {
            struct scene s;
            scene_init(&s, p, 1, MESH_WSE2);
            s.n = n;
            row_of_receivers(&s, p);
            T_OK(mesh_run(s.m, &s.stats));
            /* Word n - 1 is executed at n - 1 and received at n - 1 + 5 + (p - 1). */
            T_EQ(s.stats.cycles, n + p + 4);
            T_EQ(s.stats.wavelets, n);
            T_EQ(s.stats.wavelet_hops, n * (p - 1));
            scene_end(&s);
        }
    }
}
