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

/* The memory of each run is part of the hash, so the runs before the last one count too. */
TEST(mesh_repeat, random_programs_give_the_same_bits)
{
    static struct random_case c;
    static struct case_log log;
    const struct case_host simulated = {.more_runs = MORE_RUNS},
                           announced = {.more_runs = MORE_RUNS, .announced = true};
    int64_t played = 0, refused = 0, different = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct outcome one, other;
        case_draw(&c, seed);
        case_run_on(&c, &simulated, &one, &log);
        case_run_on(&c, &announced, &other, &log);
        const bool same = same_end(&one, &other);
        if (!same)
            (void)fprintf(stderr, "seed %llu: \"%s\", \"%s\"\n", (unsigned long long)seed, one.text,
                          other.text);
        CU_ASSERT(same);
        played += other.repeats.played;
        refused += other.repeats.refused;
        different += other.repeats.different;
    }
    CU_ASSERT(played > CASES / 10 && refused > CASES / 10 && different < CASES / 100);
    CU_ASSERT(wsc_mem_balanced());
}
