// SPDX-License-Identifier: Apache-2.0
/* Runs bands of rows on several processes. Every process builds the whole fabric and runs its own
 * regions; it holds a copy of the row next to its border. Neighbours exchange messages after each
 * cycle in which something may have crossed (mesh_ahead.c): a wavelet that crossed, a router to
 * wake, a gate that changed. A cycle reads the state at its start alone, so the copies need not be
 * newer, and cycles and values are those of one process. run.c and mesh_cycle.c call it. */
#include "mesh_share.h"
#include "mesh_ahead.h"
#include "mesh_channel.h"
#include "mesh_state.h"
#include "region.h"
#include "watch_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum message_kind { WAVELET, WAKE, GATE };
/* One record from a band to the next, about a channel (of the whole fabric) or a column: a wavelet
 * (colour and entry), a router to visit, or the tail and gate of a channel. */
struct border_message {
    int32_t channel;
    int16_t x;
    uint8_t kind, of;
    uint64_t bits;
};
/* The messages of both sides; and for the row of this process on each side the channels that cross
 * the border, with the gates that the neighbour knows. */
struct mesh_border {
    struct mesh_bytes out[MESH_SIDES], in[MESH_SIDES];
    struct mesh_crossing *crossing[MESH_SIDES]; /* owned, n of them, as gate */
    int32_t n[MESH_SIDES];
    uint64_t *gate[MESH_SIDES];
    int skip, pause; /* exchanges until the next lookahead; length of the last pause */
};

static int part_threads(const struct mesh *m)
{
    return m->n_own;
}

/* The region of this process at a border. outer(): the region across it, NULL at the edge of the
 * fabric. */
static struct mesh_region *inner(const struct mesh *m, int side)
{
    return &m->region[side == MESH_TO_NORTH ? m->own : m->own + m->n_own - 1];
}
static struct mesh_region *outer(const struct mesh *m, int side)
{
    const int index = side == MESH_TO_NORTH ? m->own - 1 : m->own + m->n_own;
    return index < 0 || index >= m->n_regions ? NULL : &m->region[index];
}

/* First PE of the outermost row of @p r on side @p side. */
static int64_t row_of(const struct mesh_region *r, int side)
{
    WSC_CHECK(r, "no region beyond side %d", side);
    return r->first + (side == MESH_TO_NORTH ? 0 : r->n_pes - r->m->config.w);
}

/* Number of channels of the routers before PE @p at; the channels of a row are consecutive. */
static int64_t channels_before(const struct mesh *m, int64_t at)
{
    return at < m->n_pes ? m->router[at].first : m->n_channels;
}
static int64_t row_channels(const struct mesh *m, int64_t row)
{
    return channels_before(m, row + m->config.w) - channels_before(m, row);
}

/* True when an observer follows wavelets; then the message of a wavelet is followed by its
 * origin. */
static bool follows(const struct mesh *m)
{
    return m->watch && m->watch->follows;
}
static struct mesh_watch_origin *origin_of(const struct mesh *m, const struct mesh_channel *ch,
                                           int slot)
{
    return &m->watch->origin[(ch - m->channel) * MESH_FIFO + slot];
}

/* ---- before and after a run ------------------------------------------------------------------ */

static enum wsc_err new_messages(const struct mesh *m, struct mesh_bytes *b, int64_t n)
{
    const size_t one =
        sizeof(struct border_message) + (follows(m) ? sizeof(struct mesh_watch_origin) : 0);
    TRY_MEM(b->data, wsc_alloc(WSC_MEM_MESH, (size_t)n, one));
    b->capacity = n * (int64_t)one;
    return WSC_OK;
}

static void note_gates(const struct mesh *m, int side)
{
    const struct mesh_border *b = m->border;
    for (int32_t i = 0; i < b->n[side]; i++)
        b->gate[side][i] = m->channel[b->crossing[side][i].channel].gate;
}

void mesh_share_resume(struct mesh *m)
{
    for (int side = MESH_TO_NORTH; side < MESH_SIDES && m->border; side++)
        if (outer(m, side)) note_gates(m, side);
}

static enum wsc_err find_crossings(struct mesh *m, int side)
{
    struct mesh_border *b = m->border;
    const unsigned across = side == MESH_TO_NORTH ? MESH_NORTH : MESH_SOUTH;
    const int64_t row = row_of(inner(m, side), side);
    TRY_NEW(b->crossing[side], WSC_MEM_MESH, row_channels(m, row) + 1);
    for (int64_t at = row; at < row + m->config.w; at++) {
        for (int64_t i = channels_before(m, at); i < channels_before(m, at + 1); i++) {
            const struct mesh_channel *ch = &m->channel[i];
            if (!((mesh_inputs_of(m, ch) | mesh_outputs_of(m, ch)) & across)) continue;
            b->crossing[side][b->n[side]++] = (struct mesh_crossing){(int32_t)at, (int32_t)i};
        }
    }
    return WSC_OK;
}

