// SPDX-License-Identifier: Apache-2.0
/* One scene for each rule of a PE.  Cycles count from 0; a task of cycle c begins its first
 * operation in c, and a memory operation of n elements at w a cycle with set-up u begins to move
 * data in c + u and ends with cycle c + u + ceil(n / w) - 1. */
#include "scene.h"

#include <string.h>

/* ---- queues ---------------------------------------------------------------------------------- */

/* The cycle in which PE 0 has executed the last of n words when PE 1 takes none before 100. */
static int64_t sender_ends(enum mesh_arch arch, int out, int in, int n)
{
    struct scene s;
    int64_t cycle = -1;
    scene_init(&s, 2, 1, arch);
    s.wait = 100;
    route_row(&s, 1, 2, 2);
    sends(&s, at(0, 0), out, 1);
    hears(&s, at(1, 0), in, 1, probe);
    task(&s, at(0, 0), DONE, probe);
    s.op[0] = (struct mesh_op){.activate = DONE + 1, .dst = mesh_out(1, n), .a = mesh_mem(0, n)};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    task(&s, at(1, 0), GO, wait_first);
    ok(mesh_start(s.m, at(1, 0), GO));
    scene_run(&s);
    for (int i = 0; i < s.n_seen; i++)
        if (s.seen[i].x == 0) cycle = s.seen[i].cycle - 1;
    scene_end(&s);
    return cycle;
}

TEST(mesh_pe, depths_of_queues)
{
    /* csl-examples and SPADA, in wavelets. */
    static const int in[8] = {6, 6, 4, 4, 2, 2, 2, 2};
    static const int out[2][6] = {{2, 2, 6, 6, 2, 2}, {8, 8, 8, 8, 8, 8}};
    for (int arch = 0; arch < 2; arch++) {
        for (int q = 0; q < 8; q++) {
            /* Two routers of 4, and what is in the ramp down: 2, on WSE-3 3.  A word more waits
             * for PE 1, which takes one in 100: its ramp moves in 101, router 0 in 102, the ramp of
             * PE 0 in 103, the datapath in 104.  Set-up 4 on WSE-3. */
            enum mesh_arch a = (enum mesh_arch)arch;
            int room = out[arch][q % 6] + 8 + in[q] + (arch ? 3 : 2), setup = arch ? 4 : 0;
            EQ(sender_ends(a, q % 6, q, room), setup + room - 1);
            EQ(sender_ends(a, q % 6, q, room + 1), 104);
        }
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

#define NOTE_TASK(n)                                                                               \
    static enum wsc_err note_##n(struct mesh_pe *pe, uint32_t data)                                \
    {                                                                                              \
        (void)data;                                                                                \
        return probe(pe, n);                                                                       \
    }
NOTE_TASK(1)
NOTE_TASK(2)
NOTE_TASK(3)
NOTE_TASK(4)

TEST(mesh_pe, tasks_go_by_priority_then_by_number_one_a_cycle)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    ok(mesh_task(s.m, at(0, 0), 20, note_4, MESH_LOW));
    ok(mesh_task(s.m, at(0, 0), 12, note_3, MESH_LOW));
    ok(mesh_task(s.m, at(0, 0), 27, note_2, MESH_MEDIUM));
    ok(mesh_task(s.m, at(0, 0), 28, note_1, MESH_HIGH));
    for (int i = 0; i < 4; i++)
        ok(mesh_start(s.m, at(0, 0), (int[4]){20, 12, 27, 28}[i]));
    scene_run(&s);
    EQ(s.n_seen, 4);
    for (int i = 0; i < 4; i++)
        T_SEEN(&s, i, i, i + 1);
    EQ(s.stats.cycles, 4);
    scene_end(&s);
}

TEST(mesh_pe, ids_of_local_tasks)
{
    for (int id = 0; id < MESH_TASKS; id++) {
        for (int arch = 0; arch < 2; arch++) {
            bool local = id >= (arch ? 8 : 0) && id <= 30;
            struct scene s;
            scene_init(&s, 1, 1, (enum mesh_arch)arch);
            task(&s, at(0, 0), id, probe);
            EQ(mesh_start(s.m, at(0, 0), id), local ? WSC_OK : WSC_USAGE);
            scene_end(&s);
        }
    }
}

/* Activates a task of high priority, then computes. */
static enum wsc_err activate_then_wait(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_activate(pe, DONE));
    return mesh_wait(pe, 10);
}

