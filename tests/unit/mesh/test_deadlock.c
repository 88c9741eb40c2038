// SPDX-License-Identifier: Apache-2.0
/* What is said when nothing can move any more: who waits, on which colour, for whom, and one cycle
 * of that relation; or what was left over. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

/* The PE with the number i in row-major order carries out scene.op[i]. */
static enum wsc_err issue_by_number(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_issue(pe, &s->op[mesh_y(pe) * s->n + mesh_x(pe)]);
}

static struct mesh_op receive(int colour)
{
    return (struct mesh_op){.dst = mesh_mem(0, 1), .a = mesh_in(colour, 1)};
}

TEST(mesh_deadlock, a_ring_of_waiting_pes)
{
    /* Clockwise around a square, each PE sends on its colour and waits for that of its
     * predecessor. */
    static const int x[4] = {0, 1, 1, 0}, y[4] = {0, 0, 1, 1};
    static const int out[4] = {MESH_EAST, MESH_SOUTH, MESH_WEST, MESH_NORTH};
    static const int in[4] = {MESH_SOUTH, MESH_WEST, MESH_NORTH, MESH_EAST};
    struct scene s;
    scene_init(&s, 2, 2, MESH_WSE2);
    s.n = 2;
    for (int i = 0; i < 4; i++) {
        int before = (i + 3) % 4;
        route(&s, at(x[i], y[i]), 10 + i, MESH_RAMP, out[i]);
        route(&s, at(x[i], y[i]), 10 + before, in[i], MESH_RAMP);
        hears(&s, at(x[i], y[i]), 0, 10 + before, NULL);
        s.op[y[i] * 2 + x[i]] = receive(10 + before);
    }
    starts(&s, (struct mesh_rect){0, 0, 2, 2}, issue_by_number);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 1: 4 PEs wait: PE (0, 0) waits for colour 13 from PE (0, "
                "1); PE (1, 0) waits for colour 10 from PE (0, 0); PE (0, 1) waits for colour 12 "
                "from PE (1, 1); PE (1, 1) waits for colour 11 from PE (1, 0); a cycle: PE (0, 0) "
                "on PE (0, 1) on PE (1, 1) on PE (1, 0) on PE (0, 0)");
}

/* Both PEs send many words before they receive. */
static enum wsc_err send_then_receive(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    const struct mesh_dsd words = mesh_mem(0, s->n), none = {0};
    int own = 1 + mesh_x(pe);
    (void)data;
    TRY(mesh_do(pe, MESH_FMOVS, mesh_out(own, s->n), words, none));
    return mesh_do(pe, MESH_FMOVS, words, mesh_in(3 - own, s->n), none);
}

static void exchange(struct scene *s, int n)
{
    scene_init(s, 2, 1, MESH_WSE2);
    s->n = n;
    route(s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
    route(s, at(1, 0), 1, MESH_WEST, MESH_RAMP);
    route(s, at(1, 0), 2, MESH_RAMP, MESH_WEST);
    route(s, at(0, 0), 2, MESH_EAST, MESH_RAMP);
    for (int x = 0; x < 2; x++) {
        sends(s, at(x, 0), 2, 1 + x);
        hears(s, at(x, 0), 2, 2 - x, NULL);
    }
    starts(s, row(0, 2), send_then_receive);
}

TEST(mesh_deadlock, a_cycle_of_back_pressure)
{
    struct scene s;
    /* 6 in the output queue, 2 x 4 in routers, 4 + 2 before the PE: 20 words fit, 21 do not. */
    exchange(&s, 20);
    scene_run(&s);
    scene_end(&s);
    exchange(&s, 21);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 20: 2 PEs wait: PE (0, 0) waits to send colour 1 held up "
                "at PE (1, 0); PE (1, 0) waits to send colour 2 held up at PE (0, 0); a cycle: PE "
                "(0, 0) on PE (1, 0) on PE (0, 0)");
}

TEST(mesh_deadlock, nobody_sends)
{
    struct scene s;
    scene_init(&s, 3, 1, MESH_WSE2);
    s.n = 3;
    route_row(&s, 4, 3, 6);
    hears(&s, row(1, 2), 3, 4, NULL);
    s.op[1] = s.op[2] = receive(4);
    starts(&s, row(1, 2), issue_by_number);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 1: 2 PEs wait: PE (1, 0) waits for colour 4 from PE (0, "
                "0); PE (2, 0) waits for colour 4 from PE (0, 0)");
}

