// SPDX-License-Identifier: Apache-2.0
/* Moves streams over the borders between the regions of a process. A place at a border takes part
 * when the place beyond it, which another thread examines, is steady, too. Then either such places
 * alone are visited, or streams flow from region to region as a pipeline: all of them before the
 * batch, or all of them after it. team.c calls it. */
#include "mesh_flow_cross.h"
#include "mesh_flow_state.h"

#include <wsc/check.h>

/* ---- what the other side does ---------------------------------------------------------------- */

/* True when the place on side @p d is steady and holds wavelets of the colour. The caller has
 * checked that both routers agree on the direction. No wavelet moves meanwhile. */
static bool is_steady_beyond(const struct mesh_region *r, int64_t at, int colour, int d)
{
    const int64_t y = at + r->step[d];
    if (mesh_flow_is_here(r, y)) return true;
    const struct mesh_flow *of = mesh_flow_beside(r, y);
    const int64_t there = y + r->first - of->r->first;
    return of->tried && mesh_flow_has(of->flows, there) &&
           of->r->router[there].waiting >> colour & 1U;
}

static bool is_verified(const struct mesh_region *r, int64_t at)
{
    for (uint32_t left = r->router[at].waiting; left; left &= left - 1) {
        const int colour = __builtin_ctz(left);
        const struct mesh_channel *ch = mesh_flow_channel(r, at, colour);
        const unsigned sides = (ch->tx | mesh_gate_rx(mesh_flow_gate(ch))) & ~(unsigned)MESH_RAMP;
        for (unsigned set = sides; set; set &= set - 1)
            if (!is_steady_beyond(r, at, colour, mesh_direction((int)set))) return false;
    }
    return true;
}

void mesh_flow_verify(struct mesh_region *r)
{
    struct mesh_flow *f = r->flow;
    if (!f || !f->crosses) return;
    for (int64_t i = 0; i < r->n_words; i++)
        for (uint64_t set = f->crossing[i]; set; set &= set - 1)
            if (!is_verified(r, 64 * i + __builtin_ctzll(set))) f->unsteady[i] |= set & -set;
}

/* ---- what all regions do --------------------------------------------------------------------- */

void mesh_flow_meet(struct mesh *m)
{
    m->crossing = MESH_CROSS_NONE;
    for (int i = 0; i < m->n_own; i++) {
        const struct mesh_flow *f = m->region[m->own + i].flow;
        if (f && f->crosses) m->crossing = MESH_CROSS_VISITED;
    }
    if (m->crossing == MESH_CROSS_NONE) return;
    if (m->cross_skip)
        m->cross_skip--;
    else
        m->crossing = MESH_CROSS_TRIED;
}

/* Check that the numbers of streams over the border between @p r and the next region agree on both
 * sides. */
static void check_border(const struct mesh_region *r)
{
    static const struct mesh_flow_crossings none;
    const struct mesh_flow_crossings *a = r->flow && r->flow->crosses ? &r->flow->crossings : &none;
    const struct mesh_flow_crossings *b =
        r[1].flow && r[1].flow->crosses ? &r[1].flow->crossings : &none;
    WSC_CHECK(a->leaving[MESH_TO_SOUTH] == b->entering[MESH_TO_NORTH] &&
                  a->entering[MESH_TO_SOUTH] == b->leaving[MESH_TO_NORTH],
              "place %lld: %d streams leave to the south, %d enter", (long long)r[1].first,
              a->leaving[MESH_TO_SOUTH], b->entering[MESH_TO_NORTH]);
}

/* How streams cross borders in this batch: before it, if no leaving stream takes its words from a
 * visited place; otherwise after it, if no entering stream gives words to a visited place.
 * Otherwise, or if a stream turns back or a region found none, places at the borders are
 * visited. */
static enum mesh_flow_crossing agreed(const struct mesh *m)
{
    bool late = false, gives = false;
    for (int i = 0; i < m->n_own; i++) {
        const struct mesh_flow *f = m->region[m->own + i].flow;
        if (!f || !f->crosses) continue;
        if (!f->found || f->crossings.returns) return MESH_CROSS_VISITED;
        late = late || f->crossings.late_leaves;
        gives = gives || f->crossings.enter_leaves;
    }
    if (late && gives) return MESH_CROSS_VISITED;
    return late ? MESH_CROSS_LATE : MESH_CROSS_EARLY;
}

/* After each attempt without agreement the pause until the next one doubles, up to
 * MESH_FLOW_LONGEST_SKIP. */
void mesh_flow_agree(struct mesh *m)
{
    m->crossing = agreed(m);
    if (m->crossing == MESH_CROSS_VISITED) {
        m->cross_missed = m->cross_missed < MESH_FLOW_LONGEST_SKIP ? 2 * m->cross_missed + 1
                                                                   : MESH_FLOW_LONGEST_SKIP;
        m->cross_skip = m->cross_missed;
        return;
    }
    m->cross_missed = 0;
    for (int i = 0; i + 1 < m->n_own; i++)
        check_border(&m->region[m->own + i]);
}
