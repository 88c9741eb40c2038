// SPDX-License-Identifier: Apache-2.0
/* One scene for each rule of the fabric.  Cycles count from 0.  On WSE-2 a word that is executed
 * in cycle c is in the own router at c + 3 (1 to execute, ramp of 2), in the next ones at c + 4,
 * c + 5 .., and can be taken by the PE of a router 2 later; a word that finds nothing in its way
 * leaves a router in the cycle in which it is there.  On WSE-3 an operation on the fabric sets up
 * for 4 cycles, a hop takes 2 and the ramp to the PE 3. */
#include "scene.h"

#include <string.h>

/* ---- links ----------------------------------------------------------------------------------- */

TEST(mesh_router, a_hop_takes_the_same_in_all_directions)
{
    static const int side[] = {MESH_EAST, MESH_WEST, MESH_NORTH, MESH_SOUTH};
    static const int back[] = {MESH_WEST, MESH_EAST, MESH_SOUTH, MESH_NORTH};
    static const int x[] = {2, 0, 1, 1}, y[] = {1, 1, 0, 2};
    for (int arch = 0; arch < 2; arch++) {
        struct scene s;
        scene_init(&s, 3, 3, (enum mesh_arch)arch);
        s.n = 1;
        for (int i = 0; i < 4; i++) {
            route(&s, at(x[i], y[i]), 1, back[i], MESH_RAMP);
            hears(&s, at(x[i], y[i]), 0, 1, probe);
        }
        route(&s, at(1, 1), 1, MESH_RAMP, side[0] | side[1] | side[2] | side[3]);
        sends(&s, at(1, 1), 2, 1);
        starts(&s, at(1, 1), send_1);
        scene_run(&s);
        /* WSE-2: router 3, next 4, PE 6.  WSE-3: executed in 4, router 7, next 9, PE 12.  One
         * wavelet was sent, four crossed a link. */
        EQ(s.n_seen, 4);
        for (int i = 0; i < 4; i++)
            EQ(s.seen[i].cycle, arch ? 12 : 6);
        EQ(s.stats.wavelets, 1);
        EQ(s.stats.wavelet_hops, 4);
        EQ(s.stats.cycles, arch ? 13 : 7);
        scene_end(&s);
    }
}

TEST(mesh_router, a_row_hears_word_by_word)
{
    for (int arch = 0; arch < 2; arch++) {
        enum { P = 5, WORDS = 3 };
        struct scene s;
        scene_init(&s, P, 1, (enum mesh_arch)arch);
        s.n = WORDS;
        count_up(&s, at(0, 0), WORDS);
        route_row(&s, 1, P, 0x1E);
        sends(&s, at(0, 0), 2, 1);
        hears(&s, row(1, P - 1), 2, 1, probe);
        starts(&s, at(0, 0), send_1);
        scene_run(&s);
        /* Word i at PE x: WSE-2 3 + x + 2 + i, WSE-3 7 + 2 x + 3 + i. */
        EQ(s.n_seen, WORDS * (P - 1));
        for (int i = 0; i < s.n_seen; i++) {
            const struct seen *e = &s.seen[i];
            EQ(e->cycle - e->data, arch ? 10 + 2 * e->x : 5 + e->x);
        }
        scene_end(&s);
    }
}

/* Colour 1 comes from PE 0, colour 2 from PE 1, both continue to PE 2. */
static void share_a_link(struct scene *s, int first_colour, int second_colour)
{
    scene_init(s, 3, 1, MESH_WSE2);
    route_row(s, first_colour, 3, 4);
    route(s, at(1, 0), second_colour, MESH_RAMP, MESH_EAST);
    route(s, at(2, 0), second_colour, MESH_WEST, MESH_RAMP);
    sends(s, at(0, 0), 2, first_colour);
    sends(s, at(1, 0), 2, second_colour);
    hears(s, at(2, 0), 0, first_colour, probe);
    hears(s, at(2, 0), 1, second_colour, probe);
}