TEST(mesh_deadlock, the_edge_sends_too_little)
{
    const struct mesh_wavelet one = {7, false};
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    route(&s, at(0, 0), 4, MESH_WEST, MESH_RAMP);
    hears(&s, at(0, 0), 3, 4, NULL);
    ok(mesh_edge_source(s.m, 0, 0, MESH_WEST, 4, &one, 1));
    s.op[0] = (struct mesh_op){.dst = mesh_mem(0, 2), .a = mesh_in(4, 2)};
    starts(&s, at(0, 0), issue_by_number);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 4: 1 PE waits: PE (0, 0) waits for colour 4");
}

static enum wsc_err send_control_then_word(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_send_control(pe, 1, mesh_control(NULL, 0, DONE), 0));
    return mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits(0), (struct mesh_dsd){0});
}

/* The word is executed in cycle 1, reaches the right router at 5 and the end of the ramp at 7. */
TEST(mesh_deadlock, a_control_wavelet_before_the_words_of_an_operation)
{
    struct scene s;
    scene_init(&s, 2, 1, MESH_WSE2);
    s.n = 2;
    route_row(&s, 1, 2, 2);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(1, 0), 2, 1, NULL);
    task(&s, at(1, 0), DONE, probe);
    starts(&s, at(0, 0), send_control_then_word);
    s.op[1] = receive(1);
    starts(&s, at(1, 0), issue_by_number);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 7: 1 PE waits: PE (1, 0) waits for colour 1 from PE (0, "
                "0) after a control wavelet, whose task cannot start; a cycle: PE (1, 0) on PE "
                "(1, 0)");
}

TEST(mesh_deadlock, a_control_wavelet_without_a_task)
{
    struct scene s;
    scene_init(&s, 2, 1, MESH_WSE2);
    route_row(&s, 1, 2, 2);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(1, 0), 2, 1, NULL);
    starts(&s, at(0, 0), send_control_then_word);
    scene_fails(&s, WSC_USAGE, "PE (1, 0): nobody takes a control wavelet of colour 1: no task 9");
}

/* Twelve words of PE 1 wait until a control wavelet from PE 0 opens the switch; it never comes. */
TEST(mesh_deadlock, a_switch_that_stays_on_another_input)
{
    struct scene s;
    struct mesh_route r = {.rx = MESH_WEST, .tx = MESH_EAST, .n_more = 1};
    r.more[0].rx = MESH_RAMP;
    scene_init(&s, 3, 1, MESH_WSE2);
    s.n = 12;
    route(&s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
    ok(mesh_route(s.m, at(1, 0), 1, &r));
    route(&s, at(2, 0), 1, MESH_WEST, MESH_RAMP);
    sends(&s, row(0, 2), 2, 1);
    hears(&s, at(2, 0), 2, 1, NULL);
    starts(&s, at(1, 0), send_1);
    s.op[0] = (struct mesh_op){.dst = mesh_mem(0, 12), .a = mesh_in(1, 12)};
    s.n_ops = 1;
    starts(&s, at(2, 0), issue_ops);
    scene_fails(&s, WSC_DEADLOCK,
                "mesh: deadlock in cycle 6: 2 PEs wait: PE (1, 0) waits to send colour 1 held up "
                "at PE (1, 0), which now takes it from the west; PE (2, 0) waits for colour 1 from "
                "PE (0, 0)");
}

TEST(mesh_deadlock, of_many_the_first_eight_are_named)
{
    struct scene s;
    scene_init(&s, 12, 1, MESH_WSE2);
    route_row(&s, 1, 12, 0xFFE);
    hears(&s, row(1, 11), 0, 1, NULL);
    s.op[0] = receive(1);
    s.n_ops = 1;
    starts(&s, row(1, 11), issue_ops);
    T_EQ(mesh_run(s.m, &s.stats), WSC_DEADLOCK);
    const char *text = wsc_err_message();
    CU_ASSERT(!strncmp(text, "mesh: deadlock in cycle 1: 11 PEs wait: PE (1, 0) waits for", 59));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "; PE (8, 0) waits for colour 1 from PE (0, 0); and others"));
    CU_ASSERT_PTR_NULL(strstr(text, "PE (9, 0)"));
    scene_end(&s);
}

/* ---- nothing waits, but something is left -----------------------------------------------------
 */

static void row_of_two(struct scene *s, int n, mesh_task_fn taker)
{
    scene_init(s, 2, 1, MESH_WSE2);
    s->n = n;
    route_row(s, 1, 2, 2);
    sends(s, at(0, 0), 2, 1);
    hears(s, at(1, 0), 2, 1, taker);
    starts(s, at(0, 0), send_1);
}

