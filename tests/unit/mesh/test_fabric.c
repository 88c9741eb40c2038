// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/mesh.h>

#include <string.h>

/* Small scenes with the cycle of every event derived by hand.  On WSE-2, counted from 0: an element
 * executed in cycle c is in the router at c + 1 + 2 (execution, ramp), L hops later at c + 3 + L,
 * and executed by the receiver at c + 3 + L + 2; cycles = last execution + 1. */

enum { MAX_SEEN = 64, GO = 8, DONE = 9 };

/* T_OK with less nesting: it stands in loops here. */
static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

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
    ok(mesh_create(&s->m, &(struct mesh_config){
                              .w = w, .h = h, .arch = arch, .max_cycles = 1 << 20, .user = s}));
    ok(mesh_reserve(s->m, (struct mesh_rect){0, 0, w, h}, 4096, 0, "data", &s->address));
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
    ok(mesh_route(s->m, at, colour, &(struct mesh_route){.rx = (uint8_t)rx, .tx = (uint8_t)tx}));
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
    ok(mesh_task(s->m, at, id, fn, MESH_LOW));
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
    ok(mesh_output_queue(s->m, one(0, 0), 2, 1));
    ok(mesh_input_queue(s->m, row(1, p - 1), 2, 1));
    bind(s, one(0, 0), GO, send_n);
    bind(s, row(1, p - 1), GO, receive_n);
    ok(mesh_start(s->m, row(0, p), GO));
}

TEST(mesh, message_takes_words_plus_distance_plus_five)
{
    for (int i = 0; i < 28; i++) {
        struct scene s;
        int p = 2 + i / 4, n = 1 + i % 4 * 6;
        scene_init(&s, p, 1, MESH_WSE2);
        s.n = n;
        row_of_receivers(&s, p);
        ok(mesh_run(s.m, &s.stats));
        /* Word n - 1 is executed at n - 1 and received at n - 1 + 5 + (p - 1). */
        T_EQ(s.stats.cycles, n + p + 4);
        T_EQ(s.stats.wavelets, n);
        T_EQ(s.stats.wavelet_hops, n * (p - 1));
        scene_end(&s);
    }
}

/* One word a data task; `wait` cycles of scalar code in each. */
static enum wsc_err slow_probe(struct mesh_pe *pe, uint32_t data)
{
    TRY(probe(pe, data));
    return mesh_wait(pe, 10);
}

static void probe_row(struct scene *s, int p, int n, mesh_task_fn fn)
{
    s->n = n;
    row_of_receivers(s, p);
    bind(s, row(1, p - 1), GO, probe);
    ok(mesh_data_task(s->m, row(1, p - 1), 1, fn, MESH_LOW));
}

TEST(mesh, first_word_and_hop_latency)
{
    for (int arch = 0; arch < 2; arch++) {
        struct scene s;
        scene_init(&s, 3, 1, (enum mesh_arch)arch);
        probe_row(&s, 3, 1, probe);
        ok(mesh_run(s.m, &s.stats));
        /* The start tasks of the receivers run in cycle 0.  WSE-2: executed in 0, router 3, PE 1's
         * router 4, PE 2's 5, ramps of 2.  WSE-3: 4 to set up, executed in 4, router 7, routers 9
         * and 11, ramps of 3. */
        T_EQ(s.n_seen, 4);
        T_EQ(s.seen[2], arch ? 12 : 6);
        T_EQ(s.seen[3], arch ? 14 : 7);
        scene_end(&s);
    }
}

TEST(mesh, slow_receiver_holds_the_sender_back)
{
    struct scene s;
    scene_init(&s, 2, 1, MESH_WSE2);
    probe_row(&s, 2, 40, slow_probe);
    ok(mesh_run(s.m, &s.stats));
    /* The first word at 6, then one every 10 cycles: nothing is lost though 40 words do not fit the
     * queues (6 out, 4 at each router, 4 in). */
    T_EQ(s.n_seen, 41);
    for (int i = 0; i < 40; i++)
        T_EQ(s.seen[i + 1], 6 + 10 * i);
    scene_end(&s);
}

/* Two colours at once from two microthreads. */
static enum wsc_err send_two(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    (void)data;
    for (int i = 0; i < 2; i++)
        TRY(mesh_issue(pe, &(struct mesh_op){.code = MESH_FMOVS,
                                             .thread = (uint8_t)(1 + i),
                                             .dst = mesh_out(1 + i, s->n),
                                             .a = mesh_mem(s->address, s->n)}));
    return WSC_OK;
}

