// SPDX-License-Identifier: Apache-2.0
/* Computations of several fibers at the same time, on the threads of num_parallel(). Wafers that
 * share a process are independent between two messages, so their computations are the items of one
 * parallel loop, one thread each. If there are fewer computations than threads, they run one after
 * the other, each on all threads. A fiber asks to compute, prepares its output and computes. When
 * no fiber can run, the scheduler (comm_run.c) admits as many fibers as there are threads and runs
 * their computations, so memory holds at most as many results as threads. Neither values nor
 * virtual time depend on which fibers compute together. */
#include "comm_state.h"

#include <wsc/num.h>

#include <stdio.h>

/* A computation; it lies on the stack of its fiber, which waits. */
struct comm_computation {
    comm_compute_fn fn;
    void *arg; /* borrowed */
    struct comm_fiber *fiber;
    enum wsc_err rc;
    char text[400]; /* text of the error, which only its thread has */
    struct comm_computation *next;
};

/* True when there is nothing to share: one thread, or no fiber. */
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

/* The lock is released while the computations run, so that messages are transferred meanwhile. */
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
