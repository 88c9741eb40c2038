// SPDX-License-Identifier: Apache-2.0
/* Runs that repeat are played from a recording: values, outputs, statistics and errors of random
 * programs are those of runs that are all simulated; what depends on data is simulated. */
#include "random_fabric.h"
#include "scene.h"

#include "../../../src/mesh/intern.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { CASES = 3000, MORE_RUNS = 4 };

static bool same_end(const struct outcome *a, const struct outcome *b)
{
    return a->rc == b->rc && !strcmp(a->text, b->text) &&
           !memcmp(&a->stats, &b->stats, sizeof a->stats) && a->memory == b->memory &&
           a->output == b->output && a->left_edge == b->left_edge;
}

/* What became of the runs of all cases. */
struct counts {
    int64_t played, refused, different;
};

/* The memory of each run is part of the hash, so the runs before the last one count too. */
static void compare(uint64_t seed, int threads, struct counts *n)
{
    static struct random_case c;
    static struct case_log log;
    const struct case_host simulated = {.more_runs = MORE_RUNS},
                           announced = {
                               .more_runs = MORE_RUNS, .announced = true, .threads = threads};
    struct outcome one, other;
    case_draw(&c, seed);
    case_run_on(&c, &simulated, &one, &log);
    case_run_on(&c, &announced, &other, &log);
    const bool same = same_end(&one, &other);
    if (!same)
        (void)fprintf(stderr, "seed %llu: \"%s\", \"%s\"\n", (unsigned long long)seed, one.text,
                      other.text);
    CU_ASSERT(same);
    n->played += other.repeats.played;
    n->refused += other.repeats.refused;
    n->different += other.repeats.different;
}

static void compare_all(int cases, int threads)
{
    struct counts n = {0};
    for (int seed = 1; seed <= cases; seed++)
        compare((uint64_t)seed, threads, &n);
    CU_ASSERT(n.played > cases / 10 && n.refused > cases / 10 && n.different <= cases / 100);
    CU_ASSERT(wsc_mem_balanced());
}

TEST(mesh_repeat, random_programs_give_the_same_bits)
{
    compare_all(CASES, 1);
}

TEST(mesh_repeat, random_programs_give_the_same_bits_on_threads)
{
    for (int threads = 2; threads <= 3; threads++)
        compare_all(CASES / 30, threads);
}

/* Two operations on the same memory at once: their order in the list is not that of the machine. */
TEST(mesh_repeat, recordings_with_other_results_are_given_up)
{
    static const uint64_t seed[] = {16146, 20022, 25254, 38402};
    for (size_t i = 0; i < sizeof seed / sizeof *seed; i++) {
        struct counts n = {0};
        compare(seed[i], 1, &n);
        T_EQ(n.different, 1);
        T_EQ(n.played, 0);
    }
}

/* ---- two PEs --------------------------------------------------------------------------------- */

enum { WORDS = 4, COLOUR = 1, TO = 64 };

/* The left PE sends four words, the right one adds a number to those that it takes. */
struct sum {
    struct mesh *m;
    float number;
    int taken;
};

static enum wsc_err give(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR, WORDS), mesh_mem(0, WORDS),
                   (struct mesh_dsd){0});
}

static enum wsc_err take(struct mesh_pe *pe, uint32_t data)
{
    const struct sum *s = mesh_user(pe);
    (void)data;
    return mesh_do(pe, MESH_FADDS, mesh_mem(TO, s->taken), mesh_in(COLOUR, s->taken),
                   mesh_float(s->number));
}

/* Run it as program number @p key on @p x; the sums are in @p out. */
static void add(struct sum *s, int key, const struct mesh_filter *filter, const float *x,
                float *out)
{
    const struct mesh_rect left = at(0, 0), right = at(1, 0);
    const struct mesh_route sent = {.rx = MESH_RAMP, .tx = MESH_EAST};
    const struct mesh_route heard = {.rx = MESH_WEST, .tx = MESH_RAMP};
    struct mesh_stats stats;
    s->number = (float)(10 * key);
    T_OK(mesh_clear(s->m));
    T_OK(mesh_route(s->m, left, COLOUR, &sent));
    T_OK(mesh_route(s->m, right, COLOUR, &heard));
    if (filter) T_OK(mesh_filter(s->m, right, COLOUR, filter));
    T_OK(mesh_output_queue(s->m, left, 2, COLOUR));
    T_OK(mesh_input_queue(s->m, right, 2, COLOUR));
    T_OK(mesh_task(s->m, left, GO, give, MESH_LOW));
    T_OK(mesh_task(s->m, right, GO, take, MESH_LOW));
    T_OK(mesh_start(s->m, (struct mesh_rect){0, 0, 2, 1}, GO));
    T_OK(mesh_copy_in(s->m, left, 0, x, WORDS * (int64_t)sizeof *x));
    T_OK(mesh_repeat(s->m, (uint64_t)key));
    T_OK(mesh_run(s->m, &stats));
    T_OK(mesh_copy_out(s->m, right, TO, out, s->taken * (int64_t)sizeof *out));
}