TEST(mesh_router, colours_take_turns_at_a_link)
{
    struct scene s;
    share_a_link(&s, 1, 2);
    s.n = 30;
    count_up(&s, at(0, 0), 30);
    ok(mesh_copy_in(s.m, at(1, 0), 0, (uint32_t[30]){100, 101, 102, 103}, 16));
    starts(&s, at(0, 0), send_1);
    s.op[0] = (struct mesh_op){.dst = mesh_out(2, 4), .a = mesh_mem(0, 4)};
    s.n_ops = 1;
    starts(&s, at(1, 0), issue_ops);
    scene_run(&s);
    /* Router 1 has word j of colour 2 from cycle 3 + j on and word i of colour 1 from 4 + i on.  In
     * cycle t the first to choose is the first colour at or above t mod 24, after 23 comes 0: that
     * is colour 1 except where t mod 24 is 2.  So colour 2 gets the link in cycle 3, when it is
     * alone, in 26, and when colour 1 has ended, which loses one cycle: its word 29 leaves in 4 +
     * 29 + 1 = 34; then 35 and 36.  Link to PE: 1 + 2. */
    static const int64_t left[4] = {3, 26, 35, 36};
    int n = 0;
    EQ(s.n_seen, 34);
    for (int i = 0; i < s.n_seen; i++) {
        EQ(s.seen[i].cycle, 6 + i); /* the link is never idle */
        if (s.seen[i].data < 100) continue;
        EQ(s.seen[i].data, 100 + n);
        EQ(s.seen[i].cycle, left[n++] + 3);
    }
    EQ(n, 4);
    scene_end(&s);
}

TEST(mesh_router, the_ramp_takes_one_wavelet_a_cycle)
{
    struct scene s;
    scene_init(&s, 3, 1, MESH_WSE2);
    s.n = 2;
    route(&s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
    route(&s, at(2, 0), 2, MESH_RAMP, MESH_WEST);
    route(&s, at(1, 0), 1, MESH_WEST, MESH_RAMP);
    route(&s, at(1, 0), 2, MESH_EAST, MESH_RAMP);
    sends(&s, at(0, 0), 2, 1);
    sends(&s, at(2, 0), 2, 2);
    for (uint8_t i = 0; i < 2; i++) {
        hears(&s, at(1, 0), i, 1 + i, NULL);
        s.op[i] = (struct mesh_op){
            .code = MESH_FMOVS, .thread = 1 + i, .dst = mesh_mem(0, 2), .a = mesh_in(1 + i, 2)};
    }
    s.op[1].activate = DONE + 1;
    s.n_ops = 2;
    task(&s, at(1, 0), DONE, probe);
    starts(&s, at(0, 0), send_1);
    starts(&s, at(1, 0), issue_ops);
    starts(&s, at(2, 0), send_2);
    scene_run(&s);
    /* Both first words are there in cycle 4, both second ones in 5.  Colour 1 chooses first in 4
     * and 5, so colour 2 goes down the ramp in 6 and 7; its last word is received in 9. */
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 10);
    scene_end(&s);
}

static enum wsc_err probe_west(struct mesh_pe *pe, uint32_t data)
{
    return probe(pe, 100 + data);
}

TEST(mesh_router, output_queues_take_turns_at_the_ramp)
{
    struct scene s;
    scene_init(&s, 3, 1, MESH_WSE2);
    count_up(&s, at(1, 0), 6);
    route(&s, at(1, 0), 1, MESH_RAMP, MESH_EAST);
    route(&s, at(1, 0), 2, MESH_RAMP, MESH_WEST);
    route(&s, at(2, 0), 1, MESH_WEST, MESH_RAMP);
    route(&s, at(0, 0), 2, MESH_EAST, MESH_RAMP);
    hears(&s, at(2, 0), 0, 1, probe);
    hears(&s, at(0, 0), 0, 2, probe_west);
    for (uint8_t i = 0; i < 2; i++) {
        sends(&s, at(1, 0), 2 + i, 1 + i);
        s.op[i] = (struct mesh_op){
            .code = MESH_FMOVS, .thread = 1 + i, .dst = mesh_out(1 + i, 6), .a = mesh_mem(0, 6)};
    }
    s.n_ops = 2;
    starts(&s, at(1, 0), issue_ops);
    scene_run(&s);
    /* Two words a cycle are executed, one of each colour; the ramp carries colour 1 in cycles 1, 3,
     * 5 .., colour 2 in 2, 4, 6 ..; router 2 later, neighbour 1, PE 2. */
    EQ(s.n_seen, 12);
    for (int i = 0; i < 12; i++)
        T_SEEN(&s, i, 6 + i, i / 2 + i % 2 * 100);
    scene_end(&s);
}

