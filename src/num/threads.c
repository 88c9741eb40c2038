// SPDX-License-Identifier: Apache-2.0
/* A parallel loop over independent items on the workers of OpenMP; each item runs on one thread
 * with library calls pinned to it, so the number of threads changes no value. */
#include "num_impl.h"

#include <wsc/check.h>

#include <omp.h>
#include <stdlib.h>

enum { MAX_THREADS = 1024 };

static int n_workers = 1;      /* set once, by num_init */
static int n_from_environment; /* 0 = not asked yet; omp_set_num_threads hides it afterwards */

void num_init(int n_threads)
{
    WSC_CHECK(n_threads >= 0, "%d threads", n_threads);
    if (n_from_environment == 0)
        n_from_environment = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : 1;
    int n = n_threads > 0 ? n_threads : n_from_environment;
    n_workers = n < MAX_THREADS ? n : MAX_THREADS;
    num_pin_library();
}

int num_threads(void)
{
    return n_workers;
}

/* oneDNN takes its number of threads from OpenMP: one for the calling thread means that its sums
 * are not divided. */
void num_pin_library(void)
{
    if (omp_get_max_threads() != 1) omp_set_num_threads(1);
}

/* dynamic, 1: items differ in cost (an expert with few tokens), and no result depends on which
 * thread takes one. */
void num_parallel(int64_t n, void (*body)(void *ctx, int64_t i, int thread), void *ctx)
{
    WSC_CHECK(!omp_in_parallel(), "num_parallel inside a body of num_parallel");
    int n_team = n < n_workers ? (int)n : n_workers;
    if (n_team <= 1) {
        for (int64_t i = 0; i < n; i++)
            body(ctx, i, 0);
        return;
    }
#pragma omp parallel for num_threads(n_team) schedule(dynamic, 1)
    for (int64_t i = 0; i < n; i++)
        body(ctx, i, omp_get_thread_num());
}
