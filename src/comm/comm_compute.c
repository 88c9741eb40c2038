// SPDX-License-Identifier: Apache-2.0
/* Fibers that compute at the same time, on the threads of num_parallel().  Wafers that share a
 * process are independent between two messages, so the computations of several are the items of one
 * parallel loop: as many at a time as there are threads, each on one thread, which need not meet
 * after every product.  Fewer than that have the threads inside, one computation after the other.
 *
 * A fiber asks for its turn, prepares what it writes to, and computes; the scheduler (comm_run.c)
 * lets as many in as there are threads, when no fiber can do anything else, and runs them all.  So
 * no more results wait in memory than there are threads.  Which fibers compute together changes
 * neither values nor virtual time. */
#include "comm_state.h"

#include <wsc/num.h>

#include <stdio.h>

/* What a fiber computes; it lies on the stack of that fiber, which waits. */
struct comm_computation {
    comm_compute_fn fn;
    void *arg; /* borrowed */
    struct comm_fiber *fiber;
    enum wsc_err rc;
    char text[400]; /* of the error: its thread alone has the message */
    struct comm_computation *next;
};

/* Nothing to share: one thread, or no fiber. */
static bool is_alone(const struct comm *comm)
{
    return num_threads() == 1 || !comm_running(comm);
}

void comm_compute_turn(struct comm *comm)
{
    struct comm_fiber *self = comm_running(comm);
    if (is_alone(comm)) return;
    comm_enter(comm);
    self->state = FIBER_COMPUTING;
    self->next = NULL;
    if (comm->compute_queue_tail)
        comm->compute_queue_tail->next = self;
    else
        comm->compute_queue_head = self;
    comm->compute_queue_tail = self;
    comm_fiber_block(comm);
    comm_leave(comm);
}

enum wsc_err comm_compute(struct comm *comm, comm_compute_fn fn, void *arg)
{
    struct comm_computation c = {.fn = fn, .arg = arg, .fiber = comm_running(comm)};
    if (is_alone(comm)) return fn(arg);
    comm_enter(comm);
    c.fiber->state = FIBER_COMPUTING;
    c.next = comm->computations;
    /* cppcheck-suppress autoVariables ; the fiber waits below until it is taken out again */
    comm->computations = &c;
    comm_fiber_block(comm);
    comm_leave(comm);
    return c.rc ? WSC_RAISE(c.rc, "%s", c.text) : WSC_OK;
}

void comm_yield(struct comm *comm)
{
    if (!comm_running(comm)) return;
    comm_enter(comm);
    comm_fiber_make_ready(comm_running(comm));
    comm_fiber_block(comm);
    comm_leave(comm);
}

static void run_one(void *ctx, int64_t i, int thread)
{
    struct comm_computation *c = ctx;
    (void)thread;
    for (; i > 0; i--)
        c = c->next;
    c->rc = c->fn(c->arg);
    if (c->rc) (void)snprintf(c->text, sizeof c->text, "%s", wsc_err_message());
}

/* The lock is the fibers' while they run, so that messages move meanwhile. */
static void run_all(const struct comm *comm, struct comm_computation *first, int64_t n)
{
    const int64_t together = n - n % num_threads();
    if (comm->progress) (void)pthread_mutex_unlock(&comm->progress->lock);
    num_parallel(together, run_one, first);
    for (int64_t i = together; i < n; i++)
        run_one(first, i, 0);
    if (comm->progress) (void)pthread_mutex_lock(&comm->progress->lock);
}

/* Admit as many waiting fibers as there are threads. */
static void admit_waiting(struct comm *comm)
{
    for (int i = 0; i < num_threads() && comm->compute_queue_head; i++) {
        struct comm_fiber *f = comm->compute_queue_head;
        comm->compute_queue_head = f->next;
        if (!comm->compute_queue_head) comm->compute_queue_tail = NULL;
        comm_fiber_make_ready(f);
    }
}

bool comm_compute_next(struct comm *comm)
{
    struct comm_computation *first = comm->computations;
    int64_t n = 0;
    if (!first) {
        if (!comm->compute_queue_head) return false;
        admit_waiting(comm);
        return true;
    }
    comm->computations = NULL;
    for (const struct comm_computation *c = first; c; c = c->next)
        n++;
    run_all(comm, first, n);
    for (struct comm_computation *c = first, *next; c; c = next) {
        next = c->next;
        comm_fiber_make_ready(c->fiber);
    }
    return true;
}

void comm_compute_forget(struct comm *comm)
{
    comm->compute_queue_head = comm->compute_queue_tail = NULL;
    comm->computations = NULL;
}