static void two_colours(struct scene *s, int n)
{
    scene_init(s, 2, 1, MESH_WSE2);
    s->n = n;
    for (int i = 0; i < 2; i++) {
        route(s, one(0, 0), 1 + i, MESH_RAMP, MESH_EAST);
        route(s, one(1, 0), 1 + i, MESH_WEST, MESH_RAMP);
        ok(mesh_output_queue(s->m, one(0, 0), i, 1 + i));
        ok(mesh_input_queue(s->m, one(1, 0), i, 1 + i));
        ok(mesh_data_task(s->m, one(1, 0), 1 + i, probe, MESH_LOW));
    }
    bind(s, one(0, 0), GO, send_two);
    ok(mesh_start(s->m, one(0, 0), GO));
}

TEST(mesh, colours_share_a_link_one_wavelet_a_cycle)
{
    struct scene s;
    two_colours(&s, 4);
    ok(mesh_run(s.m, &s.stats));
    /* Eight words leave in cycles 1 to 8 up the ramp and arrive one a cycle from 6 on. */
    T_EQ(s.n_seen, 8);
    for (int i = 0; i < 8; i++)
        T_EQ(s.seen[i], 6 + i);
    scene_end(&s);
}

static enum wsc_err block_colour_1(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_block_data(pe, 1);
}

static enum wsc_err count_then_unblock(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    TRY(probe(pe, data));
    return s->n_seen == s->n ? mesh_unblock_data(pe, 1) : WSC_OK;
}

TEST(mesh, a_blocked_colour_does_not_block_another)
{
    struct scene s;
    two_colours(&s, 30);
    ok(mesh_data_task(s.m, one(1, 0), 2, count_then_unblock, MESH_LOW));
    bind(&s, one(1, 0), GO, block_colour_1);
    ok(mesh_start(s.m, one(1, 0), GO));
    ok(mesh_run(s.m, &s.stats));
    T_EQ(s.n_seen, 60); /* 30 of colour 2 while colour 1 stood still, then those of colour 1 */
    scene_end(&s);
}

/* ---- switches -------------------------------------------------------------------------------- */

static enum wsc_err send_with_switches(struct mesh_pe *pe, uint32_t data)
{
    static const enum mesh_command advance = MESH_ADVANCE;
    const struct mesh_dsd none = {0};
    (void)data;
    for (uint32_t i = 0; i < 3; i++) {
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits(i), none));
        if (i < 2) TRY(mesh_send_control(pe, 1, mesh_control(&advance, 1, -1), 0));
    }
    return WSC_OK;
}

TEST(mesh, switch_moves_after_the_control_wavelet_has_passed)
{
    for (int ring = 0; ring < 2; ring++) {
        struct scene s;
        struct mesh_route r = {.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .ring = ring};
        r.more[0].tx = MESH_WEST;
        scene_init(&s, 3, 1, MESH_WSE2);
        ok(mesh_route(s.m, one(1, 0), 1, &r));
        route(&s, one(0, 0), 1, MESH_EAST, MESH_RAMP);
        route(&s, one(2, 0), 1, MESH_WEST, MESH_RAMP);
        ok(mesh_output_queue(s.m, one(1, 0), 0, 1));
        for (int x = 0; x < 3; x += 2) {
            ok(mesh_input_queue(s.m, one(x, 0), 0, 1));
            ok(mesh_data_task(s.m, one(x, 0), 1, probe, MESH_LOW));
        }
        bind(&s, one(1, 0), GO, send_with_switches);
        ok(mesh_start(s.m, one(1, 0), GO));
        ok(mesh_run(s.m, &s.stats));
        /* Words in cycles 0, 2, 4, each one hop: 6, 8, 10.  The first goes east, the second west;
         * the third east again if the switch is a ring, else west.  Hops: three words and two
         * control wavelets. */
        T_EQ(s.n_seen, 3);
        for (int i = 0; i < 3; i++)
            T_EQ(s.seen[i], 6 + 2 * i);
        T_EQ(s.stats.wavelet_hops, 5);
        scene_end(&s);
    }
}

/* ---- filters --------------------------------------------------------------------------------- */

static void filtered(struct scene *s, const struct mesh_filter *f, int n)
{
    uint32_t word[16];
    scene_init(s, 2, 1, MESH_WSE2);
    probe_row(s, 2, n, probe);
    for (uint32_t i = 0; i < 16; i++)
        word[i] = i << 16 | i;
    ok(mesh_copy_in(s->m, one(0, 0), s->address, word, sizeof word));
    ok(mesh_filter(s->m, one(1, 0), 1, f));
    ok(mesh_run(s->m, &s->stats));
}