static void sum_init(struct sum *s, int taken)
{
    *s = (struct sum){.taken = taken};
    T_OK(mesh_create(&s->m, &(struct mesh_config){.w = 2, .h = 1, .user = s}));
}

TEST(mesh_repeat, programs_follow_each_other_in_any_order)
{
    static const int key[] = {0, 1, 2, 0, 1, 2, 2, 0, 1, 1, 2, 1, 0, 0};
    enum { RUNS = sizeof key / sizeof *key, KEYS = 3 };
    struct sum s;
    sum_init(&s, WORDS);
    for (int i = 0; i < RUNS; i++) {
        const float x[WORDS] = {(float)i, 1, 2.5F, (float)-i};
        float out[WORDS];
        add(&s, key[i], NULL, x, out);
        for (int k = 0; k < WORDS; k++)
            T_EQ(out[k], x[k] + (float)(10 * key[i]));
    }
    T_EQ(mesh_repeat_counts(s.m).played, RUNS - 2 * KEYS);
    mesh_destroy(&s.m);
}

/* A filter that counts passes the same words in every run; one by range decides by their values. */
TEST(mesh_repeat, filters_by_range_alone_are_simulated)
{
    const struct mesh_filter second = {.kind = MESH_FILTER_COUNTER,
                                       .count_data = true,
                                       .limit1 = 1},
                             ones = {.kind = MESH_FILTER_RANGE,
                                     .min_index = 0x3F80,
                                     .max_index = 0x3FFF}; /* 1 to 2 */
    enum { RUNS = 5 };
    for (int by_range = 0; by_range < 2; by_range++) {
        struct sum s;
        sum_init(&s, 2);
        for (int i = 0; i < RUNS; i++) {
            const int first = by_range && i % 2;
            float x[WORDS] = {4, 4, 4, 4}, out[2];
            x[first] = 1 + (float)i / 8;
            x[first + 2] = 1.5F;
            add(&s, 3, by_range ? &ones : &second, x, out);
            T_EQ(out[0], x[first] + 30);
            T_EQ(out[1], x[first + 2] + 30);
        }
        T_EQ(mesh_repeat_counts(s.m).played, by_range ? 0 : RUNS - 2);
        mesh_destroy(&s.m);
    }
}

/* A watch sees all elements of a run, so a run with one is simulated. */
TEST(mesh_repeat, observed_runs_are_simulated)
{
    enum { RUNS = 6, OBSERVED = 4 };
    struct mesh_watch *watch;
    struct sum s;
    T_OK(mesh_watch_create(&watch, &(struct mesh_watch_config){0}));
    sum_init(&s, WORDS);
    for (int i = 0; i < RUNS; i++) {
        const float x[WORDS] = {(float)i, 1, 2, 3};
        float out[WORDS];
        mesh_watch_attach(s.m, i == OBSERVED ? watch : NULL);
        add(&s, 1, NULL, x, out);
        T_EQ(out[0], (float)(i + 10));
        T_EQ(mesh_repeat_counts(s.m).played, i < 2 ? 0 : i < OBSERVED ? i - 1 : i - 2);
    }
    mesh_destroy(&s.m);
    mesh_watch_destroy(&watch);
}

/* ---- one PE ---------------------------------------------------------------------------------- */

enum { PES = 64, EACH = 24 };

/* An operation of its own for each number, so that a recording has as many forms. */
static enum wsc_err add_each(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    for (int i = 0; i < EACH; i++) {
        const float number = (float)(mesh_x(pe) * EACH + i);
        TRY(mesh_do(pe, MESH_FADDS, mesh_mem(4 * i, 1), mesh_mem(4 * i, 1), mesh_float(number)));
    }
    return WSC_OK;
}

/* Run it with @p first in the memory of all PEs. */
static void add_all(struct mesh *m, float first)
{
    struct mesh_stats stats;
    float x[EACH];
    T_OK(mesh_clear(m));
    T_OK(mesh_task(m, (struct mesh_rect){0, 0, PES, 1}, GO, add_each, MESH_LOW));
    T_OK(mesh_start(m, (struct mesh_rect){0, 0, PES, 1}, GO));
    for (int i = 0; i < EACH; i++)
        x[i] = first;
    for (int pe = 0; pe < PES; pe++)
        T_OK(mesh_copy_in(m, at(pe, 0), 0, x, sizeof x));
    T_OK(mesh_repeat(m, 1));
    T_OK(mesh_run(m, &stats));
    T_EQ(stats.elements, PES * EACH);
}

TEST(mesh_repeat, operations_of_many_forms_play)
{
    struct mesh *m = NULL;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = PES, .h = 1}));
    for (int run = 0; run < 4; run++) {
        add_all(m, (float)run);
        for (int pe = 0; pe < PES; pe++) {
            float x[EACH];
            T_OK(mesh_copy_out(m, at(pe, 0), 0, x, sizeof x));
            for (int i = 0; i < EACH; i++)
                T_EQ(x[i], (float)(run + pe * EACH + i));
        }
    }
    T_EQ(mesh_repeat_counts(m).played, 2);
    mesh_destroy(&m);
}

