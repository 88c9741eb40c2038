// SPDX-License-Identifier: Apache-2.0
/* How long to sleep between two looks at MPI while pieces of messages move between hosts.  Each
 * look takes a processor from threads that compute on this host, and those wait for each other; but
 * when all pieces in flight have moved before the next look, the wire waits.  So the sleep is twice
 * as long after few pieces and half as long after many, which follows any network.  Used by
 * comm_progress.c, while the main thread computes, and comm_run.c, while it waits. */
#include "comm_state.h"

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
