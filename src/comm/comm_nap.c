// SPDX-License-Identifier: Apache-2.0
/* Chooses how long to sleep between two polls of MPI while pieces of messages are transferred
 * between hosts. A poll takes a processor from threads that compute and wait for each other; but
 * when all pieces in flight are done before the next poll, the network is idle. So the sleep is
 * doubled after few finished pieces and halved after many, which suits any network. comm_progress.c
 * calls while the main thread computes, comm_run.c while it waits. */
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