TEST(mesh_pe, a_task_runs_to_completion)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    ok(mesh_task(s.m, at(0, 0), DONE, probe, MESH_HIGH));
    starts(&s, at(0, 0), activate_then_wait);
    scene_run(&s);
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 10); /* activated in 0, but the other one computes to the end of 9 */
    scene_end(&s);
}

/* Two activations before the task has run are one. */
static enum wsc_err activate_twice(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_activate(pe, DONE));
    TRY(mesh_wait(pe, 3));
    return mesh_activate(pe, DONE);
}

TEST(mesh_pe, an_activation_is_not_counted)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    task(&s, at(0, 0), DONE, probe);
    starts(&s, at(0, 0), activate_twice);
    scene_run(&s);
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 3);
    scene_end(&s);
}

static enum wsc_err block_activate_unblock(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_block(pe, DONE));
    TRY(mesh_activate(pe, DONE));
    return mesh_activate(pe, EXTRA);
}

static enum wsc_err wait_then_unblock(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_wait(pe, 7));
    return mesh_unblock(pe, DONE);
}

TEST(mesh_pe, a_blocked_task_starts_when_it_is_unblocked)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    task(&s, at(0, 0), DONE, probe);
    task(&s, at(0, 0), EXTRA, wait_then_unblock);
    starts(&s, at(0, 0), block_activate_unblock);
    scene_run(&s);
    /* EXTRA starts in cycle 1, after GO; its wait ends with 7; in 8 it unblocks and DONE, the only
     * one left, starts. */
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 8);
    scene_end(&s);
}

TEST(mesh_pe, an_operation_activates_and_unblocks_at_its_end)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    task(&s, at(0, 0), DONE, probe);
    task(&s, at(0, 0), EXTRA, note_2);
    s.op[0] = (struct mesh_op){.code = MESH_FMOVS,
                               .thread = 3,
                               .activate = DONE + 1,
                               .dst = mesh_mem(0, 5),
                               .a = mesh_mem(64, 5)};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    /* 15 to set up, 5 words at two a cycle in 15, 16, 17; the task in 18. */
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 18);
    EQ(s.stats.cycles, 19);
    scene_end(&s);
}

static enum wsc_err block_then_issue(struct mesh_pe *pe, uint32_t data)
{
    TRY(mesh_block(pe, DONE));
    TRY(mesh_activate(pe, DONE));
    return issue_ops(pe, data);
}

TEST(mesh_pe, an_operation_unblocks_at_its_end)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    task(&s, at(0, 0), DONE, probe);
    s.op[0] = (struct mesh_op){.code = MESH_FADDS,
                               .thread = 8,
                               .unblock = DONE + 1,
                               .dst = mesh_mem(0, 8),
                               .a = mesh_mem(64, 8),
                               .b = mesh_bits(0)};
    s.n_ops = 1;
    starts(&s, at(0, 0), block_then_issue);
    scene_run(&s);
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 9 + 4);
    scene_end(&s);
}

/* ---- wavelets that start tasks --------------------------------------------------------------- */

static void feed(struct scene *s, int colour, const struct mesh_wavelet *w, int n)
{
    route(s, at(0, 0), colour, MESH_WEST, MESH_RAMP);
    ok(mesh_edge_source(s->m, 0, 0, MESH_WEST, colour, w, n));
}

TEST(mesh_pe, data_and_control_tasks_get_the_payload)
{
    struct mesh_wavelet w[3] = {{11, false}, {0, true}, {12, false}};
    struct scene s;
    w[1].data = mesh_control(NULL, 0, 40);
    scene_init(&s, 1, 1, MESH_WSE2);
    feed(&s, 6, w, 3);
    hears(&s, at(0, 0), 2, 6, probe);
    ok(mesh_task(s.m, at(0, 0), 40, probe, MESH_LOW));
    scene_run(&s);
    /* Enters in 0, router at 1, PE at 3; they stay in order. */
    EQ(s.n_seen, 3);
    for (int i = 0; i < 3; i++)
        T_SEEN(&s, i, 3 + i, w[i].data);
    scene_end(&s);
}

