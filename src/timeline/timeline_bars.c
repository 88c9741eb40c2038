// SPDX-License-Identifier: Apache-2.0
/* Bars for a viewer with the trees of their steps, and the load of the links, from the messages and
 * stages that the programs recorded.  The order of the bars is that of the plan of a step: for each
 * transfer the shards, the nodes, the wafers, the nodes upwards; at the end the updates.  So it is
 * the same whoever ran which role.  Drawn by timeline_trace.c. */
#include "timeline_state.h"

#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

/* Is the role a shard, a node or a wafer? */
static enum stream_kind kind_of(const struct timeline *t, int role)
{
    int index;
    return stream_kind_of_role(t->machine, role, &index);
}

/* ---- bars ------------------------------------------------------------------------------------ */

static enum wsc_err append(struct timeline *t, const struct timeline_bar *bar)
{
    TRY_GROW(t->bar, WSC_MEM_TIMELINE, t->bars_size, t->n_bars + 1);
    t->bar[t->n_bars++] = *bar;
    return WSC_OK;
}

/* A role's links carry a transfer side by side: to the children of a node, from the root to the
 * shards.  The first one stands for those that are busy at the same time; any other has a row of
 * its own, because on one row its bars would overlap. */
static bool joins_the_first(const struct timeline *t, int64_t first_of_links,
                            struct timeline_bar *bar, int peer)
{
    if (first_of_links < 0 || (bar->kind != TIMELINE_DOWN && bar->kind != TIMELINE_UP))
        return false;
    const struct timeline_bar *first = &t->bar[first_of_links];
    if (first->kind != bar->kind || first->transfer != bar->transfer) return false;
    if (first->begin_ps == bar->begin_ps && first->end_ps == bar->end_ps) return true;
    bar->link = peer;
    return false;
}

/* False for what is not drawn: small messages, and those among the shards. */
static bool bar_of(const struct timeline *t, const struct vtime_bar *from, int role,
                   struct timeline_bar *out)
{
    const bool sends = from->kind == VTIME_BAR_SEND;
    *out = (struct timeline_bar){.step = from->step,
                                 .role = role,
                                 .transfer = from->transfer,
                                 .link = -1,
                                 .begin_ps = from->begin.ps,
                                 .end_ps = from->end.ps,
                                 .bytes = sends ? from->amount : 0};
    if (from->kind == VTIME_BAR_STAGE) out->kind = TIMELINE_STAGE;
    if (from->kind == VTIME_BAR_UPDATE) out->kind = TIMELINE_UPDATE;
    /* Without effects.boundary an update takes no time: its end is that of an earlier one. */
    if (out->end_ps < out->begin_ps) out->end_ps = out->begin_ps;
    if (!sends) return true;
    out->kind = from->part == VTIME_WEIGHTS ? TIMELINE_DOWN : TIMELINE_UP;
    if (out->kind == TIMELINE_DOWN) return true;
    return from->amount > STREAM_SIGNAL_BYTES && kind_of(t, role) != STREAM_MEMORYX;
}

/* Position of a bar in the plan: class by class, in each by role, nodes upwards from the leaves. */
static int class_of(const struct timeline *t, const struct timeline_bar *b)
{
    const enum stream_kind kind = kind_of(t, b->role);
    if (b->kind == TIMELINE_UPDATE) return 4;
    if (kind == STREAM_MEMORYX) return 0;
    if (kind == STREAM_WAFER) return 2;
    return b->kind == TIMELINE_UP ? 3 : 1;
}

struct timeline_bar_key {
    struct timeline_bar bar;
    int class;
};

/* By transfer, class and role (class 3, nodes upwards, from the highest role), then as recorded. */
static int by_plan(const void *a, const void *b)
{
    const struct timeline_bar_key *x = a, *y = b;
    /* VTIME_NO_TRANSFER comes after all transfers. */
    const uint32_t xt = (uint32_t)x->bar.transfer, yt = (uint32_t)y->bar.transfer;
    if (xt != yt) return xt < yt ? -1 : 1;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (x->bar.role != y->bar.role) return (x->bar.role < y->bar.role) == (x->class != 3) ? -1 : 1;
    return (x->bar.order > y->bar.order) - (x->bar.order < y->bar.order);
}

/* Sort the bars from @p first on, those of one step. */
static enum wsc_err sort_bars(struct timeline *t, int64_t first)
{
    struct timeline_bar_key *key;
    const int64_t n = t->n_bars - first;
    TRY_NEW(key, WSC_MEM_TIMELINE, n + 1);
    for (int64_t i = 0; i < n; i++)
        key[i] = (struct timeline_bar_key){t->bar[first + i], class_of(t, &t->bar[first + i])};
    qsort(key, (size_t)n, sizeof *key, by_plan);
    for (int64_t i = 0; i < n; i++)
        t->bar[first + i] = key[i].bar;
    wsc_free(key);
    return WSC_OK;
}

/* The bars of one program. */
static enum wsc_err add_program(struct timeline *t, const struct vtime_recorder *r, int role)
{
    int64_t first_of_links = -1;
    for (int64_t i = 0; i < r->n_bars; i++) {
        struct timeline_bar bar;
        if (!bar_of(t, &r->bar[i], role, &bar)) continue;
        bar.order = (int32_t)i;
        if (joins_the_first(t, first_of_links, &bar, r->bar[i].dst)) continue;
        if (bar.link < 0) first_of_links = t->n_bars;
        TRY(append(t, &bar));
    }
    return WSC_OK;
}