/* Allocate messages of a side. In a cycle a column sends at most one wavelet over the border and
 * wakes one router; every gate of the row may change. */
static enum wsc_err begin_side(struct mesh *m, int side)
{
    struct mesh_border *b = m->border;
    const int64_t row_beyond = row_of(outer(m, side), 1 - side);
    TRY(find_crossings(m, side));
    TRY(new_messages(m, &b->out[side], 2LL * m->config.w + b->n[side]));
    TRY(new_messages(m, &b->in[side], 2LL * m->config.w + row_channels(m, row_beyond)));
    TRY_NEW(b->gate[side], WSC_MEM_MESH, b->n[side] + 1);
    note_gates(m, side);
    return WSC_OK;
}

enum wsc_err mesh_share_begin(struct mesh *m)
{
    mesh_share_fini(m);
    if (!m->config.share) return WSC_OK;
    TRY_NEW(m->border, WSC_MEM_MESH, 1);
    for (int side = MESH_TO_NORTH; side < MESH_SIDES; side++)
        if (outer(m, side)) TRY(begin_side(m, side));
    return WSC_OK;
}

void mesh_share_fini(struct mesh *m)
{
    for (int side = MESH_TO_NORTH; side < MESH_SIDES && m->border; side++) {
        wsc_free(m->border->out[side].data);
        wsc_free(m->border->in[side].data);
        wsc_free(m->border->gate[side]);
        wsc_free(m->border->crossing[side]);
    }
    wsc_free(m->border);
    m->border = NULL;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static void write_bytes(struct mesh_bytes *b, const void *bytes, size_t n)
{
    memcpy((char *)b->data + b->n, bytes, n);
    b->n += (int64_t)n;
}
static void write_message(struct mesh_bytes *b, struct border_message message)
{
    write_bytes(b, &message, sizeof message);
}

/* Write a message for the newest entry of the channel of @p colour at router @p at, which the row
 * of this process has sent across the border. */
static void write_wavelet(struct mesh *m, int side, int64_t at, int colour)
{
    const struct mesh_channel *ch = mesh_channel_of(m, at, colour);
    WSC_CHECK(ch, "router %lld has no colour %d", (long long)at, colour);
    const int newest = (uint8_t)(ch->tail - 1) % MESH_FIFO;
    write_message(&m->border->out[side],
                  (struct border_message){.channel = (int32_t)(ch - m->channel),
                                          .x = (int16_t)(at % m->config.w),
                                          .kind = WAVELET,
                                          .of = (uint8_t)colour,
                                          .bits = ch->entry[newest]});
    if (!follows(m)) return;
    write_bytes(&m->border->out[side], origin_of(m, ch, newest), sizeof(struct mesh_watch_origin));
}

/* Write messages for the mailbox of the region at the border to routers across it. */
static void write_messages(struct mesh *m, int side)
{
    struct mesh_mailbox *mailbox = &inner(m, side)->mailbox[m->horizon & 1][side];
    const int64_t row = row_of(outer(m, side), 1 - side);
    for (int x = 0; x < m->config.w && mailbox->any; x++) {
        const uint32_t word = mailbox->word[x];
        mailbox->word[x] = 0;
        if (word & MESH_MAILBOX_WAKE)
            write_message(&m->border->out[side],
                          (struct border_message){.x = (int16_t)x, .kind = WAKE});
        for (uint32_t set = word & ~(uint32_t)MESH_MAILBOX_WAKE; set; set &= set - 1)
            write_wavelet(m, side, row + x, mesh_direction((int)set));
    }
    mailbox->any = false;
}

static void write_gates(struct mesh *m, int side)
{
    struct mesh_border *b = m->border;
    for (int32_t i = 0; i < b->n[side]; i++) {
        const int32_t channel = b->crossing[side][i].channel;
        const struct mesh_channel *ch = &m->channel[channel];
        if (ch->gate == b->gate[side][i]) continue;
        b->gate[side][i] = ch->gate;
        write_message(&b->out[side],
                      (struct border_message){
                          .channel = channel, .kind = GATE, .of = ch->tail, .bits = ch->gate});
    }
}

/* Take over the gate of a channel. The tail is written by the sender: if the channel took wavelets
 * from this band in that cycle, the local tail is newer than the neighbour's. */
static void take_gate(struct mesh *m, int side, const struct border_message *l)
{
    struct mesh_channel *ch = &m->channel[l->channel];
    const unsigned before = l->bits >> 16 & 255;
    if (!(before & (side == MESH_TO_NORTH ? MESH_SOUTH : MESH_NORTH))) ch->tail = l->of;
    ch->gate = l->bits;
}

/* Put a wavelet into its channel; returns the bytes of its origin, which follow its message at @p
 * after. */
static int64_t take_wavelet(struct mesh *m, const struct border_message *l, const char *after)
{
    struct mesh_channel *ch = &m->channel[l->channel];
    const int slot = ch->tail % MESH_FIFO;
    mesh_channel_put(ch, l->bits);
    if (!follows(m)) return 0;
    memcpy(origin_of(m, ch, slot), after, sizeof(struct mesh_watch_origin));
    return (int64_t)sizeof(struct mesh_watch_origin);
}

/* Read the messages of a side. They leave the mailbox and channels as a thread of this process
 * would have left them if it ran the neighbour's band; the regions empty the mailbox in the next
 * cycle (mesh_mailbox_take). */
static void read_messages(struct mesh *m, int side)
{
    struct mesh_mailbox *mailbox = &outer(m, side)->mailbox[m->horizon & 1][1 - side];
    const struct mesh_bytes *in = &m->border->in[side];
    for (int64_t at = 0; at < in->n;) {
        struct border_message l;
        memcpy(&l, (const char *)in->data + at, sizeof l);
        at += (int64_t)sizeof l;
        if (l.kind == GATE) {
            take_gate(m, side, &l);
            continue;
        }
        if (l.kind == WAVELET) at += take_wavelet(m, &l, (const char *)in->data + at);
        mailbox->word[l.x] |= l.kind == WAKE ? (uint32_t)MESH_MAILBOX_WAKE : 1U << l.of;
        mailbox->any = true;
    }
}

enum wsc_err mesh_share_cycle(struct mesh *m)
{
    struct mesh_border *b = m->border;
    if (!b) return WSC_OK;
    for (int side = MESH_TO_NORTH; side < MESH_SIDES; side++) {
        b->out[side].n = b->in[side].n = 0;
        if (!outer(m, side)) continue;
        write_messages(m, side);
        write_gates(m, side);
    }
    TRY(m->config.share->swap(m->config.share->ctx, b->out, b->in));
    for (int side = MESH_TO_NORTH; side < MESH_SIDES; side++)
        if (outer(m, side)) read_messages(m, side);
    return WSC_OK;
}

bool mesh_share_has_messages(const struct mesh *m)
{
    for (int side = MESH_TO_NORTH; side < MESH_SIDES && m->border; side++)
        if (outer(m, side) && outer(m, side)->mailbox[m->horizon & 1][1 - side].any) return true;
    return false;
}

bool mesh_share_has_sent(const struct mesh *m)
{
    for (int side = MESH_TO_NORTH; side < MESH_SIDES && m->border; side++)
        for (int odd = 0; odd < 2; odd++)
            if (outer(m, side) && inner(m, side)->mailbox[odd][side].any) return true;
    return false;
}

/* The lookahead costs time: after one that gained less than a few cycles it pauses, each time
 * twice as long. All processes do it at the same exchanges. */
int64_t mesh_share_ahead(const struct mesh *m)
{
    const struct mesh_border *b = m->border;
    int64_t least = INT64_MAX;
    if (!b || b->skip > 0) return 0;
    for (int side = MESH_TO_NORTH; side < MESH_SIDES; side++) {
        const int64_t cycle = mesh_ahead(m, b->crossing[side], b->n[side]);
        if (cycle < least) least = cycle;
    }
    return least;
}

void mesh_share_gained(const struct mesh *m, int64_t cycles)
{
    enum { FEW = 4, LONGEST = 5 };
    struct mesh_border *b = m->border;
    if (b->skip-- > 0) return;
    b->pause = cycles >= FEW ? 0 : b->pause < LONGEST ? 2 * b->pause + 1 : LONGEST;
    b->skip = b->pause;
}

enum wsc_err mesh_share_least(const struct mesh *m, int64_t *value, int n)
{
    return m->border ? m->config.share->least(m->config.share->ctx, value, n) : WSC_OK;
}

/* ---- the end of a run ------------------------------------------------------------------------ */

int mesh_share_part(const struct mesh *m, int64_t at)
{
    return (int)(m->pe[at].region - m->region) / part_threads(m);
}

enum wsc_err mesh_share_from(const struct mesh *m, int owner, void *bytes, int64_t n)
{
    const struct mesh_share *s = m->config.share;
    int64_t *first;
    TRY_NEW(first, WSC_MEM_MESH, s->parts + 1);
    for (int p = owner + 1; p <= s->parts; p++)
        first[p] = n;
    enum wsc_err rc = s->spread(s->ctx, bytes, first);
    wsc_free(first);
    return rc;
}

/* Cycle of the first error of the regions of this process; for an error between two cycles, the
 * current one. */
static int64_t cycle_of_error(const struct mesh *m)
{
    int64_t cycle = INT64_MAX;
    for (int i = 0; i < m->n_own; i++)
        if (m->region[m->own + i].error_in < cycle) cycle = m->region[m->own + i].error_in;
    return cycle < INT64_MAX ? cycle : m->region->now;
}

enum wsc_err mesh_share_agree(const struct mesh *m, enum wsc_err rc)
{
    struct {
        int64_t rc;
        char text[1024];
    } error = {.rc = (int64_t)rc};
    if (!m->border) return rc;
    const int64_t cycle = rc ? cycle_of_error(m) : INT64_MAX;
    int64_t earliest = cycle, first = m->config.share->parts;
    (void)snprintf(error.text, sizeof error.text, "%s", rc ? wsc_err_message() : "");
    TRY(mesh_share_least(m, &earliest, 1));
    if (rc && cycle == earliest) first = m->config.share->part;
    TRY(mesh_share_least(m, &first, 1));
    if (first == m->config.share->parts) return WSC_OK;
    TRY(mesh_share_from(m, (int)first, &error, (int64_t)sizeof error));
    if (first == m->config.share->part) return rc;
    return WSC_RAISE((enum wsc_err)error.rc, "%s", error.text);
}

/* Send the words of each sink from the process of its PE to all processes. */
static enum wsc_err broadcast_sinks(struct mesh *m)
{
    for (int i = 0; i < m->n_sinks; i++) {
        const struct mesh_sink *s = &m->sink[i];
        struct mesh_output *o = s->output;
        int64_t head[2] = {o->n, o->first_cycle};
        const int owner = mesh_share_part(m, (int64_t)s->y * m->config.w + s->x);
        TRY(mesh_share_from(m, owner, head, (int64_t)sizeof head));
        o->n = head[0];
        o->first_cycle = head[1];
        TRY(mesh_share_from(m, owner, o->word, o->n * (int64_t)sizeof *o->word));
    }
    return WSC_OK;
}

enum wsc_err mesh_share_stats(const struct mesh *m, struct mesh_stats *stats)
{
    const struct mesh_share *s = m->config.share;
    int64_t most = -stats->cycles;
    struct mesh_stats all = {0};
    if (!m->border) return WSC_OK;
    TRY(mesh_share_least(m, &most, 1));
    for (int p = 0; p < s->parts; p++) {
        struct mesh_stats of = *stats;
        TRY(mesh_share_from(m, p, &of, (int64_t)sizeof of));
        all.wavelets += of.wavelets;
        all.wavelet_hops += of.wavelet_hops;
        all.elements += of.elements;
    }
    all.cycles = -most;
    *stats = all;
    return WSC_OK;
}

enum wsc_err mesh_share_results(struct mesh *m, struct mesh_stats *stats)
{
    if (!m->border) return WSC_OK;
    int64_t visited = 0;
    for (int i = 0; i < m->n_own; i++)
        if (-m->region[m->own + i].visited < visited) visited = -m->region[m->own + i].visited;
    TRY(mesh_share_stats(m, stats));
    TRY(mesh_share_least(m, &visited, 1));
    m->region->last = stats->cycles; /* of all bands, for deadlock.c */
    m->region->visited = -visited;
    return broadcast_sinks(m);
}

/* ---- state ----------------------------------------------------------------------------------- */

int64_t mesh_share_first(const struct mesh *m, int part)
{
    const int region = part * part_threads(m);
    return part < m->config.share->parts ? m->region[region].first : m->n_pes;
}

enum wsc_err mesh_share_places(const struct mesh *m, void *bytes,
                               int64_t (*offset)(const struct mesh *m, int64_t at))
{
    const struct mesh_share *s = m->config.share;
    int64_t *first;
    TRY_NEW(first, WSC_MEM_MESH, s->parts + 1);
    for (int p = 0; p <= s->parts; p++)
        first[p] = offset(m, mesh_share_first(m, p));
    enum wsc_err rc = s->spread(s->ctx, bytes, first);
    wsc_free(first);
    return rc;
}

static int64_t router_bytes(const struct mesh *m, int64_t at)
{
    return at * (int64_t)sizeof *m->router;
}
static int64_t pe_bytes(const struct mesh *m, int64_t at)
{
    return at * (int64_t)sizeof *m->pe;
}
static int64_t thread_bytes(const struct mesh *m, int64_t at)
{
    return at * (int64_t)sizeof *m->main;
}
static int64_t channel_bytes(const struct mesh *m, int64_t at)
{
    return channels_before(m, at) * (int64_t)sizeof *m->channel;
}
static int64_t queue_bytes(const struct mesh *m, int64_t at)
{
    const char *first = m->queues.data;
    if (at == m->n_pes) return m->queue_lines * MESH_LINE;
    return (const char *)m->pe[at].queue - first;
}

/* Give all processes the state of all PEs; pointers in a PE stay those of this process. */
static enum wsc_err gather_pes(struct mesh *m)
{
    struct mesh_pe *own;
    TRY_NEW(own, WSC_MEM_MESH, m->n_pes);
    memcpy(own, m->pe, (size_t)m->n_pes * sizeof *own);
    enum wsc_err rc = mesh_share_places(m, m->pe, pe_bytes);
    for (int64_t i = 0; i < m->n_pes; i++) {
        struct mesh_pe *pe = &m->pe[i];
        pe->region = own[i].region;
        pe->queue = own[i].queue;
        pe->memory = own[i].memory;
        pe->memory_bytes = own[i].memory_bytes;
        pe->todo = own[i].todo;
        pe->armed = own[i].armed;
    }
    wsc_free(own);
    return rc;
}

/* Copy microthread @p i of all PEs from the blocks of the regions to the array @p all (@p own: PEs
 * of this process), or from it to the regions (PEs of other processes). */
static enum wsc_err move_threads(struct mesh *m, int i, bool own, struct mesh_thread *all)
{
    for (int64_t at = 0; at < m->n_pes; at++) {
        struct mesh_pe *pe = &m->pe[at];
        if (mesh_is_own(pe) != own || !((uint32_t)pe->threads >> i & 1U)) continue;
        if (!own) TRY(mesh_thread_make(pe->region, pe, i));
        struct mesh_thread *t = mesh_thread_of(pe->region, pe, i);
        if (own)
            all[at] = *t;
        else
            *t = all[at];
    }
    return WSC_OK;
}

static enum wsc_err spread_microthreads(struct mesh *m)
{
    struct mesh_thread *all;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(all, WSC_MEM_MESH, m->n_pes);
    for (int i = 1; i <= MESH_THREADS && !rc; i++) {
        rc = move_threads(m, i, true, all);
        if (!rc) rc = mesh_share_places(m, all, thread_bytes);
        if (!rc) rc = move_threads(m, i, false, all);
    }
    wsc_free(all);
    return rc;
}

static enum wsc_err spread_sources(struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        struct mesh_source *s = &m->source[i];
        TRY(mesh_share_from(m, mesh_share_part(m, s->router), &s->next, (int64_t)sizeof s->next));
    }
    return WSC_OK;
}