TEST(mesh_pe, queues_go_by_priority_of_their_task_then_by_number)
{
    struct mesh_wavelet one[2] = {{1, false}, {1, false}}, two[2] = {{2, false}, {2, false}},
                        three[2] = {{3, false}, {3, false}};
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    s.wait = 20;
    feed(&s, 1, one, 2);
    feed(&s, 2, two, 2);
    feed(&s, 3, three, 2);
    hears(&s, at(0, 0), 5, 1, probe);
    hears(&s, at(0, 0), 4, 2, probe);
    hears(&s, at(0, 0), 7, 3, NULL);
    ok(mesh_data_task(s.m, at(0, 0), 3, probe, MESH_MEDIUM));
    starts(&s, at(0, 0), wait_first);
    scene_run(&s);
    /* All are there when the scalar code ends: colour 3 by priority, then queue 4, then 5. */
    static const uint32_t order[6] = {3, 3, 2, 2, 1, 1};
    EQ(s.n_seen, 6);
    for (int i = 0; i < 6; i++)
        T_SEEN(&s, i, 20 + i, order[i]);
    scene_end(&s);
}

static enum wsc_err block_7_then_wait(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_block_data(pe, 7));
    TRY(mesh_activate(pe, EXTRA));
    return mesh_wait(pe, 5);
}

static enum wsc_err unblock_7(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_wait(pe, 12));
    return mesh_unblock_data(pe, 7);
}

TEST(mesh_pe, a_blocked_data_task_waits_and_its_words_stay)
{
    const struct mesh_wavelet w[2] = {{21, false}, {22, false}};
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    feed(&s, 7, w, 2);
    hears(&s, at(0, 0), 0, 7, probe);
    task(&s, at(0, 0), EXTRA, unblock_7);
    starts(&s, at(0, 0), block_7_then_wait);
    scene_run(&s);
    /* GO computes in 0 to 4, EXTRA in 5 to 16; in 17 it unblocks. */
    EQ(s.n_seen, 2);
    T_SEEN(&s, 0, 17, 21);
    T_SEEN(&s, 1, 18, 22);
    scene_end(&s);
}

TEST(mesh_pe, an_operation_takes_the_words_before_a_data_task)
{
    const struct mesh_wavelet w[5] = {{1, false}, {2, false}, {3, false}, {4, false}, {5, false}};
    uint32_t got[3];
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    feed(&s, 7, w, 5);
    hears(&s, at(0, 0), 0, 7, probe);
    s.op[0] = (struct mesh_op){
        .code = MESH_FMOVS, .thread = 1, .dst = mesh_mem(0, 3), .a = mesh_in(7, 3)};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    /* Words are there from 3 on, one a cycle: the microthread takes three, the task the rest. */
    EQ(s.n_seen, 2);
    T_SEEN(&s, 0, 6, 4);
    T_SEEN(&s, 1, 7, 5);
    ok(mesh_copy_out(s.m, at(0, 0), 0, got, sizeof got));
    for (uint32_t i = 0; i < 3; i++)
        EQ(got[i], i + 1);
    scene_end(&s);
}

/* ---- the datapath ---------------------------------------------------------------------------- */

static int64_t cycles_of(enum mesh_arch arch, const struct mesh_op *op, int n_ops)
{
    struct scene s;
    scene_init(&s, 1, 1, arch);
    memcpy(s.op, op, (size_t)n_ops * sizeof *op);
    s.n_ops = n_ops;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    scene_end(&s);
    return s.stats.cycles;
}

static float first(float a, float b)
{
    (void)b;
    return a;
}

