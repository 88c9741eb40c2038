// SPDX-License-Identifier: Apache-2.0
/* Builds the SwarmX tree: levels of nodes over the wafers with evenly distributed children; after
 * losses, the tree of the parts that are left (docs/decisions/0014). A tree is built level by level
 * from the leaf switches up, then numbered from the root down. Rates of its links include faults,
 * lost planes and shared links. stream_net.c opens the links. */
#include "stream_topology.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MAX_LEVELS = 32 };

/* Number of nodes on each level, from the leaf switches up to the root. Returns the number of
 * levels. */
static int count_levels(int n_wafers, int fanout, int *n_at)
{
    int levels = 0;
    for (int below = n_wafers; below > 1; levels++) {
        below = (below + fanout - 1) / fanout;
        n_at[levels] = below;
    }
    return levels;
}

/* First item of child @p i of @p n: the children divide `below` items evenly, and none has more
 * than the fan-out. */
static int spread(int below, int i, int n)
{
    return (int)((int64_t)below * i / n);
}

/* ---- the nodes of each level ----------------------------------------------------------------- */

/* A level under construction: its nodes of the machine, and the number of children of each. */
struct level {
    int n;
    int *position; /* n */
    int *n_below;  /* owned by levels.memory (n): children that are left */
};
/* Levels from the leaf switches up. */
struct levels {
    int n;
    struct level level[MAX_LEVELS];
    int *memory; /* owned: memory of all levels */
};

/* The nodes of the machine by level, without lost ones. */
static enum wsc_err levels_create(struct levels *l, const struct stream_topology *machine,
                                  const bool *lost_node)
{
    int n_at[MAX_LEVELS] = {0}, first = 0;
    *l = (struct levels){.n = count_levels(machine->n_machine_wafers, machine->fanout, n_at)};
    int *free;
    TRY_NEW(free, WSC_MEM_STREAM, 2 * (int64_t)machine->n_machine_nodes + 1);
    l->memory = free;
    for (int k = l->n - 1; k >= 0; k--) {
        int *position = free, n = 0;
        for (int i = first; i < first + n_at[k]; i++)
            if (!lost_node || !lost_node[i]) position[n++] = i;
        l->level[k] = (struct level){n, position, position + n_at[k]};
        free += 2 * (ptrdiff_t)n_at[k];
        first += n_at[k];
    }
    return WSC_OK;
}

/* The first node of the highest non-empty level replaces a lost root; empty levels are removed. */
static void close_gaps(struct levels *l)
{
    struct level *top = l->n ? &l->level[l->n - 1] : NULL;
    int k = l->n - 1;
    while (top && !top->n && k > 0 && !l->level[k].n)
        k--;
    if (top && !top->n && l->level[k].n) {
        struct level *from = &l->level[k];
        top->position[top->n++] = from->position[0];
        from->n--;
        memmove(from->position, from->position + 1, (size_t)from->n * sizeof *from->position);
    }
    int kept = 0;
    for (k = 0; k < l->n; k++)
        if (l->level[k].n) l->level[kept++] = l->level[k];
    l->n = kept;
}

/* Distribute the items below a level among its nodes. @p left: which of the @p n_below items are
 * left; on return, which nodes of the level are left. */
static int share_children(struct level *at, bool *left, int n_below)
{
    int most = 0;
    for (int i = 0; i < at->n; i++) {
        at->n_below[i] = 0;
        for (int c = spread(n_below, i, at->n); c < spread(n_below, i + 1, at->n); c++)
            at->n_below[i] += left[c];
        if (at->n_below[i] > most) most = at->n_below[i];
    }
    for (int i = 0; i < at->n; i++)
        left[i] = at->n_below[i] > 0;
    return most;
}

/* Remove nodes without children. */
static void drop_childless(struct level *at)
{
    int kept = 0;
    for (int i = 0; i < at->n; i++) {
        if (!at->n_below[i]) continue;
        at->position[kept] = at->position[i];
        at->n_below[kept++] = at->n_below[i];
    }
    at->n = kept;
}

