// SPDX-License-Identifier: Apache-2.0
/* Decides how a run that repeats is carried out. The first run with a key is simulated. The second
 * one is simulated and recorded; then memory and outputs are set back, the recording is played, and
 * its results must be those of the simulation, bit by bit. Later runs are played. A recording that
 * depends on data, needs too much memory or differs is given up, and its runs are simulated. */
#include "repeat.h"
#include "play.h"
#include "recording.h"

#include <wsc/mem.h>

#include <string.h>
#include <unistd.h>

enum repeat_state { REPEAT_NEW, REPEAT_SEEN, REPEAT_RECORDED, REPEAT_REFUSED };
struct mesh_repeated {
    uint64_t key;
    enum repeat_state state;
    int64_t wavelets;               /* of the first run */
    struct mesh_recorded *recorded; /* owned; NULL before REPEAT_RECORDED */
};
struct mesh_repeats {
    struct mesh_repeated *item; /* owned */
    struct mesh_words words;
    int n, room;
    int next, last; /* items of the announced run and of the one before it */
    bool announced;
    struct mesh_repeat_counts counts;
};

/* ---- keys ------------------------------------------------------------------------------------ */

/* Programs usually follow each other as before, so the search begins after the last one. */
static int find(const struct mesh_repeats *r, int from, uint64_t key)
{
    for (int k = 0; k < r->n; k++) {
        const int i = (from + k) % r->n;
        if (r->item[i].key == key) return i;
    }
    return -1;
}

enum wsc_err mesh_repeat(struct mesh *m, uint64_t key)
{
    if (!m->repeats) TRY_NEW(m->repeats, WSC_MEM_MESH, 1);
    struct mesh_repeats *r = m->repeats;
    r->next = find(r, r->last + 1, key);
    if (r->next < 0) {
        TRY_GROW(r->item, WSC_MEM_MESH, r->room, r->n + 1);
        r->next = r->n++;
        r->item[r->next] = (struct mesh_repeated){.key = key};
    }
    r->last = r->next;
    r->announced = true;
    return WSC_OK;
}

void mesh_repeats_free(struct mesh_repeats *r)
{
    if (!r) return;
    for (int i = 0; i < r->n; i++)
        mesh_recorded_free(&r->item[i].recorded);
    mesh_words_fini(&r->words);
    wsc_free(r->item);
    wsc_free(r);
}

struct mesh_repeat_counts mesh_repeat_counts(const struct mesh *m)
{
    return m->repeats ? m->repeats->counts : (struct mesh_repeat_counts){0};
}

/* The announced run, or NULL: observed runs, those with snapshots, and fabrics of several processes
 * are always simulated. */
static struct mesh_repeated *announced(const struct mesh *m)
{
    const bool alone = !m->watch && !m->config.snapshots && !m->config.share;
    return m->repeats && m->repeats->announced && alone ? &m->repeats->item[m->repeats->next]
                                                        : NULL;
}

void mesh_repeat_end(struct mesh *m, const struct mesh_stats *stats)
{
    struct mesh_repeated *p = announced(m);
    if (p && p->state == REPEAT_NEW && stats) {
        p->state = REPEAT_SEEN;
        p->wavelets = stats->wavelets;
    }
    if (m->repeats) m->repeats->announced = false;
}

/* ---- play ------------------------------------------------------------------------------------ */

bool mesh_repeat_play(struct mesh *m, struct mesh_stats *stats)
{
    struct mesh_repeated *p = announced(m);
    if (!p || p->state != REPEAT_RECORDED || m->linked || !mesh_play_fits(p->recorded, m) ||
        !mesh_play(p->recorded, &m->repeats->words, m))
        return false;
    *stats = p->recorded->stats;
    m->linked = true; /* a program runs once */
    m->repeats->counts.played++;
    return true;
}

/* ---- record ---------------------------------------------------------------------------------- */

/* Filters by range pass wavelets by their payload, which a recorded run does not have. */
static bool has_range_filter(const struct mesh *m)
{
    for (int i = 0; i < m->n_extra; i++)
        if (m->extra[i].has_filter && m->extra[i].filter.kind == MESH_FILTER_RANGE) return true;
    return false;
}

/* Bytes that the fabrics of the process may take before a recording is made: half of the memory for
 * each processor of the host, since there may be a process on each. */
static int64_t most_bytes(void)
{
    static const int64_t most = (int64_t)2 << 30;
    const int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t half = sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
    return processors > 0 && half / processors < most ? half / processors : most;
}

/* A recording has two numbers for each word while it is made. */
bool mesh_repeat_wants(const struct mesh *m)
{
    enum { MOST_WORDS = 1 << 25 };
    const struct mesh_repeated *p = announced(m);
    return p && p->state == REPEAT_SEEN && p->wavelets <= MOST_WORDS &&
           wsc_mem_in_use(WSC_MEM_MESH) < most_bytes() && !has_range_filter(m);
}

/* What a run changes: memory of all PEs before it, later after it; words of all sinks after it. */
struct state {
    uint8_t *memory; /* owned: of PE i from first[i] to first[i + 1] */
    int64_t *first;  /* owned */
    uint32_t *word;  /* owned */
};

static void state_fini(struct state *s)
{
    wsc_free(s->memory);
    wsc_free(s->first);
    wsc_free(s->word);
}