TEST(mesh_pe, width_and_set_up_of_every_operation)
{
    /* SDK documentation, appendix "SIMD": elements a cycle on WSE-2 and WSE-3.  fmacs, fmuls: not
     * listed; 1.  Set-up: FABRICA.  Operands: numbers of c, arrays. */
    static const struct {
        enum mesh_code code;
        int wse2, wse3, setup, arrays, numbers;
    } rows[] = {
        {MESH_FMOVS, 2, 4, 15, 1, 0}, {MESH_FMOVH, 4, 8, 15, 1, 0},  {MESH_FADDS, 2, 4, 9, 2, 0},
        {MESH_FADDH, 4, 8, 9, 2, 0},  {MESH_FADDHS, 2, 4, 9, 2, 0},  {MESH_FSUBS, 2, 4, 9, 2, 0},
        {MESH_FSUBH, 4, 8, 9, 2, 0},  {MESH_FMULS, 1, 1, 9, 2, 0},   {MESH_FMULH, 4, 8, 9, 2, 0},
        {MESH_FMAXS, 1, 4, 9, 2, 0},  {MESH_FMAXH, 1, 8, 9, 2, 0},   {MESH_FMACS, 1, 1, 17, 2, 1},
        {MESH_FMACH, 4, 8, 16, 2, 1}, {MESH_FMACHS, 2, 4, 16, 2, 1}, {MESH_FS2H, 1, 4, 15, 1, 0},
        {MESH_FH2S, 1, 4, 15, 1, 0},
    };
    EQ(sizeof rows / sizeof *rows, MESH_N_CODES - 2); /* all but @map, of either kind */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* Byte 1028 lies two banks after 1024. */
        struct mesh_op op = {
            .code = (uint8_t)rows[i].code, .dst = mesh_mem(0, 48), .a = mesh_mem(1024, 48)};
        if (rows[i].arrays == 2) op.b = mesh_mem(2052, 48);
        if (rows[i].numbers) op.c = mesh_bits(0);
        EQ(cycles_of(MESH_WSE2, &op, 1), rows[i].setup + 48 / rows[i].wse2);
        EQ(cycles_of(MESH_WSE3, &op, 1), rows[i].setup + 48 / rows[i].wse3);
    }
    struct mesh_op map = {.code = MESH_MAP,
                          .dst = mesh_mem(0, 48),
                          .a = mesh_mem(1024, 48),
                          .map = first,
                          .map_cycles = 3};
    EQ(cycles_of(MESH_WSE2, &map, 1), 15 + 3 * 48);
    map.code = MESH_MAPH;
    EQ(cycles_of(MESH_WSE2, &map, 1), 15 + 3 * 48);
}

TEST(mesh_pe, a_cycle_that_is_not_full_counts_as_one)
{
    for (int n = 0; n <= 9; n++) {
        struct mesh_op op = {.code = MESH_FMOVH, .dst = mesh_mem(0, n), .a = mesh_mem(1024, n)};
        /* Without elements an operation ends when it is set up, and does nothing else. */
        EQ(cycles_of(MESH_WSE2, &op, 1), 15 + (n ? (n + 3) / 4 : 1));
    }
}

