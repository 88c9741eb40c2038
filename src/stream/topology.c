// SPDX-License-Identifier: Apache-2.0
#include <wsc/stream.h>

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>

enum { MAX_LEVELS = 32 };

/* Nodes per level, from the leaves up to the root; returns the number of levels. */
static int count_levels(int n_wafers, int fanout, int *n_at)
{
    int levels = 0;
    for (int below = n_wafers; below > 1; levels++) {
        below = (below + fanout - 1) / fanout;
        n_at[levels] = below;
    }
    return levels;
}

/* Child @p i of @p n covers [below i / n, below (i + 1) / n): even, and never above the fan-out. */
static int spread(int below, int i, int n)
{
    return (int)((int64_t)below * i / n);
}

static void fill_spans(struct stream_topology *t)
{
    for (int i = t->n_nodes - 1; i >= 0; i--) {
        struct stream_node *node = &t->node[i];
        int last = node->first_child + node->n_children - 1;
        node->first_wafer = node->leaf ? node->first_child : t->node[node->first_child].first_wafer;
        node->end_wafer = node->leaf ? last + 1 : t->node[last].end_wafer;
    }
}

static void fill_nodes(struct stream_topology *t, int levels, const int *n_at)
{
    int first = 0;
    t->node[0].parent = -1;
    for (int level = levels - 1; level >= 0; level--) {
        int n = n_at[level], below = level ? n_at[level - 1] : t->n_wafers;
        for (int i = 0; i < n; i++) {
            struct stream_node *node = &t->node[first + i];
            node->leaf = level == 0;
            node->first_child = spread(below, i, n) + (node->leaf ? 0 : first + n);
            node->n_children = spread(below, i + 1, n) - spread(below, i, n);
            for (int c = 0; c < node->n_children && !node->leaf; c++)
                t->node[node->first_child + c].parent = first + i;
        }
        first += n;
    }
    fill_spans(t);
}

enum wsc_err stream_topology_create(struct stream_topology **out, int n_shards, int n_wafers,
                                    int fanout)
{
    WSC_CHECK(n_shards >= 1 && n_shards <= STREAM_MAX_FANOUT && n_wafers >= 1 && fanout >= 2 &&
                  fanout <= STREAM_MAX_FANOUT,
              "%d shards, %d wafers, fan-out %d", n_shards, n_wafers, fanout);
    int n_at[MAX_LEVELS] = {0};
    int levels = count_levels(n_wafers, fanout, n_at);
    struct stream_topology *t;
    TRY_NEW(t, WSC_MEM_STREAM, 1);
    *out = t;
    t->n_shards = n_shards;
    t->n_wafers = n_wafers;
    t->fanout = fanout;
    for (int i = 0; i < levels; i++)
        t->n_nodes += n_at[i];
    t->n_roles = n_shards + t->n_nodes + n_wafers;
    TRY_NEW(t->node, WSC_MEM_STREAM, t->n_nodes + 1);
    fill_nodes(t, levels, n_at);
    return WSC_OK;
}

void stream_topology_destroy(struct stream_topology **t)
{
    if (!*t) return;
    wsc_free((*t)->node);
    wsc_free(*t);
    *t = NULL;
}

enum stream_kind stream_kind_of_role(const struct stream_topology *t, int role, int *index)
{
    *index = role;
    if (role < t->n_shards) return STREAM_MEMORYX;
    *index = role - t->n_shards;
    if (*index < t->n_nodes) return STREAM_SWARMX;
    *index -= t->n_nodes;
    return STREAM_WAFER;
}

void stream_role_name(const struct stream_topology *t, int role, char *text, int size)
{
    static const char *const name[] = {"MemoryX shard", "SwarmX node", "wafer"};
    int index;
    enum stream_kind kind = stream_kind_of_role(t, role, &index);
    (void)snprintf(text, (size_t)size, "%s %d", name[kind], index);
}

/* Planes that node @p node has lost. */
static int64_t lost_planes(const struct hw *hw, int node)
{
    const struct conf_what_if *w = &hw->cluster->what_if;
    return node == w->lost_planes_node ? w->lost_planes : 0;
}

static int64_t wafer_rate(const struct hw *hw, int wafer, int64_t rate)
{
    const struct conf_what_if *w = &hw->cluster->what_if;
    if (wafer != w->slow_link_wafer) return rate;
    const int64_t slow = (int64_t)((double)rate / w->slow_link);
    return slow > 0 ? slow : 1;
}

int64_t stream_rate_of_node(const struct hw *hw, int node)
{
    return hw_rate_without_planes(hw, hw->cluster->swarmx.link_rate_bytes_per_s,
                                  lost_planes(hw, node));
}

int64_t stream_rate_below(const struct hw *hw, const struct stream_topology *t, int parent,
                          int child)
{
    const struct conf_cluster *c = hw->cluster;
    const bool to_wafer = parent < 0 ? !t->n_nodes : t->node[parent].leaf;
    int64_t lost = parent < 0 ? 0 : lost_planes(hw, parent);
    int64_t rate = parent < 0 ? c->memoryx.link_rate_bytes_per_s : c->swarmx.link_rate_bytes_per_s;
    if (to_wafer) return wafer_rate(hw, child, hw_rate_without_planes(hw, rate, lost));
    const int64_t lost_below = lost_planes(hw, child);
    return hw_rate_without_planes(hw, rate, lost_below > lost ? lost_below : lost);
}
