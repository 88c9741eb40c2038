// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

void ok(enum wsc_err rc)
{
    T_OK(rc);
}

void expect_eq(long long a, long long b, const char *what, const char *file, int line)
{
    CU_ASSERT(test_eq(a, b, what, file, line));
}

void expect_seen(const struct scene *s, int i, int64_t cycle, uint32_t data, const char *file,
                 int line)
{
    expect_eq(s->seen[i].cycle, cycle, "cycle", file, line);
    expect_eq(s->seen[i].data, data, "data", file, line);
}

void scene_init(struct scene *s, int w, int h, enum mesh_arch arch)
{
    memset(s, 0, sizeof *s);
    ok(mesh_create(&s->m, &(struct mesh_config){
                              .w = w, .h = h, .arch = arch, .max_cycles = 1 << 16, .user = s}));
}

void scene_run(struct scene *s)
{
    ok(mesh_run(s->m, &s->stats));
}

void scene_end(struct scene *s)
{
    mesh_destroy(&s->m);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

void scene_fails(struct scene *s, enum wsc_err code, const char *text)
{
    T_EQ(mesh_run(s->m, &s->stats), code);
    T_STR(wsc_err_message(), text);
    scene_end(s);
}

struct mesh_rect at(int x, int y)
{
    return (struct mesh_rect){x, y, 1, 1};
}

struct mesh_rect row(int x, int n)
{
    return (struct mesh_rect){x, 0, n, 1};
}

void route(struct scene *s, struct mesh_rect where, int colour, int rx, int tx)
{
    ok(mesh_route(s->m, where, colour, &(struct mesh_route){.rx = (uint8_t)rx, .tx = (uint8_t)tx}));
}

void route_row(struct scene *s, int colour, int p, unsigned takers)
{
    for (int x = 0; x < p; x++) {
        int tx = (takers >> x & 1U ? MESH_RAMP : 0) | (x + 1 < p ? MESH_EAST : 0);
        route(s, at(x, 0), colour, x ? MESH_WEST : MESH_RAMP, tx);
    }
}

void hears(struct scene *s, struct mesh_rect where, int queue, int colour, mesh_task_fn fn)
{
    ok(mesh_input_queue(s->m, where, queue, colour));
    if (fn) ok(mesh_data_task(s->m, where, colour, fn, MESH_LOW));
}

void sends(struct scene *s, struct mesh_rect where, int queue, int colour)
{
    ok(mesh_output_queue(s->m, where, queue, colour));
}

void task(struct scene *s, struct mesh_rect where, int id, mesh_task_fn fn)
{
    ok(mesh_task(s->m, where, id, fn, MESH_LOW));
}

void starts(struct scene *s, struct mesh_rect where, mesh_task_fn fn)
{
    task(s, where, GO, fn);
    ok(mesh_start(s->m, where, GO));
}

enum wsc_err probe(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    WSC_CHECK(s->n_seen < SCENE_SEEN, "a scene notes at most %d calls", SCENE_SEEN);
    s->seen[s->n_seen++] = (struct seen){mesh_now(pe), mesh_x(pe), mesh_y(pe), data};
    return WSC_OK;
}

enum wsc_err issue_ops(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    for (int i = 0; i < s->n_ops; i++)
        TRY(mesh_issue(pe, &s->op[i]));
    return WSC_OK;
}

static enum wsc_err send(struct mesh_pe *pe, int colour)
{
    const struct scene *s = mesh_user(pe);
    return mesh_do(pe, MESH_FMOVS, mesh_out(colour, s->n), mesh_mem(0, s->n), (struct mesh_dsd){0});
}

enum wsc_err send_1(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return send(pe, 1);
}

enum wsc_err send_2(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return send(pe, 2);
}

enum wsc_err wait_first(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_wait(pe, s->wait);
}

void count_up(struct scene *s, struct mesh_rect where, int n)
{
    for (int y = where.y; y < where.y + where.h; y++)
        for (int x = where.x; x < where.x + where.w; x++)
            for (uint32_t i = 0; i < (uint32_t)n; i++)
                ok(mesh_copy_in(s->m, at(x, y), (int)(4 * i), &i, sizeof i));
}
