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

/* Words that move through one queue: the K words that enter it, and before them room for the words
 * that it held, so that all leaving words are consecutive. */
struct words {
    uint32_t room[DEEPEST], put[K];
};

/* Move K words through a ring with @p n entries from @p head on: the entries are replaced by the
 * last of w->put. Returns the words that leave. Word i of w->put is ready in cycle @p ready +
 * i. */
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

/* Push the words that enter channel @p channel of place @p at. The search has made sure that the
 * stack has room. */
static void put(struct mesh_flow *f, int64_t at, int64_t channel, const uint32_t *word)
{
    struct mesh_flow_item *const item = &f->stack[f->n++];
    item->at = (int32_t)at;
    item->channel = (int32_t)channel;
    memcpy(item->word, word, sizeof item->word);
}

/* Record words from place @p at for channel @p channel of the visited place @p to. */
static void store_words(struct mesh_flow *f, int64_t at, int64_t to, int64_t channel,
                        const uint32_t *word)
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

/* Pass words to channel @p channel of place @p to of another region, which flows too. */
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

/* Process the elements of the PE's stream and push what they send; @p in: the words that left the
 * input queue. */
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

/* Pass the words that leave a channel to all its outputs except the ramp. */
static void leave(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                  const uint32_t *word)
{
    struct mesh_region *r = f->r;
    for (unsigned set = ch->tx & ~(unsigned)MESH_RAMP; set; set &= set - 1) {
        const int d = mesh_direction((int)set);
        const int64_t y = at + r->step[d];
        r->stats.wavelet_hops += K;
        if (!mesh_flow_flows_at(f, y))
            store_words(f, at, y, ch->to[d - 1], word);
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

/* Prefetch. A place has a dozen cache lines that were last used in the previous batch. They are
 * requested while other streams move. */
enum { LANES = 8, FIRST_AHEAD = LANES - 1, SECOND_AHEAD = 5, THIRD_AHEAD = 2 };
#define FETCH static inline __attribute__((always_inline))

FETCH void fetch_first(const struct mesh_flow *f, const struct mesh_flow_item *item)
{
    const struct mesh_region *r = f->r;
    __builtin_prefetch(&r->channel[item->channel]);
    __builtin_prefetch(&r->pe[item->at]);
    __builtin_prefetch(&r->main[item->at]);
}

/* Second step: the input queue of the PE and the thread of its stream. */
FETCH void fetch_second(const struct mesh_flow *f, const struct mesh_flow_item *item)
{
    const struct mesh_channel *ch = &f->r->channel[item->channel];
    if (!(ch->tx & MESH_RAMP)) return;
    __builtin_prefetch(mesh_queue_of(&f->r->pe[item->at], ch->queue));
    if (f->r->pe[item->at].streams) __builtin_prefetch(mesh_flow_thread(f->r, item->at));
}

/* Third step: the memory of the PE, its output queue and the channel after it. */
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

/* Iterator over the beginnings of streams: `next` pushes the first words of the next stream; false
 * at the end. */
struct beginnings {
    int64_t i;
    uint64_t set; /* bits of word i that are left */
    bool (*next)(struct mesh_flow *f, struct beginnings *b);
    bool arrive; /* words from other regions count too */
};

/* The next stream that begins at a PE which sends without receiving. */
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

/* The next stream that takes its words from a visited place. */
static bool next_late(struct mesh_flow *f, struct beginnings *b)
{
    while (++b->i < f->n_links && !f->link[b->i].takes)
        ;
    if (b->i >= f->n_links) return false;
    const struct mesh_flow_item *item = &f->link[b->i].item;
    leave(f, item->at, &f->r->channel[item->channel], item->word);
    return true;
}

/* Push the next words that have arrived from another region; false when there are none. */
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

/* Condition for mesh_wait_until(): words for @p flow (a struct mesh_flow) have arrived. */
static bool have_arrived(const void *flow)
{
    const struct mesh_flow *f = flow;
    for (int side = 0; side < MESH_SIDES; side++) {
        const struct mesh_flow_inbox *box = &f->inbox[side];
        if (box->taken < f->crossings.entering[side] && box->taken < box->n) return true;
    }
    return false;
}

/* Set @p item to the next words to move; false when nothing is left at the moment. */
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

/* Move words until none are left. LANES streams are processed in turn, so that the cache lines of
 * one are fetched while others move. A lane without work is removed until words arrive from
 * another region. */
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

/* Move all streams. Regions cannot wait for each other in a cycle, because no stream turns back
 * over a border and each region moves everything it can before it waits. */
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
