// SPDX-License-Identifier: Apache-2.0
/* The scheduler of a rank: it runs fibers one after the other until each of them waits for a link,
 * and then polls MPI. A Kahn process network gives equal results in any order. On one rank and
 * without payloads, several threads may each run a part of the fibers (comm_workers.c). When no
 * fiber can run and no message is on its way, the run ends with the wait-for graph of the fibers.
 */
#include "comm_state.h"

#include <wsc/check.h>
#include <wsc/clock.h>

#include <stdio.h>

enum wsc_err comm_spawn(struct comm *comm, int role, comm_fiber_fn fn, void *arg,
                        int64_t stack_bytes, const char *name)
{
    WSC_CHECK(comm_is_local(comm, role), "%s lives on rank %d", name, comm->rank_of_role[role]);
    TRY_GROW(comm->fiber, WSC_MEM_COMM, comm->fiber_capacity, comm->n_fibers + 1);
    struct comm_fiber *f;
    TRY(comm_fiber_create(comm, &f, stack_bytes));
    f->fn = fn;
    f->arg = arg;
    f->role = role;
    f->worker = comm->worker[comm->worker_of_role ? comm->worker_of_role[role] : 0];
    f->of_the_pass = comm_record_of_next(comm, role);
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    comm->fiber[comm->n_fibers++] = f;
    f->worker->n_fibers++;
    comm_fiber_make_ready(f);
    return WSC_OK;
}

/* Between hosts a long message takes its time however often this rank polls: sleep for a part of
 * its duration at 10 Gbit/s, or less if pieces arrive faster. False: there is no such message. */
static bool sleep_through(struct comm *comm)
{
    enum { BYTES_PER_US = 1250 };
    int64_t left = 0;
    if (!comm->ahead) return false;
    for (const struct comm_link *link = comm->links; link; link = link->next)
        if (comm_remote_left(link) > left) left = comm_remote_left(link);
    const int64_t ns = 1000 * left / BYTES_PER_US;
    if (ns < COMM_SHORTEST_NAP_NS) return false;
    comm_nap_choose(comm, &comm->nap);
    if (comm->nap.ns < COMM_SHORTEST_NAP_NS) return false;
    comm_nap_sleep(ns < comm->nap.ns ? ns : comm->nap.ns);
    return true;
}

/* Let the heartbeat report for whom this rank waits. */
static void report_waits(const struct comm *comm)
{
    char waits[1500];
    if (!comm->watch) return;
    comm_describe_waits(comm, waits, sizeof waits);
    comm_watch_waits(comm->watch, waits[0] ? waits : "its messages are not taken");
}

/* Poll MPI until something arrives or is sent. Without a posted request nothing can arrive from
 * another rank: that is a deadlock, which is reported at once. */
static enum wsc_err wait_until_moved(struct comm *comm)
{
    enum { POLLS = 2, SPINS = 64, REPORT_AT = 256, POLLS_PER_CLOCK = 1024 };
    double since = wsc_clock_s();
    bool moved = false;
    for (int64_t spins = 0; !moved; spins++) {
        TRY(comm_remote_poll(comm, &moved));
        if (moved) break;
        if (!comm->n_requests) return comm_raise_stuck(comm, "no role can move any more");
        if (spins < POLLS) continue;
        if (!sleep_through(comm)) {
            if (spins < SPINS) continue;
            comm_yield_processor(comm, spins - SPINS);
        }
        if (spins == REPORT_AT) report_waits(comm);
        if (spins % POLLS_PER_CLOCK == 0 && wsc_clock_s() - since > comm->stall_limit_s)
            return comm_raise_stuck(comm, "nothing has arrived for too long");
    }
    return WSC_OK;
}

/* No fiber can run: poll MPI until that changes, and report the wait to the heartbeat. */
static enum wsc_err wait_for_others(struct comm *comm)
{
    enum wsc_err rc = wait_until_moved(comm);
    comm_watch_waits(comm->watch, NULL);
    comm_watch_moved(comm->watch);
    return rc;
}

/* Call when no fiber is ready. Messages that have arrived may make fibers ready; otherwise fibers
 * that asked to compute do so; otherwise the rank waits. */
static enum wsc_err find_work(struct comm *comm)
{
    bool moved;
    TRY(comm_remote_poll(comm, &moved));
    if (comm->worker[0]->ready_head || comm_compute_next(comm)) return WSC_OK;
    return wait_for_others(comm);
}

/* Run one ready fiber, and in every eighth round poll MPI, so that neither starves. */
static enum wsc_err run_round(struct comm *comm, int64_t round)
{
    enum { POLL_EVERY = 8 };
    bool moved;
    TRY(comm_progress_check(comm));
    if (!comm->worker[0]->ready_head) return find_work(comm);
    comm_watch_moved(comm->watch);
    TRY(comm_fiber_next(comm->worker[0]));
    return round % POLL_EVERY ? WSC_OK : comm_remote_poll(comm, &moved);
}

/* Run until all fibers have ended and all their messages are sent. */
static enum wsc_err run_all(struct comm *comm)
{
    for (int64_t round = 1; comm->worker[0]->n_done < comm->n_fibers; round++)
        TRY(run_round(comm, round));
    while (comm_remote_sending(comm))
        TRY(wait_for_others(comm));
    return WSC_OK;
}

enum wsc_err comm_run(struct comm *comm)
{
    comm_nap_begin(comm, &comm->nap);
    enum wsc_err rc = comm->n_workers > 1 ? comm_workers_run(comm) : run_all(comm);
    for (struct comm_link *link = comm->links; link; link = link->next)
        if (link->keeps && link->src_local) comm_link_forget(link);
    for (int i = 0; i < comm->n_fibers; i++)
        comm_fiber_destroy(comm->fiber[i]);
    comm->n_fibers = 0;
    for (int i = 0; i < comm->n_workers; i++) {
        struct comm_worker *w = comm->worker[i];
        w->n_fibers = w->n_done = 0;
        w->ready_head = w->ready_tail = NULL;
    }
    comm_compute_forget(comm);
    return rc;
}
