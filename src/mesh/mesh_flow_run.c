// SPDX-License-Identifier: Apache-2.0
/* Moves flowing streams by the cycles of a batch at once. Every queue on the route takes as many
 * words as it gives, and holds the last of them at the end, with the times of single cycles.
 * mesh_flow_find.c has found the streams. */
#include "mesh_flow_run.h"
#include "mesh_wait.h"
#include "pe.h"

#include <wsc/check.h>

#include <string.h>

enum { K = MESH_BATCH, DEEPEST = 255 };

/* Words on their way: those that are put into a queue, and room before them for what it held. */
struct words {
    uint32_t room[DEEPEST], put[K];
};

/* The ring of a queue: @p n entries from @p head on give way to w->put.  @return the words that
 * leave.  Entry @p i of the words put is ready from @p ready + i on. */
static inline const uint32_t *shift(struct words *w, uint64_t *entry, unsigned head, unsigned size,
                                    unsigned n, int64_t ready)
{
    /* cppcheck-suppress ctuuninitvar ; the words put are written, the room for others is not */
    uint32_t *const out = w->put - n;
    unsigned at = head;
    for (unsigned i = 0; i < n; i++) {
        out[i] = (uint32_t)entry[at];
        at = at + 1 == size ? 0 : at + 1;
    }
    for (unsigned i = n < K ? K - n : 0, to = (head + n + i) % size; i < K; i++) {
        entry[to] = w->put[i] | mesh_ready_bits(ready + i);
        to = to + 1 == size ? 0 : to + 1;
    }
    return out;
}

static const uint32_t *shift_queue(const struct mesh_flow *f, struct words *w, struct mesh_queue *q,
                                   int latency)
{
    const uint32_t *out = shift(w, q->entry, q->head, q->depth, q->n, f->first + latency);
    q->head = (uint8_t)((q->head + K) % q->depth);
    return out;
}

static const uint32_t *shift_channel(const struct mesh_flow *f, struct words *w,
                                     struct mesh_channel *ch)
{
    const struct mesh *m = f->r->m;
    const uint64_t gate = mesh_flow_gate(ch);
    const unsigned rx = mesh_gate_rx(gate);
    const int n = mesh_channel_count(ch, gate), latency = rx == MESH_RAMP ? m->ramp_up : m->hop;
    const uint32_t *out =
        shift(w, ch->entry, (unsigned)gate % MESH_FIFO, MESH_FIFO, (unsigned)n, f->first + latency);
    atomic_store_explicit(&ch->gate, mesh_gate(f->first + K, rx, rx, (unsigned)gate + K),
                          memory_order_relaxed);
    const uint8_t tail = atomic_load_explicit(&ch->tail, memory_order_relaxed);
    atomic_store_explicit(&ch->tail, (uint8_t)(tail + K), memory_order_release);
    return out;
}

/* Words for channel @p channel of place @p at; find has made sure that there is room. */
static void put(struct mesh_flow *f, int64_t at, int64_t channel, const uint32_t *word)
{
    struct mesh_flow_item *const item = &f->stack[f->n++];
    item->at = (int32_t)at;
    item->channel = (int32_t)channel;
    memcpy(item->word, word, sizeof item->word);
}

/* Words for channel @p channel of place @p to, which is visited, from place @p at. */
static void give(struct mesh_flow *f, int64_t at, int64_t to, int64_t channel, const uint32_t *word)
{
    int32_t *const first = &f->link_of[at >> f->r->block_shift];
    struct mesh_flow_link *const link = &f->link[f->n_links++];
    link->item.at = (int32_t)to;
    link->item.channel = (int32_t)channel;
    memcpy(link->item.word, word, sizeof link->item.word);
    link->next = *first;
    link->takes = false;
    *first = f->n_links;
}

/* Words for channel @p channel of place @p to of another region, which flows, too. */
static void hand_over(struct mesh_flow *f, int64_t to, int64_t channel, const uint32_t *word)
{
    struct mesh_flow *of = mesh_flow_beside(f->r, to);
    struct mesh_flow_inbox *box = &of->inbox[1 - mesh_flow_side(to)]; /* seen from there */
    const int n = atomic_load_explicit(&box->n, memory_order_relaxed);
    WSC_CHECK(n < of->r->m->config.w, "%d streams over a border", n + 1);
    struct mesh_flow_item *const item = &box->item[n];
    item->at = (int32_t)(to + f->r->first - of->r->first);
    item->channel = (int32_t)channel;
    memcpy(item->word, word, sizeof item->word);
    box->n = n + 1;
    mesh_wake(f->r->m->wait);
}

