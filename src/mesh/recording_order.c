// SPDX-License-Identifier: Apache-2.0
/* Sorts the steps of a recording topologically (Kahn 1962): a step comes after the senders of its
 * words and after the steps of its PE that had ended when it began. An order exists unless a step
 * needs a word that depends on a word of its own. */
#include "recording.h"

#include <wsc/mem.h>

#include <string.h>

/* The edges by their first step: those of step i are next[first[i]] to next[first[i + 1] - 1]. */
struct edges {
    int32_t *first, *next, *missing; /* owned; missing: steps that are still needed, by step */
    int32_t *order;                  /* owned: sorted steps */
    int64_t n;
};

static void edges_fini(struct edges *e)
{
    wsc_free(e->first);
    wsc_free(e->next);
    wsc_free(e->missing);
    wsc_free(e->order);
}

/* Call @p take for each edge of the words; equal edges in a row count once. */
static void each_sender(const struct mesh_recording *c, struct edges *e,
                        void (*take)(struct edges *e, int32_t first, int32_t second))
{
    for (int32_t i = 0; i < c->n_steps; i++) {
        int32_t last = -1;
        for (int32_t k = 0; k < (int32_t)c->step[i].n_in; k++) {
            const int32_t sender = c->sender[c->in[c->step[i].in + k]];
            if (sender >= 0 && sender != last) take(e, sender, i);
            last = sender;
        }
    }
}

static void each_edge(const struct mesh_recording *c, struct edges *e,
                      void (*take)(struct edges *e, int32_t first, int32_t second))
{
    for (int32_t i = 0; i < c->n_before; i += 2)
        take(e, c->before[i], c->before[i + 1]);
    each_sender(c, e, take);
}

static void count(struct edges *e, int32_t first, int32_t second)
{
    (void)second;
    e->first[first + 1]++;
    e->n++;
}

static void put(struct edges *e, int32_t first, int32_t second)
{
    e->next[e->first[first]++] = second;
    e->missing[second]++;
}

static bool edges_init(struct edges *e, const struct mesh_recording *c)
{
    const size_t n = (size_t)c->n_steps;
    e->first = wsc_alloc(WSC_MEM_MESH, n + 2, sizeof *e->first);
    e->missing = wsc_alloc(WSC_MEM_MESH, n + 1, sizeof *e->missing);
    e->order = wsc_alloc(WSC_MEM_MESH, n + 1, sizeof *e->order);
    if (!e->first || !e->missing || !e->order) return false;
    each_edge(c, e, count);
    if (e->n > INT32_MAX) return false;
    e->next = wsc_alloc(WSC_MEM_MESH, (size_t)e->n + 1, sizeof *e->next);
    if (!e->next) return false;
    for (size_t i = 0; i < n; i++)
        e->first[i + 1] += e->first[i];
    each_edge(c, e, put);
    memmove(e->first + 1, e->first, n * sizeof *e->first); /* put() moved each to its end */
    e->first[0] = 0;
    return true;
}

/* Sort; returns the number of steps that have a place. */
static int32_t sort(struct edges *e, int32_t n)
{
    int32_t n_sorted = 0;
    for (int32_t i = 0; i < n; i++)
        if (!e->missing[i]) e->order[n_sorted++] = i;
    for (int32_t at = 0; at < n_sorted; at++) {
        const int32_t i = e->order[at];
        for (int32_t k = e->first[i]; k < e->first[i + 1]; k++)
            if (!--e->missing[e->next[k]]) e->order[n_sorted++] = e->next[k];
    }
    return n_sorted;
}

/* Put the steps in their order. */
static bool arrange(struct mesh_recording *c, const struct edges *e)
{
    struct mesh_step *sorted = wsc_alloc_raw(WSC_MEM_MESH, (size_t)c->n_steps + 1, sizeof *sorted);
    if (!sorted) return false;
    for (int32_t i = 0; i < c->n_steps; i++)
        sorted[i] = c->step[e->order[i]];
    wsc_free(c->step);
    c->step = sorted;
    c->step_room = c->n_steps + 1;
    return true;
}

static bool are_together(const int32_t *word, int32_t n)
{
    for (int32_t k = 1; k < n; k++)
        if (word[k] != word[0] + k) return false;
    return true;
}

/* Drop the lists of words with consecutive numbers: most of all. */
static bool shorten(struct mesh_recording *c)
{
    int32_t *in = wsc_alloc_raw(WSC_MEM_MESH, (size_t)c->n_in + 1, sizeof *in), n_in = 0, most = 0;
    if (!in) return false;
    for (int32_t i = 0; i < c->n_steps; i++) {
        struct mesh_step *s = &c->step[i];
        const int32_t n = (int32_t)s->n_in, *word = n ? c->in + s->in : NULL;
        s->together = are_together(word, n);
        if (n) s->in = s->together ? word[0] : n_in;
        if (s->together) continue;
        memcpy(in + n_in, word, (size_t)n * sizeof *in);
        n_in += n;
        if (n > most) most = n;
    }
    wsc_free(c->in);
    c->in = in;
    c->n_in = c->in_room = n_in;
    int32_t *shorter = wsc_realloc(WSC_MEM_MESH, in, (size_t)n_in + 1, sizeof *in);
    if (shorter) c->in = shorter;
    c->scratch = wsc_alloc(WSC_MEM_MESH, (size_t)most + 1, sizeof *c->scratch);
    return c->scratch;
}

bool mesh_recording_order(struct mesh_recording *c)
{
    struct edges e = {0};
    const bool ok =
        edges_init(&e, c) && sort(&e, c->n_steps) == c->n_steps && arrange(c, &e) && shorten(c);
    edges_fini(&e);
    return ok;
}
