// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/mesh.h>

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

TEST(mesh, two_edge_sinks_at_one_side_are_refused)
{
    struct mesh *m = pair();
    struct mesh_output one = {.n = 0}, other = {.n = 0};
    struct mesh_stats stats;
    route(m, left, 5, MESH_RAMP, MESH_WEST);
    T_OK(mesh_edge_sink(m, 0, 0, MESH_WEST, 5, &one));
    T_OK(mesh_edge_sink(m, 0, 0, MESH_WEST, 5, &other));
    expect(&m, mesh_run(m, &stats), WSC_USAGE,
           "PE (0, 0): colour 5 has two edge sinks at one side");
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

/* Vectors of wavelets, of memory, and of a shape whose length did not fit. */
static enum wsc_err too_many_rows(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd one = mesh_mem(0, 1), many = mesh_rows(one, 65536, 0);
    (void)data;
    CU_ASSERT_EQUAL(mesh_shaped(mesh_in(5, 1), &many).n_dims, many.n_dims);
    CU_ASSERT_EQUAL(mesh_rows(many, 2, 0).n_dims, many.n_dims);
    T_EQ(mesh_do(pe, MESH_FMOVS, one, mesh_rows(mesh_in(5, 1), 65536, 0), (struct mesh_dsd){0}),
         WSC_USAGE);
    return mesh_do(pe, MESH_FMOVS, many, mesh_float(0), (struct mesh_dsd){0});
}

TEST(mesh, rows_beyond_a_descriptor_are_refused)
{
    struct mesh *m = pair();
    struct mesh_stats stats;
    route(m, right, 5, MESH_RAMP, MESH_WEST);
    route(m, left, 5, MESH_EAST, MESH_RAMP);
    T_OK(mesh_input_queue(m, left, 0, 5));
    T_OK(mesh_task(m, left, 8, too_many_rows, MESH_LOW));
    T_OK(mesh_start(m, left, 8));
    expect(&m, mesh_run(m, &stats), WSC_USAGE,
           "PE (0, 0): fmovs: a length beyond 0 to 65535 or a stride beyond 32767");
}