/* The elements of the PE's stream, and what they send; @p in has left the input queue. */
static void run_elements(struct mesh_flow *f, int64_t at, const uint32_t *in)
{
    struct mesh_region *r = f->r;
    struct mesh_pe *pe = &r->pe[at];
    struct mesh_thread *t = mesh_flow_thread(r, at);
    struct words w;
    mesh_pe_elements(r, at, in, w.put, K);
    if (r->last < f->first + K) r->last = f->first + K;
    if (t->out == MESH_NONE) return;
    struct mesh_queue *q = mesh_queue_of(pe, MESH_N_IN + t->out);
    put(f, at, q->link, shift_queue(f, &w, q, 1));
    pe->out_turn = t->out + 1 == MESH_N_OUT ? 0 : (uint8_t)(t->out + 1);
    r->stats.wavelets += K;
}

/* Words that leave a channel. */
static void leave(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                  const uint32_t *word)
{
    struct mesh_region *r = f->r;
    for (unsigned set = ch->tx & ~(unsigned)MESH_RAMP; set; set &= set - 1) {
        const int d = mesh_direction((int)set);
        const int64_t y = at + r->step[d];
        r->stats.wavelet_hops += K;
        if (!mesh_flow_goes_on(f, y))
            give(f, at, y, ch->to[d - 1], word);
        else if (mesh_flow_is_here(r, y))
            put(f, y, ch->to[d - 1], word);
        else
            hand_over(f, y, ch->to[d - 1], word);
    }
    if (!(ch->tx & MESH_RAMP)) return;
    struct words w;
    memcpy(w.put, word, sizeof w.put);
    run_elements(f, at, shift_queue(f, &w, mesh_queue_of(&r->pe[at], ch->queue), r->m->ramp_down));
}

/* ---- several streams in turn ----------------------------------------------------------------- */

/* A place has a dozen lines which nothing has touched since the batch before: they are fetched
 * while other streams move on. */
enum { LANES = 8, FIRST_AHEAD = LANES - 1, SECOND_AHEAD = 5, THIRD_AHEAD = 2 };
#define FETCH static inline __attribute__((always_inline))

FETCH void fetch_first(const struct mesh_flow *f, const struct mesh_flow_item *item)
{
    const struct mesh_region *r = f->r;
    __builtin_prefetch(&r->channel[item->channel]);
    __builtin_prefetch(&r->pe[item->at]);
    __builtin_prefetch(&r->main[item->at]);
}

/* The input queue and the stream of the PE. */
FETCH void fetch_second(const struct mesh_flow *f, const struct mesh_flow_item *item)
{
    const struct mesh_channel *ch = &f->r->channel[item->channel];
    if (!(ch->tx & MESH_RAMP)) return;
    __builtin_prefetch(mesh_queue_of(&f->r->pe[item->at], ch->queue));
    if (f->r->pe[item->at].streams) __builtin_prefetch(mesh_flow_thread(f->r, item->at));
}

/* Its memory, its output queue and where that leads to. */
FETCH void fetch_third(const struct mesh_flow *f, const struct mesh_flow_item *item)
{
    const struct mesh_region *r = f->r;
    const struct mesh_pe *pe = &r->pe[item->at];
    if (!(r->channel[item->channel].tx & MESH_RAMP)) return;
    const struct mesh_thread *t = mesh_flow_thread(r, item->at);
    __builtin_prefetch(pe->memory + t->at[0]);
    __builtin_prefetch(pe->memory + t->at[t->from >> 2 & 1 ? 2 : 1]);
    if (t->out == MESH_NONE) return;
    __builtin_prefetch(mesh_queue_of(pe, MESH_N_IN + t->out));
}

static void run_item(struct mesh_flow *f, const struct mesh_flow_item *item)
{
    struct mesh_channel *ch = &f->r->channel[item->channel];
    struct words w;
    memcpy(w.put, item->word, sizeof w.put);
    leave(f, item->at, ch, shift_channel(f, &w, ch));
}

/* Where streams begin: the next one puts its first words on the stack; false at the end. */
struct beginnings {
    int64_t i;
    uint64_t set; /* left of word i */
    bool (*next)(struct mesh_flow *f, struct beginnings *b);
    bool arrive; /* and what other regions send */
};