/* ---- what a router holds --------------------------------------------------------------------- */

TEST(mesh_router, a_copy_for_each_output_or_none)
{
    enum { U = 30, WORDS = 14 };
    struct scene s;
    scene_init(&s, 3, 1, MESH_WSE2);
    s.n = WORDS;
    s.wait = U;
    count_up(&s, at(0, 0), WORDS);
    route_row(&s, 1, 3, 6);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(1, 0), 2, 1, probe);
    hears(&s, at(2, 0), 2, 1, probe);
    starts(&s, at(0, 0), send_1);
    task(&s, at(2, 0), GO, wait_first);
    ok(mesh_start(s.m, at(2, 0), GO));
    scene_run(&s);
    /* PE 2 computes until U.  Its queue takes 4 + 2 words, its router 4: word i < 10 passes router
     * 1 in cycle 4 + i, and PE 1 has its copy at 6 + i.  The copy of word 10 waits though PE 1 is
     * free.  U: PE 2 takes word 0; U + 1: a word goes down its ramp; U + 2: word 10 leaves router
     * 1, and PE 1 has it at U + 4, the others a cycle after each other. */
    int n = 0;
    for (int i = 0; i < s.n_seen; i++) {
        if (s.seen[i].x != 1) continue;
        T_SEEN(&s, i, n < 10 ? 6 + n : U + 4 + n - 10, n);
        n++;
    }
    EQ(n, WORDS);
    EQ(s.n_seen, 2 * WORDS);
    scene_end(&s);
}

/* The cycle in which a sender of n words has executed the last one when PE 2 takes none before
 * cycle 60; two routers lie on the way besides the sender's. */
static int64_t sender_ends(int n)
{
    struct scene s;
    scene_init(&s, 3, 1, MESH_WSE2);
    s.wait = 60;
    route_row(&s, 1, 3, 4);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(2, 0), 2, 1, probe);
    task(&s, at(0, 0), DONE, probe);
    s.op[0] = (struct mesh_op){.activate = DONE + 1, .dst = mesh_out(1, n), .a = mesh_mem(0, n)};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    task(&s, at(2, 0), GO, wait_first);
    ok(mesh_start(s.m, at(2, 0), GO));
    scene_run(&s);
    int64_t cycle = -1;
    for (int i = 0; i < s.n_seen; i++)
        if (s.seen[i].x == 0) cycle = s.seen[i].cycle - 1;
    scene_end(&s);
    return cycle;
}

TEST(mesh_router, a_full_queue_stops_the_sender_link_by_link)
{
    /* 6 words in the output queue, 4 in each of three routers, 4 + 2 before PE 2: 24 words are
     * executed one a cycle.  Word 24 waits until PE 2 takes word 0 in cycle 60: the ramp moves in
     * 61, router 1 in 62, router 0 in 63, the ramp of PE 0 in 64, and there is room in 65. */
    EQ(sender_ends(23), 22);
    EQ(sender_ends(24), 23);
    EQ(sender_ends(25), 65);
    EQ(sender_ends(26), 66);
}

/* ---- switches -------------------------------------------------------------------------------- */

static enum wsc_err control_then_word(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    TRY(mesh_send_control(pe, 1, (uint32_t)s->n, 0));
    return mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits(5), (struct mesh_dsd){0});
}

/* PEs 1 to 3 pass a word on in position 0 and take it in position 1.  Who takes the word that
 * follows a control wavelet? */
static void who_takes(enum mesh_pop pop, const enum mesh_command *command, int n, int expected)
{
    struct scene s;
    struct mesh_route r = {.rx = MESH_WEST, .tx = MESH_EAST, .n_more = 1, .pop = pop};
    r.more[0].tx = MESH_RAMP;
    scene_init(&s, 5, 1, MESH_WSE2);
    s.n = (int)(mesh_control(command, n, -1) & 0xFFFFFF);
    route(&s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
    ok(mesh_route(s.m, row(1, 3), 1, &r));
    route(&s, at(4, 0), 1, MESH_WEST, MESH_RAMP);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, row(1, 4), 0, 1, probe);
    task(&s, row(1, 4), 0, wait_first); /* control task 0: takes the control wavelet */
    starts(&s, at(0, 0), control_then_word);
    scene_run(&s);
    /* The control wavelet is executed in cycle 0, the word in 1: at PE x from 1 + 5 + x on. */
    EQ(s.n_seen, 1);
    EQ(s.seen[0].x, expected);
    EQ(s.seen[0].cycle, 6 + expected);
    scene_end(&s);
}