TEST(mesh_pe, strides_limit_the_rate)
{
    /* Stride modulo 8: 2, 3, 5, 6 full rate; 1, 7 and 4 two elements a cycle; 0 one; a stride of 0
     * or 1 full rate.  fmovh: 8 a cycle on WSE-3, 4 on WSE-2. */
    static const struct {
        int stride, wse2, wse3;
    } rows[] = {{0, 4, 8},  {1, 4, 8},  {2, 4, 8},  {3, 4, 8},  {4, 2, 2},  {5, 4, 8},  {6, 4, 8},
                {7, 2, 2},  {8, 1, 1},  {9, 2, 2},  {10, 4, 8}, {12, 2, 2}, {16, 1, 1}, {-1, 2, 2},
                {-2, 4, 8}, {-4, 2, 2}, {-7, 2, 2}, {-8, 1, 1}, {-9, 2, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mesh_dsd plain = mesh_mem(0, 16),
                        other = mesh_mem_strided(20000, 16, rows[i].stride);
        struct mesh_op from = {.code = MESH_FMOVH, .dst = plain, .a = other},
                       to = {.code = MESH_FMOVH, .dst = other, .a = plain};
        EQ(cycles_of(MESH_WSE2, &from, 1), 15 + 16 / rows[i].wse2);
        EQ(cycles_of(MESH_WSE3, &from, 1), 15 + 16 / rows[i].wse3);
        EQ(cycles_of(MESH_WSE3, &to, 1), 15 + 16 / rows[i].wse3);
    }
    /* Of several dimensions the last one counts. */
    struct mesh_dsd two = {.kind = MESH_DSD_MEMORY, .n_dims = 2, .len = {4, 4}, .stride = {8, 3}};
    struct mesh_op op = {.code = MESH_FMOVH, .dst = mesh_mem(4000, 16), .a = two};
    EQ(cycles_of(MESH_WSE3, &op, 1), 15 + 2);
    op.a.stride[0] = 3;
    op.a.stride[1] = 8;
    EQ(cycles_of(MESH_WSE3, &op, 1), 15 + 16);
}

TEST(mesh_pe, reads_of_the_same_bank_take_turns)
{
    /* Banks are 16-bit words modulo 4.  a begins in bank 0. */
    for (int bank = 0; bank < 8; bank++) {
        struct mesh_op op = {.code = MESH_FADDH,
                             .dst = mesh_mem(4000, 16),
                             .a = mesh_mem(0, 16),
                             .b = mesh_mem(1600 + 2 * bank, 16)};
        EQ(cycles_of(MESH_WSE2, &op, 1), 9 + (bank % 4 ? 4 : 8));
        op.b.stride[0] = 3; /* unlike steps are not charged */
        EQ(cycles_of(MESH_WSE2, &op, 1), 9 + 4);
    }
    /* One read does not collide, whatever is written. */
    struct mesh_op one = {
        .code = MESH_FADDH, .dst = mesh_mem(1600, 16), .a = mesh_mem(0, 16), .b = mesh_bits(0)};
    EQ(cycles_of(MESH_WSE2, &one, 1), 9 + 4);
}

TEST(mesh_pe, microthreads_share_the_datapath)
{
    struct mesh_op op[3];
    for (uint8_t i = 0; i < 3; i++)
        op[i] = (struct mesh_op){.code = MESH_FMULS,
                                 .thread = i,
                                 .dst = mesh_mem(0, 10),
                                 .a = mesh_mem(1024, 10),
                                 .b = mesh_bits(0)};
    /* Ten elements of a whole cycle each: two and three operations take 20 and 30 cycles. */
    EQ(cycles_of(MESH_WSE2, op, 1), 9 + 10);
    op[0].thread = 7;
    EQ(cycles_of(MESH_WSE2, op, 2), 9 + 20);
    EQ(cycles_of(MESH_WSE2, op, 3), 9 + 30);
    /* On the same thread one comes after the other, each with its set-up: 19 and 19. */
    op[1].thread = 7;
    EQ(cycles_of(MESH_WSE2, op, 2), 2 * (9 + 10));
    /* The main thread waits for its own operation before it begins the next one. */
    op[0].thread = op[1].thread = 0;
    EQ(cycles_of(MESH_WSE2, op, 2), 2 * (9 + 10));
}

TEST(mesh_pe, operations_of_a_whole_cycle_alternate)
{
    struct scene s;
    scene_init(&s, 2, 1, MESH_WSE2);
    for (int i = 0; i < 2; i++) {
        route_row(&s, 1 + i, 2, 2);
        sends(&s, at(0, 0), 2 + i, 1 + i);
        hears(&s, at(1, 0), i, 1 + i, i ? note_2 : note_1);
        s.op[i] = (struct mesh_op){.code = MESH_FMULS,
                                   .thread = (uint8_t)(1 + i),
                                   .dst = mesh_out(1 + i, 4),
                                   .a = mesh_mem(0, 4),
                                   .b = mesh_bits(0)};
    }
    s.n_ops = 2;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    /* Thread 1 in cycles 0, 2, 4, 6, thread 2 in 1, 3, 5, 7; each word arrives 6 later. */
    EQ(s.n_seen, 8);
    for (int i = 0; i < 8; i++)
        T_SEEN(&s, i, 6 + i, 1 + i % 2);
    scene_end(&s);
}

TEST(mesh_pe, an_operation_on_the_fabric_moves_one_wavelet_a_cycle)
{
    for (int arch = 0; arch < 2; arch++) {
        struct scene s;
        scene_init(&s, 2, 1, (enum mesh_arch)arch);
        s.n = 9;
        route_row(&s, 1, 2, 2);
        sends(&s, at(0, 0), 2, 1);
        hears(&s, at(1, 0), 2, 1, NULL);
        task(&s, at(1, 0), DONE, probe);
        starts(&s, at(0, 0), send_1);
        s.op[0] = (struct mesh_op){
            .code = MESH_FMOVS, .activate = DONE + 1, .dst = mesh_mem(0, 9), .a = mesh_in(1, 9)};
        s.n_ops = 1;
        starts(&s, at(1, 0), issue_ops);
        scene_run(&s);
        /* fmovs could move two or four words a cycle in memory.  WSE-2: the last is executed in 8,
         * in router 1 at 12, received in 14.  WSE-3: set up 4, executed in 12, routers 15 and 17,
         * received in 20. */
        EQ(s.seen[0].cycle, arch ? 21 : 15);
        scene_end(&s);
    }
}

static enum wsc_err join_then_probe(struct mesh_pe *pe, uint32_t data)
{
    TRY(issue_ops(pe, data));
    TRY(mesh_join(pe, 4));
    TRY(mesh_join(pe, 5)); /* does nothing: waits for nobody */
    TRY(mesh_wait(pe, 2));
    return mesh_activate(pe, DONE);
}

TEST(mesh_pe, a_join_waits_for_one_microthread)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    s.op[0] = (struct mesh_op){
        .code = MESH_FMOVS, .thread = 4, .dst = mesh_mem(0, 10), .a = mesh_mem(1024, 10)};
    s.n_ops = 1;
    task(&s, at(0, 0), DONE, probe);
    starts(&s, at(0, 0), join_then_probe);
    scene_run(&s);
    /* 15 + 5 cycles; in 20 the join has ended and the scalar code begins, in 22 the task. */
    EQ(s.n_seen, 1);
    EQ(s.seen[0].cycle, 22);
    scene_end(&s);
}