/* The links of the newest step, unless those of the step before are the same. */
static enum wsc_err add_tree(struct timeline *t)
{
    const struct timeline_tree *last = t->n_trees ? &t->tree[t->n_trees - 1] : NULL;
    bool same = last && last->n_branches == t->n_joints;
    for (int i = 0; i < t->n_joints && same; i++)
        same = last->branch[i].parent == t->joint[i].parent &&
               last->branch[i].child == t->joint[i].child;
    if (same) return WSC_OK;
    struct timeline_tree tree = {.first_bar = t->n_bars, .n_branches = t->n_joints};
    TRY_GROW(t->tree, WSC_MEM_TIMELINE, t->trees_size, t->n_trees + 1);
    TRY_NEW(tree.branch, WSC_MEM_TIMELINE, t->n_joints + 1);
    for (int i = 0; i < t->n_joints; i++)
        tree.branch[i] = (struct timeline_branch){t->joint[i].parent, t->joint[i].child};
    t->tree[t->n_trees++] = tree;
    return WSC_OK;
}

/* Bars and links of the earlier steps stay as they are: a trace shows several steps. */
enum wsc_err timeline_bars_add(struct timeline *t, const struct vtime_recorder *program,
                               int n_programs)
{
    const int64_t first = t->n_bars;
    TRY(add_tree(t));
    for (int p = 0; p < n_programs; p++)
        TRY(add_program(t, &program[p], comm_role_of_program(p)));
    return sort_bars(t, first);
}

void timeline_bars_fini(struct timeline *t)
{
    for (int i = 0; i < t->n_trees; i++)
        wsc_free(t->tree[i].branch);
    wsc_free(t->tree);
    wsc_free(t->bar);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* A message as load of one direction of a link; gradients go from child to parent. False for
 * messages between two shards, where there is no parent. */
static bool joint_of(const struct timeline *t, const struct vtime_bar *bar,
                     struct timeline_joint *out)
{
    const bool up = bar->part == VTIME_GRADIENTS;
    if (bar->kind != VTIME_BAR_SEND) return false;
    if (kind_of(t, bar->src) == STREAM_MEMORYX && kind_of(t, bar->dst) == STREAM_MEMORYX)
        return false;
    *out = (struct timeline_joint){.parent = up ? bar->dst : bar->src,
                                   .child = up ? bar->src : bar->dst};
    struct timeline_link *load = &out->load[up];
    load->rate_bytes_per_s = bar->rate_bytes_per_s;
    load->bytes = bar->amount;
    load->busy_ps = bar->end.ps - bar->begin.ps;
    load->n_messages = 1;
    return true;
}

/* Children are numbered after their parents, level by level. */
static int by_child(const void *a, const void *b)
{
    const struct timeline_joint *x = a, *y = b;
    if (x->child != y->child) return x->child < y->child ? -1 : 1;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

/* The rate is that of the last message; a link keeps it during a step. */
static void add_load(struct timeline_link *to, const struct timeline_link *from)
{
    if (from->n_messages) to->rate_bytes_per_s = from->rate_bytes_per_s;
    to->bytes += from->bytes;
    to->busy_ps += from->busy_ps;
    to->n_messages += from->n_messages;
}

/* One joint for each parent and child, in place; @return how many. */
static int merge(struct timeline_joint *joint, int64_t n_messages)
{
    int n = 0;
    qsort(joint, (size_t)n_messages, sizeof *joint, by_child);
    for (int64_t i = 0; i < n_messages; i++) {
        if (n && !by_child(&joint[n - 1], &joint[i])) {
            add_load(&joint[n - 1].load[0], &joint[i].load[0]);
            add_load(&joint[n - 1].load[1], &joint[i].load[1]);
        } else {
            joint[n++] = joint[i];
        }
    }
    return n;
}

/* Loads of the newest step; those of the step before are forgotten. */
enum wsc_err timeline_joints_find(struct timeline *t, const struct vtime_recorder *program,
                                  int n_programs)
{
    int64_t n = 0, n_bars = 0;
    for (int p = 0; p < n_programs; p++)
        n_bars += program[p].n_bars;
    wsc_free(t->joint);
    t->joint = NULL;
    TRY_NEW(t->joint, WSC_MEM_TIMELINE, n_bars + 1);
    for (int p = 0; p < n_programs; p++)
        for (int64_t i = 0; i < program[p].n_bars; i++)
            n += joint_of(t, &program[p].bar[i], &t->joint[n]);
    t->n_joints = merge(t->joint, n);
    return WSC_OK;
}

/* Both directions of each joint with the names of the roles; the caller frees the array. */
enum wsc_err timeline_links(const struct timeline *t, struct timeline_link **links, int *n)
{
    TRY_NEW(*links, WSC_MEM_TIMELINE, 2 * t->n_joints + 1);
    *n = 0;
    for (int i = 0; i < t->n_joints; i++)
        for (int up = 0; up < 2; up++) {
            const struct timeline_joint *j = &t->joint[i];
            struct timeline_link *l = &(*links)[(*n)++];
            *l = j->load[up];
            stream_role_name(t->machine, up ? j->child : j->parent, l->from, sizeof l->from);
            stream_role_name(t->machine, up ? j->parent : j->child, l->to, sizeof l->to);
        }
    return WSC_OK;
}
