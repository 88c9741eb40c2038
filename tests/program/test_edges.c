// SPDX-License-Identifier: Apache-2.0
/* Gradient bytes on the edges of the tree: what performance.json says of each link after a run
 * whose even shares would send many vectors, with values and times as they would be. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };
#define BATCH "--set train_input.batch_size=44 --set train_input.micro_batch_size=4 "

static const char *train(const char *before, const char *options, struct job_metrics *m)
{
    const char *dir = job_path("edges");
    CU_ASSERT_FATAL(spawn_ok("%s %s " BATCH "--set runconfig.checkpoint_steps=0 --max_steps %d "
                             "--model_dir %s %s",
                             before, job_tiny(), STEPS, dir, options));
    CU_ASSERT_FATAL(job_read(dir, m));
    return dir;
}

/* The number after the next @p key from *@p at on; -1 when there is none. */
static long long next(const char **at, const char *key)
{
    const char *found = strstr(*at, key);
    if (!found) return -1;
    *at = found + strlen(key);
    return strtoll(*at, NULL, 10);
}

/* Gradient bytes over the least of the worst link in DIR/performance.json; -1 without links. */
static double worst_link(const char *dir)
{
    static char text[1 << 18];
    char path[300];
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    const char *at = strstr(text, "\"links\"");
    double worst = -1;
    while (at) {
        const long long bytes = next(&at, "\"gradients_bytes\": ");
        const long long least = next(&at, "\"gradients_minimum_bytes\": ");
        if (bytes < 0 || least <= 0) break;
        if ((double)bytes / (double)least > worst) worst = (double)bytes / (double)least;
    }
    return worst;
}

TEST(edges, carry_two_vectors_at_most_with_the_same_values_and_times)
{
    struct job_metrics one, even, cut;
    (void)train("", "--num_csx 1", &one);
    const double before =
        worst_link(train("", "--num_csx 6 --set cluster.stream.shares=even", &even));
    const double after = worst_link(train("", "--num_csx 6", &cut));
    CU_ASSERT(before > 2);
    CU_ASSERT(after >= 1 && after <= 2);
    CU_ASSERT(job_same_values(&one, &even) && job_same_values(&one, &cut));
    CU_ASSERT(job_same_times(&even, &cut));
    CU_ASSERT(worst_link(train("mpirun --quiet -n 3", "--num_csx 6", &cut)) <= 2);
    CU_ASSERT(job_same_values(&one, &cut) && job_same_times(&even, &cut));
    (void)train("", "--num_csx 6 --numerics none", &cut);
    CU_ASSERT(job_same_times(&even, &cut));
}
