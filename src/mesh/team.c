// SPDX-License-Identifier: Apache-2.0
/* Runs regions on threads of the host. All threads meet before a batch of cycles, to agree on
 * streams that may flow over their borders, and after a round of batches; in between each waits for
 * its neighbours alone (mesh_wave.c). The result does not depend on the number of threads. Called
 * by run.c when a fabric has more than one region. */
#include "team.h"
#include "mesh_cycle.h"
#include "mesh_flow.h"
#include "mesh_flow_cross.h"
#include "mesh_state.h"
#include "mesh_wait.h"
#include "mesh_wave.h"
#include "region.h"

#include <wsc/mem.h>

#include <pthread.h>

/* The barrier of the threads: `round` counts how often it was passed, `arrived` the threads that
 * have reached it now. */
struct mesh_team {
    struct mesh *m;
    int n;
    _Atomic int arrived;
    _Atomic uint32_t round;
    bool ended;     /* written by the last thread to arrive, before it changes `round` */
    bool cancelled; /* the run is cancelled before its first cycle */
    struct mesh_wait wait;
};
struct member {
    struct mesh_team *team;
    struct mesh_region *region;
    pthread_t thread;
};

/* Count the caller; true when it arrives last and has to let the others pass. */
static bool is_last(struct mesh_team *t)
{
    return atomic_fetch_add(&t->arrived, 1) + 1 == t->n;
}

static void pass(struct mesh_team *t)
{
    t->arrived = 0;
    t->round++;
    mesh_wake(&t->wait);
}

/* A barrier, and the value of `round` when the caller reached it. */
struct meeting {
    const struct mesh_team *team;
    uint32_t round;
};
static bool is_passed(const void *meeting)
{
    const struct meeting *of = meeting;
    return of->team->round != of->round;
}

static void wait_for_pass(struct mesh_team *t, uint32_t round)
{
    const struct meeting of = {t, round};
    mesh_wait_until(&t->wait, is_passed, &of);
}

/* Barrier: wait for the other threads. The last one to arrive calls @p decide, if there is one,
 * for all. */
static void meet(struct mesh_team *t, void (*decide)(struct mesh *m))
{
    const uint32_t round = t->round;
    if (!is_last(t)) {
        wait_for_pass(t, round);
        return;
    }
    if (decide) decide(t->m);
    pass(t);
}

/* Barrier after cycle @p now. At the end of a round the last one to arrive decides on the next
 * round. */
static void meet_after(struct mesh_team *t, int64_t now)
{
    const uint32_t round = t->round;
    if (!is_last(t)) {
        wait_for_pass(t, round);
        return;
    }
    mesh_end_cycle(t->m, now);
    if (now + 1 == t->m->until) t->ended = !mesh_next_cycle(t->m);
    pass(t);
}

/* Find out what may flow in the batch: each region examines its places, then those across its
 * borders, then its streams; then all regions agree. */
static void examine(struct mesh_team *t, struct mesh_region *r)
{
    const struct mesh *m = t->m;
    mesh_region_examine(r);
    if (!m->flows || mesh_flow_pauses(m)) return;
    meet(t, mesh_flow_meet);
    if (m->crossing == MESH_CROSS_NONE) return;
    mesh_flow_verify(r);
    meet(t, NULL);
    if (m->crossing != MESH_CROSS_TRIED) return;
    mesh_flow_join(r);
    meet(t, mesh_flow_agree);
}

/* Run the region up to cycle @p now. */
static void run_until(struct mesh_team *t, struct mesh_region *r, int64_t now)
{
    while (!mesh_wave_run(r, now))
        mesh_wait_until(&t->wait, mesh_wave_can_continue, r);
}

/* Run a batch. If processes run it together, all threads meet after every cycle for the
 * exchange. */
static void run_batch(struct mesh_team *t, struct mesh_region *r)
{
    examine(t, r);
    mesh_wave_begin(r);
    for (int64_t now = r->batch; t->m->together && now + 1 < r->until; now++) {
        run_until(t, r, now);
        meet_after(t, now);
    }
    run_until(t, r, r->until - 1);
}

/* The work of a thread in each round, with a barrier after it. */
static void cycles(struct mesh_team *t, struct mesh_region *r)
{
    const struct mesh *m = t->m;
    do {
        const int64_t until = m->until;
        while (mesh_region_batch(r))
            run_batch(t, r);
        meet_after(t, until - 1);
    } while (!t->ended);
}

/* A thread of the team. It waits for the mutex until all threads were created. */
static void *run_member(void *argument)
{
    struct member *me = argument;
    (void)pthread_mutex_lock(&me->team->wait.mutex);
    bool cancelled = me->team->cancelled;
    (void)pthread_mutex_unlock(&me->team->wait.mutex);
    if (cancelled) return NULL;
    cycles(me->team, me->region);
    if (me->region->rc) me->region->message = wsc_strdup(WSC_MEM_MESH, wsc_err_message());
    return NULL;
}

/* The error of the earliest cycle, in the first region that has one in it. A single thread would
 * meet the same error first, since it visits PEs in order. */
static enum wsc_err first_error(const struct mesh *m)
{
    const struct mesh_region *own = &m->region[m->own], *first = own;
    for (const struct mesh_region *r = own; r < own + m->n_own; r++)
        if (r->error_in < first->error_in) first = r;
    if (!first->rc || first == own) return first->rc; /* raised by the caller's thread */
    return WSC_RAISE(first->rc, "%s", first->message ? first->message : wsc_err_str(first->rc));
}

/* Create all threads except that of the caller; returns the number of threads. When the host
 * refuses one, those that exist end before their first cycle. */
static int start_members(struct mesh_team *t, struct member *member)
{
    int n = 1;
    (void)pthread_mutex_lock(&t->wait.mutex);
    for (; n < t->n; n++) {
        member[n] = (struct member){.team = t, .region = &t->m->region[t->m->own + n]};
        if (pthread_create(&member[n].thread, NULL, run_member, &member[n])) break;
    }
    t->cancelled = n < t->n;
    (void)pthread_mutex_unlock(&t->wait.mutex);
    return n;
}

enum wsc_err mesh_team_run(struct mesh *m)
{
    struct member member[MESH_MAX_THREADS];
    struct mesh_team t = {.m = m, .n = m->n_own};
    mesh_wait_init(&t.wait);
    m->wait = &t.wait;
    int n = start_members(&t, member);
    if (!t.cancelled) cycles(&t, &m->region[m->own]);
    for (int i = 1; i < n; i++)
        (void)pthread_join(member[i].thread, NULL);
    m->wait = NULL;
    mesh_wait_fini(&t.wait);
    if (t.cancelled)
        return WSC_RAISE(WSC_CAPACITY, "mesh: the host gives %d of %d threads", n, m->n_own);
    return first_error(m);
}
