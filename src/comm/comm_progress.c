// SPDX-License-Identifier: Apache-2.0
/* Progress of MPI while the main thread computes (docs/decisions/0031). MPI transfers messages only
 * inside its calls, and a kernel makes none for a second or more. So a thread of each rank wakes
 * about every millisecond (comm_nap.c) and polls MPI. One lock protects all of comm and MPI
 * (MPI_THREAD_SERIALIZED). The main thread holds it, except while a fiber runs code outside comm;
 * comm_enter() and comm_leave() are in the functions that fibers call. The thread only tries the
 * lock: when the main thread has it, that one polls MPI itself. The thread makes fibers ready but
 * never runs one, so neither values nor virtual time depend on it. Read next: comm_remote.c,
 * comm_run.c. */
#include "comm_state.h"

#include <wsc/check.h>
#include <wsc/err.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Nanoseconds of sleep while the main thread has the lock. */
enum { IDLE_NAP_NS = 2000000 };
/* With more ranks than processors, a thread that wakes takes time from others. */
enum { CROWDED = 4 };
/* A round of polls ends after so many in a row without a completed request, or so many in all: a
 * poll transfers about one piece, and completes a request only with its last byte. */
enum { EMPTY_POLLS = 2, MOST_POLLS = 64 };

/* False: the main thread has the lock. */
static bool try_lock(struct comm_progress *p)
{
    return !pthread_mutex_trylock(&p->lock);
}

/* Poll until nothing is transferred or the main thread wants the lock; then choose the next sleep.
 */
static void poll_round(struct comm_progress *p, struct comm_nap *nap)
{
    int empty = 0;
    for (int i = 0; i < MOST_POLLS && empty < EMPTY_POLLS && !p->rc; i++) {
        bool moved = false;
        if (!try_lock(p)) return;
        p->rc = comm_remote_poll(p->comm, &moved);
        if (p->rc) (void)snprintf(p->text, sizeof p->text, "%s", wsc_err_message());
        empty = moved ? 0 : empty + 1;
        if (empty == EMPTY_POLLS) comm_nap_choose(p->comm, nap);
        (void)pthread_mutex_unlock(&p->lock);
    }
}

/* While the main thread has the lock the sleep is long; it is short again when that one begins to
 * compute. */
static void *run(void *arg)
{
    struct comm_progress *p = arg;
    const int64_t times = p->comm->oversubscribed ? CROWDED : 1;
    struct comm_nap nap = {.ns = IDLE_NAP_NS};
    while (!atomic_load(&p->stop)) {
        comm_nap_sleep(nap.ns * times);
        if (!try_lock(p)) {
            nap.ns = IDLE_NAP_NS;
            continue;
        }
        if (nap.ns == IDLE_NAP_NS) comm_nap_begin(p->comm, &nap);
        (void)pthread_mutex_unlock(&p->lock);
        poll_round(p, &nap);
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