TEST(mesh_router, pop_modes_decide_which_router_executes_what)
{
    const enum mesh_command advance[] = {MESH_ADVANCE},
                            third[] = {MESH_NOP, MESH_NOP, MESH_ADVANCE},
                            second[] = {MESH_NOP, MESH_ADVANCE};
    /* Without pop each router executes the same first command: PE 1 is the first to take. */
    who_takes(MESH_NO_POP, advance, 1, 1);
    who_takes(MESH_NO_POP, second, 2, 4);
    /* One command a router. */
    who_takes(MESH_ALWAYS_POP, advance, 1, 1);
    who_takes(MESH_ALWAYS_POP, second, 2, 2);
    who_takes(MESH_ALWAYS_POP, third, 3, 3);
    /* NOP moves no switch, so it stays. */
    who_takes(MESH_POP_ON_ADVANCE, advance, 1, 1);
    who_takes(MESH_POP_ON_ADVANCE, second, 2, 4);
}

static enum wsc_err six_words(struct mesh_pe *pe, uint32_t data)
{
    const enum mesh_command command[] = {MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE,
                                         MESH_RESET};
    (void)data;
    for (uint32_t i = 0; i < 6; i++) {
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits(i), (struct mesh_dsd){0}));
        if (i < 5) TRY(mesh_send_control(pe, 1, mesh_control(&command[i], 1, -1), 0));
    }
    return WSC_OK;
}

TEST(mesh_router, four_positions_ring_and_reset)
{
    /* Positions east, south, west, north of PE (1, 1); words 0 to 3 go there in turn.  The fourth
     * advance wraps around with a ring and does nothing without; a reset is always position 0. */
    static const int x[2][6] = {{2, 1, 0, 1, 1, 2}, {2, 1, 0, 1, 2, 2}};
    static const int y[2][6] = {{1, 2, 1, 0, 0, 1}, {1, 2, 1, 0, 1, 1}};
    for (int ring = 0; ring < 2; ring++) {
        struct scene s;
        struct mesh_route r = {.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 3, .ring = ring};
        r.more[0].tx = MESH_SOUTH;
        r.more[1].tx = MESH_WEST;
        r.more[2].tx = MESH_NORTH;
        scene_init(&s, 3, 3, MESH_WSE2);
        ok(mesh_route(s.m, at(1, 1), 1, &r));
        route(&s, at(2, 1), 1, MESH_WEST, MESH_RAMP);
        route(&s, at(1, 2), 1, MESH_NORTH, MESH_RAMP);
        route(&s, at(0, 1), 1, MESH_EAST, MESH_RAMP);
        route(&s, at(1, 0), 1, MESH_SOUTH, MESH_RAMP);
        sends(&s, at(1, 1), 2, 1);
        for (int i = 0; i < 4; i++)
            hears(&s, at(x[0][i], y[0][i]), 0, 1, probe);
        starts(&s, at(1, 1), six_words);
        scene_run(&s);
        /* Word i is executed in cycle 2 i. */
        EQ(s.n_seen, 6);
        for (int i = 0; i < 6; i++) {
            T_SEEN(&s, i, 6 + 2 * i, i);
            EQ(s.seen[i].x, x[ring][i]);
            EQ(s.seen[i].y, y[ring][i]);
        }
        scene_end(&s);
    }
}

static enum wsc_err word_and_advance(struct mesh_pe *pe, uint32_t data)
{
    const enum mesh_command advance = MESH_ADVANCE;
    (void)data;
    TRY(mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits((uint32_t)mesh_x(pe)),
                (struct mesh_dsd){0}));
    return mesh_send_control(pe, 1, mesh_control(&advance, 1, -1), 0);
}

