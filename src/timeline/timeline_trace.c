// SPDX-License-Identifier: Apache-2.0
/* The trace of the steps for chrome://tracing and Perfetto: a row for what each role sends and for
 * what it computes or sums, one more for a link that is busy at other times, an arrow from each bar
 * to those of the same transfer at the next role. A file of bounded size shows the slowest wafer
 * with its way to the shards first. */
#include "timeline_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trees ----------------------------------------------------------------------------------- */

/* Bars of tree @p k end before this one. */
static int64_t end_of_tree(const struct timeline *t, int k)
{
    return k + 1 < t->n_trees ? t->tree[k + 1].first_bar : t->n_bars;
}

/* The role above in the tree, shard 0 for the root; -1 at a shard, and where the role is lost. */
static int parent_of(const struct timeline_tree *tree, int role)
{
    int low = 0, high = tree->n_branches;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (tree->branch[middle].child < role)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tree->n_branches && tree->branch[low].child == role ? tree->branch[low].parent
                                                                     : -1;
}

/* ---- which roles ----------------------------------------------------------------------------- */

struct timeline_trace_choice {
    const struct timeline *t;
    int64_t *events; /* owned: that a role adds to those of its parents, at most */
    int64_t *n_up;   /* owned: of each role, bars that go up in the steps of a tree */
    bool *shown;     /* owned */
    int *way;        /* owned: roles that become shown together */
    int *n_children; /* owned: of each role in a tree, those that are shown */
    int64_t left;    /* events that still fit */
};

static bool goes_down(const struct timeline_bar *s)
{
    return s->kind == TIMELINE_DOWN || s->kind == TIMELINE_STAGE;
}

/* A role and its ways to the roots of all trees and to shard 0, when they fit; @p anyway: even if
 * not. */
static void show(struct timeline_trace_choice *c, int role, bool anyway)
{
    int64_t events = 0;
    int n = 0;
    if (!c->events[role] && !anyway) return; /* it was lost before */
    for (int k = 0; k < c->t->n_trees; k++)
        for (int r = role; r >= 0; r = parent_of(&c->t->tree[k], r)) {
            if (c->shown[r]) continue;
            c->shown[r] = true;
            c->way[n++] = r;
            events += c->events[r];
        }
    if (events > c->left && !anyway)
        while (n)
            c->shown[c->way[--n]] = false;
    else
        c->left -= events;
}

/* Events of each role in the steps of tree @p k: its bars, the two ends of the arrow to each that
 * goes down, and of the arrow from its own sums to each bar of its parent that goes up. To the
 * update of a shard leads an arrow from the root. */
static void count_events(struct timeline_trace_choice *c, int k)
{
    const struct timeline_tree *tree = &c->t->tree[k];
    const int n_shards = c->t->machine->n_shards, n_roles = c->t->machine->n_roles;
    memset(c->n_up, 0, (size_t)n_roles * sizeof *c->n_up);
    for (int64_t i = tree->first_bar; i < end_of_tree(c->t, k); i++) {
        const struct timeline_bar *s = &c->t->bar[i];
        const bool shard = s->role < n_shards;
        c->events[s->role] += goes_down(s) != shard ? 3 : 1;
        c->n_up[s->role] += !goes_down(s);
    }
    for (int role = n_shards; role < n_roles; role++) {
        const int parent = parent_of(tree, role);
        if (parent >= n_shards) c->events[role] += 2 * c->n_up[parent];
    }
}

/* The slowest wafer first, then wafers and shards in their order as long as events are left. */
static void choose(struct timeline_trace_choice *c)
{
    const struct stream_topology *machine = c->t->machine;
    for (int k = 0; k < c->t->n_trees; k++)
        count_events(c, k);
    show(c, c->t->slowest, true);
    for (int w = 0; w < machine->n_wafers; w++)
        show(c, stream_role_of_wafer(machine, w), false);
    for (int m = 0; m < machine->n_shards; m++)
        show(c, stream_role_of_shard(machine, m), false);
}

static void count_children(struct timeline_trace_choice *c, const struct timeline_tree *tree)
{
    memset(c->n_children, 0, (size_t)c->t->machine->n_roles * sizeof *c->n_children);
    for (int i = 0; i < tree->n_branches; i++)
        c->n_children[tree->branch[i].parent] += c->shown[tree->branch[i].child];
}