/* Words leave while their memory is overwritten: the first ones with the old values. */
static enum wsc_err send_and_overwrite(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_issue(pe, &(struct mesh_op){.code = MESH_FMOVS,
                                         .thread = 1,
                                         .dst = mesh_out(COLOUR, 2 * WORDS),
                                         .a = mesh_mem(0, 2 * WORDS)}));
    TRY(mesh_wait(pe, WORDS));
    return mesh_do(pe, MESH_FMOVS, mesh_mem(0, 2 * WORDS), mesh_float(9), (struct mesh_dsd){0});
}

TEST(mesh_repeat, outputs_with_other_words_give_a_recording_up)
{
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    struct sum s = {0};
    T_OK(mesh_create(&s.m, &(struct mesh_config){.w = 1, .h = 1}));
    for (int run = 0; run < 4; run++) {
        uint32_t word[2 * WORDS];
        struct mesh_output left = {.word = word, .capacity = sizeof word / sizeof *word};
        struct mesh_stats stats;
        float x[2 * WORDS] = {1, 2, 3, 4, 5, 6, 7, 8}, first, last;
        T_OK(mesh_clear(s.m));
        T_OK(mesh_route(s.m, at(0, 0), COLOUR, &out));
        T_OK(mesh_edge_sink(s.m, 0, 0, MESH_EAST, COLOUR, &left));
        T_OK(mesh_output_queue(s.m, at(0, 0), 2, COLOUR));
        T_OK(mesh_task(s.m, at(0, 0), GO, send_and_overwrite, MESH_LOW));
        T_OK(mesh_start(s.m, at(0, 0), GO));
        T_OK(mesh_copy_in(s.m, at(0, 0), 0, x, sizeof x));
        T_OK(mesh_repeat(s.m, 1));
        T_OK(mesh_run(s.m, &stats));
        memcpy(&first, &word[0], sizeof first);
        memcpy(&last, &word[2 * WORDS - 1], sizeof last);
        T_EQ(left.n, 2 * WORDS);
        T_EQ(first, 1);
        T_EQ(last, 9);
    }
    T_EQ(mesh_repeat_counts(s.m).different, 1);
    T_EQ(mesh_repeat_counts(s.m).played, 0);
    mesh_destroy(&s.m);
}

/* ---- what recordings have in common ---------------------------------------------------------- */

TEST(mesh_repeat, equal_arrays_are_kept_once)
{
    enum { N = 3000 };
    static int32_t x[N];
    const void *kept[N];
    for (int i = 0; i < N; i++) {
        x[i] = i / 2;
        kept[i] = mesh_intern(&x[i], sizeof x[i]);
        CU_ASSERT(kept[i] && kept[i] != &x[i] && !memcmp(kept[i], &x[i], sizeof x[i]));
        if (i) CU_ASSERT((kept[i] == kept[i - 1]) == (i % 2 == 1));
    }
    const void *all = mesh_intern(x, sizeof x), *none = mesh_intern(NULL, 0);
    CU_ASSERT(all != kept[0] && none && none == mesh_intern(x, 0));
    for (int i = 0; i < N; i += 2)
        mesh_intern_release(kept[i]);
    for (int i = 1; i < N; i += 2)
        CU_ASSERT(!memcmp(kept[i], &x[i], sizeof x[i]));
    for (int i = 1; i < N; i += 2)
        mesh_intern_release(kept[i]);
    mesh_intern_release(all);
    mesh_intern_release(none);
    mesh_intern_release(none);
    mesh_intern_release(NULL);
    CU_ASSERT(wsc_mem_balanced());
}

/* Bytes of the fabric @p s after three runs of two programs, which differ in a number only. */
static int64_t bytes_of_programs(struct sum *s)
{
    const int64_t before = wsc_mem_in_use(WSC_MEM_MESH);
    sum_init(s, WORDS);
    for (int run = 0; run < 3; run++)
        for (int key = 0; key < 2; key++) {
            const float x[WORDS] = {(float)run};
            float out[WORDS];
            add(s, key, NULL, x, out);
            T_EQ(out[0], (float)(run + 10 * key));
        }
    T_EQ(mesh_repeat_counts(s->m).played, 2);
    return wsc_mem_in_use(WSC_MEM_MESH) - before;
}

/* A second fabric takes the recordings of the first one, which lives shorter. */
TEST(mesh_repeat, fabrics_with_equal_programs_have_one_recording)
{
    struct sum one, two;
    const int64_t first = bytes_of_programs(&one), second = bytes_of_programs(&two);
    const float x[WORDS] = {1, 2, 3, 4};
    float out[WORDS];
    CU_ASSERT(second < first);
    mesh_destroy(&one.m);
    add(&two, 1, NULL, x, out);
    T_EQ(out[3], 14);
    T_EQ(mesh_repeat_counts(two.m).played, 3);
    mesh_destroy(&two.m);
    CU_ASSERT(wsc_mem_balanced());
}
