// SPDX-License-Identifier: Apache-2.0
/* Computes the conservative lookahead of a band (Chandy, Misra 1979; Bryant 1977): a lower bound of
 * the cycle in which something can leave a channel at its border. A channel that holds a wavelet
 * may be left in the next cycle. An empty one is left a cycle after a wavelet entered it, from the
 * PE, which may be busy with other operations, or from the channel before it, with the bound of
 * that channel a hop earlier. The walk up the route ends after MOST_HOPS. mesh_share.c calls it. */
#include "mesh_ahead.h"
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "region.h"

enum { MOST_HOPS = 32 };

unsigned mesh_inputs_of(const struct mesh *m, const struct mesh_channel *ch)
{
    unsigned set = mesh_gate_rx(atomic_load_explicit(&ch->gate, memory_order_relaxed));
    const struct mesh_switch *s = mesh_switch_of(m, ch);
    for (int i = 0; s && i < s->n; i++)
        set |= s->pos[i].rx;
    return set;
}

unsigned mesh_outputs_of(const struct mesh *m, const struct mesh_channel *ch)
{
    unsigned set = ch->tx;
    const struct mesh_switch *s = mesh_switch_of(m, ch);
    for (int i = 0; s && i < s->n; i++)
        set |= s->pos[i].tx;
    return set;
}

static bool is_empty(const struct mesh_channel *ch)
{
    return !mesh_channel_count(ch, atomic_load_explicit(&ch->gate, memory_order_relaxed));
}

/* ---- from the PE ----------------------------------------------------------------------------- */

/* Least number of cycles until the main thread of @p pe, which runs an operation, is free: at
 * least one for each element. */
static int64_t until_free(const struct mesh_pe *pe)
{
    const struct mesh_thread *t = mesh_thread_of(pe->region, pe, 0);
    return t->flags & MESH_FABRIC && t->left > 1 ? t->left : 1;
}

/* True when an operation of the PE already sends to output queue @p queue. */
static bool is_sent_to(const struct mesh_pe *pe, int queue)
{
    for (unsigned set = pe->threads; set; set &= set - 1)
        if (mesh_thread_of(pe->region, pe, __builtin_ctz(set))->out == queue) return true;
    return false;
}

/* Least number of cycles until PE @p pe can put a wavelet into the channel of @p colour at its
 * router. */
static int64_t from_pe(const struct mesh *m, const struct mesh_pe *pe, int colour)
{
    const int queue = mesh_binding_of(pe)->out_of[colour] - 1;
    const int64_t now = m->region->now;
    if (queue < 0) return INT64_MAX;
    if (pe->out_used >> queue & 1U || is_sent_to(pe, queue)) return 1;
    if (pe->threads & 1U) return until_free(pe);
    if (pe->waits_until > now) return pe->waits_until - now;
    if (pe->threads || pe->in_used || pe->next_todo < pe->n_todo) return 1;
    if (pe->activated & ~pe->blocked) return 1;
    /* The PE is idle until a wavelet arrives, at the earliest one that is in its router now. */
    return 1 + m->ramp_down;
}

/* ---- up the route ---------------------------------------------------------------------------- */

static bool source_feeds(const struct mesh *m, const struct mesh_channel *ch)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        if (&m->channel[s->channel] == ch && s->next < s->n) return true;
    }
    return false;
}

/* The channel that sends to @p ch over side @p d, in the same band; NULL: none. */
static const struct mesh_channel *before(const struct mesh *m, int64_t router,
                                         const struct mesh_channel *ch, int d)
{
    const int64_t at = router + m->step[d];
    if (!mesh_is_own(&m->pe[at])) return NULL;
    const struct mesh_channel *from = mesh_channel_of(m, at, ch->colour);
    const unsigned toward = 1U << mesh_opposite[d];
    return from && mesh_outputs_of(m, from) & toward ? from : NULL;
}

/* Least number of cycles until a wavelet can enter the empty channel @p ch from side @p d. If the
 * sending channel is empty too, @p next is set to it, so that the search continues there. */
static int64_t from_side(const struct mesh *m, int64_t router, const struct mesh_channel *ch, int d,
                         const struct mesh_channel **next)
{
    if (d == 0) return from_pe(m, &m->pe[router], ch->colour);
    if (!(m->router[router].neighbours >> d & 1U)) return source_feeds(m, ch) ? 1 : INT64_MAX;
    const struct mesh_channel *from = before(m, router, ch, d);
    if (!from) return INT64_MAX;
    if (!is_empty(from)) return 1;
    if (*next) return 1 + m->hop; /* for a second empty sender a hop */
    *next = from;
    return INT64_MAX;
}

/* Least number of cycles until a wavelet can enter the empty channel @p ch at @p router. */
static int64_t until_entered(const struct mesh *m, int64_t router, const struct mesh_channel *ch)
{
    int64_t least = INT64_MAX, hops = 0;
    for (int i = 0; i < MOST_HOPS; i++) {
        const struct mesh_channel *next = NULL;
        int64_t step = 0;
        for (unsigned set = mesh_inputs_of(m, ch); set; set &= set - 1) {
            const int d = mesh_direction((int)set);
            const bool had = next != NULL;
            const int64_t cycles = from_side(m, router, ch, d, &next);
            if (next && !had) step = m->step[d];
            if (cycles < INT64_MAX && cycles + hops < least) least = cycles + hops;
        }
        hops += m->hop;
        if (!next || least <= hops) return least;
        ch = next;
        router += step;
    }
    return least < hops + 1 ? least : hops + 1;
}

int64_t mesh_ahead(const struct mesh *m, const struct mesh_crossing *crossing, int n)
{
    const int64_t next = m->region->now + 1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < n; i++)
        if (!is_empty(&m->channel[crossing[i].channel])) return next;
    for (int i = 0; i < n && least > 1; i++) {
        const int64_t cycles =
            until_entered(m, crossing[i].router, &m->channel[crossing[i].channel]);
        if (cycles < least) least = cycles;
    }
    return least < INT64_MAX ? next + least : INT64_MAX;
}
