// SPDX-License-Identifier: Apache-2.0
/* One scene for each rule of data-triggered operations.  Wavelet i of the edge source enters in
 * cycle i, is in the router in i + 1 and at the PE in i + 3 (WSE-2); a multiply-add of n 32-bit
 * elements takes n cycles from the cycle in which its wavelet is there, without set-up. */
#include "scene.h"

#include <wsc/mem.h>

#include <string.h>

enum { DATA = 1, SUMS = 0, VECTORS = 1026, N = 4, MOST = 16 };

/* What the tasks of a scene bind, and how often. */
struct binding {
    struct scene scene; /* first: mesh_user() */
    struct mesh_trigger trigger;
    struct mesh_wavelet wavelet[MOST];
    int n_wavelets, n_bound, most_bound;
};

static struct mesh_trigger trigger_of(int n)
{
    return (struct mesh_trigger){.code = MESH_FMACS,
                                 .thread = 5,
                                 .colour = DATA,
                                 .activate = DONE + 1,
                                 .writes = true,
                                 .wait = 12,
                                 .n = n,
                                 .sums = mesh_mem(SUMS, N),
                                 .vectors = mesh_mem(VECTORS, N),
                                 .vectors_step = N};
}

static enum wsc_err bind(struct mesh_pe *pe, uint32_t data)
{
    struct binding *b = mesh_user(pe);
    (void)data;
    b->n_bound++;
    return mesh_arm(pe, &b->trigger);
}