static enum wsc_err take_memory(struct state *s, const struct mesh *m)
{
    TRY_NEW(s->first, WSC_MEM_MESH, m->n_pes + 1);
    for (int64_t i = 0; i < m->n_pes; i++)
        s->first[i + 1] = s->first[i] + m->pe[i].memory_bytes;
    TRY_NEW(s->memory, WSC_MEM_MESH, s->first[m->n_pes] + 1);
    for (int64_t i = 0; i < m->n_pes; i++)
        if (m->pe[i].memory_bytes)
            memcpy(s->memory + s->first[i], m->pe[i].memory, (size_t)m->pe[i].memory_bytes);
    return WSC_OK;
}

static enum wsc_err take_words(struct state *s, const struct mesh *m)
{
    int64_t n = 0;
    for (int i = 0; i < m->n_sinks; i++)
        n += m->sink[i].output->n;
    TRY_NEW(s->word, WSC_MEM_MESH, n + 1);
    uint32_t *word = s->word;
    for (int i = 0; i < m->n_sinks; i++) {
        const struct mesh_output *o = m->sink[i].output;
        if (o->n) memcpy(word, o->word, (size_t)o->n * sizeof *word);
        word += o->n;
    }
    return WSC_OK;
}

/* Exchange the memory of the PEs with that of @p s; false: a PE has got more since it was taken. */
static bool exchange_memory(struct state *s, const struct mesh *m)
{
    for (int64_t i = 0; i < m->n_pes; i++)
        if (m->pe[i].memory_bytes != s->first[i + 1] - s->first[i]) return false;
    for (int64_t i = 0; i < m->n_pes; i++) {
        uint8_t *of_state = s->memory + s->first[i], *of_pe = m->pe[i].memory;
        for (int64_t k = 0; k < s->first[i + 1] - s->first[i]; k++) {
            const uint8_t byte = of_pe[k];
            of_pe[k] = of_state[k];
            of_state[k] = byte;
        }
    }
    return true;
}

static bool is_state(const struct state *s, const struct mesh *m)
{
    const uint32_t *word = s->word;
    bool same = true;
    for (int64_t i = 0; i < m->n_pes; i++) {
        const size_t n = (size_t)m->pe[i].memory_bytes;
        same = same && (!n || !memcmp(m->pe[i].memory, s->memory + s->first[i], n));
    }
    for (int i = 0; i < m->n_sinks; i++) {
        const struct mesh_output *o = m->sink[i].output;
        if (!o->n) continue;
        same = same && word && !memcmp(o->word, word, (size_t)o->n * sizeof *word);
        word += o->n;
    }
    return same;
}

static void set_state(const struct state *s, const struct mesh *m)
{
    const uint32_t *word = s->word;
    for (int64_t i = 0; i < m->n_pes; i++)
        if (m->pe[i].memory_bytes)
            memcpy(m->pe[i].memory, s->memory + s->first[i], (size_t)m->pe[i].memory_bytes);
    for (int i = 0; word && i < m->n_sinks; i++) {
        const struct mesh_output *o = m->sink[i].output;
        if (o->n) memcpy(o->word, word, (size_t)o->n * sizeof *word);
        word += o->n;
    }
}

/* Play the recording with the memory of before the run, which @p s has; false: the results are not
 * those of the simulation, which are restored. */
static enum wsc_err prove(const struct mesh_recorded *r, struct mesh *m, struct state *s,
                          bool *proved)
{
    *proved = false;
    TRY(take_words(s, m));
    if (!exchange_memory(s, m)) return WSC_OK;
    *proved = mesh_play(r, &m->repeats->words, m) && is_state(s, m);
    if (!*proved) set_state(s, m);
    return WSC_OK;
}

static void set_recording(const struct mesh *m, struct mesh_recording *c)
{
    for (int i = 0; i < m->n_regions; i++)
        m->region[i].recording = c;
}

/* Simulate the run and record it; *@p made, owned by the caller, is NULL if it is refused. */
static enum wsc_err record(struct mesh *m, struct mesh_stats *stats,
                           enum wsc_err (*simulate)(struct mesh *m, struct mesh_stats *stats),
                           struct mesh_recorded **made)
{
    struct mesh_recording c = {0};
    enum wsc_err rc = mesh_recording_begin(&c, m);
    if (!rc) {
        set_recording(m, &c);
        rc = simulate(m, stats);
        set_recording(m, NULL);
    }
    *made = mesh_recording_end(&c, m);
    if (*made) (*made)->stats = *stats;
    if (!rc && c.failed) rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "recording a run");
    return rc;
}

/* Keep a recording that gives the results of the simulation. */
static void keep(struct mesh_repeats *r, struct mesh_repeated *p, struct mesh_recorded *made,
                 bool proved)
{
    r->counts.recorded += proved;
    r->counts.refused += !made;
    r->counts.different += made && !proved;
    p->state = proved ? REPEAT_RECORDED : REPEAT_REFUSED;
    if (proved)
        p->recorded = made;
    else
        mesh_recorded_free(&made);
}

enum wsc_err mesh_repeat_record(struct mesh *m, struct mesh_stats *stats,
                                enum wsc_err (*simulate)(struct mesh *m, struct mesh_stats *stats))
{
    struct mesh_recorded *made = NULL;
    struct state s = {0};
    bool proved = false;
    enum wsc_err rc = take_memory(&s, m);
    if (!rc) rc = record(m, stats, simulate, &made);
    if (!rc && made) rc = prove(made, m, &s, &proved);
    keep(m->repeats, announced(m), made, proved && !rc);
    state_fini(&s);
    return rc;
}
