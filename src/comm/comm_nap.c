// SPDX-License-Identifier: Apache-2.0
/* How long to sleep between two looks at MPI while pieces of messages move between hosts.  Each
 * look takes a processor from threads that compute on this host, and those wait for each other; but
 * when all pieces in flight have moved before the next look, the wire waits.  So the sleep is twice
 * as long after few pieces and half as long after many, which follows any network.  Used by
 * comm_progress.c, while the main thread computes, and comm_run.c, while it waits.  Where nothing
 * says when it will come, and in collective calls, sleeps grow with the time of waiting. */
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

/* Give the processor to those who have work: for a while whoever is ready gets a turn, then this
 * rank sleeps, longer each time.  With more ranks than processors it sleeps at once and for up to a
 * millisecond: a dozen that wake every few microseconds would take a processor of their own. */
void comm_give_way(const struct comm *comm, int64_t spins)
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

/* MPI's own waits keep their processor busy, which ranks of the same host may need. */
int comm_wait(const struct comm *comm, MPI_Request *request)
{
    enum { SPINS = 64 };
    int done = 0;
    for (int64_t spins = 0;; spins++) {
        const int mpi_rc = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (mpi_rc != MPI_SUCCESS || done) return mpi_rc;
        if (spins >= SPINS) comm_give_way(comm, spins - SPINS);
    }
}