/* A link with a row of its own is shown when both of its ends are. */
static bool is_shown(const bool *shown, const struct timeline_bar *s)
{
    return shown[s->role] && (s->link < 0 || shown[s->link]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row of a role: what goes down or what goes up, over its first link (-1) or over another one. */
struct timeline_trace_row {
    int role, up, link;
};

static int by_row(const void *a, const void *b)
{
    const struct timeline_trace_row *x = a, *y = b;
    if (x->role != y->role) return x->role < y->role ? -1 : 1;
    if (x->up != y->up) return x->up < y->up ? -1 : 1;
    return (x->link > y->link) - (x->link < y->link);
}

/* A shard has its weights and its updates, a node and a wafer what goes down and what goes up. */
static struct timeline_trace_row row_of(const struct timeline_bar *s)
{
    return (struct timeline_trace_row){
        s->role, s->kind == TIMELINE_UP || s->kind == TIMELINE_UPDATE, s->link};
}

/* What is drawn, and to where. */
struct timeline_trace_file {
    const struct timeline *t;
    const struct timeline_tree *tree; /* of the steps that are drawn */
    struct out_trace *out;
    const bool *shown;
    struct timeline_trace_row *row; /* owned, in their order */
    int64_t n_rows;
    int64_t *last[2]; /* owned: by role, the newest bar of its first link, down and up */
    int64_t n_arrows;
};

/* Two rows for each role that is shown, down and up, and those of links that have their own. */
static enum wsc_err find_rows(struct timeline_trace_file *d)
{
    const struct timeline *t = d->t;
    int64_t n = 2 * (int64_t)t->machine->n_roles, all = 0;
    for (int64_t i = 0; i < t->n_bars; i++)
        n += t->bar[i].link >= 0;
    TRY_NEW(d->row, WSC_MEM_TIMELINE, n);
    for (int role = 0; role < t->machine->n_roles; role++)
        for (int up = 0; up < 2 && d->shown[role]; up++)
            d->row[all++] = (struct timeline_trace_row){role, up, -1};
    for (int64_t i = 0; i < t->n_bars; i++)
        if (t->bar[i].link >= 0 && is_shown(d->shown, &t->bar[i]))
            d->row[all++] = row_of(&t->bar[i]);
    qsort(d->row, (size_t)all, sizeof *d->row, by_row);
    for (int64_t i = 0; i < all; i++)
        if (!d->n_rows || by_row(&d->row[d->n_rows - 1], &d->row[i]) != 0)
            d->row[d->n_rows++] = d->row[i];
    return WSC_OK;
}

/* Roles of a kind are one group of rows. */
static int group_of(const struct timeline *t, int role)
{
    int index;
    return (int)stream_kind_of_role(t->machine, role, &index);
}

static int number_of_row(const struct timeline_trace_file *d, const struct timeline_bar *s)
{
    const struct timeline_trace_row key = row_of(s), *row;
    row = bsearch(&key, d->row, (size_t)d->n_rows, sizeof key, by_row);
    WSC_CHECK(row, "a bar of role %d has no row", s->role);
    return (int)(row - d->row);
}

static void name_rows(const struct timeline_trace_file *d)
{
    static const char *const group[] = {"MemoryX", "SwarmX", "wafers"};
    static const char *const way[3][2] = {
        {"weights", "update"}, {"weights", "sums"}, {"stages", "gradients"}};
    for (int64_t i = 0; i < d->n_rows; i++) {
        const struct timeline_trace_row *r = &d->row[i];
        const int g = group_of(d->t, r->role);
        char name[48], link[48], text[160];
        stream_role_name(d->t->machine, r->role, name, sizeof name);
        if (r->link >= 0) stream_role_name(d->t->machine, r->link, link, sizeof link);
        (void)snprintf(text, sizeof text, "%s: %s%s%s", name, way[g][r->up],
                       r->link >= 0 ? " for " : "", r->link >= 0 ? link : "");
        out_trace_row(d->out, g, group[g], (int)i, text);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The newest bar that role @p from sent to role @p to; NULL: none. */
static const struct timeline_bar *bar_of_link(const struct timeline_trace_file *d, int up, int from,
                                              int to)
{
    const int64_t last = d->last[up][from];
    if (last < 0 || !d->shown[from]) return NULL;
    const struct timeline_bar *first = &d->t->bar[last], *own = first + 1;
    const struct timeline_bar *end = d->t->bar + d->t->n_bars;
    for (; own < end && own->link >= 0 && own->role == from && own->transfer == first->transfer;
         own++)
        if (own->link == to) return own;
    return first;
}

/* An arrow from the beginning of one bar, which need not exist, to that of the other. */
static void draw_arrow(struct timeline_trace_file *d, const struct timeline_bar *from,
                       const struct timeline_bar *to)
{
    if (!from) return;
    const int64_t id = d->n_arrows++;
    out_trace_arrow(d->out, id, false, group_of(d->t, from->role), number_of_row(d, from),
                    from->begin_ps);
    out_trace_arrow(d->out, id, true, group_of(d->t, to->role), number_of_row(d, to), to->begin_ps);
}

/* Bars come in the order of the plan, so the newest bar of a neighbour is of the same transfer. */
static void draw_arrows(struct timeline_trace_file *d, int64_t i)
{
    const struct timeline_bar *s = &d->t->bar[i];
    if (goes_down(s)) {
        const int parent = parent_of(d->tree, s->role);
        if (parent >= 0) draw_arrow(d, bar_of_link(d, 0, parent, s->role), s);
        if (s->kind == TIMELINE_DOWN && s->link < 0) d->last[0][s->role] = i;
        return;
    }
    for (int k = 0; k < d->tree->n_branches; k++)
        if (d->tree->branch[k].parent == s->role)
            draw_arrow(d, bar_of_link(d, 1, d->tree->branch[k].child, s->role), s);
    if (s->kind == TIMELINE_UP && s->link < 0) d->last[1][s->role] = i;
}

static void draw_bar(struct timeline_trace_file *d, int64_t i)
{
    const struct timeline_bar *s = &d->t->bar[i];
    char name[96] = "update";
    if (s->kind != TIMELINE_UPDATE) timeline_transfer_name(d->t, s->transfer, name, sizeof name);
    out_trace_bar(d->out, group_of(d->t, s->role), number_of_row(d, s), name, s->begin_ps,
                  s->end_ps, s->bytes);
    draw_arrows(d, i);
}

/* Events of a bar, at most: itself, and the ends of the arrows from the parent on the way down,
 * from the children on the way up. */
static int64_t events_of(const struct timeline_trace_choice *c, const struct timeline_bar *s)
{
    const bool shard = s->role < c->t->machine->n_shards;
    return 1 + 2 * (int64_t)(goes_down(s) ? !shard : c->n_children[s->role]);
}

/* Bars in the order of the plan until @p left events are used up; counts those of roles that are
 * shown, and those that are drawn. */
static void draw_bars(struct timeline_trace_file *d, struct timeline_trace_choice *c, int64_t left,
                      struct timeline_trace_size *size)
{
    for (int k = 0; k < d->t->n_trees; k++) {
        d->tree = &d->t->tree[k];
        count_children(c, d->tree);
        for (int role = 0; role < d->t->machine->n_roles; role++)
            d->last[0][role] = d->last[1][role] = -1;
        for (int64_t i = d->tree->first_bar; i < end_of_tree(d->t, k); i++) {
            if (!is_shown(d->shown, &d->t->bar[i])) continue;
            size->n_bars++;
            left -= events_of(c, &d->t->bar[i]);
            if (left < 0) continue;
            size->n_drawn++;
            draw_bar(d, i);
        }
    }
}

static enum wsc_err draw_file(struct timeline_trace_choice *c, const char *path, int64_t max_events,
                              struct timeline_trace_size *size)
{
    struct timeline_trace_file d = {.t = c->t, .shown = c->shown};
    const size_t n = (size_t)c->t->machine->n_roles;
    d.last[0] = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *d.last[0]);
    d.last[1] = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *d.last[1]);
    enum wsc_err rc = d.last[0] && d.last[1] ? find_rows(&d) : WSC_NOMEM;
    if (!rc) rc = out_trace_open(&d.out, path);
    if (!rc) {
        name_rows(&d);
        draw_bars(&d, c, max_events, size);
        rc = out_trace_close(&d.out);
    }
    wsc_free(d.row);
    wsc_free(d.last[0]);
    wsc_free(d.last[1]);
    return rc;
}

enum wsc_err timeline_trace(const struct timeline *t, const char *path, int64_t max_events,
                            struct timeline_trace_size *size)
{
    const size_t n = (size_t)t->machine->n_roles;
    struct timeline_trace_choice c = {.t = t, .left = max_events};
    *size = (struct timeline_trace_size){0};
    c.events = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.events);
    c.n_up = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.n_up);
    c.shown = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.shown);
    c.way = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.way);
    c.n_children = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.n_children);
    const bool fits = c.events && c.n_up && c.shown && c.way && c.n_children;
    enum wsc_err rc = fits ? WSC_OK : WSC_NOMEM;
    if (!rc) {
        choose(&c);
        rc = draw_file(&c, path, max_events, size);
    }
    wsc_free(c.events);
    wsc_free(c.n_up);
    wsc_free(c.shown);
    wsc_free(c.way);
    wsc_free(c.n_children);
    return rc;
}
