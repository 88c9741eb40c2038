// SPDX-License-Identifier: Apache-2.0
/* Chooses how long to sleep between two polls of MPI while pieces of messages are transferred
 * between hosts. A poll takes a processor from threads that compute and wait for each other; but
 * when all pieces in flight are done before the next poll, the network is idle. So the sleep is
 * doubled after few finished pieces and halved after many, which suits any network. comm_progress.c
 * calls while the main thread computes, comm_run.c while it waits. Where the end of a wait cannot
 * be foreseen, and in collective calls, sleeps grow with the time waited. */
#include "comm_state.h"

#include <sched.h>
#include <time.h>

void comm_nap_begin(const struct comm *comm, struct comm_nap *nap)
{
    *nap = (struct comm_nap){.ns = COMM_SHORTEST_NAP_NS, .n_finished = comm->n_finished};
}

void comm_nap_choose(const struct comm *comm, struct comm_nap *nap)
{
    enum { LEAST_NS = 12500, LONGEST_NS = 800000 };
    const int64_t finished = comm->n_finished - nap->n_finished;
    nap->n_finished = comm->n_finished;
    if (2 * finished >= comm->chunks_in_flight && nap->ns > LEAST_NS)
        nap->ns /= 2;
    else if (4 * finished <= comm->chunks_in_flight && nap->ns < LONGEST_NS)
        nap->ns *= 2;
}

void comm_nap_sleep(int64_t ns)
{
    const struct timespec nap = {.tv_nsec = ns};
    (void)nanosleep(&nap, NULL);
}

/* Yield for the first polls, then sleep, longer each time. With more ranks than processors, sleep
 * at once and for up to a millisecond: a dozen ranks that wake every few microseconds would need a
 * processor of their own. */
void comm_yield_processor(const struct comm *comm, int64_t spins)
{
    enum { YIELDS = 1000, FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 200000, DOUBLE_AFTER = 4 };
    enum { LONGEST_CROWDED_NAP_NS = 1000000 };
    const int64_t naps = comm->oversubscribed ? spins : spins - YIELDS;
    const long longest_ns = comm->oversubscribed ? LONGEST_CROWDED_NAP_NS : LONGEST_NAP_NS;
    if (naps < 0) {
        (void)sched_yield();
        return;
    }
    long ns = FIRST_NAP_NS;
    for (int64_t i = 0; i < naps / DOUBLE_AFTER && ns < longest_ns; i++)
        ns *= 2;
    comm_nap_sleep(ns < longest_ns ? ns : longest_ns);
}

/* MPI_Wait() would keep the processor busy, which other ranks of the host may need. */
int comm_wait(const struct comm *comm, MPI_Request *request)
{
    enum { SPINS = 64 };
    int done = 0;
    for (int64_t spins = 0;; spins++) {
        const int mpi_rc = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (mpi_rc != MPI_SUCCESS || done) return mpi_rc;
        if (spins >= SPINS) comm_yield_processor(comm, spins - SPINS);
    }
}
