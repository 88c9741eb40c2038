// SPDX-License-Identifier: Apache-2.0
/* Regions on threads of the host: all meet after every cycle at a barrier that spins briefly, so
 * that a cycle of many PEs is shared and the result does not depend on their number. Called by
 * run.c when a fabric has more than one region. */
#include "team.h"
#include "mesh_cycle.h"
#include "mesh_flow.h"
#include "mesh_flow_cross.h"
#include "mesh_state.h"
#include "region.h"

#include <wsc/mem.h>

#include <pthread.h>

/* The threads of a run meet after every cycle.  A cycle takes microseconds, so who is early looks
 * again and again for a while; on a host with fewer processors that would keep the others from
 * working, so then it sleeps. */
enum { LOOKS = 4000 };

/* The barrier of the threads: `round` counts the meetings, `arrived` who has come to this one. */
struct mesh_team {
    struct mesh *m;
    int n;
    _Atomic int arrived, sleepers;
    _Atomic uint32_t round;
    bool ended;     /* written by the last to arrive, before the round */
    bool cancelled; /* before the first cycle */
    pthread_mutex_t mutex;
    pthread_cond_t cond;
};
struct member {
    struct mesh_team *team;
    struct mesh_region *region;
    pthread_t thread;
};

/* Wait for the end of @p round without a processor. A sleeper counts itself before it reads the
 * round, and wake_sleepers() reads the counter after the round was written, all sequentially
 * consistent: nobody is missed. */
static void sleep_through(struct mesh_team *t, uint32_t round)
{
    (void)pthread_mutex_lock(&t->mutex);
    t->sleepers++;
    while (t->round == round)
        (void)pthread_cond_wait(&t->cond, &t->mutex);
    t->sleepers--;
    (void)pthread_mutex_unlock(&t->mutex);
}

static void wake_sleepers(struct mesh_team *t)
{
    if (!t->sleepers) return;
    (void)pthread_mutex_lock(&t->mutex);
    (void)pthread_cond_broadcast(&t->cond);
    (void)pthread_mutex_unlock(&t->mutex);
}

/* Does the caller arrive as the last one?  Then it lets the others pass. */
static bool is_last(struct mesh_team *t)
{
    return atomic_fetch_add(&t->arrived, 1) + 1 == t->n;
}

static void pass(struct mesh_team *t)
{
    t->arrived = 0;
    t->round++;
    wake_sleepers(t);
}

static void wait_for_pass(struct mesh_team *t, uint32_t round)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&t->round, memory_order_acquire) != round) return;
        mesh_rest();
    }
    sleep_through(t, round);
}

/* Wait for the others; the last to arrive decides for all, where there is something to decide. */
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

/* Wait for the others after cycle @p now.  The last to arrive after those of a batch decides on the
 * next one. */
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

/* What may flow in the batch: each region looks at its places, then at those beside its borders,
 * then at the ways of its streams, and all of them agree. */
static void look(struct mesh_team *t, struct mesh_region *r)
{
    const struct mesh *m = t->m;
    mesh_region_look(r);
    if (!m->flows) return;
    meet(t, mesh_flow_meet);
    if (m->crossing == MESH_CROSS_NONE) return;
    mesh_flow_verify(r);
    meet(t, NULL);
    if (m->crossing != MESH_CROSS_TRIED) return;
    mesh_flow_join(r);
    meet(t, mesh_flow_agree);
}

/* What a thread does in each batch: what of its region depends on no other one, then the rest, with
 * a barrier after every cycle. */
static void cycles(struct mesh_team *t, struct mesh_region *r)
{
    const struct mesh *m = t->m;
    do {
        const int64_t first = m->batch, until = m->until;
        look(t, r);
        mesh_region_inner(r);
        for (int64_t now = first; now < until; now++) {
            mesh_region_outer(r, now);
            meet_after(t, now);
        }
    } while (!t->ended);
}

/* Members wait for the mutex until all of them are there. */
static void *run_member(void *argument)
{
    struct member *me = argument;
    (void)pthread_mutex_lock(&me->team->mutex);
    bool cancelled = me->team->cancelled;
    (void)pthread_mutex_unlock(&me->team->mutex);
    if (cancelled) return NULL;
    cycles(me->team, me->region);
    if (me->region->rc) me->region->message = wsc_strdup(WSC_MEM_MESH, wsc_err_message());
    return NULL;
}

/* The error of the earliest cycle, in the first region that has one: one thread alone would meet it
 * first, too, since PEs are visited in their order. */
static enum wsc_err first_error(const struct mesh *m)
{
    const struct mesh_region *mine = &m->region[m->own], *first = mine;
    for (const struct mesh_region *r = mine; r < mine + m->n_own; r++)
        if (r->error_in < first->error_in) first = r;
    if (!first->rc || first == mine) return first->rc; /* raised by the caller's thread */
    return WSC_RAISE(first->rc, "%s", first->message ? first->message : wsc_err_str(first->rc));
}

/* Start all threads but the caller's; @return how many there are. When the host refuses one, those
 * that run already end before their first cycle. */
static int start_members(struct mesh_team *t, struct member *member)
{
    int n = 1;
    (void)pthread_mutex_lock(&t->mutex);
    for (; n < t->n; n++) {
        member[n] = (struct member){.team = t, .region = &t->m->region[t->m->own + n]};
        if (pthread_create(&member[n].thread, NULL, run_member, &member[n])) break;
    }
    t->cancelled = n < t->n;
    (void)pthread_mutex_unlock(&t->mutex);
    return n;
}

enum wsc_err mesh_team_run(struct mesh *m)
{
    struct member member[MESH_MAX_THREADS];
    struct mesh_team t = {.m = m,
                          .n = m->n_own,
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .cond = PTHREAD_COND_INITIALIZER};
    int n = start_members(&t, member);
    if (!t.cancelled) cycles(&t, &m->region[m->own]);
    for (int i = 1; i < n; i++)
        (void)pthread_join(member[i].thread, NULL);
    (void)pthread_cond_destroy(&t.cond);
    (void)pthread_mutex_destroy(&t.mutex);
    if (t.cancelled)
        return WSC_RAISE(WSC_CAPACITY, "mesh: the host gives %d of %d threads", n, m->n_own);
    return first_error(m);
}
