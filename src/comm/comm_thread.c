// SPDX-License-Identifier: Apache-2.0
/* Threads of a rank: starts a thread, runs a queue of items on several threads, and records for
 * which worker a thread runs fibers (comm_workers.c). The worker is a thread-local variable, so
 * that nothing is shared or locked. */
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

/* ---- items ----------------------------------------------------------------------------------- */

struct queue {
    const struct comm_items *items;
    pthread_mutex_t lock; /* protects the following members and the call of begin() */
    int next, failed;
};

/* The next item, if it comes before all items that failed; -1: none. */
static int take_item(struct queue *q)
{
    int i = -1;
    (void)pthread_mutex_lock(&q->lock);
    if (q->next < q->failed) i = q->next++;
    if (i >= 0 && q->items->begin) q->items->begin(q->items->ctx, i);
    (void)pthread_mutex_unlock(&q->lock);
    return i;
}

static void fail_item(struct queue *q, int i)
{
    (void)pthread_mutex_lock(&q->lock);
    if (i < q->failed) q->failed = i;
    (void)pthread_mutex_unlock(&q->lock);
}

static void *compute_items(void *queue)
{
    struct queue *q = queue;
    for (int i = take_item(q); i >= 0; i = take_item(q))
        if (!q->items->compute(q->items->ctx, i)) fail_item(q, i);
    return NULL;
}

int comm_compute_items(int n_threads, const struct comm_items *items)
{
    struct queue q = {.items = items, .failed = items->n};
    const int n = n_threads < items->n ? n_threads : items->n;
    pthread_t thread[COMM_MAX_WORKERS];
    int started = 0;
    (void)pthread_mutex_init(&q.lock, NULL);
    while (started < n - 1 && started < COMM_MAX_WORKERS &&
           comm_thread_start(&thread[started], compute_items, &q))
        started++;
    (void)compute_items(&q);
    for (int i = 0; i < started; i++)
        (void)pthread_join(thread[i], NULL);
    (void)pthread_mutex_destroy(&q.lock);
    return q.failed;
}

/* ---- workers --------------------------------------------------------------------------------- */

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
