// SPDX-License-Identifier: Apache-2.0
/* mesh_run(): links the fabric, starts its regions, repeats cycles (mesh_cycle.c) until nothing can
 * move, on this thread or on a team (team.c), and lets deadlock.c judge what is left. */
#include "deadlock.h"
#include "mesh_cycle.h"
#include "mesh_link.h"
#include "mesh_state.h"
#include "mesh_watch.h"
#include "region.h"
#include "team.h"

static void start_region(struct mesh_region *r)
{
    r->channel = r->m->channel;
    for (int64_t at = 0; at < r->n_pes; at++)
        if (r->pe[at].activated) mesh_visit_pe(mesh_active_in(r, 0), at);
}

/* From a program to cycle 0: channels, and a visit to each PE whose task was started. */
static enum wsc_err start(struct mesh *m)
{
    if (m->linked)
        return WSC_RAISE(WSC_USAGE,
                         "mesh: a program runs once; mesh_clear makes room for the next");
    TRY(mesh_link(m));
    for (int i = 0; i < m->n_regions; i++)
        start_region(&m->region[i]);
    mesh_begin_cycle(m, 0);
    return WSC_OK;
}

/* Run on the calling thread. */
static enum wsc_err run_alone(struct mesh *m)
{
    do {
        mesh_region_begin(m->region);
        TRY(mesh_region_move(m->region));
    } while (mesh_next_cycle(m));
    return WSC_OK;
}

/* Counts of all regions; the length of the run is the end of the last cycle in which one did
 * something. */
static void add_stats(const struct mesh *m, struct mesh_stats *stats)
{
    *stats = (struct mesh_stats){0};
    for (int i = 0; i < m->n_regions; i++) {
        const struct mesh_region *r = &m->region[i];
        if (r->last > stats->cycles) stats->cycles = r->last;
        stats->wavelets += r->stats.wavelets;
        stats->wavelet_hops += r->stats.wavelet_hops;
        stats->elements += r->stats.elements;
    }
}

enum wsc_err mesh_run(struct mesh *m, struct mesh_stats *stats)
{
    TRY(start(m));
    if (m->watch) TRY(mesh_watch_begin(m));
    TRY(m->n_regions > 1 ? mesh_team_run(m) : run_alone(m));
    if (m->expired) TRY(mesh_check_limit(m));
    add_stats(m, stats);
    TRY(mesh_check_end(m));
    return m->watch ? mesh_watch_finish(m, stats->cycles) : WSC_OK;
}
