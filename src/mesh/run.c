// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

/* ---- one cycle ------------------------------------------------------------------------------- */

/* A switch turns when a control wavelet has passed, and who may send next sees it in the same
 * cycle.  So that neither the order of the visits nor the direction matters, routers where that may
 * happen come first, and see each other as they stood before. */
static enum wsc_err turn_word(struct mesh_region *r, int64_t word)
{
    uint64_t *controls = &r->controls.word[word].routers, *now = &r->active.word[word].routers;
    for (uint64_t set = *controls; set; set &= set - 1) {
        const uint64_t bit = set & -set;
        int64_t i = r->first + word * 64 + __builtin_ctzll(set);
        bool stays;
        bool turns = mesh_router_turns(r, i, &stays) && *now & bit;
        if (!stays) *controls &= ~bit;
        if (!turns) continue;
        *now &= ~bit;
        TRY(mesh_router_cycle(r, i));
    }
    if (!*controls) r->controls.summary[word / 64] &= ~(1ULL << word % 64);
    return WSC_OK;
}

enum wsc_err mesh_region_turn(struct mesh_region *r)
{
    enum wsc_err rc = WSC_OK;
    uint64_t left = 0;
    r->turning = true;
    for (int64_t i = 0; i < (r->n_words + 63) / 64 && !rc; i++) {
        for (uint64_t words = r->controls.summary[i]; words && !rc; words &= words - 1)
            rc = turn_word(r, i * 64 + __builtin_ctzll(words));
        left |= r->controls.summary[i];
    }
    r->controls.any = left;
    r->turning = false;
    return rc;
}

/* Router and PE of a place one after the other: neither sees what the others do in this cycle, and
 * what they share is in the caches. */
static enum wsc_err visit_word(struct mesh_region *r, int64_t word)
{
    struct mesh_active_word now = r->active.word[word];
    r->active.word[word] = (struct mesh_active_word){0, 0};
    for (uint64_t set = now.routers | now.pes; set; set &= set - 1) {
        int64_t i = r->first + word * 64 + __builtin_ctzll(set);
        if (now.routers & set & -set) TRY(mesh_router_cycle(r, i));
        if (now.pes & set & -set) TRY(mesh_pe_cycle(r, &r->m->pe[i]));
    }
    return WSC_OK;
}

enum wsc_err mesh_region_move(struct mesh_region *r)
{
    for (int64_t i = 0; i < (r->n_words + 63) / 64; i++) {
        uint64_t words = r->active.summary[i];
        r->active.summary[i] = 0;
        for (; words; words &= words - 1)
            TRY(visit_word(r, i * 64 + __builtin_ctzll(words)));
    }
    return WSC_OK;
}

void mesh_region_begin(struct mesh_region *r)
{
    if (r->m->n_regions > 1) mesh_take_mail(r);
    mesh_fire_timers(r);
    mesh_sources_cycle(r);
}

/* ---- from cycle to cycle --------------------------------------------------------------------- */

static bool source_can_send(const struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        const struct mesh_channel *ch = &m->channel[s->channel];
        if (s->next < s->n && mesh_channel_open(ch, m->region->now + 1, s->side, false))
            return true;
    }
    return false;
}

static bool somebody_is_active(const struct mesh *m)
{
    bool any = false;
    for (int i = 0; i < m->n_regions; i++) {
        const struct mesh_region *r = &m->region[i];
        any = any || r->next.any || r->mail[m->parity][0].any || r->mail[m->parity][1].any;
    }
    return any;
}

static bool some_switch_may_turn(const struct mesh *m)
{
    bool any = false;
    for (int i = 0; i < m->n_regions; i++) {
        const struct mesh_region *r = &m->region[i];
        const struct mesh_mail *mail = r->mail[m->parity];
        any = any || r->controls.any || mail[0].control || mail[1].control;
    }
    return any;
}

static void begin_cycle(struct mesh *m, int64_t now)
{
    m->turns = some_switch_may_turn(m);
    for (int i = 0; i < m->n_regions; i++) {
        struct mesh_region *r = &m->region[i];
        struct mesh_active was = r->active;
        r->active = r->next;
        r->next = was;
        r->next.any = false;
        r->now = now;
        r->colour_turn = (int)(now % MESH_COLOURS);
    }
    m->parity ^= 1;
    m->expired = now >= m->config.max_cycles;
}

bool mesh_failed(const struct mesh *m)
{
    for (int i = 0; i < m->n_regions; i++)
        if (m->region[i].rc) return true;
    return false;
}

bool mesh_next_cycle(struct mesh *m)
{
    int64_t timer = INT64_MAX, next = m->region->now + 1;
    if (mesh_failed(m)) return false;
    if (!somebody_is_active(m) && !source_can_send(m)) {
        for (int i = 0; i < m->n_regions; i++) {
            int64_t first = mesh_next_timer(&m->region[i]);
            if (first < timer) timer = first;
        }
        if (timer == INT64_MAX) return false;
        next = timer;
    }
    begin_cycle(m, next);
    return !m->expired;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static enum wsc_err start(struct mesh *m)
{
    if (m->linked)
        return WSC_RAISE(WSC_USAGE,
                         "mesh: a program runs once; mesh_clear makes room for the next");
    TRY(mesh_link(m));
    for (int64_t i = 0; i < m->n_pes; i++)
        if (m->pe[i].activated) mesh_pe_wake(m->pe[i].region, i);
    begin_cycle(m, 0);
    return WSC_OK;
}

static enum wsc_err run_alone(struct mesh *m)
{
    do {
        mesh_region_begin(m->region);
        if (m->turns) TRY(mesh_region_turn(m->region));
        TRY(mesh_region_move(m->region));
    } while (mesh_next_cycle(m));
    return WSC_OK;
}

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
    TRY(m->n_regions > 1 ? mesh_team_run(m) : run_alone(m));
    if (m->expired)
        return WSC_RAISE(WSC_DEADLOCK, "mesh: still busy after %lld cycles",
                         (long long)m->config.max_cycles);
    add_stats(m, stats);
    return mesh_check_end(m);
}
