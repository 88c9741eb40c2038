// SPDX-License-Identifier: Apache-2.0
/* Workers: threads of which each runs the fibers of its own roles (comm_set_workers()). Roles are a
 * Kahn process network, so neither values nor virtual time depend on their number. The first worker
 * is the main thread; the others live for one comm_run(). A message within a worker is queued
 * (comm_queue.h). A message to a fiber of another worker is copied and handed over under a common
 * lock, because queue entries belong to workers. A worker without a ready fiber polls for messages
 * for some ten microseconds and then sleeps. When all workers are idle and no message was handed
 * over, no fiber can continue. Only jobs of one rank have several workers, and only messages
 * without payloads pass between workers. */
#include "comm_queue.h"

#include <wsc/check.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A message to a fiber of another worker. */
struct comm_handed {
    struct comm_link *link;
    struct comm_msg msg;
    int transfer;
};

/* ---- which there are ------------------------------------------------------------------------- */

static enum wsc_err create_worker(struct comm *comm)
{
    struct comm_worker *w;
    TRY_NEW(w, WSC_MEM_COMM, 1);
    w->comm = comm;
    (void)pthread_cond_init(&w->wake, NULL);
    comm->worker[comm->n_workers++] = w;
    return WSC_OK;
}

enum wsc_err comm_workers_create(struct comm *comm, int n)
{
    TRY_NEW(comm->worker, WSC_MEM_COMM, n);
    (void)pthread_mutex_init(&comm->workers_lock, NULL);
    for (int i = 0; i < n; i++)
        TRY(create_worker(comm));
    return WSC_OK;
}

static void destroy_worker(struct comm_worker *w)
{
    while (w->free_nodes) {
        struct comm_node *node = w->free_nodes;
        w->free_nodes = node->next;
        wsc_free(node);
    }
    (void)pthread_cond_destroy(&w->wake);
    wsc_free(w->handed);
    wsc_free(w);
}

void comm_workers_destroy(struct comm *comm)
{
    if (!comm->worker) return;
    for (int i = 0; i < comm->n_workers; i++)
        destroy_worker(comm->worker[i]);
    (void)pthread_mutex_destroy(&comm->workers_lock);
    wsc_free(comm->worker);
    wsc_free(comm->worker_of_role);
    comm->worker = NULL;
    comm->n_workers = 0;
}

enum wsc_err comm_set_workers(struct comm *comm, int n, const int *worker_of_role)
{
    WSC_CHECK(comm->size == 1 && !comm->n_fibers, "workers of %d ranks, or while fibers run",
              comm->size);
    comm_workers_destroy(comm);
    TRY(comm_workers_create(comm, n));
    if (n == 1) return WSC_OK;
    TRY_NEW(comm->worker_of_role, WSC_MEM_COMM, comm->n_roles);
    for (int r = 0; r < comm->n_roles; r++) {
        WSC_CHECK(worker_of_role[r] >= 0 && worker_of_role[r] < n, "worker %d of %d",
                  worker_of_role[r], n);
        comm->worker_of_role[r] = worker_of_role[r];
    }
    return WSC_OK;
}

/* ---- messages between them ------------------------------------------------------------------- */

/* Queue the messages that were handed to @p w; the caller has the lock. */
static enum wsc_err take_handed(struct comm_worker *w)
{
    for (int i = 0; i < w->n_handed; i++) {
        const struct comm_handed *h = &w->handed[i];
        struct comm_node *node = comm_node_take(w);
        if (!node) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "queue a message");
        node->msg = h->msg;
        node->transfer = h->transfer;
        comm_link_arrived(h->link, node);
    }
    w->n_handed = 0;
    atomic_store_explicit(&w->has_handed, false, memory_order_relaxed);
    return WSC_OK;
}

/* The caller has the lock. */
static enum wsc_err put_handed(struct comm_worker *w, const struct comm_handed *h)
{
    TRY_GROW(w->handed, WSC_MEM_COMM, w->handed_capacity, w->n_handed + 1);
    w->handed[w->n_handed++] = *h;
    atomic_store_explicit(&w->has_handed, true, memory_order_relaxed);
    if (!w->is_idle || w->has_ended) return WSC_OK;
    w->is_idle = false;
    w->comm->n_idle--;
    (void)pthread_cond_signal(&w->wake);
    return WSC_OK;
}

enum wsc_err comm_workers_hand(struct comm_link *link, struct comm_node *node)
{
    struct comm *comm = link->comm;
    const struct comm_handed h = {link, node->msg, node->transfer};
    WSC_CHECK(!node->msg.payload, "a payload on link %s between two threads", link->name);
    comm_node_give(comm_here(comm), node);
    (void)pthread_mutex_lock(&comm->workers_lock);
    const enum wsc_err rc = put_handed(link->reader, &h);
    (void)pthread_mutex_unlock(&comm->workers_lock);
    return rc;
}

