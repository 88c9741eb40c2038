// SPDX-License-Identifier: Apache-2.0
/* Converts a row of the fabric to bytes of a snapshot and back: channels and switches, then of each
 * PE its registers, queues, threads, requests, memory and next visit, then timers, edges and the
 * data that tasks keep on the host. Wavelets and wake-ups that were sent to a neighbouring region
 * count as arrived, so the bytes do not depend on regions. snapshot.c walks over the rows. */
#include "snapshot_pe.h"
#include "mesh_channel.h"
#include "mesh_link.h"
#include "mesh_memory.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "pool.h"
#include "region.h"
#include "trigger.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

/* Number of cycles ahead for which visits may be listed when a cycle has ended. */
enum { VISITS = MESH_LATENCY };

static enum wsc_err no_memory(const char *what)
{
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, what);
}

/* ---- channels -------------------------------------------------------------------------------- */

static void switch_state(struct mesh_stream *s, struct mesh_switch *sw)
{
    MESH_STREAM(s, sw->at);
    MESH_STREAM(s, sw->filter_off);
    MESH_STREAM(s, sw->limit2_used);
    MESH_STREAM(s, sw->counter);
    MESH_STREAM(s, sw->filter.limit1);
    if (!mesh_stream_holds(s, sw->at < sw->n)) sw->at = 0;
}

static void channel_state(struct mesh *m, struct mesh_stream *s, int64_t at,
                          struct mesh_channel *ch)
{
    uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    uint8_t tail = atomic_load_explicit(&ch->tail, memory_order_relaxed);
    MESH_STREAM(s, ch->entry);
    MESH_STREAM(s, gate);
    MESH_STREAM(s, tail);
    MESH_STREAM(s, ch->tx);
    if (!mesh_stream_holds(s, ch->tx < 1U << 5)) ch->tx = 0;
    if (ch->extra >= 0) switch_state(s, mesh_switch_of(m, ch));
    if (!mesh_stream_reads(s)) return;
    atomic_store_explicit(&ch->gate, gate, memory_order_relaxed);
    atomic_store_explicit(&ch->tail, tail, memory_order_relaxed);
    mesh_channel_set_fast_side(m, at, ch);
}

