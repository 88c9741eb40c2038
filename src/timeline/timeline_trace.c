// SPDX-License-Identifier: Apache-2.0
/* The trace of the steps for chrome://tracing and Perfetto: a row for what each role sends and for
 * what it computes or sums, an arrow from each bar to those of the same transfer at the next role.
 * A file of bounded size shows the slowest wafer with its way to the shards first. */
#include "timeline_state.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- which roles ----------------------------------------------------------------------------- */

struct timeline_trace_choice {
    const struct timeline *t;
    int64_t *events; /* owned: that a role adds to those of its parent, at most */
    bool *shown;     /* owned */
    int *n_children; /* owned: of each role, those that are shown */
    int64_t left;    /* events that still fit */
};

static bool goes_down(const struct timeline_bar *s)
{
    return s->kind == TIMELINE_DOWN || s->kind == TIMELINE_STAGE;
}

/* The role above in the tree; -1 at the root. */
static int parent_of(const struct timeline *t, int role)
{
    for (int i = 0; i < t->n_joints; i++)
        if (t->joint[i].child == role) return t->joint[i].parent;
    return -1;
}

/* A role and its way to the root and to shard 0, when they fit; @p anyway: even if not. */
static void show(struct timeline_trace_choice *c, int role, bool anyway)
{
    int64_t events = 0;
    for (int r = role; r >= 0; r = parent_of(c->t, r))
        if (!c->shown[r]) events += c->events[r];
    if (events > c->left && !anyway) return;
    c->left -= events;
    for (int r = role; r >= 0; r = parent_of(c->t, r))
        c->shown[r] = true;
}

/* Events of each role: its bars, the two ends of the arrow to each that goes down, and of the
 * arrow from its own sums to each bar of its parent that goes up. To the update of a shard leads an
 * arrow from the root. */
static void count_events(struct timeline_trace_choice *c, int64_t *n_up)
{
    const struct stream_topology *tree = c->t->machine;
    for (int64_t i = 0; i < c->t->n_bars; i++) {
        const struct timeline_bar *s = &c->t->bar[i];
        const bool shard = s->role < tree->n_shards;
        c->events[s->role] += goes_down(s) != shard ? 3 : 1;
        n_up[s->role] += !goes_down(s);
    }
    for (int role = tree->n_shards; role < tree->n_roles; role++) {
        const int parent = parent_of(c->t, role);
        if (parent >= tree->n_shards) c->events[role] += 2 * n_up[parent];
    }
}