static enum wsc_err one_word(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits((uint32_t)mesh_x(pe)),
                   (struct mesh_dsd){0});
}

TEST(mesh_router, a_switch_opens_to_a_neighbour_in_the_next_cycle)
{
    /* Mirrored, so that neither the order of the PEs nor that of the directions matters. */
    for (int mirror = 0; mirror < 2; mirror++) {
        struct scene s;
        int near = mirror ? MESH_EAST : MESH_WEST, far = mirror ? MESH_WEST : MESH_EAST;
        int first = mirror ? 2 : 0, second = 2 - first;
        struct mesh_route r = {.rx = (uint8_t)near, .tx = MESH_RAMP, .n_more = 1};
        r.more[0].rx = (uint8_t)far;
        scene_init(&s, 3, 1, MESH_WSE2);
        ok(mesh_route(s.m, at(1, 0), 1, &r));
        route(&s, at(first, 0), 1, MESH_RAMP, far);
        route(&s, at(second, 0), 1, MESH_RAMP, near);
        sends(&s, row(0, 3), 2, 1);
        hears(&s, at(1, 0), 0, 1, probe);
        starts(&s, at(first, 0), word_and_advance);
        task(&s, at(second, 0), GO, one_word);
        ok(mesh_start(s.m, at(second, 0), GO));
        scene_run(&s);
        /* The first word is in router 1 at 4, at the PE at 6.  The control wavelet leaves router 1
         * in 5.  The other side's word has waited in its router since 3; it leaves in 6, is in
         * router 1 at 7 and at the PE at 9. */
        EQ(s.n_seen, 2);
        T_SEEN(&s, 0, 6, first);
        T_SEEN(&s, 1, 9, second);
        scene_end(&s);
    }
}

/* Two operations beside the word, so that the PE has something to do in every cycle. */
static enum wsc_err one_word_and_much_to_do(struct mesh_pe *pe, uint32_t data)
{
    TRY(one_word(pe, data));
    for (uint8_t i = 1; i < 3; i++)
        TRY(mesh_issue(pe, &(struct mesh_op){.code = MESH_FMOVS,
                                             .thread = i,
                                             .dst = mesh_mem(0, 100),
                                             .a = mesh_mem(1000, 100)}));
    return WSC_OK;
}

