// SPDX-License-Identifier: Apache-2.0
/* Computes the number of processors that a process may use: those of its affinity mask, each
 * divided by the number of ranks that have it in their masks, limited by the process's part of the
 * quota of its control group. Four ranks that mpirun has bound to one core each have one processor;
 * two ranks that share eight have four each. The number determines how many threads a process
 * starts, and no result. */
#include "comm_state.h"

#include <wsc/log.h>

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static double n_own = -1; /* processors of this process; below 0: not computed yet */

double comm_quota_of_processors(void)
{
    return comm_quota_in("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* The affinity mask of this process, which has bits for `n` processors. */
struct comm_mask {
    cpu_set_t *set; /* owned; NULL: it could not be read, so that only processor 0 is known */
    size_t bytes;
    int n;
};

/* The kernel rejects a mask that is shorter than its own, which may exceed that of cpu_set_t. */
static enum wsc_err read_mask(struct comm_mask *mask)
{
    enum { MOST = 1 << 20 };
    bool is_short = true;
    *mask = (struct comm_mask){.n = CPU_SETSIZE / 2};
    while (is_short && mask->n < MOST) {
        mask->n *= 2;
        mask->bytes = CPU_ALLOC_SIZE((size_t)mask->n);
        TRY_MEM(mask->set, wsc_alloc(WSC_MEM_COMM, mask->bytes, 1));
        if (!sched_getaffinity(0, mask->bytes, mask->set)) return WSC_OK;
        is_short = errno == EINVAL;
        wsc_free(mask->set);
        mask->set = NULL;
    }
    return WSC_OK;
}

static bool has_processor(const struct comm_mask *mask, int i)
{
    if (!mask->set) return i == 0;
    return i < mask->n && CPU_ISSET_S((size_t)i, mask->bytes, mask->set);
}

int comm_allowed_processors(void)
{
    struct comm_mask mask;
    const int n = !read_mask(&mask) && mask.set ? CPU_COUNT_S(mask.bytes, mask.set) : 1;
    wsc_free(mask.set);
    return n > 0 ? n : 1;
}

/* Number of processors in the mask, each divided by the number of ranks of @p here that have it. */
static enum wsc_err add_up(const struct comm_mask *mask, MPI_Comm here, double *sum)
{
    int n = mask->n, *n_sharers, mpi_rc = MPI_SUCCESS;
    if (here != MPI_COMM_NULL) TRY_MPI(MPI_Allreduce(&mask->n, &n, 1, MPI_INT, MPI_MAX, here));
    TRY_NEW(n_sharers, WSC_MEM_COMM, n);
    for (int i = 0; i < n; i++)
        n_sharers[i] = has_processor(mask, i);
    if (here != MPI_COMM_NULL)
        mpi_rc = MPI_Allreduce(MPI_IN_PLACE, n_sharers, n, MPI_INT, MPI_SUM, here);
    *sum = 0;
    for (int i = 0; i < n && !mpi_rc; i++)
        if (has_processor(mask, i)) *sum += 1.0 / n_sharers[i];
    wsc_free(n_sharers);
    TRY_MPI(mpi_rc);
    return WSC_OK;
}

/* The result of the ranks of a job is kept for later comms without MPI. */
enum wsc_err comm_share_processors(MPI_Comm here)
{
    if (here == MPI_COMM_NULL && n_own >= 0) return WSC_OK;
    int n_here = 1;
    double own = 0;
    struct comm_mask mask;
    TRY(read_mask(&mask));
    const enum wsc_err rc = add_up(&mask, here, &own);
    wsc_free(mask.set);
    TRY(rc);
    if (here != MPI_COMM_NULL) TRY_MPI(MPI_Comm_size(here, &n_here));
    /* The ranks of a host are mostly in one group. A rank in a group of its own counts too few. */
    const double quota = comm_quota_of_processors() / n_here;
    n_own = quota > 0 && quota < own ? quota : own;
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