/* Notes how many multiply-adds there were, and binds the next accumulator. */
static enum wsc_err next(struct mesh_pe *pe, uint32_t data)
{
    struct binding *b = mesh_user(pe);
    (void)data;
    TRY(probe(pe, (uint32_t)mesh_triggered(pe)));
    if (b->n_bound == b->most_bound) return WSC_OK;
    b->trigger.sums.address += 4 * N;
    return bind(pe, 0);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void add_number(struct binding *b, float value)
{
    b->wavelet[b->n_wavelets++] = (struct mesh_wavelet){.data = bits_of(value)};
}

static void add_end(struct binding *b)
{
    static const enum mesh_command nothing = MESH_NOP;
    b->wavelet[b->n_wavelets++] =
        (struct mesh_wavelet){.data = mesh_control(&nothing, 1, DONE), .control = true};
}

/* One PE whose vector v has the elements 10 v + 1 .. 10 v + 4; sums begin as 100. */
static void binding_with(struct binding *b, int n, mesh_task_fn first)
{
    float numbers[MOST * N], sums[MOST * N];
    memset(b, 0, sizeof *b);
    scene_init(&b->scene, 1, 1, MESH_WSE2);
    b->trigger = trigger_of(n);
    b->most_bound = 1;
    for (int i = 0; i < MOST * N; i++) {
        numbers[i] = (float)(10 * (int)(i / N) + i % N + 1);
        sums[i] = 100;
    }
    ok(mesh_copy_in(b->scene.m, at(0, 0), VECTORS, numbers, sizeof numbers));
    ok(mesh_copy_in(b->scene.m, at(0, 0), SUMS, sums, sizeof sums));
    route(&b->scene, at(0, 0), DATA, MESH_NORTH, MESH_RAMP);
    hears(&b->scene, at(0, 0), 0, DATA, NULL);
    task(&b->scene, at(0, 0), DONE, next);
    starts(&b->scene, at(0, 0), first);
}

static void binding_init(struct binding *b, int n)
{
    binding_with(b, n, bind);
}

static void feed(struct binding *b)
{
    ok(mesh_edge_source(b->scene.m, 0, 0, MESH_NORTH, DATA, b->wavelet, b->n_wavelets));
}

static void expect_sum(struct binding *b, int accumulator, int element, float value)
{
    float got;
    ok(mesh_copy_out(b->scene.m, at(0, 0), SUMS + 4 * (accumulator * N + element), &got,
                     sizeof got));
    T_NEAR(got, value, 0);
}

/* Binds an operation, then requests something that waits for its end. */
static enum wsc_err bind_and_wait(struct mesh_pe *pe, uint32_t data)
{
    struct binding *b = mesh_user(pe);
    TRY(bind(pe, data));
    if (b->most_bound == 0) return mesh_join(pe, b->trigger.thread);
    if (b->most_bound == 1) return bind(pe, data);
    return mesh_issue(pe, &(struct mesh_op){.code = MESH_FMOVS,
                                            .thread = b->trigger.thread,
                                            .dst = mesh_mem(SUMS, 1),
                                            .a = mesh_float(1)});
}

TEST(mesh_trigger, a_task_that_waits_for_data_that_never_come)
{
    for (int how = 0; how < 3; how++) {
        struct binding b;
        binding_with(&b, 8, bind_and_wait);
        for (int i = 0; i < 4; i++)
            add_number(&b, 1);
        feed(&b);
        b.most_bound = how;
        scene_fails(&b.scene, WSC_DEADLOCK,
                    "mesh: deadlock in cycle 25: 1 PE waits: PE (0, 0) waits for colour 1");
    }
}

TEST(mesh_trigger, a_wavelet_starts_a_multiply_add_and_fractions_of_the_wait_add_up)
{
    struct binding b;
    binding_init(&b, 5);
    for (int i = 0; i < 5; i++)
        add_number(&b, (float)(i + 1));
    feed(&b);
    scene_run(&b.scene);
    /* Begin in 3, 3 + 4 + 1, 8 + 4 + 2, 19, 25; the task in the cycle after the last element. */
    EQ(b.scene.n_seen, 1);
    T_SEEN(&b.scene, 0, 29, 5);
    EQ(b.scene.stats.elements, 5 * N);
    for (int e = 0; e < N; e++) /* sum over v of (v + 1) (10 v + e + 1) */
        expect_sum(&b, 0, e, (float)(400 + 15 * (e + 1)));
    scene_end(&b.scene);
}

TEST(mesh_trigger, without_writing_first_it_adds_to_the_sums)
{
    struct binding b;
    binding_init(&b, 1);
    b.trigger.writes = false;
    add_number(&b, 2);
    feed(&b);
    scene_run(&b.scene);
    for (int e = 0; e < N; e++)
        expect_sum(&b, 0, e, (float)(100 + 2 * (e + 1)));
    scene_end(&b.scene);
}

TEST(mesh_trigger, a_control_wavelet_waits_for_the_multiply_add_and_ends_the_item)
{
    struct binding b;
    binding_init(&b, 8);
    b.trigger.until_control = true;
    b.trigger.wait = 8;
    b.most_bound = 3;
    add_number(&b, 1);
    add_end(&b);
    add_end(&b);
    add_number(&b, 3);
    add_number(&b, 1);
    add_end(&b);
    feed(&b);
    scene_run(&b.scene);
    /* The first begins in 3 and ends with 6; the next item binds in the cycle of the task, 7 and 8;
     * its wavelet begins at once, one cycle of wait having passed. */
    EQ(b.scene.n_seen, 3);
    T_SEEN(&b.scene, 0, 7, 1);
    T_SEEN(&b.scene, 1, 8, 0);
    T_SEEN(&b.scene, 2, 8 + 4 + 1 + 4, 2);
    expect_sum(&b, 0, 0, 1);
    expect_sum(&b, 1, 0, 100); /* nothing came for it */
    expect_sum(&b, 2, 0, 3 * 1 + 11);
    scene_end(&b.scene);
}

TEST(mesh_trigger, the_wait_outlasts_a_new_binding)
{
    struct binding b;
    binding_init(&b, 1);
    b.trigger.wait = 80;
    b.most_bound = 2;
    add_number(&b, 1);
    add_number(&b, 1);
    feed(&b);
    scene_run(&b.scene);
    T_SEEN(&b.scene, 0, 7, 1);
    T_SEEN(&b.scene, 1, 7 + 10 + 4, 1);
    scene_end(&b.scene);
}

TEST(mesh_trigger, sums_and_vectors_move_on_by_their_steps)
{
    struct binding b;
    binding_init(&b, 3);
    b.trigger.vectors_step = 0;
    b.trigger.sums_step = N;
    b.trigger.writes = false;
    for (int i = 0; i < 3; i++)
        add_number(&b, (float)i);
    feed(&b);
    scene_run(&b.scene);
    for (int i = 0; i < 3; i++)
        expect_sum(&b, i, 1, (float)(100 + 2 * i));
    scene_end(&b.scene);
}

TEST(mesh_trigger, an_index_chooses_the_vector)
{
    struct binding b;
    binding_init(&b, 8);
    b.trigger.until_control = b.trigger.indexed = true;
    for (int i = 0; i < 2; i++) {
        b.wavelet[b.n_wavelets++].data = i ? 2 : 5;
        add_number(&b, (float)(i + 1));
    }
    add_end(&b);
    feed(&b);
    scene_run(&b.scene);
    T_SEEN(&b.scene, 0, 3 + 1 + 4 + 1 + 4, 2); /* the second index is taken in the wait */
    for (int e = 0; e < N; e++)
        expect_sum(&b, 0, e, (float)(50 + e + 1 + 2 * (20 + e + 1)));
    scene_end(&b.scene);
}

TEST(mesh_trigger, a_16_bit_wavelet_has_its_index_in_the_upper_half)
{
    struct binding b;
    binding_init(&b, 8);
    uint16_t half[8 * N];
    for (int i = 0; i < 8 * N; i++)
        half[i] = mesh_half_from_double(NUM_HALF_FP16, (double)(int)(i / N));
    ok(mesh_copy_in(b.scene.m, at(0, 0), VECTORS, half, sizeof half));
    b.trigger.code = MESH_FMACHS;
    b.trigger.until_control = b.trigger.indexed = true;
    b.wavelet[b.n_wavelets++].data = 6U << 16 | mesh_half_from_double(NUM_HALF_FP16, 0.5);
    add_end(&b);
    feed(&b);
    scene_run(&b.scene);
    T_SEEN(&b.scene, 0, 3 + N / 2, 1);
    expect_sum(&b, 0, 3, 3);
    scene_end(&b.scene);
}

TEST(mesh_trigger, without_elements_wavelets_are_taken_one_a_cycle)
{
    struct binding b;
    binding_init(&b, 4);
    b.trigger.sums = b.trigger.vectors = mesh_mem(SUMS, 0);
    for (int i = 0; i < 4; i++)
        add_number(&b, 1);
    feed(&b);
    scene_run(&b.scene);
    T_SEEN(&b.scene, 0, 7, 4);
    EQ(b.scene.stats.elements, 0);
    scene_end(&b.scene);
}

/* Equal banks halve the rate, as of any multiply-add; the first one reads no sums. */
TEST(mesh_trigger, operands_in_one_bank_are_read_at_half_the_rate)
{
    struct binding b;
    binding_init(&b, 3);
    b.trigger.vectors.address = VECTORS - 2;
    b.trigger.wait = 0;
    for (int i = 0; i < 3; i++)
        add_number(&b, 1);
    feed(&b);
    scene_run(&b.scene);
    T_SEEN(&b.scene, 0, 3 + 4 + 8 + 8, 3);
    scene_end(&b.scene);
}

TEST(mesh_trigger, what_stays_bound_without_data_holds_nobody_up)
{
    struct binding b;
    binding_init(&b, 4);
    add_number(&b, 1);
    feed(&b);
    scene_run(&b.scene);
    EQ(b.scene.n_seen, 0);
    scene_end(&b.scene);
}

TEST(mesh_trigger, mistakes_are_named)
{
    struct binding b;
    binding_init(&b, 2);
    b.trigger.until_control = true;
    for (int i = 0; i < 3; i++)
        add_number(&b, 1);
    feed(&b);
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): a wavelet of colour 1 starts an operation on vector 2 of 2");
    binding_init(&b, 2);
    b.trigger.vectors_step = 32000;
    scene_fails(&b.scene, WSC_CAPACITY,
                "PE (0, 0): fmacs reaches bytes 1026 to 129041, outside its memory of 49152");
    binding_init(&b, 2);
    b.trigger.code = MESH_FADDS;
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): arriving data start multiply-adds of arrays of one dimension in "
                "memory");
    binding_init(&b, 0);
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): a data-triggered operation on microthread 4 with 0 vectors, 0 and 4 "
                "elements apart");
    binding_init(&b, 2);
    b.trigger.colour = 7;
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): a data-triggered operation: colour 7 has no input queue");
    binding_init(&b, 2);
    ok(mesh_data_task(b.scene.m, at(0, 0), DATA, probe, MESH_LOW));
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): data of colour 1 start a task, and no operation besides");
}