/* The slowest wafer first, then wafers and shards in their order as long as events are left. */
static void choose(struct timeline_trace_choice *c)
{
    const struct stream_topology *tree = c->t->machine;
    show(c, c->t->slowest, true);
    for (int w = 0; w < tree->n_wafers; w++)
        show(c, stream_role_of_wafer(tree, w), false);
    for (int m = 0; m < tree->n_shards; m++)
        show(c, stream_role_of_shard(tree, m), false);
    for (int k = 0; k < c->t->n_joints; k++)
        c->n_children[c->t->joint[k].parent] += c->shown[c->t->joint[k].child];
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What is drawn, and to where. */
struct timeline_trace_file {
    const struct timeline *t;
    struct out_trace *out;
    const bool *shown;
    int64_t *last[2]; /* owned: by role, its newest bar down and up */
    int64_t n_arrows;
};

/* Roles of a kind are one group of rows. */
static int group_of(const struct timeline *t, int role, int *index)
{
    return (int)stream_kind_of_role(t->machine, role, index);
}

/* A shard has its weights and its updates, a node and a wafer what goes down and what goes up. */
static int row_of(const struct timeline *t, const struct timeline_bar *s)
{
    int index;
    (void)group_of(t, s->role, &index);
    return 2 * index + (s->kind == TIMELINE_UP || s->kind == TIMELINE_UPDATE);
}

/* Two rows for each role that is shown, down and up. */
static void name_rows(const struct timeline_trace_file *d)
{
    static const char *const group[] = {"MemoryX", "SwarmX", "wafers"};
    static const char *const way[3][2] = {
        {"weights", "update"}, {"weights", "sums"}, {"stages", "gradients"}};
    const struct stream_topology *tree = d->t->machine;
    for (int role = 0; role < tree->n_roles; role++) {
        char name[48], row[80];
        int index;
        const int g = group_of(d->t, role, &index);
        if (!d->shown[role]) continue;
        stream_role_name(tree, role, name, sizeof name);
        for (int up = 0; up < 2; up++) {
            (void)snprintf(row, sizeof row, "%s: %s", name, way[g][up]);
            out_trace_row(d->out, g, group[g], 2 * index + up, row);
        }
    }
}

/* An arrow from the beginning of one bar to that of the other. */
static void draw_arrow(struct timeline_trace_file *d, const struct timeline_bar *from,
                       const struct timeline_bar *to)
{
    int index;
    const int64_t id = d->n_arrows++;
    out_trace_arrow(d->out, id, false, group_of(d->t, from->role, &index), row_of(d->t, from),
                    from->begin_ps);
    out_trace_arrow(d->out, id, true, group_of(d->t, to->role, &index), row_of(d->t, to),
                    to->begin_ps);
}

/* Bars come in the order of the plan, so the newest bar of a neighbour is of the same transfer. */
static void draw_arrows(struct timeline_trace_file *d, int64_t i)
{
    const struct timeline_bar *s = &d->t->bar[i];
    const int64_t *down = d->last[0], *up = d->last[1];
    const int parent = parent_of(d->t, s->role);
    if (goes_down(s)) {
        if (parent >= 0 && d->shown[parent] && down[parent] >= 0)
            draw_arrow(d, &d->t->bar[down[parent]], s);
        if (s->kind == TIMELINE_DOWN) d->last[0][s->role] = i;
        return;
    }
    for (int k = 0; k < d->t->n_joints; k++) {
        const struct timeline_joint *j = &d->t->joint[k];
        if (j->parent == s->role && d->shown[j->child] && up[j->child] >= 0)
            draw_arrow(d, &d->t->bar[up[j->child]], s);
    }
    if (s->kind == TIMELINE_UP) d->last[1][s->role] = i;
}

static void draw_bar(struct timeline_trace_file *d, int64_t i)
{
    const struct timeline_bar *s = &d->t->bar[i];
    char name[96] = "update";
    int index;
    if (s->kind != TIMELINE_UPDATE) timeline_transfer_name(d->t, s->transfer, name, sizeof name);
    out_trace_bar(d->out, group_of(d->t, s->role, &index), row_of(d->t, s), name, s->begin_ps,
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
static void draw_bars(struct timeline_trace_file *d, const struct timeline_trace_choice *c,
                      int64_t left, struct timeline_trace_size *size)
{
    for (int64_t i = 0; i < d->t->n_bars; i++) {
        if (!d->shown[d->t->bar[i].role]) continue;
        size->n_bars++;
        left -= events_of(c, &d->t->bar[i]);
        if (left < 0) continue;
        size->n_drawn++;
        draw_bar(d, i);
    }
}

static enum wsc_err draw_file(const struct timeline_trace_choice *c, const char *path,
                              int64_t max_events, struct timeline_trace_size *size)
{
    struct timeline_trace_file d = {.t = c->t, .shown = c->shown};
    const int n = c->t->machine->n_roles;
    d.last[0] = wsc_alloc(WSC_MEM_TIMELINE, (size_t)n, sizeof *d.last[0]);
    d.last[1] = wsc_alloc(WSC_MEM_TIMELINE, (size_t)n, sizeof *d.last[1]);
    enum wsc_err rc = d.last[0] && d.last[1] ? WSC_OK : WSC_NOMEM;
    if (!rc) rc = out_trace_open(&d.out, path);
    if (!rc) {
        for (int i = 0; i < n; i++)
            d.last[0][i] = d.last[1][i] = -1;
        name_rows(&d);
        draw_bars(&d, c, max_events, size);
        rc = out_trace_close(&d.out);
    }
    wsc_free(d.last[0]);
    wsc_free(d.last[1]);
    return rc;
}

enum wsc_err timeline_trace(const struct timeline *t, const char *path, int64_t max_events,
                            struct timeline_trace_size *size)
{
    const size_t n = (size_t)t->machine->n_roles;
    struct timeline_trace_choice c = {.t = t, .left = max_events};
    int64_t *n_up = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *n_up);
    *size = (struct timeline_trace_size){0};
    c.events = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.events);
    c.shown = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.shown);
    c.n_children = wsc_alloc(WSC_MEM_TIMELINE, n, sizeof *c.n_children);
    enum wsc_err rc = n_up && c.events && c.shown && c.n_children ? WSC_OK : WSC_NOMEM;
    if (!rc) {
        count_events(&c, n_up);
        choose(&c);
        rc = draw_file(&c, path, max_events, size);
    }
    wsc_free(n_up);
    wsc_free(c.events);
    wsc_free(c.shown);
    wsc_free(c.n_children);
    return rc;
}
