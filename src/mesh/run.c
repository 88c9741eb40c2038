// SPDX-License-Identifier: Apache-2.0
/* Implements mesh_run(): it links the fabric, starts its regions, and repeats cycles (mesh_cycle.c)
 * until nothing can move, on this thread or on a team (team.c). deadlock.c then judges the
 * remaining state. */
#include "deadlock.h"
#include "mesh_cycle.h"
#include "mesh_flow.h"
#include "mesh_link.h"
#include "mesh_share.h"
#include "mesh_share_watch.h"
#include "mesh_state.h"
#include "mesh_watch.h"
#include "mesh_wave.h"
#include "region.h"
#include "repeat.h"
#include "snapshot.h"
#include "team.h"

static void start_region(struct mesh_region *r)
{
    for (int64_t at = 0; at < r->n_pes; at++)
        if (r->pe[at].activated) mesh_visit_pe(mesh_active_in(r, 0), at);
}

/* Begin in cycle 0 with a visit to each PE whose task was started, or in the cycle of a
 * snapshot. */
static enum wsc_err first_cycle(struct mesh *m, enum mesh_beginning how)
{
    int64_t first = 0;
    for (int i = 0; i < m->n_own && how == MESH_BEGINS; i++)
        start_region(&m->region[m->own + i]);
    if (how == MESH_CONTINUES) TRY(mesh_share_agree(m, mesh_snapshot_restore(m, &first)));
    m->horizon = first;
    mesh_begin_cycle(m, first);
    return WSC_OK;
}

/* Prepare the first cycle: channels, copies of neighbouring bands, the observer. */
static enum wsc_err start(struct mesh *m, enum mesh_beginning how)
{
    if (m->linked)
        return WSC_RAISE(WSC_USAGE,
                         "mesh: a program runs once; mesh_clear makes room for the next");
    TRY(mesh_link(m));
    TRY(mesh_share_begin(m));
    for (int i = 0; i < m->n_regions; i++)
        m->region[i].channel = m->channel;
    if (m->watch) TRY(mesh_watch_begin(m));
    TRY(mesh_flow_prepare(m));
    return first_cycle(m, how);
}

/* Run a batch on one thread, which never has to wait for another. */
static void run_batch(struct mesh_region *r)
{
    struct mesh *m = r->m;
    mesh_region_examine(r);
    mesh_wave_begin(r);
    for (int64_t now = m->together ? r->batch : r->until - 1; now < r->until; now++) {
        (void)mesh_wave_run(r, now);
        mesh_end_cycle(m, now);
    }
}

/* Run on the calling thread. */
static enum wsc_err run_alone(struct mesh *m)
{
    struct mesh_region *r = &m->region[m->own];
    do {
        while (mesh_region_batch(r))
            run_batch(r);
    } while (mesh_next_cycle(m));
    return r->rc;
}

/* If anything is left at the end, in this process or another, all processes examine the state of
 * the whole fabric and return its error. */
static enum wsc_err check_rest(struct mesh *m)
{
    int64_t left = -(int64_t)mesh_is_left(m);
    TRY(mesh_share_least(m, &left, 1));
    if (!left && !m->expired) return WSC_OK;
    TRY(mesh_share_state(m));
    if (m->expired) TRY(mesh_check_limit(m));
    return mesh_check_end(m);
}

/* Run all cycles and return the error of the run. An error between processes comes first, since
 * nothing can be exchanged after it. */
static enum wsc_err run_cycles(struct mesh *m)
{
    enum wsc_err rc = m->n_own > 1 ? mesh_team_run(m) : run_alone(m);
    if (m->share_rc)
        return WSC_RAISE(m->share_rc, "mesh: the processes that share the fabric lost contact");
    if (m->end_rc) return WSC_RAISE(m->end_rc, "%s", m->end_message ? m->end_message : "");
    return mesh_share_agree(m, rc);
}

/* Combine the observations of all processes at the end of a run. */
static enum wsc_err end_watch(struct mesh *m, int64_t cycles)
{
    TRY(mesh_share_agree(m, mesh_watch_settle(m, cycles)));
    TRY(mesh_share_watch(m));
    mesh_watch_finish(m);
    return WSC_OK;
}

/* Simulate the program cycle by cycle. */
static enum wsc_err simulate(struct mesh *m, struct mesh_stats *stats)
{
    mesh_snapshot_watch(m, m->watch);
    const enum mesh_beginning how = mesh_snapshot_beginning(m);
    if (how == MESH_OVER) return mesh_snapshot_results(m, stats);
    TRY(start(m, how));
    TRY(run_cycles(m));
    mesh_regions_stats(m, stats);
    TRY(mesh_share_results(m, stats));
    TRY(check_rest(m));
    if (m->watch) TRY(end_watch(m, stats->cycles));
    return mesh_snapshot_ended(m, stats);
}

enum wsc_err mesh_run(struct mesh *m, struct mesh_stats *stats)
{
    enum wsc_err rc = WSC_OK;
    if (mesh_repeat_wants(m))
        rc = mesh_repeat_record(m, stats, simulate);
    else if (!mesh_repeat_play(m, stats))
        rc = simulate(m, stats);
    mesh_repeat_end(m, rc ? NULL : stats);
    return rc;
}