static enum wsc_err block_1(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_block_data(pe, 1);
}

TEST(mesh_deadlock, words_that_are_left)
{
    struct scene s;
    row_of_two(&s, 3, NULL);
    scene_fails(&s, WSC_DEADLOCK, "PE (1, 0): nobody takes 3 wavelets of colour 1");
    row_of_two(&s, 3, probe);
    starts(&s, at(1, 0), block_1);
    scene_fails(&s, WSC_DEADLOCK,
                "PE (1, 0): nobody takes 3 wavelets of colour 1: the data task is blocked");
    /* 6 before PE 1 and 4 in each router; the rest waits in the output queue. */
    row_of_two(&s, 16, NULL);
    scene_fails(&s, WSC_DEADLOCK, "PE (0, 0): 2 wavelets of colour 1 cannot leave");
}

/* The next router takes the colour from its own PE, so the words stay before it. */
TEST(mesh_deadlock, words_that_are_left_in_a_router)
{
    const struct mesh_wavelet w[20] = {{0, false}};
    for (int n = 3; n < 20; n += 8) {
        struct scene s;
        char text[128];
        scene_init(&s, 2, 1, MESH_WSE2);
        route(&s, at(0, 0), 6, MESH_WEST, MESH_EAST);
        route(&s, at(1, 0), 6, MESH_RAMP, MESH_RAMP);
        ok(mesh_edge_source(s.m, 0, 0, MESH_WEST, 6, w, n));
        (void)snprintf(text, sizeof text,
                       "PE (0, 0): nobody takes %d wavelets of colour 6, held up at PE (1, 0)",
                       n < 4 ? n : 4);
        scene_fails(&s, WSC_DEADLOCK, text);
    }
}

TEST(mesh_deadlock, words_that_cannot_enter)
{
    const struct mesh_wavelet w[5] = {{0, false}};
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    route(&s, at(0, 0), 6, MESH_RAMP, MESH_EAST);
    ok(mesh_edge_source(s.m, 0, 0, MESH_WEST, 6, w, 5));
    scene_fails(&s, WSC_DEADLOCK, "PE (0, 0): 5 wavelets of colour 6 cannot enter the fabric");
}

static enum wsc_err block_and_activate(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_block(pe, DONE));
    return mesh_activate(pe, DONE);
}

TEST(mesh_deadlock, a_task_that_stays_blocked)
{
    struct scene s;
    scene_init(&s, 2, 2, MESH_WSE2);
    task(&s, at(1, 1), DONE, probe);
    starts(&s, at(1, 1), block_and_activate);
    scene_fails(&s, WSC_DEADLOCK, "PE (1, 1): task 9 is activated but blocked");
}

/* ---- the limit ------------------------------------------------------------------------------- */

static enum wsc_err again(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_wait(pe, 10));
    return mesh_activate(pe, GO);
}

TEST(mesh_deadlock, a_run_without_end)
{
    struct scene s;
    scene_init(&s, 3, 2, MESH_WSE2);
    starts(&s, at(1, 1), again);
    starts(&s, at(2, 1), again);
    scene_fails(&s, WSC_DEADLOCK, "mesh: still busy after 65536 cycles: PE (1, 1), 2 PEs in all");
}

TEST(mesh_deadlock, a_run_may_take_as_many_cycles_as_allowed)
{
    for (int more = 0; more < 2; more++) {
        struct scene s;
        memset(&s, 0, sizeof s);
        s.wait = 40 + more;
        ok(mesh_create(&s.m, &(struct mesh_config){.w = 1, .h = 1, .max_cycles = 40, .user = &s}));
        starts(&s, at(0, 0), wait_first);
        if (more) {
            scene_fails(&s, WSC_DEADLOCK,
                        "mesh: still busy after 40 cycles: PE (0, 0), 1 PE in all");
            continue;
        }
        scene_run(&s);
        T_EQ(s.stats.cycles, 40);
        scene_end(&s);
    }
}

TEST(mesh_deadlock, an_operation_that_is_longer_than_the_run)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    s.op[0] = (struct mesh_op){.code = MESH_FMOVS,
                               .dst = {.kind = MESH_DSD_MEMORY, .n_dims = 2, .len = {60000, 30000}},
                               .a = {.kind = MESH_DSD_SCALAR}};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    scene_fails(&s, WSC_DEADLOCK,
                "PE (0, 0): fmovs of 1800000000 elements does not end within the 65536 cycles of "
                "the run");
}
