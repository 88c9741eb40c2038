// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/mesh.h>
#include <wsc/rng.h>

#include <string.h>

static const struct mesh_rect left = {0, 0, 1, 1}, right = {1, 0, 1, 1}, both = {0, 0, 2, 1};

static struct mesh *pair(void)
{
    struct mesh *m = NULL;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1, .max_cycles = 10000}));
    return m;
}

static void expect(struct mesh **m, enum wsc_err got, enum wsc_err wanted, const char *text)
{
    T_EQ(got, wanted);
    T_STR(wsc_err_message(), text);
    mesh_destroy(m);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

static void route(struct mesh *m, struct mesh_rect at, int colour, int rx, int tx)
{
    T_OK(mesh_route(m, at, colour, &(struct mesh_route){.rx = (uint8_t)rx, .tx = (uint8_t)tx}));
}

TEST(mesh, two_senders_are_refused)
{
    struct mesh *m = pair();
    struct mesh_route two = {.rx = MESH_RAMP | MESH_EAST, .tx = MESH_WEST};
    route(m, left, 5, MESH_RAMP, MESH_EAST);
    T_EQ(mesh_route(m, right, 5, &two), WSC_USAGE);
    T_STR(wsc_err_message(), "PE (1, 0): colour 5: two senders on one colour at one router");
    two.rx = MESH_EAST;
    expect(&m, mesh_route(m, both, 5, &two), WSC_USAGE,
           "PE (0, 0): colour 5 already comes from the ramp; a second route would give it two "
           "senders at one router");
}

TEST(mesh, memory_that_does_not_fit_is_named)
{
    struct mesh *m = pair();
    int address;
    T_OK(mesh_reserve(m, right, 49000, 0, "weights", &address));
    expect(&m, mesh_reserve(m, both, 153, 0, "sums", &address), WSC_CAPACITY,
           "PE (1, 0): sums asks for 153 bytes, 152 of 49152 are left");
}

static struct mesh_op op;
static enum wsc_err issue(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_issue(pe, &op);
}

static enum wsc_err run(struct mesh *m, struct mesh_rect at)
{
    struct mesh_stats stats;
    T_OK(mesh_task(m, at, 8, issue, MESH_LOW));
    T_OK(mesh_start(m, at, 8));
    return mesh_run(m, &stats);
}

TEST(mesh, reads_outside_memory_are_refused)
{
    struct mesh *m = pair();
    op = (struct mesh_op){.code = MESH_FMOVS, .dst = mesh_mem(0, 100), .a = mesh_mem(49000, 100)};
    expect(&m, run(m, right), WSC_CAPACITY,
           "PE (1, 0): fmovs reaches bytes 49000 to 49399, outside its memory of 49152");
}

TEST(mesh, a_colour_without_a_route_is_refused)
{
    struct mesh *m = pair();
    T_OK(mesh_output_queue(m, left, 0, 3));
    op = (struct mesh_op){.code = MESH_FMOVS, .dst = mesh_out(3, 1), .a = mesh_float(1)};
    expect(&m, run(m, left), WSC_USAGE, "PE (0, 0): fmovs: colour 3 has no route here");
}

TEST(mesh, wavelets_that_nobody_takes)
{
    struct mesh *m = pair();
    op = (struct mesh_op){.code = MESH_FMOVS, .dst = mesh_out(3, 2), .a = mesh_mem(0, 2)};
    T_OK(mesh_output_queue(m, left, 0, 3));
    route(m, left, 3, MESH_RAMP, MESH_EAST);
    expect(&m, run(m, left), WSC_USAGE,
           "PE (0, 0): nobody takes a wavelet of colour 3 to the east: the colour has no route "
           "there");
    m = pair();
    T_OK(mesh_output_queue(m, left, 0, 3));
    T_OK(mesh_input_queue(m, right, 0, 3));
    route(m, left, 3, MESH_RAMP, MESH_EAST);
    route(m, right, 3, MESH_WEST, MESH_RAMP);
    expect(&m, run(m, left), WSC_DEADLOCK, "PE (1, 0): nobody takes 2 wavelets of colour 3");
}

/* Each of the two waits for the other one's colour. */
static enum wsc_err wait_for_other(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_mem(0, 1), mesh_in(mesh_x(pe) ? 0 : 1, 1),
                   (struct mesh_dsd){0});
}