static enum wsc_err share_levels(struct levels *l, const struct stream_topology *machine,
                                 const bool *lost_wafer)
{
    int below = machine->n_machine_wafers, most = 0;
    bool *left;
    TRY_NEW(left, WSC_MEM_STREAM, below);
    for (int w = 0; w < below; w++)
        left[w] = !lost_wafer || !lost_wafer[w];
    for (int k = 0; k < l->n; k++) {
        const int n = share_children(&l->level[k], left, below);
        if (n > most) most = n;
        below = l->level[k].n;
    }
    wsc_free(left);
    for (int k = 0; k < l->n; k++)
        drop_childless(&l->level[k]);
    if (most <= STREAM_MAX_FANOUT) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "the SwarmX nodes that are left would have %d children, %d is the most", most,
                     STREAM_MAX_FANOUT);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Set the wafers below each node, from the leaf switches up: children have higher numbers than
 * their parent. */
static void fill_spans(struct stream_topology *t)
{
    for (int i = t->n_nodes - 1; i >= 0; i--) {
        struct stream_node *node = &t->node[i];
        int last = node->first_child + node->n_children - 1;
        node->first_wafer =
            node->leaf_switch ? node->first_child : t->node[node->first_child].first_wafer;
        node->end_wafer = node->leaf_switch ? last + 1 : t->node[last].end_wafer;
    }
}

/* Fill the nodes level by level from the root; the children of a node are consecutive in their
 * level. */
static void fill_nodes(struct stream_topology *t, const struct levels *l)
{
    int first = 0;
    if (t->n_nodes) t->node[0].parent = -1;
    for (int k = l->n - 1; k >= 0; k--) {
        const struct level *at = &l->level[k];
        int child = k ? first + at->n : 0;
        for (int i = 0; i < at->n; i++) {
            struct stream_node *node = &t->node[first + i];
            node->position = at->position[i];
            node->leaf_switch = k == 0;
            node->first_child = child;
            node->n_children = at->n_below[i];
            for (int c = 0; c < node->n_children && !node->leaf_switch; c++)
                t->node[child + c].parent = first + i;
            child += node->n_children;
        }
        first += at->n;
    }
    fill_spans(t);
}

static enum wsc_err fill(struct stream_topology *t, const struct levels *l, const bool *lost_wafer)
{
    for (int k = 0; k < l->n; k++)
        t->n_nodes += l->level[k].n;
    TRY_NEW(t->node, WSC_MEM_STREAM, t->n_nodes + 1);
    TRY_NEW(t->wafer_position, WSC_MEM_STREAM, t->n_machine_wafers);
    for (int w = 0; w < t->n_machine_wafers; w++)
        if (!lost_wafer || !lost_wafer[w]) t->wafer_position[t->n_wafers++] = w;
    fill_nodes(t, l);
    return WSC_OK;
}

/* The caller frees levels.memory, also after an error. */
static enum wsc_err form_levels(struct levels *l, const struct stream_topology *machine,
                                const bool *lost_wafer, const bool *lost_node)
{
    TRY(levels_create(l, machine, lost_node));
    close_gaps(l);
    if (machine->n_machine_nodes && !l->n)
        return WSC_RAISE(WSC_CONFIG, "no SwarmX node is left for %d systems",
                         machine->n_machine_wafers);
    return share_levels(l, machine, lost_wafer);
}

enum wsc_err stream_topology_create_without(struct stream_topology **out,
                                            const struct stream_topology *machine,
                                            const bool *lost_wafer, const bool *lost_node)
{
    struct stream_topology *t = NULL;
    struct levels levels;
    enum wsc_err rc = form_levels(&levels, machine, lost_wafer, lost_node);
    if (!rc) {
        t = wsc_alloc(WSC_MEM_STREAM, 1, sizeof *t);
        rc = t ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "form a tree");
    }
    if (t) {
        *t = (struct stream_topology){.n_shards = machine->n_shards,
                                      .fanout = machine->fanout,
                                      .n_roles = machine->n_roles,
                                      .n_machine_nodes = machine->n_machine_nodes,
                                      .n_machine_wafers = machine->n_machine_wafers};
        rc = fill(t, &levels, lost_wafer);
    }
    wsc_free(levels.memory);
    if (rc) stream_topology_destroy(&t);
    *out = t;
    return rc;
}