TEST(mesh, filters)
{
    struct scene s;
    /* The counter runs 0 1 2 0 1 2 and passes while it is at most 1: words 0, 1, 3, 4. */
    filtered(&s,
             &(struct mesh_filter){
                 .kind = MESH_FILTER_COUNTER, .count_data = true, .max = 1, .limit1 = 2},
             6);
    T_EQ(s.n_seen, 5);
    T_EQ(s.data[1] & 0xFFFF, 0);
    T_EQ(s.data[3] & 0xFFFF, 3);
    T_EQ(s.seen[4], 6 + 4); /* word 4 comes when it would without a filter */
    scene_end(&s);
    /* After 0 1 2 the second limit holds: 0 1 2 3 4, then the filter is off: 2 of 3, 2 of 5, all.
     */
    filtered(
        &s,
        &(struct mesh_filter){
            .kind = MESH_FILTER_SPARSE, .count_data = true, .max = 1, .limit1 = 2, .limit2 = 4},
        12);
    T_EQ(s.n_seen, 1 + 2 + 2 + 4);
    scene_end(&s);
    filtered(&s, &(struct mesh_filter){.kind = MESH_FILTER_RANGE, .min_index = 2, .max_index = 4},
             8);
    T_EQ(s.n_seen, 4);
    T_EQ(s.data[1] & 0xFFFF, 2);
    scene_end(&s);
}

/* ---- tasks and operations -------------------------------------------------------------------- */

static enum wsc_err probe_high(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return probe(pe, 7);
}

TEST(mesh, priority_and_one_task_a_cycle)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    bind(&s, one(0, 0), GO, probe);
    ok(mesh_task(s.m, one(0, 0), DONE, probe_high, MESH_HIGH));
    ok(mesh_start(s.m, one(0, 0), GO));
    ok(mesh_start(s.m, one(0, 0), DONE));
    ok(mesh_run(s.m, &s.stats));
    T_EQ(s.data[0], 7);
    T_EQ(s.seen[0], 0);
    T_EQ(s.seen[1], 1);
    scene_end(&s);
}

static struct mesh_op timed_op;
static enum wsc_err issue_timed(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_issue(pe, &timed_op));
    return timed_op.thread ? mesh_issue(pe, &(struct mesh_op){.code = timed_op.code,
                                                              .dst = timed_op.dst,
                                                              .a = timed_op.a})
                           : WSC_OK;
}

static int64_t cycles_of(enum mesh_arch arch, struct mesh_op op)
{
    struct scene s;
    scene_init(&s, 1, 1, arch);
    timed_op = op;
    bind(&s, one(0, 0), GO, issue_timed);
    ok(mesh_start(s.m, one(0, 0), GO));
    ok(mesh_run(s.m, &s.stats));
    scene_end(&s);
    return s.stats.cycles;
}

TEST(mesh, cost_of_memory_operations)
{
    const struct mesh_dsd a = mesh_mem(0, 8), other_bank = mesh_mem(1028, 8),
                          same_bank = mesh_mem(1024, 8), c = mesh_float(2);
    /* Set-up 9, then two elements a cycle (SIMD of fadds on WSE-2), four on WSE-3. */
    struct mesh_op add = {.code = MESH_FADDS, .dst = a, .a = a, .b = other_bank};
    T_EQ(cycles_of(MESH_WSE2, add), 9 + 4);
    T_EQ(cycles_of(MESH_WSE3, add), 9 + 2);
    add.b = same_bank; /* both reads in the same bank modulo 4: half the rate */
    T_EQ(cycles_of(MESH_WSE2, add), 9 + 8);
    /* fmacs has SIMD width 1. */
    struct mesh_op mac = {.code = MESH_FMACS, .dst = a, .a = a, .b = other_bank, .c = c};
    T_EQ(cycles_of(MESH_WSE2, mac), 17 + 8);
    mac.b = same_bank;
    T_EQ(cycles_of(MESH_WSE2, mac), 17 + 16);
    /* Copies: stride 8 gives one element a cycle, stride 3 the full rate. */
    struct mesh_op copy = {.code = MESH_FMOVS, .dst = a, .a = mesh_mem_strided(1024, 8, 8)};
    T_EQ(cycles_of(MESH_WSE2, copy), 15 + 8);
    copy.a = mesh_mem_strided(1024, 8, 3);
    T_EQ(cycles_of(MESH_WSE2, copy), 15 + 4);
    /* Two copies of 64 at two a cycle share the datapath: 64 cycles for both. */
    copy = (struct mesh_op){
        .code = MESH_FMOVS, .thread = 1, .dst = mesh_mem(0, 64), .a = mesh_mem(1024, 64)};
    T_EQ(cycles_of(MESH_WSE2, copy), 15 + 64);
}