TEST(mesh, deadlock_names_who_waits_for_whom)
{
    struct mesh *m = pair();
    struct mesh_stats stats;
    route(m, left, 0, MESH_RAMP, MESH_EAST);
    route(m, right, 0, MESH_WEST, MESH_RAMP);
    route(m, right, 1, MESH_RAMP, MESH_WEST);
    route(m, left, 1, MESH_EAST, MESH_RAMP);
    T_OK(mesh_input_queue(m, left, 0, 1));
    T_OK(mesh_input_queue(m, right, 0, 0));
    T_OK(mesh_task(m, both, 8, wait_for_other, MESH_LOW));
    T_OK(mesh_start(m, both, 8));
    expect(&m, mesh_run(m, &stats), WSC_DEADLOCK,
           "mesh: deadlock in cycle 1: 2 PEs wait: PE (0, 0) waits for colour 1 from PE (1, 0); PE "
           "(1, 0) waits for colour 0 from PE (0, 0); a cycle: PE (0, 0) on PE (1, 0) on PE (0, "
           "0)");
}

/* ---- random programs, illegal ones included ---------------------------------------------------
 */

static uint64_t seed, drawn;
static int with_traffic;

static int draw(int below)
{
    return (int)(wsc_rng_u64(seed, wsc_rng_stream(WSC_RNG_TEST, 3), drawn++) % (uint64_t)below);
}

/* Mostly a single direction, sometimes a set, sometimes nonsense. */
static uint8_t draw_set(void)
{
    int kind = draw(16);
    if (kind == 0) return (uint8_t)draw(256);
    return (uint8_t)(kind < 4 ? draw(32) : 1 << draw(5));
}

static struct mesh_dsd draw_dsd(void)
{
    int n = draw(4) ? 6 : draw(40);
    switch (draw(6)) {
    case 0:
        return mesh_in(draw(4), n);
    case 1:
        return mesh_out(draw(4), n);
    case 2:
        return mesh_bits((uint32_t)draw(1 << 16));
    case 3:
        return (struct mesh_dsd){.kind = (uint8_t)draw(5),
                                 .n_dims = (uint8_t)draw(6),
                                 .colour = (uint8_t)draw(30),
                                 .len = {(uint16_t)draw(4), (uint16_t)draw(4), 2, 1},
                                 .stride = {(int16_t)(draw(64) - 8), (int16_t)draw(3), 1, 1},
                                 .address = draw(50000) - 20};
    default:
        return mesh_mem_strided(2 * draw(2000), n, draw(4) ? 1 : draw(20) - 4);
    }
}

static enum wsc_err take(struct mesh_pe *pe, uint32_t data)
{
    (void)pe, (void)data;
    return WSC_OK;
}

static enum wsc_err random_task(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    for (int i = draw(4); i > 0; i--) {
        struct mesh_op o = {.code = (uint8_t)(draw(30) ? draw(2) * MESH_FADDS : draw(20)),
                            .thread = (uint8_t)(draw(3) ? 0 : draw(10)),
                            .activate = (uint8_t)(draw(12) ? 0 : draw(70)),
                            .dst = draw_dsd(),
                            .a = draw_dsd()};
        if (o.code == MESH_FADDS) o.b = draw_dsd();
        if (draw(2)) o = (struct mesh_op){.dst = mesh_out(draw(4), 6), .a = mesh_mem(8, 6)};
        o.dst.control = draw(10) == 0;
        enum wsc_err rc = mesh_issue(pe, &o);
        if (rc && draw(30) == 0) return rc; /* mostly go on with what is legal */
    }
    if (draw(6) == 0) TRY(mesh_block_data(pe, draw(4)));
    return draw(5) ? WSC_OK : mesh_activate(pe, 8 + draw(3));
}