enum wsc_err mesh_share_state(struct mesh *m)
{
    if (!m->border) return WSC_OK;
    TRY(mesh_share_places(m, m->router, router_bytes));
    TRY(mesh_share_places(m, m->channel, channel_bytes));
    TRY(mesh_share_places(m, m->queues.data, queue_bytes));
    TRY(mesh_share_places(m, m->main, thread_bytes));
    TRY(gather_pes(m));
    TRY(spread_microthreads(m));
    return spread_sources(m);
}

enum wsc_err mesh_share_rows(const struct mesh *m, struct mesh_rect rect, void *host, int64_t bytes)
{
    const struct mesh_share *s = m->config.share;
    int64_t *first;
    if (!s) return WSC_OK;
    TRY_NEW(first, WSC_MEM_MESH, s->parts + 1);
    for (int p = 1; p <= s->parts; p++) {
        const struct mesh_region *r = &m->region[p * part_threads(m) - 1];
        int64_t rows = (r->first + r->n_pes) / m->config.w - rect.y; /* of the rectangle up to
                                                                      * here */
        if (rows < 0) rows = 0;
        if (rows > rect.h) rows = rect.h;
        first[p] = rows * rect.w * bytes;
    }
    enum wsc_err rc = s->spread(s->ctx, host, first);
    wsc_free(first);
    return rc;
}