TEST(mesh_router, a_switch_opens_to_its_own_pe_in_the_next_cycle)
{
    for (int awake = 0; awake < 2; awake++) {
        struct scene s;
        struct mesh_route r = {.rx = MESH_WEST, .tx = MESH_EAST, .n_more = 1};
        r.more[0].rx = MESH_RAMP;
        scene_init(&s, 3, 1, MESH_WSE2);
        ok(mesh_route(s.m, at(1, 0), 1, &r));
        route(&s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
        route(&s, at(2, 0), 1, MESH_WEST, MESH_RAMP);
        sends(&s, row(0, 2), 2, 1);
        hears(&s, at(2, 0), 0, 1, probe);
        starts(&s, at(0, 0), word_and_advance);
        starts(&s, at(1, 0), awake ? one_word_and_much_to_do : one_word);
        scene_run(&s);
        /* PE 0's word: router 1 at 4, router 2 at 5, PE 2 at 7.  The control wavelet leaves router
         * 1 in 5; PE 1's word goes up the ramp in 6, is in router 1 at 8, router 2 at 9, PE 2 at
         * 11, whether PE 1 had something else to do or slept. */
        EQ(s.n_seen, 2);
        T_SEEN(&s, 0, 7, 0);
        T_SEEN(&s, 1, 11, 1);
        scene_end(&s);
    }
}

/* On WSE-3 a position may change input and output, the latter to several directions. */
TEST(mesh_router, a_position_of_wse3_changes_both_directions)
{
    struct scene s;
    struct mesh_route r = {.rx = MESH_WEST, .tx = MESH_EAST, .n_more = 1};
    r.more[0] = (struct mesh_position){MESH_RAMP, MESH_EAST | MESH_WEST};
    scene_init(&s, 3, 1, MESH_WSE3);
    ok(mesh_route(s.m, at(1, 0), 1, &r));
    route(&s, at(0, 0), 1, MESH_RAMP, MESH_EAST);
    route(&s, at(2, 0), 1, MESH_WEST, MESH_RAMP);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(2, 0), 0, 1, probe);
    starts(&s, at(0, 0), word_and_advance);
    scene_run(&s);
    EQ(s.n_seen, 1);
    T_SEEN(&s, 0, 14, 0); /* executed in 4, routers at 7, 9, 11, ramp 3 */
    scene_end(&s);
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Bit i: word i was given.  Words are i << 16 | i; bit 31 of @p control: word i is a control
 * wavelet for task EXTRA instead. */
static uint32_t given(const struct mesh_filter *f, int n, uint32_t control)
{
    struct mesh_wavelet w[32];
    struct scene s;
    uint32_t set = 0;
    scene_init(&s, 1, 1, MESH_WSE2);
    for (uint32_t i = 0; i < 32; i++) {
        bool c = control >> i & 1U;
        w[i] = (struct mesh_wavelet){c ? mesh_control(NULL, 0, EXTRA) | i : i << 16 | i, c};
    }
    route(&s, at(0, 0), 1, MESH_WEST, MESH_RAMP);
    ok(mesh_filter(s.m, at(0, 0), 1, f));
    hears(&s, at(0, 0), 0, 1, probe);
    task(&s, at(0, 0), EXTRA, probe);
    ok(mesh_edge_source(s.m, 0, 0, MESH_WEST, 1, w, n));
    scene_run(&s);
    /* Word i enters in cycle i, is in the router at i + 1 and at the PE at i + 3, whatever was
     * withheld before it. */
    for (int i = 0; i < s.n_seen; i++) {
        set |= 1U << (s.seen[i].data & 31);
        EQ(s.seen[i].cycle, (s.seen[i].data & 31) + 3);
    }
    scene_end(&s);
    return set;
}

TEST(mesh_router, counter_filter)
{
    struct mesh_filter f = {.kind = MESH_FILTER_COUNTER, .count_data = true, .max = 4, .limit1 = 5};
    /* The documentation's example.  Counting to 5 inclusive the counter runs 0 1 2 3 4 5 0: the
     * 6th word is rejected, then the 12th.  (Its text says every 5th.) */
    EQ(given(&f, 13, 0), 0x1FFF & ~(1U << 5 | 1U << 11));
    f.init = 4; /* 4 5 0 1 2 3 4 5 */
    EQ(given(&f, 8, 0), 0xFF & ~(1U << 1 | 1U << 7));
    f = (struct mesh_filter){
        .kind = MESH_FILTER_COUNTER, .count_data = true, .max = 9, .limit1 = 2};
    EQ(given(&f, 8, 0), 0xFF); /* never above max */
    f = (struct mesh_filter){
        .kind = MESH_FILTER_COUNTER, .count_data = true, .init = 3, .max = 0, .limit1 = 3};
    EQ(given(&f, 6, 0), 0x22); /* 3 0 1 2 3 0 */
    f = (struct mesh_filter){.kind = MESH_FILTER_COUNTER, .max = 0, .limit1 = 1};
    EQ(given(&f, 6, 0), 0x3F); /* counts nothing: always 0 */
}

TEST(mesh_router, control_wavelets_at_a_counter_filter)
{
    struct mesh_filter f = {
        .kind = MESH_FILTER_COUNTER, .count_control = true, .max = 1, .limit1 = 2};
    /* Wavelets d c d c d c d d: the counter is 0 0 1 1 2 2 0 0; control passes always, data while
     * the counter is at most 1: word 4 does not. */
    EQ(given(&f, 8, 0x2A), 0xFF & ~(1U << 4));
    /* The same with filter_control: control passes at counter == 1 alone, which is wavelet 3. */
    f.filter_control = true;
    EQ(given(&f, 8, 0x2A), 0xFF & ~(1U << 4 | 1U << 1 | 1U << 5));
    /* Both are counted: 0 1 2 0 1 2 0 1 for c d d c d d c d. */
    f = (struct mesh_filter){.kind = MESH_FILTER_COUNTER,
                             .count_control = true,
                             .count_data = true,
                             .max = 1,
                             .limit1 = 2};
    EQ(given(&f, 8, 0x49), 0xFF & ~(1U << 2 | 1U << 5));
}

TEST(mesh_router, sparse_filter)
{
    struct mesh_filter f = {
        .kind = MESH_FILTER_SPARSE, .count_data = true, .max = 0, .limit1 = 1, .limit2 = 3};
    /* 0 1, then 0 1 2 3 with the second limit, then off: 0, 2, and 6 to 9. */
    EQ(given(&f, 10, 0), 0x3C5);
    f.limit2 = 0; /* without a second limit it is off after the first: 0, and 2 to 9 */
    EQ(given(&f, 10, 0), 0x3FD);
}

TEST(mesh_router, range_filter)
{
    struct mesh_filter f = {.kind = MESH_FILTER_RANGE, .min_index = 3, .max_index = 5};
    EQ(given(&f, 8, 0), 0x38);
    EQ(given(&f, 8, 0x81), 0xB9); /* control always */
    f.max_index = 2;
    EQ(given(&f, 8, 0), 0); /* an empty range */
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(mesh_router, words_cross_the_fabric_from_edge_to_edge)
{
    for (int arch = 0; arch < 2; arch++) {
        enum { P = 3, WORDS = 20 };
        struct mesh_wavelet w[WORDS] = {{0, false}};
        uint32_t word[WORDS];
        struct mesh_output out = {.word = word, .capacity = WORDS};
        struct scene s;
        for (uint32_t i = 0; i < WORDS; i++)
            w[i].data = 7 * i;
        scene_init(&s, 1, P, (enum mesh_arch)arch);
        route(&s, (struct mesh_rect){0, 0, 1, P}, 4, MESH_NORTH, MESH_SOUTH);
        ok(mesh_edge_source(s.m, 0, 0, MESH_NORTH, 4, w, WORDS));
        ok(mesh_edge_sink(s.m, 0, P - 1, MESH_SOUTH, 4, &out));
        scene_run(&s);
        /* Word i enters in cycle i, is in router y after (y + 1) hops and leaves from the last one
         * in that cycle: the last in 19 + 3 hops. */
        EQ(s.stats.cycles, WORDS - 1 + (arch ? 2 : 1) * P + 1);
        EQ(s.stats.wavelets, WORDS);
        EQ(s.stats.wavelet_hops, WORDS * (P + 1));
        EQ(out.n, WORDS);
        for (uint32_t i = 0; i < WORDS; i++)
            EQ(word[i], 7 * i);
        scene_end(&s);
    }
}

TEST(mesh_router, sources_of_a_link_take_turns)
{
    struct mesh_wavelet w[2][4];
    struct scene s;
    for (uint32_t i = 0; i < 8; i++)
        w[i / 4][i % 4] = (struct mesh_wavelet){i, false};
    scene_init(&s, 1, 1, MESH_WSE2);
    for (int i = 0; i < 2; i++) {
        route(&s, at(0, 0), 5 + i, MESH_EAST, MESH_RAMP);
        hears(&s, at(0, 0), i, 5 + i, probe);
        ok(mesh_edge_source(s.m, 0, 0, MESH_EAST, 5 + i, w[i], 4));
    }
    scene_run(&s);
    /* One wavelet a cycle enters, of the first source in even cycles; each is at the PE 3 later. */
    EQ(s.n_seen, 8);
    for (int i = 0; i < 8; i++)
        T_SEEN(&s, i, 3 + i, i / 2 + i % 2 * 4);
    scene_end(&s);
}

TEST(mesh_router, a_closed_fabric_holds_the_source_back)
{
    struct mesh_wavelet w[20];
    struct scene s;
    memset(w, 0, sizeof w);
    scene_init(&s, 1, 1, MESH_WSE2);
    s.wait = 40;
    route(&s, at(0, 0), 3, MESH_WEST, MESH_RAMP);
    hears(&s, at(0, 0), 0, 3, probe);
    ok(mesh_edge_source(s.m, 0, 0, MESH_WEST, 3, w, 20));
    starts(&s, at(0, 0), wait_first);
    scene_run(&s);
    /* 6 + 2 words fit before the PE and 4 in the router, the other 8 wait outside.  From 40 on the
     * PE takes one a cycle: what waits keeps up. */
    EQ(s.n_seen, 20);
    for (int i = 0; i < 20; i++)
        EQ(s.seen[i].cycle, 40 + i);
    scene_end(&s);
}
