// SPDX-License-Identifier: Apache-2.0
/* Threads of a rank: how one is started, and for which worker it runs fibers, see comm_workers.c. A
 * thread knows its worker by a variable of its own, so that nothing is shared or locked. */
#include "comm_state.h"

#include <errno.h>
#include <signal.h>

bool comm_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int bad = pthread_create(thread, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad) errno = bad;
    return !bad;
}

static _Thread_local struct comm_worker *of_thread;

struct comm_worker *comm_thread_is_of(struct comm_worker *w)
{
    struct comm_worker *before = of_thread;
    of_thread = w;
    return before;
}

struct comm_worker *comm_worker_of_thread(const struct comm *comm)
{
    return of_thread && of_thread->comm == comm ? of_thread : comm->worker[0];
}
