// SPDX-License-Identifier: Apache-2.0
/* Progress of MPI while the main thread computes (docs/decisions/0031).  MPI moves messages only
 * inside its calls, and a kernel makes none for a second or more.  So a thread of each rank wakes
 * every fraction of a millisecond, lets MPI move what is posted, posts what follows and sleeps.
 *
 * One lock covers all of comm and all of MPI (MPI_THREAD_SERIALIZED).  The main thread holds it all
 * the time but while a fiber runs code outside comm; comm_enter() and comm_leave() stand at the
 * functions that fibers call.  The thread only tries the lock, so that it sleeps while the main
 * thread waits for messages, which then polls itself, and while it does anything else with MPI.
 * What the thread does wakes fibers, never runs one: neither values nor virtual time depend on it.
 * Read next: comm_remote.c, what is posted; comm_run.c, the main thread. */
#include "comm_state.h"

#include <wsc/check.h>
#include <wsc/err.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Nanoseconds of sleep: while messages move, when none has moved, and when the main thread has MPI.
 * At 10 Gbit/s 125 kB come in the shortest one, a small part of what a socket holds. */
enum { SHORTEST_NAP_NS = 100000, LONGEST_NAP_NS = 800000, IDLE_NAP_NS = 2000000 };
/* With more ranks than processors threads that wake cost others their time. */
enum { CROWDED = 4 };
/* Polls in a row without a completed request until a round ends, and in all: a poll moves about one
 * piece, and completes a request only with its last byte. */
enum { EMPTY_POLLS = 4, MOST_POLLS = 64 };

/* One round of polls: true when something moved. */
static bool poll_round(struct comm_progress *p)
{
    int empty = 0;
    bool any = false;
    for (int i = 0; i < MOST_POLLS && empty < EMPTY_POLLS && !p->rc; i++) {
        bool moved = false;
        if (pthread_mutex_trylock(&p->lock)) return any;
        p->rc = comm_remote_poll(p->comm, &moved);
        if (p->rc) (void)snprintf(p->text, sizeof p->text, "%s", wsc_err_message());
        (void)pthread_mutex_unlock(&p->lock);
        empty = moved ? 0 : empty + 1;
        any = any || moved;
    }
    return any;
}

static bool main_has_mpi(struct comm_progress *p)
{
    if (pthread_mutex_trylock(&p->lock)) return true;
    (void)pthread_mutex_unlock(&p->lock);
    return false;
}

static void *run(void *arg)
{
    struct comm_progress *p = arg;
    const long times = p->comm->oversubscribed ? CROWDED : 1;
    long ns = SHORTEST_NAP_NS;
    while (!atomic_load(&p->stop)) {
        const struct timespec nap = {.tv_nsec = ns * times};
        (void)nanosleep(&nap, NULL);
        if (main_has_mpi(p)) {
            ns = IDLE_NAP_NS;
            continue;
        }
        if (poll_round(p) || ns == IDLE_NAP_NS)
            ns = SHORTEST_NAP_NS;
        else if (ns < LONGEST_NAP_NS)
            ns *= 2;
    }
    return NULL;
}

enum wsc_err comm_progress_start(struct comm *comm)
{
    struct comm_progress *p;
    if (comm->size == 1 || !comm->ahead || !comm->may_thread) return WSC_OK;
    TRY_NEW(p, WSC_MEM_COMM, 1);
    p->comm = comm;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_mutex_lock(&p->lock);
    if (!comm_thread_start(&p->thread, run, p)) {
        (void)pthread_mutex_unlock(&p->lock);
        (void)pthread_mutex_destroy(&p->lock);
        wsc_free(p);
        return WSC_RAISE(WSC_NOMEM, "progress of messages: no thread: %s", strerror(errno));
    }
    comm->progress = p;
    return WSC_OK;
}

void comm_progress_end(struct comm *comm)
{
    struct comm_progress *p = comm->progress;
    comm->progress = NULL;
    if (!p) return;
    atomic_store(&p->stop, true);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    (void)pthread_mutex_destroy(&p->lock);
    wsc_free(p);
}

enum wsc_err comm_progress_check(const struct comm *comm)
{
    const struct comm_progress *p = comm->progress;
    return p && p->rc ? WSC_RAISE(p->rc, "%s", p->text) : WSC_OK;
}