/* ---- their threads --------------------------------------------------------------------------- */

static bool ends(const struct comm *comm)
{
    return atomic_load_explicit(&comm->workers_end, memory_order_relaxed);
}

/* The caller has the lock. */
static void end_all(struct comm *comm)
{
    atomic_store(&comm->workers_end, true);
    for (int i = 0; i < comm->n_workers; i++)
        (void)pthread_cond_signal(&comm->worker[i]->wake);
}

/* Poll for a while before sleeping: a subtree takes less than a millisecond for a stage. */
static void poll_for_handed(const struct comm_worker *w)
{
    enum { POLLS = 2000 };
    for (int i = 0; i < POLLS && !ends(w->comm); i++) {
        if (atomic_load_explicit(&w->has_handed, memory_order_relaxed)) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

/* Mark the worker as idle, for now or, when all its fibers have ended, for the rest of the run. The
 * caller has the lock. When all workers are idle, the run ends. */
static void become_idle(struct comm_worker *w)
{
    struct comm *comm = w->comm;
    w->is_idle = true;
    comm->n_idle++;
    if (comm->n_idle == comm->n_workers) end_all(comm);
}

/* Take the messages that other workers handed over; if no fiber is ready, wait for some. */
static enum wsc_err wait_for_handed(struct comm_worker *w)
{
    struct comm *comm = w->comm;
    if (!w->ready_head) poll_for_handed(w);
    (void)pthread_mutex_lock(&comm->workers_lock);
    if (!w->n_handed && !w->ready_head) become_idle(w);
    while (!w->n_handed && w->is_idle && !ends(comm))
        (void)pthread_cond_wait(&w->wake, &comm->workers_lock);
    const enum wsc_err rc = take_handed(w);
    (void)pthread_mutex_unlock(&comm->workers_lock);
    return rc;
}

/* Messages that were handed over come before ready fibers, so that they do not wait for long. */
static enum wsc_err run_round(struct comm_worker *w)
{
    if (atomic_load_explicit(&w->has_handed, memory_order_relaxed) || !w->ready_head)
        TRY(wait_for_handed(w));
    return w->ready_head ? comm_fiber_next(w) : WSC_OK;
}

/* Run until the fibers of the worker have ended, or a fiber of another worker failed. */
static void run_worker(struct comm_worker *w)
{
    struct comm *comm = w->comm;
    struct comm_worker *before = comm_thread_is_of(w);
    while (!w->rc && w->n_done < w->n_fibers && !ends(comm))
        w->rc = run_round(w);
    if (w->rc) (void)snprintf(w->text, sizeof w->text, "%s", wsc_err_message());
    (void)pthread_mutex_lock(&comm->workers_lock);
    if (w->rc) end_all(comm);
    w->has_ended = true;
    if (!w->is_idle) become_idle(w);
    (void)pthread_mutex_unlock(&comm->workers_lock);
    (void)comm_thread_is_of(before);
}

static void *run_thread(void *arg)
{
    run_worker(arg);
    return NULL;
}

/* Start a thread for every worker but the first. Returns the number of the first worker without
 * one. */
static int start_threads(struct comm *comm)
{
    for (int i = 1; i < comm->n_workers; i++)
        if (!comm_thread_start(&comm->worker[i]->thread, run_thread, comm->worker[i])) return i;
    return comm->n_workers;
}

/* Set the worker of the receiver of every link. */
static void prepare(struct comm *comm)
{
    for (struct comm_link *link = comm->links; link; link = link->next)
        link->reader = comm->worker[comm->worker_of_role[link->dst]];
    for (int i = 0; i < comm->n_workers; i++) {
        comm->worker[i]->is_idle = comm->worker[i]->has_ended = false;
        comm->worker[i]->rc = WSC_OK;
    }
    comm->n_idle = 0;
    atomic_store(&comm->workers_end, false);
}

/* Returns the error of the first worker that has one; queues messages for the next pass. */
static enum wsc_err finish(struct comm *comm)
{
    int n_done = 0;
    for (int i = 0; i < comm->n_workers; i++) {
        const struct comm_worker *w = comm->worker[i];
        if (w->rc) return WSC_RAISE(w->rc, "%s", w->text);
        n_done += w->n_done;
    }
    for (int i = 0; i < comm->n_workers; i++)
        TRY(take_handed(comm->worker[i]));
    return n_done < comm->n_fibers ? comm_raise_stuck(comm, "no role can move any more") : WSC_OK;
}

enum wsc_err comm_workers_run(struct comm *comm)
{
    prepare(comm);
    const int n = start_threads(comm);
    if (n < comm->n_workers)
        comm->worker[0]->rc = WSC_RAISE(WSC_NOMEM, "a worker: no thread: %s", strerror(errno));
    run_worker(comm->worker[0]);
    for (int i = 1; i < n; i++)
        (void)pthread_join(comm->worker[i]->thread, NULL);
    return finish(comm);
}