/* ---- order and memory ------------------------------------------------------------------------ */

static enum wsc_err two_after_each_other(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd none = {0};
    uint32_t word;
    (void)data;
    TRY(mesh_load(pe, 0, &word));
    TRY(probe(pe, word)); /* as it is when the task starts */
    TRY(mesh_store(pe, 0, 5));
    TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(4, 1), mesh_mem(0, 1), none));
    return mesh_do(pe, MESH_FMOVS, mesh_mem(8, 1), mesh_mem(4, 1), none);
}

TEST(mesh_pe, operations_of_a_task_are_carried_out_in_order)
{
    uint32_t got[3];
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    ok(mesh_copy_in(s.m, at(0, 0), 0, (uint32_t[3]){7, 8, 9}, 12));
    starts(&s, at(0, 0), two_after_each_other);
    scene_run(&s);
    T_SEEN(&s, 0, 0, 7);
    EQ(s.stats.cycles, 2 * 16);
    ok(mesh_copy_out(s.m, at(0, 0), 0, got, sizeof got));
    for (int i = 0; i < 3; i++)
        EQ(got[i], 5);
    scene_end(&s);
}

TEST(mesh_pe, an_array_of_four_dimensions)
{
    /* 2 x 1 x 3 x 2 words with strides 40, 0, 4, -1 from word 100, in row-major order. */
    static const int expected[12] = {100, 99, 104, 103, 108, 107, 140, 139, 144, 143, 148, 147};
    uint32_t got[12];
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    count_up(&s, at(0, 0), 200);
    s.op[0] = (struct mesh_op){.code = MESH_FMOVS,
                               .dst = mesh_mem(2000, 12),
                               .a = {.kind = MESH_DSD_MEMORY,
                                     .n_dims = 4,
                                     .len = {2, 1, 3, 2},
                                     .stride = {40, 0, 4, -1},
                                     .address = 400}};
    s.n_ops = 1;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    ok(mesh_copy_out(s.m, at(0, 0), 2000, got, sizeof got));
    for (int i = 0; i < 12; i++)
        EQ(got[i], expected[i]);
    scene_end(&s);
}