/* A PE that sends without taking. */
static bool next_early(struct mesh_flow *f, struct beginnings *b)
{
    for (;;) {
        while (!b->set) {
            if (++b->i >= f->r->n_words) return false;
            b->set = f->flows[b->i] & f->pes[b->i];
        }
        const int64_t at = 64 * b->i + __builtin_ctzll(b->set);
        b->set &= b->set - 1;
        if (mesh_flow_thread(f->r, at)->in != MESH_NONE) continue;
        run_elements(f, at, NULL);
        return true;
    }
}

/* What came from a place that is visited. */
static bool next_late(struct mesh_flow *f, struct beginnings *b)
{
    while (++b->i < f->n_links && !f->link[b->i].takes)
        ;
    if (b->i >= f->n_links) return false;
    const struct mesh_flow_item *item = &f->link[b->i].item;
    leave(f, item->at, &f->r->channel[item->channel], item->word);
    return true;
}

/* The next words that have come from another region. */
static bool next_arrived(struct mesh_flow *f)
{
    for (int side = 0; side < 2; side++) {
        struct mesh_flow_inbox *box = &f->inbox[side];
        if (box->taken == f->crossings.entering[side]) continue;
        if (box->taken == atomic_load_explicit(&box->n, memory_order_acquire)) continue;
        f->stack[f->n++] = box->item[box->taken++];
        return true;
    }
    return false;
}

static bool are_awaited(const struct mesh_flow *f)
{
    return f->inbox[0].taken < f->crossings.entering[0] ||
           f->inbox[1].taken < f->crossings.entering[1];
}

/* @p flow: struct mesh_flow, for which words are awaited. */
static bool have_arrived(const void *flow)
{
    const struct mesh_flow *f = flow;
    for (int side = 0; side < MESH_SIDES; side++) {
        const struct mesh_flow_inbox *box = &f->inbox[side];
        if (box->taken < f->crossings.entering[side] && box->taken < box->n) return true;
    }
    return false;
}

/* What is to be done next goes to @p item; false when there is nothing. */
static bool take_item(struct mesh_flow *f, struct beginnings *b, struct mesh_flow_item *item)
{
    while (!f->n)
        if (!b->next(f, b) && !(b->arrive && next_arrived(f))) return false;
    *item = f->stack[--f->n];
    return true;
}

static int fill_lanes(struct mesh_flow *f, struct beginnings *b, struct mesh_flow_item *lane, int n)
{
    while (n < LANES && take_item(f, b, &lane[n]))
        n++;
    return n;
}

/* Until nothing is on its way: lanes take turns, each with a stream of its own.  A lane that finds
 * nothing more is gone until something comes from another region. */
static void run_lanes(struct mesh_flow *f, struct beginnings *b)
{
    struct mesh_flow_item lane[LANES];
    int n = fill_lanes(f, b, lane, 0), i = 0;
    while (n) {
        fetch_first(f, &lane[(i + FIRST_AHEAD) % n]);
        fetch_second(f, &lane[(i + SECOND_AHEAD) % n]);
        fetch_third(f, &lane[(i + THIRD_AHEAD) % n]);
        run_item(f, &lane[i]);
        if (!take_item(f, b, &lane[i])) lane[i] = lane[--n];
        if (++i < n) continue;
        i = 0;
        if (b->arrive) n = fill_lanes(f, b, lane, n);
    }
}

/* No two regions wait for each other: streams turn back over no border, and each region does what
 * it can before it waits. */
static void run_streams(struct mesh_flow *f, struct beginnings b)
{
    f->n = 0;
    run_lanes(f, &b);
    while (b.arrive && are_awaited(f)) {
        mesh_wait_until(f->r->m->wait, have_arrived, f);
        run_lanes(f, &b);
    }
}

void mesh_flow_early(struct mesh_flow *f)
{
    const bool arrive = f->r->m->crossing == MESH_CROSS_EARLY;
    run_streams(f, (struct beginnings){.i = -1, .next = next_early, .arrive = arrive});
}

void mesh_flow_late(struct mesh_flow *f)
{
    const bool arrive = f->r->m->crossing == MESH_CROSS_LATE;
    run_streams(f, (struct beginnings){.i = -1, .next = next_late, .arrive = arrive});
}
