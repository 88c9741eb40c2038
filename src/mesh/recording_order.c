// SPDX-License-Identifier: Apache-2.0
/* Sorts the steps of a recording topologically (Kahn 1962): a step comes after the senders of its
 * words and after the steps of its PE that had ended when it began. An order exists unless a step
 * needs a word that depends on a word of its own. */
#include "intern.h"
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

/* Number @p k of the words that a step receives. */
static int32_t word_of(const struct mesh_recording *c, const struct mesh_step *s, int32_t k)
{
    return s->in >= 0 ? s->in + k : c->in[-1 - s->in + k];
}

/* Call @p take for each edge of the words; equal edges in a row count once. */
static void each_sender(const struct mesh_recording *c, struct edges *e,
                        void (*take)(struct edges *e, int32_t first, int32_t second))
{
    for (int32_t i = 0; i < c->n_steps; i++) {
        int32_t last = -1;
        for (int32_t k = 0; k < c->step[i].n_in; k++) {
            const int32_t sender = c->sender[word_of(c, &c->step[i].step, k)];
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

/* ---- the list ---------------------------------------------------------------------------------
 */

struct written {
    struct mesh_step *step; /* owned (n_steps) */
    int32_t *in;            /* owned (n_in) */
    int32_t n_steps, n_in, longest;
};

/* A control wavelet may end an operation before it has all words. */
static int32_t form_with(struct mesh_recording *c, int32_t form, int32_t n_in)
{
    struct mesh_step_form f = ((const struct mesh_step_form *)(const void *)c->forms.item)[form];
    if (f.n_in == n_in) return form;
    f.n_in = n_in;
    return mesh_recording_form(c, &f);
}

/* Append a step; its list has no more words than it has received. */
static bool write_step(struct written *w, struct mesh_recording *c,
                       const struct mesh_recording_step *from)
{
    const int32_t n = from->n_in;
    struct mesh_step *s = &w->step[w->n_steps++];
    *s = from->step;
    s->form = form_with(c, s->form, n);
    if (!n) s->in = 0;
    if (s->in < 0) {
        const int32_t *word = c->in + (-1 - s->in);
        s->in = -1 - w->n_in;
        memcpy(w->in + w->n_in, word, (size_t)n * sizeof *word);
        w->n_in += n;
        if (n > w->longest) w->longest = n;
    }
    return s->form >= 0;
}

/* Write the steps in their order. */
static bool write_steps(struct written *w, struct mesh_recording *c, const int32_t *order)
{
    w->step = wsc_alloc_raw(WSC_MEM_MESH, (size_t)c->n_steps + 1, sizeof *w->step);
    w->in = wsc_alloc_raw(WSC_MEM_MESH, (size_t)c->n_in + 1, sizeof *w->in);
    if (!w->step || !w->in) return false;
    for (int32_t i = 0; i < c->n_steps; i++)
        if (!write_step(w, c, &c->step[order[i]])) return false;
    return true;
}

static bool intern(const struct written *w, struct mesh_recorded *made)
{
    made->n_steps = w->n_steps;
    made->n_in = w->n_in;
    made->longest = w->longest;
    made->step = mesh_intern(w->step, (size_t)w->n_steps * sizeof *w->step);
    made->in = mesh_intern(w->in, (size_t)w->n_in * sizeof *w->in);
    return made->step && made->in;
}

bool mesh_recording_order(struct mesh_recording *c)
{
    struct edges e = {0};
    struct written w = {0};
    const bool ok = edges_init(&e, c) && sort(&e, c->n_steps) == c->n_steps &&
                    write_steps(&w, c, e.order) && intern(&w, c->made);
    edges_fini(&e);
    wsc_free(w.step);
    wsc_free(w.in);
    return ok;
}