static void router_channels(struct mesh *m, struct mesh_stream *s, int64_t at)
{
    const struct mesh_router *r = &m->router[at];
    for (int i = 0; i < __builtin_popcount(r->colours); i++)
        channel_state(m, s, at, &m->channel[r->first + i]);
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* The messages of neighbouring regions to router @p at of region @p r, sent in the cycle that
 * ended. */
static uint32_t messages_to(const struct mesh_region *r, int64_t at)
{
    const struct mesh *m = r->m;
    const int64_t index = r - m->region, last_row = r->n_pes - m->config.w;
    uint32_t messages = 0;
    if (index > 0 && at < m->config.w) {
        const struct mesh_mailbox *from = &r[-1].mailbox[r->now & 1][MESH_TO_SOUTH];
        if (from->any) messages |= from->word[at];
    }
    if (index + 1 < m->n_regions && at >= last_row) {
        const struct mesh_mailbox *from = &r[1].mailbox[r->now & 1][MESH_TO_NORTH];
        if (from->any) messages |= from->word[at - last_row];
    }
    return messages;
}

static bool is_marked(uint64_t word, int64_t at)
{
    return word >> (at & 63) & 1U;
}

/* The colours that wait at the router, and the visits of router and PE in the next cycles: one bit
 * for each cycle, those of the router first. */
static void visit_state(struct mesh_stream *s, struct mesh_region *r, int64_t at)
{
    uint32_t messages = mesh_stream_reads(s) ? 0 : messages_to(r, at);
    uint32_t waiting = r->router[at].waiting | (messages & ((1U << MESH_COLOURS) - 1U));
    uint8_t visits = messages ? 1 : 0;
    for (int k = 0; k < VISITS && !mesh_stream_reads(s); k++) {
        const struct mesh_active active = mesh_active_in(r, r->now + 1 + k);
        visits |= (uint8_t)(is_marked(active.routers[at >> 6], at) << k);
        visits |= (uint8_t)(is_marked(active.pes[at >> 6], at) << (VISITS + k));
    }
    MESH_STREAM(s, waiting);
    MESH_STREAM(s, visits);
    if (!mesh_stream_reads(s)) return;
    (void)mesh_stream_holds(s, !(waiting & ~r->router[at].colours));
    r->router[at].waiting = waiting & r->router[at].colours;
    for (int k = 0; k < VISITS; k++) {
        const struct mesh_active active = mesh_active_in(r, r->now + 1 + k);
        if (visits >> k & 1) mesh_visit_router(active, at);
        if (visits >> (VISITS + k) & 1) mesh_visit_pe(active, at);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Functions of maps are stored as distances from mesh_issue(), which are constant in one build;
 * therefore a snapshot is valid only for the build that wrote it. */
static void map_state(struct mesh_stream *s, mesh_map_fn *map)
{
    uintptr_t at, base;
    enum wsc_err (*const anchor)(struct mesh_pe *, const struct mesh_op *) = mesh_issue;
    memcpy(&base, &anchor, sizeof base);
    memcpy(&at, map, sizeof at);
    bool any = at != 0;
    MESH_STREAM(s, any);
    if (!any) at = base;
    int64_t distance = (int64_t)(at - base);
    MESH_STREAM(s, distance);
    if (!mesh_stream_reads(s)) return;
    at = any ? base + (uintptr_t)distance : 0;
    memcpy(map, &at, sizeof *map);
}

/* The descriptors of an operation that keeps them. */
static enum wsc_err op_state(struct mesh_stream *s, struct mesh_region *r, struct mesh_op **op)
{
    struct mesh_op copy = {.code = 0};
    WSC_CHECK(mesh_stream_reads(s) || *op, "an operation that is written");
    if (!mesh_stream_reads(s)) copy = **op;
    MESH_STREAM(s, copy.code);
    MESH_STREAM(s, copy.thread);
    MESH_STREAM(s, copy.activate);
    MESH_STREAM(s, copy.unblock);
    MESH_STREAM(s, copy.dst);
    MESH_STREAM(s, copy.a);
    MESH_STREAM(s, copy.b);
    MESH_STREAM(s, copy.c);
    MESH_STREAM(s, copy.map_cycles);
    map_state(s, &copy.map);
    if (!mesh_stream_reads(s)) return WSC_OK;
    *op = mesh_pool_take(&r->program, mesh_pool_size(sizeof copy));
    if (!*op) return no_memory("an operation");
    **op = copy;
    return WSC_OK;
}

static enum wsc_err armed_state(struct mesh_stream *s, struct mesh_region *r,
                                struct mesh_armed **armed)
{
    struct mesh_armed copy = {.n = 0};
    WSC_CHECK(mesh_stream_reads(s) || *armed, "an armed operation that is written");
    if (!mesh_stream_reads(s)) copy = **armed;
    MESH_STREAM(s, copy);
    if (!mesh_stream_reads(s)) return WSC_OK;
    (void)mesh_stream_holds(s, copy.axpy.kind <= MESH_THREADS && copy.axpy.in < MESH_N_IN);
    copy.axpy.op = NULL;
    *armed = mesh_pool_take(&r->program, mesh_pool_size(sizeof copy));
    if (!*armed) return no_memory("a data-triggered operation");
    **armed = copy;
    return WSC_OK;
}

/* True when the queue that an operation names exists. */
static bool has_queue(const struct mesh_pe *pe, int queue, int first)
{
    return queue == MESH_NONE || mesh_binding_of(pe)->colour[first + queue] != MESH_NONE;
}

static bool is_possible(const struct mesh_pe *pe, const struct mesh_thread *t)
{
    if (t->kind > MESH_TODO_ARM) return false;
    if (t->kind > MESH_THREADS) return true;
    const bool in = t->in == MESH_NONE || t->in < MESH_N_IN;
    const bool out = t->out == MESH_NONE || t->out < MESH_N_OUT;
    return in && out && t->code < MESH_N_CODES && has_queue(pe, t->in, 0) &&
           has_queue(pe, t->out, MESH_N_IN);
}

/* An operation on a thread or in the list of requests, with what it owns. */
static enum wsc_err thread_state(struct mesh_stream *s, struct mesh_pe *pe, struct mesh_thread *t)
{
    enum { NOTHING, AN_OP, AN_ARM };
    struct mesh_thread copy = {.kind = 0};
    uint8_t owns = NOTHING;
    if (!mesh_stream_reads(s)) {
        copy = *t;
        if (copy.op) owns = copy.kind == MESH_TODO_ARM ? AN_ARM : AN_OP;
        copy.op = NULL;
    }
    MESH_STREAM(s, copy);
    MESH_STREAM(s, owns);
    if (mesh_stream_reads(s)) {
        *t = copy;
        t->op = NULL;
        const bool fits = (copy.kind == MESH_TODO_ARM) == (owns == AN_ARM) && owns <= AN_ARM;
        if (!mesh_stream_holds(s, fits && is_possible(pe, &copy))) return WSC_OK;
    }
    if (owns == AN_OP) return op_state(s, pe->region, &t->op);
    return owns == AN_ARM ? armed_state(s, pe->region, &t->armed) : WSC_OK;
}

/* ---- PEs ------------------------------------------------------------------------------------- */

/* Registers of a PE as stored; n_todo: requests that have not begun. */
struct registers {
    uint64_t activated, blocked;
    uint32_t waits_until, bulk_since;
    int32_t memory_bytes;
    uint16_t threads;
    uint8_t in_used, out_used, turn, out_turn, bulk, awaits, n_todo, data_blocked;
    bool armed;
    uint8_t unused; /* 0 in the place of padding, which has any value */
};
_Static_assert(sizeof(struct registers) == 40, "registers are stored without padding");

static struct registers registers_of(const struct mesh_pe *pe)
{
    return (struct registers){.activated = pe->activated,
                              .blocked = pe->blocked,
                              .waits_until = pe->waits_until,
                              .bulk_since = pe->bulk_since,
                              .memory_bytes = pe->memory_bytes,
                              .threads = pe->threads,
                              .in_used = pe->in_used,
                              .out_used = pe->out_used,
                              .turn = pe->turn,
                              .out_turn = pe->out_turn,
                              .bulk = pe->bulk,
                              .awaits = pe->awaits,
                              .n_todo = (uint8_t)(pe->n_todo - pe->next_todo),
                              .data_blocked = pe->data_blocked,
                              .armed = pe->armed != NULL};
}

/* Do all queues of a set exist? */
static bool has_queues(const struct mesh_pe *pe, unsigned set, int first)
{
    for (; set; set &= set - 1)
        if (!has_queue(pe, __builtin_ctz(set), first)) return false;
    return true;
}

static bool registers_hold(const struct mesh_pe *pe, const struct registers *g)
{
    const bool counts = g->memory_bytes >= 0 && g->memory_bytes <= MESH_SRAM_BYTES &&
                        g->n_todo <= MESH_TODO && g->turn <= MESH_THREADS &&
                        g->out_turn < MESH_N_OUT && g->bulk <= MESH_THREADS;
    return counts && !(g->threads >> (MESH_THREADS + 1)) && !(g->out_used >> MESH_N_OUT) &&
           has_queues(pe, g->in_used, 0) && has_queues(pe, g->out_used, MESH_N_IN);
}

static void set_registers(struct mesh_pe *pe, const struct registers *g)
{
    pe->activated = g->activated;
    pe->blocked = g->blocked;
    pe->waits_until = g->waits_until;
    pe->bulk_since = g->bulk_since;
    pe->threads = g->threads;
    pe->in_used = g->in_used;
    pe->out_used = g->out_used;
    pe->turn = g->turn;
    pe->out_turn = g->out_turn;
    pe->bulk = g->bulk;
    pe->awaits = g->awaits;
    pe->data_blocked = g->data_blocked;
    pe->n_todo = pe->next_todo = 0;
    pe->armed = NULL;
}

static void queue_state(struct mesh_stream *s, struct mesh_queue *q)
{
    MESH_STREAM(s, q->head);
    MESH_STREAM(s, q->n);
    mesh_stream_bytes(s, q->entry, q->depth * (int64_t)sizeof *q->entry);
    if (mesh_stream_holds(s, q->head < q->depth && q->n <= q->depth)) return;
    q->head = q->n = 0;
}

static void queues_state(struct mesh_stream *s, const struct mesh_pe *pe)
{
    for (int i = 0; i < MESH_N_IN + MESH_N_OUT; i++)
        if (mesh_binding_of(pe)->colour[i] != MESH_NONE) queue_state(s, mesh_queue_of(pe, i));
}

/* Requests that have not begun; read into memory of the PE. */
static enum wsc_err todo_state(struct mesh_stream *s, struct mesh_pe *pe, uint8_t n)
{
    if (!n) return WSC_OK;
    if (mesh_stream_reads(s)) {
        pe->todo =
            mesh_pool_take(&pe->region->program, mesh_pool_size(n * (int64_t)sizeof *pe->todo));
        if (!pe->todo) return no_memory("what a task has issued");
        pe->n_todo = n;
    }
    for (int i = 0; i < n; i++)
        TRY(thread_state(s, pe, &pe->todo[pe->next_todo + i]));
    return WSC_OK;
}

static enum wsc_err memory_state(struct mesh_stream *s, struct mesh_pe *pe, int32_t bytes)
{
    if (mesh_stream_reads(s)) {
        TRY(mesh_touch(pe, bytes));
        if (pe->memory_bytes > bytes)
            memset(pe->memory + bytes, 0, (size_t)(pe->memory_bytes - bytes));
    }
    mesh_stream_bytes(s, pe->memory, bytes);
    return WSC_OK;
}

static enum wsc_err pe_state(struct mesh_stream *s, struct mesh_pe *pe)
{
    struct registers g = registers_of(pe);
    MESH_STREAM(s, g);
    if (!mesh_stream_holds(s, registers_hold(pe, &g))) return WSC_OK;
    if (mesh_stream_reads(s)) set_registers(pe, &g);
    queues_state(s, pe);
    for (unsigned set = g.threads; set; set &= set - 1) {
        const int thread = __builtin_ctz(set);
        TRY(mesh_thread_make(pe->region, pe, thread));
        TRY(thread_state(s, pe, mesh_thread_of(pe->region, pe, thread)));
    }
    TRY(todo_state(s, pe, g.n_todo));
    if (g.armed) TRY(armed_state(s, pe->region, &pe->armed));
    return memory_state(s, pe, g.memory_bytes);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct mesh_timer *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->cycle < y->cycle ? -1 : x->cycle > y->cycle;
}

enum wsc_err mesh_snapshot_timers(const struct mesh *m, struct mesh_snapshot_timers *t)
{
    for (int i = m->own; i < m->own + m->n_own; i++) {
        const struct mesh_region *r = &m->region[i];
        TRY_GROW(t->timer, WSC_MEM_MESH, t->capacity, t->n + r->n_timers + 1);
        for (int b = 0; b < MESH_WHEEL; b++)
            for (int k = 0; k < r->wheel[b].n; k++)
                t->timer[t->n++] = (struct mesh_timer){
                    r->wheel[b].timer[k].cycle, (int32_t)(r->first + r->wheel[b].timer[k].at)};
    }
    if (t->n) qsort(t->timer, (size_t)t->n, sizeof *t->timer, by_place);
    return WSC_OK;
}

/* Number of timers of places before @p at. */
static int64_t timers_before(const struct mesh_snapshot_timers *t, int64_t at)
{
    int64_t low = 0, high = t->n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (t->timer[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum wsc_err timer_state(struct mesh_stream *s, struct mesh_region *r, int64_t row,
                                const struct mesh_snapshot_timers *t)
{
    const int64_t w = r->m->config.w;
    int64_t first = 0, n = 0;
    if (!mesh_stream_reads(s)) {
        first = timers_before(t, row);
        n = timers_before(t, row + w) - first;
    }
    MESH_STREAM(s, n);
    for (int64_t i = 0; i < n && !s->damaged; i++) {
        struct mesh_timer one = {0, 0};
        if (!mesh_stream_reads(s)) one = t->timer[first + i];
        MESH_STREAM(s, one);
        if (!mesh_stream_reads(s)) continue;
        if (!mesh_stream_holds(s, one.at >= row && one.at < row + w)) return WSC_OK;
        TRY(mesh_timer_add(r, one.cycle, one.at - r->first));
    }
    return WSC_OK;
}

/* ---- edges and the host ---------------------------------------------------------------------- */

static void source_state(struct mesh_stream *s, struct mesh_source *source)
{
    MESH_STREAM(s, source->next);
    MESH_STREAM(s, source->used);
    if (!mesh_stream_holds(s, source->next >= 0 && source->next <= source->n)) source->next = 0;
}

static void sink_state(struct mesh_stream *s, struct mesh_output *o)
{
    MESH_STREAM(s, o->n);
    MESH_STREAM(s, o->first_cycle);
    if (!mesh_stream_holds(s, o->n >= 0 && o->n <= o->capacity)) o->n = 0;
    mesh_stream_bytes(s, o->word, o->n * (int64_t)sizeof *o->word);
}

static void edge_state(struct mesh *m, struct mesh_stream *s, int y)
{
    for (int i = 0; i < m->n_sources; i++)
        if (m->pe[m->source[i].router].y == y) source_state(s, &m->source[i]);
    for (int i = 0; i < m->n_sinks; i++)
        if (m->sink[i].y == y) sink_state(s, m->sink[i].output);
}

static void noted_state(struct mesh *m, struct mesh_stream *s, int y)
{
    for (int i = 0; i < m->n_noted; i++) {
        const int64_t bytes = m->config.w * m->noted[i].bytes;
        mesh_stream_bytes(s, (char *)m->noted[i].array + y * bytes, bytes);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum wsc_err mesh_snapshot_row(struct mesh *m, struct mesh_stream *s, int y,
                               const struct mesh_snapshot_timers *t, bool only_channels)
{
    const int64_t row = (int64_t)y * m->config.w, end = row + m->config.w;
    struct mesh_region *r = m->pe[row].region;
    for (int64_t at = row; at < end; at++)
        router_channels(m, s, at);
    if (only_channels) return WSC_OK;
    for (int64_t at = row; at < end && !s->damaged; at++) {
        visit_state(s, r, at - r->first);
        TRY(pe_state(s, &m->pe[at]));
    }
    if (!s->damaged) TRY(timer_state(s, r, row, t));
    edge_state(m, s, y);
    noted_state(m, s, y);
    return WSC_OK;
}
