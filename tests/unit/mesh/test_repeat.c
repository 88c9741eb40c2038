// SPDX-License-Identifier: Apache-2.0
/* Runs that repeat are played from a recording: values, outputs, statistics and errors of random
 * programs are those of runs that are all simulated; what depends on data is simulated. */
#include "random_fabric.h"

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