TEST(mesh, sixteen_bit_numbers)
{
    for (int h = 0; h < NUM_N_HALVES; h++) {
        enum num_half half = (enum num_half)h;
        int wrong = 0;
        for (int i = 0; i < 65536; i++) {
            float x = mesh_half_to_float(half, (uint16_t)i);
            if (x == x && mesh_half_from_double(half, x) != i) wrong++;
        }
        T_EQ(wrong, 0);
    }
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 65519), 0x7BFF); /* below the tie to infinity */
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 65520), 0x7C00);
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 1 + 1.0 / 2048), 0x3C00); /* tie to even */
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 1 + 3.0 / 2048), 0x3C02);
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 2.98e-8), 0x0000); /* below half the least number */
    T_EQ(mesh_half_from_double(NUM_HALF_FP16, 2.99e-8), 0x0001);
}

static enum wsc_err mac_bf16(struct mesh_pe *pe, uint32_t data)
{
    struct scene *s = mesh_user(pe);
    const struct mesh_dsd sum = mesh_mem(s->address, 1), seven = mesh_bits(0x40E0);
    (void)data;
    return mesh_mac(pe, MESH_FMACH, sum, sum, mesh_mem(s->address + 2, 1), seven);
}

TEST(mesh, multiply_add_rounds_once)
{
    /* 37 x 7 = 259 is half-way between the bfloat16 numbers 258 and 260, and even is 260; with
     * -2^-100 added it must become 258, though a double cannot hold the sum. */
    const uint16_t from[2] = {0x8D80, 0x4214};
    uint16_t got;
    struct scene s;
    memset(&s, 0, sizeof s);
    ok(mesh_create(&s.m, &(struct mesh_config){.w = 1, .h = 1, .half = NUM_HALF_BF16, .user = &s}));
    ok(mesh_copy_in(s.m, one(0, 0), 0, from, sizeof from));
    bind(&s, one(0, 0), GO, mac_bf16);
    ok(mesh_start(s.m, one(0, 0), GO));
    ok(mesh_run(s.m, &s.stats));
    ok(mesh_copy_out(s.m, one(0, 0), 0, &got, sizeof got));
    T_NEAR(mesh_half_to_float(NUM_HALF_BF16, got), 258, 0);
    scene_end(&s);
}

static enum wsc_err send_and_turn(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd none = {0};
    (void)data;
    TRY(mesh_do(pe, MESH_FMOVS, mesh_out(1, 1), mesh_bits((uint32_t)mesh_x(pe)), none));
    return mesh_advance_switch(pe, 1, 0, 0);
}

/* Two senders in a row, the far one through the switch of the near one.  Both words are in their
 * routers at 3; the near one leaves, its switch turns; the far one leaves at 4, is at the near
 * router at 5, at the last one at 6 and executed at 8. */
static void turn_toward(int root)
{
    struct scene s;
    const int far = 2 - root;
    struct mesh_route near = {.rx = MESH_RAMP, .tx = root ? MESH_EAST : MESH_WEST, .n_more = 1};
    near.more[0].rx = root ? MESH_WEST : MESH_EAST;
    scene_init(&s, 3, 1, MESH_WSE2);
    route(&s, one(root, 0), 1, root ? MESH_WEST : MESH_EAST, MESH_RAMP);
    ok(mesh_route(s.m, one(1, 0), 1, &near));
    route(&s, one(far, 0), 1, MESH_RAMP, root ? MESH_EAST : MESH_WEST);
    for (int x = 1; x != far + (far - 1); x += far - 1) {
        ok(mesh_output_queue(s.m, one(x, 0), 0, 1));
        bind(&s, one(x, 0), GO, send_and_turn);
        ok(mesh_start(s.m, one(x, 0), GO));
    }
    ok(mesh_input_queue(s.m, one(root, 0), 0, 1));
    ok(mesh_data_task(s.m, one(root, 0), 1, probe, MESH_LOW));
    ok(mesh_run(s.m, &s.stats));
    T_EQ(s.n_seen, 2);
    T_EQ(s.data[0], 1);
    T_EQ(s.data[1], far);
    T_EQ(s.seen[0], 6);
    T_EQ(s.seen[1], 8);
    T_EQ(s.stats.wavelets, 2); /* a turn is none */
    T_EQ(s.stats.wavelet_hops, 1 + 2);
    scene_end(&s);
}

TEST(mesh, a_switch_turns_behind_the_last_word_and_is_open_a_cycle_later)
{
    turn_toward(0);
    turn_toward(2);
}