enum wsc_err stream_topology_create(struct stream_topology **out, int n_shards, int n_wafers,
                                    int fanout)
{
    WSC_CHECK(n_shards >= 1 && n_shards <= STREAM_MAX_FANOUT && n_wafers >= 1 && fanout >= 2 &&
                  fanout <= STREAM_MAX_FANOUT,
              "%d shards, %d wafers, fan-out %d", n_shards, n_wafers, fanout);
    int n_at[MAX_LEVELS] = {0}, n_nodes = 0;
    const int levels = count_levels(n_wafers, fanout, n_at);
    for (int i = 0; i < levels; i++)
        n_nodes += n_at[i];
    const struct stream_topology machine = {.n_shards = n_shards,
                                            .fanout = fanout,
                                            .n_roles = n_shards + n_nodes + n_wafers,
                                            .n_machine_nodes = n_nodes,
                                            .n_machine_wafers = n_wafers};
    return stream_topology_create_without(out, &machine, NULL, NULL);
}

void stream_topology_destroy(struct stream_topology **t)
{
    if (!*t) return;
    wsc_free((*t)->node);
    wsc_free((*t)->wafer_position);
    wsc_free(*t);
    *t = NULL;
}

enum stream_kind stream_kind_of_role(const struct stream_topology *t, int role, int *index)
{
    *index = role;
    if (role < t->n_shards) return STREAM_MEMORYX;
    *index = role - t->n_shards;
    if (*index < t->n_machine_nodes) return STREAM_SWARMX;
    *index -= t->n_machine_nodes;
    return STREAM_WAFER;
}

void stream_role_name(const struct stream_topology *t, int role, char *text, int size)
{
    static const char *const name[] = {"MemoryX shard", "SwarmX node", "wafer"};
    int index;
    enum stream_kind kind = stream_kind_of_role(t, role, &index);
    (void)snprintf(text, (size_t)size, "%s %d", name[kind], index);
}

static int64_t lost_planes(const struct hw *hw, const struct stream_topology *t, int node)
{
    return hw_lost_planes(hw, t->node[node].position);
}

int64_t stream_rate_of_node(const struct hw *hw, const struct stream_topology *t, int node)
{
    return hw_rate_without_planes(hw, hw->cluster->swarmx.link_rate_bytes_per_s,
                                  lost_planes(hw, t, node));
}

/* Rate of a link that is @p slowness times as slow, and one of @p n links that share the rate of @p
 * of. */
static int64_t part_of_rate(int64_t rate, double slowness, int n, int of)
{
    __extension__ typedef __int128 wide;
    if (n > of) rate = (int64_t)((wide)rate * of / n);
    if (slowness > 1) rate = (int64_t)((double)rate / slowness);
    return rate > 0 ? rate : 1;
}

/* The rate is that of the end with more lost planes, divided by the link's own slowness, times its
 * part of the parent's ports. */
struct stream_link stream_link_below(const struct hw *hw, const struct stream_topology *t,
                                     int parent, int child)
{
    const struct hw_machine *c = hw->cluster;
    const bool to_wafer = parent < 0 ? !t->n_nodes : t->node[parent].leaf_switch;
    const enum hw_place place = to_wafer ? HW_PLACE_WAFER : HW_PLACE_NODE;
    const int which = to_wafer ? t->wafer_position[child] : t->node[child].position;
    const int n_children = parent < 0 ? 1 : t->node[parent].n_children;
    const int64_t above = parent < 0 ? 0 : lost_planes(hw, t, parent);
    const int64_t below = to_wafer ? 0 : lost_planes(hw, t, child);
    int64_t rate = parent < 0 ? c->memoryx.link_rate_bytes_per_s : c->swarmx.link_rate_bytes_per_s;
    rate = hw_rate_without_planes(hw, rate, below > above ? below : above);
    rate = part_of_rate(rate, hw_link_slowness(hw, place, which), n_children, t->fanout);
    return (struct stream_link){rate, hw_link_loss(hw, place, which)};
}
