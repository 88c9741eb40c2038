// SPDX-License-Identifier: Apache-2.0
/* Computes the number of processors that a process may use: those of its affinity mask, each
 * divided by the number of ranks that have it in their masks, limited by the process's part of the
 * quota of its control group. Four ranks that mpirun has bound to one core each have one processor;
 * two ranks that share eight have four each. The number determines how many threads a process
 * starts, and no result. */
#include "comm_state.h"

#include <wsc/log.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static double n_own = -1; /* processors of this process; below 0: not computed yet */

double comm_quota_of_processors(void)
{
    return comm_quota_in("/proc/self/cgroup", "/sys/fs/cgroup");
}

int comm_allowed_processors(void)
{
    cpu_set_t mask;
    const int n = sched_getaffinity(0, sizeof mask, &mask) ? 1 : CPU_COUNT(&mask);
    return n > 0 ? n : 1;
}

/* Number of processors in the mask, each divided by @p n_sharers, the ranks that have it. */
static double add_up(const cpu_set_t *mask, const int *n_sharers)
{
    double sum = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, mask)) sum += 1.0 / n_sharers[i];
    return sum;
}

/* The result of the ranks of a job is kept for later comms without MPI. */
enum wsc_err comm_share_processors(MPI_Comm here)
{
    if (here == MPI_COMM_NULL && n_own >= 0) return WSC_OK;
    cpu_set_t mask;
    int has[CPU_SETSIZE] = {0}, n_sharers[CPU_SETSIZE], n_here = 1;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask)) CPU_SET(0, &mask);
    for (int i = 0; i < CPU_SETSIZE; i++)
        n_sharers[i] = has[i] = CPU_ISSET((size_t)i, &mask) ? 1 : 0;
    if (here != MPI_COMM_NULL) {
        TRY_MPI(MPI_Allreduce(has, n_sharers, CPU_SETSIZE, MPI_INT, MPI_SUM, here));
        TRY_MPI(MPI_Comm_size(here, &n_here));
    }
    /* The ranks of a host are mostly in one group. A rank in a group of its own counts too few. */
    const double quota = comm_quota_of_processors() / n_here;
    n_own = add_up(&mask, n_sharers);
    if (quota > 0 && quota < n_own) n_own = quota;
    return WSC_OK;
}

/* OMP_NUM_THREADS; of a list (one number per level of nested threads) the first one. 0 if it is not
 * set, or is not a number, which is reported once. */
static int asked_threads(void)
{
    enum { MOST_ASKED = 1024 };
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    if (!text || !*text) return 0;
    const long asked = strtol(text, &end, 10);
    if (asked > 0 && (!*end || *end == ',')) return asked < MOST_ASKED ? (int)asked : MOST_ASKED;
    if (!atomic_flag_test_and_set(&warned))
        WSC_WARNING("OMP_NUM_THREADS=%s: not a whole number from 1 up; the processors of this "
                    "process decide",
                    text);
    return 0;
}

int comm_threads(int most)
{
    /* Before any thread is started, so that comms of several threads find the result. */
    if (n_own < 0 && comm_share_processors(MPI_COMM_NULL)) return 1;
    const int asked = asked_threads();
    if (asked) return asked;
    const double rounding = 1e-6;
    const int own = (int)(n_own + rounding);
    const int n = own < most ? own : most;
    return n > 1 ? n : 1;
}