/* Binds a second operation on another microthread and colour. */
static enum wsc_err bind_both(struct mesh_pe *pe, uint32_t data)
{
    struct binding *b = mesh_user(pe);
    TRY(bind(pe, data));
    b->trigger.thread = 2;
    b->trigger.colour = DATA + 1;
    return bind(pe, data);
}

TEST(mesh_trigger, a_pe_has_one_binding_at_a_time)
{
    struct binding b;
    binding_init(&b, 2);
    route(&b.scene, at(0, 0), DATA + 1, MESH_SOUTH, MESH_RAMP);
    hears(&b.scene, at(0, 0), 1, DATA + 1, NULL);
    task(&b.scene, at(0, 0), GO, bind_both);
    add_number(&b, 1);
    feed(&b);
    scene_fails(&b.scene, WSC_USAGE,
                "PE (0, 0): colour 2 starts an operation while that of colour 1 is bound; a PE has "
                "one data-triggered operation at a time");
}

/* States of the PE add up to the run, and so do the parts of the critical path. */
TEST(mesh_trigger, a_watch_sees_multiply_adds)
{
    struct binding b;
    struct mesh_watch *w;
    struct mesh_critical critical;
    struct mesh_leg *leg;
    int64_t state[MESH_PE_STATES], sum = 0;
    int n_legs;
    binding_init(&b, 5);
    for (int i = 0; i < 5; i++)
        add_number(&b, 1);
    feed(&b);
    ok(mesh_watch_create(&w, &(struct mesh_watch_config){.causes = true}));
    mesh_watch_attach(b.scene.m, w);
    scene_run(&b.scene);
    mesh_watch_sum(w, state);
    for (int i = 0; i < MESH_PE_STATES; i++)
        sum += state[i];
    EQ(sum, b.scene.stats.cycles);
    EQ(state[MESH_PE_COMPUTES], 5 * N);
    ok(mesh_watch_critical(w, 1, &critical, &leg, &n_legs));
    sum = 0;
    for (int i = 0; i < MESH_PARTS; i++)
        sum += critical.part[i];
    EQ(sum, b.scene.stats.cycles);
    EQ(critical.part[MESH_PART_COMPUTE], 5 * N);
    EQ(critical.part[MESH_PART_SETUP], 1 + 2 + 1 + 2);
    wsc_free(leg);
    mesh_watch_destroy(&w);
    scene_end(&b.scene);
}