/* Colour c from the first PE of row 0 to all others of the row, so that there is traffic. */
static enum wsc_err legal_row(struct mesh *m, int w, int c)
{
    for (int x = 0; x < w; x++) {
        struct mesh_route r = {.rx = x ? MESH_WEST : MESH_RAMP, .tx = x ? MESH_RAMP : 0};
        if (x + 1 < w) r.tx |= MESH_EAST;
        if (r.tx) TRY(mesh_route(m, (struct mesh_rect){x, 0, 1, 1}, c, &r));
    }
    return WSC_OK;
}

static enum wsc_err random_routes(struct mesh *m, int w, int h)
{
    enum wsc_err rc;
    for (int c = 0; c < 4; c++)
        if (draw(3)) TRY(legal_row(m, w, c));
    for (int i = draw(4 * w * h + 2); i > 0; i--) {
        struct mesh_rect at = {draw(w), draw(h), 1 + draw(2), 1};
        struct mesh_route r = {.rx = draw_set(), .tx = draw_set(), .ring = draw(2)};
        r.n_more = draw(3) ? 0 : draw(5);
        r.pop = (enum mesh_pop)draw(3);
        for (int k = 0; k < 3; k++)
            r.more[k] = draw(2) ? (struct mesh_position){0, draw_set()}
                                : (struct mesh_position){draw_set(), 0};
        rc = mesh_route(m, at, draw(4), &r);
        if (rc && draw(200) == 0) return rc;
    }
    return WSC_OK;
}

static enum wsc_err random_program(struct mesh *m, int w, int h)
{
    const struct mesh_rect all = {0, 0, w, h};
    struct mesh_stats stats = {0};
    TRY(random_routes(m, w, h));
    for (int c = 0; c < 4; c++) {
        bool heard = draw(8);
        if (heard) TRY(mesh_input_queue(m, all, c, c));
        if (draw(8)) TRY(mesh_output_queue(m, all, c, c));
        if (heard && draw(4))
            TRY(mesh_data_task(m, all, c, draw(4) ? take : random_task, MESH_LOW));
        struct mesh_filter f = {.kind = (enum mesh_filter_kind)draw(3),
                                .count_data = draw(2),
                                .max = (uint32_t)draw(3),
                                .limit1 = (uint32_t)draw(5)};
        if (draw(6) == 0 && mesh_filter(m, (struct mesh_rect){draw(w), draw(h), 1, 1}, c, &f))
            continue;
    }
    for (int id = 8; id < 11; id++)
        TRY(mesh_task(m, all, id, random_task, (enum mesh_priority)draw(3)));
    for (int i = 0; i < 4; i++)
        TRY(mesh_start(m, (struct mesh_rect){draw(w), i % 2 ? 0 : draw(h), 1, 1}, 8 + draw(3)));
    enum wsc_err rc = mesh_run(m, &stats);
    with_traffic += !rc && stats.wavelets > 0;
    return rc;
}

static enum wsc_err random_run(void)
{
    struct mesh *m = NULL;
    drawn = 0;
    int w = 1 + draw(3), h = 1 + draw(3);
    T_OK(mesh_create(&m, &(struct mesh_config){
                             .w = w, .h = h, .arch = (enum mesh_arch)draw(2), .max_cycles = 3000}));
    enum wsc_err rc = random_program(m, w, h);
    mesh_destroy(&m);
    return rc;
}

static bool names_a_place(const char *message)
{
    return strstr(message, "PE (") || strstr(message, "PEs (") ||
           strstr(message, "mesh: ") == message;
}

TEST(mesh, random_programs_end_in_a_result_or_an_error_with_a_place)
{
    int n_ok = 0, n_deadlock = 0, n_other = 0, n_nowhere = 0;
    with_traffic = 0;
    for (seed = 1; seed <= 4000; seed++) {
        enum wsc_err rc = random_run();
        n_ok += !rc;
        n_deadlock += rc == WSC_DEADLOCK;
        n_other += rc == WSC_USAGE || rc == WSC_CAPACITY;
        n_nowhere += rc && !names_a_place(wsc_err_message());
    }
    T_EQ(n_ok + n_deadlock + n_other, 4000);
    T_EQ(n_nowhere, 0);
    /* The draw is worth something: all kinds of ends occur, often. */
    CU_ASSERT(with_traffic > 100 && n_deadlock > 200 && n_other > 200);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}
