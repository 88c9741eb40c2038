// SPDX-License-Identifier: Apache-2.0
/* The tree of SwarmX nodes and the placement of roles, for every cluster up to 200 wafers. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/stream.h>

#include <string.h>

enum { MOST_WAFERS = 200, LEAST_FANOUT = 2, MOST_FANOUT = 8, SHARDS = 3, MOST_ROLES = 512 };

/* Nodes by the rule of the header, counted from the leaves up. */
static int nodes_expected(int n_wafers, int fanout)
{
    int total = 0;
    for (int n = n_wafers; n > 1;) {
        n = (n + fanout - 1) / fanout;
        total += n;
    }
    return total;
}

/* Smallest number of levels with fanout^levels >= wafers. */
static int levels_expected(int n_wafers, int fanout)
{
    int levels = 0;
    for (int reach = 1; reach < n_wafers; reach *= fanout)
        levels++;
    return levels;
}

static int level_of(const struct stream_topology *t, int node)
{
    int level = 0;
    for (int i = node; t->node[i].parent >= 0; i = t->node[i].parent)
        level++;
    return level;
}

/* Each wafer is below exactly one leaf, and every leaf is as deep as the tree. */
static bool leaves_are_right(const struct stream_topology *t)
{
    int n_above[MOST_WAFERS] = {0};
    const int levels = levels_expected(t->n_wafers, t->fanout);
    for (int i = 0; i < t->n_nodes; i++) {
        const struct stream_node *n = &t->node[i];
        if (n->leaf_switch != (level_of(t, i) == levels - 1)) return false;
        for (int c = 0; n->leaf_switch && c < n->n_children; c++)
            n_above[n->first_child + c]++;
    }
    for (int w = 0; w < t->n_wafers; w++)
        if (n_above[w] != (t->n_nodes ? 1 : 0)) return false;
    return true;
}

/* Children name their parent, follow each other and cover the parent's wafers without a gap. */
static bool node_is_right(const struct stream_topology *t, int i)
{
    const struct stream_node *n = &t->node[i];
    int at = n->first_wafer;
    if (n->n_children < 1 || n->n_children > t->fanout) return false;
    if (n->leaf_switch) return n->first_child == at && at + n->n_children == n->end_wafer;
    for (int c = n->first_child; c < n->first_child + n->n_children; c++) {
        if (c <= i || c >= t->n_nodes) return false;
        if (t->node[c].parent != i || t->node[c].first_wafer != at) return false;
        at = t->node[c].end_wafer;
    }
    return at == n->end_wafer;
}

static bool tree_is_right(const struct stream_topology *t)
{
    if (t->n_nodes != nodes_expected(t->n_wafers, t->fanout)) return false;
    if (t->n_roles != SHARDS + t->n_nodes + t->n_wafers) return false;
    if (!t->n_nodes) return t->n_wafers == 1;
    const struct stream_node *root = &t->node[0];
    if (root->parent != -1 || root->first_wafer != 0 || root->end_wafer != t->n_wafers)
        return false;
    for (int i = 0; i < t->n_nodes; i++)
        if ((i && t->node[i].parent < 0) || !node_is_right(t, i)) return false;
    return leaves_are_right(t);
}

static bool holds_for(int n_wafers, int fanout, bool (*check)(const struct stream_topology *t))
{
    struct stream_topology *t = NULL;
    T_OK(stream_topology_create(&t, SHARDS, n_wafers, fanout));
    const bool holds = check(t);
    stream_topology_destroy(&t);
    return holds;
}

static void for_all(bool (*check)(const struct stream_topology *t))
{
    int n_wrong = 0;
    for (int fanout = LEAST_FANOUT; fanout <= MOST_FANOUT; fanout++)
        for (int n = 1; n <= MOST_WAFERS; n++)
            n_wrong += !holds_for(n, fanout, check);
    T_EQ(n_wrong, 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_STREAM), 0);
}

TEST(stream_topology, every_wafer_is_below_one_leaf_of_an_even_tree)
{
    for_all(tree_is_right);
}

/* Children of a node have spans that differ by no more than the evenness of each level allows: no
 * node has all it can take while a sister has one child less than half of that. */
static bool children_are_even(const struct stream_topology *t)
{
    for (int i = 1; i < t->n_nodes; i++) {
        if (level_of(t, i) != level_of(t, i - 1)) continue;
        int difference = t->node[i].n_children - t->node[i - 1].n_children;
        if (difference < -1 || difference > 1) return false;
    }
    return true;
}

TEST(stream_topology, nodes_of_a_level_differ_by_one_child)
{
    for_all(children_are_even);
}

TEST(stream_topology, sixty_four_wafers_need_twenty_one_nodes)
{
    struct stream_topology *t = NULL;
    char name[32];
    int index;
    T_OK(stream_topology_create(&t, 12, 64, 4));
    T_EQ(t->n_nodes, 16 + 4 + 1);
    T_EQ(t->n_roles, 12 + 21 + 64);
    T_EQ(stream_kind_of_role(t, 11, &index), STREAM_MEMORYX);
    T_EQ(index, 11);
    T_EQ(stream_kind_of_role(t, 12, &index), STREAM_SWARMX);
    T_EQ(index, 0);
    T_EQ(stream_kind_of_role(t, 12 + 21 + 63, &index), STREAM_WAFER);
    T_EQ(index, 63);
    stream_role_name(t, 12 + 20, name, sizeof name);
    T_STR(name, "SwarmX node 20");
    stream_topology_destroy(&t);
}

/* ---- placement ------------------------------------------------------------------------------- */

static bool wafers_are_in_blocks(const struct stream_topology *t, const int *rank_of)
{
    for (int w = 1; w < t->n_wafers; w++)
        if (rank_of[stream_role_of_wafer(t, w)] < rank_of[stream_role_of_wafer(t, w - 1)])
            return false;
    return true;
}

/* Hosts of ranks 0 .. n - 1: in blocks, as mpirun fills slots, or in turn, as with --map-by node.
 */
static void spread_ranks(int n_ranks, int n_hosts, bool in_turn, int *host_of)
{
    const int n = n_hosts < n_ranks ? n_hosts : n_ranks;
    for (int r = 0; r < n_ranks; r++)
        host_of[r] = in_turn ? r % n : r * n / n_ranks;
}

static bool placement_is_right(const struct stream_topology *t, int n_ranks, int n_hosts,
                               bool in_turn)
{
    int rank_of[MOST_ROLES], host_of[MOST_ROLES], n_on[MOST_ROLES] = {0};
    memset(rank_of, -1, sizeof rank_of);
    spread_ranks(n_ranks, n_hosts, in_turn, host_of);
    T_OK(stream_place(t, n_ranks, n_hosts > 1 ? host_of : NULL, rank_of));
    for (int r = 0; r < t->n_roles; r++) {
        if (rank_of[r] < 0 || rank_of[r] >= n_ranks) return false;
        n_on[rank_of[r]]++;
    }
    for (int rank = 0; rank < n_ranks && n_ranks <= t->n_roles; rank++)
        if (!n_on[rank]) return false;
    return rank_of[stream_role_of_shard(t, 0)] == 0 &&
           (in_turn || wafers_are_in_blocks(t, rank_of));
}

static bool placements_are_right(const struct stream_topology *t)
{
    if (t->n_wafers > 24 && t->n_wafers % 17) return true; /* all ranks of some clusters */
    for (int n_ranks = 1; n_ranks <= t->n_roles; n_ranks++)
        for (int n_hosts = 1; n_hosts <= 3; n_hosts++)
            if (!placement_is_right(t, n_ranks, n_hosts, false) ||
                !placement_is_right(t, n_ranks, n_hosts, true))
                return false;
    return true;
}

TEST(stream_place, every_rank_has_work_and_shard_0_is_on_rank_0)
{
    for_all(placements_are_right);
}

TEST(stream_place, all_roles_have_a_rank_of_their_own_when_there_are_enough)
{
    struct stream_topology *t = NULL;
    int rank_of[MOST_ROLES], used[MOST_ROLES] = {0}, n_alone = 0;
    T_OK(stream_topology_create(&t, 12, 16, 4));
    T_OK(stream_place(t, t->n_roles, NULL, rank_of));
    for (int r = 0; r < t->n_roles; r++)
        n_alone += used[rank_of[r]]++ == 0;
    T_EQ(n_alone, t->n_roles);
    stream_topology_destroy(&t);
}

/* Nodes whose host is not that of their first wafer. */
static int nodes_apart(const struct stream_topology *t, const int *host_of, const int *rank_of)
{
    int n = 0;
    for (int i = 0; i < t->n_nodes; i++) {
        const int wafer = stream_role_of_wafer(t, t->node[i].first_wafer);
        n += host_of[rank_of[stream_role_of_node(t, i)]] != host_of[rank_of[wafer]];
    }
    return n;
}

/* 12 shards, 5 nodes, 16 wafers on 4 hosts. */
static void check_hosts(int n_ranks, bool in_turn)
{
    enum { HOSTS = 4, WAFERS = 16 };
    struct stream_topology *t = NULL;
    int rank_of[MOST_ROLES], host_of[MOST_ROLES], wafers[HOSTS] = {0}, shards[HOSTS] = {0};
    T_OK(stream_topology_create(&t, 12, WAFERS, 4));
    spread_ranks(n_ranks, HOSTS, in_turn, host_of);
    T_OK(stream_place(t, n_ranks, host_of, rank_of));
    T_EQ(nodes_apart(t, host_of, rank_of), 0);
    for (int w = 0; w < WAFERS; w++)
        wafers[host_of[rank_of[stream_role_of_wafer(t, w)]]]++;
    for (int m = 0; m < t->n_shards; m++)
        shards[host_of[rank_of[m]]]++;
    for (int h = 0; h < HOSTS; h++)
        CU_ASSERT(wafers[h] >= WAFERS / HOSTS - 1 && wafers[h] <= WAFERS / HOSTS + 1 &&
                  shards[h] >= 2 && shards[h] <= 4);
    stream_topology_destroy(&t);
}

TEST(stream_place, nodes_are_beside_their_wafers_and_every_host_has_shards)
{
    static const int n_ranks[] = {4, 8, 16, 24, 33};
    for (int i = 0; i < (int)(sizeof n_ranks / sizeof *n_ranks); i++) {
        check_hosts(n_ranks[i], false);
        check_hosts(n_ranks[i], true);
    }
}

/* ---- lost nodes and wafers ------------------------------------------------------------------- */

/* Every wafer that is left is below one leaf, in order, and no part that is lost is in the tree. */
static void check_left(const struct stream_topology *t, const bool *lost_wafer,
                       const bool *lost_node)
{
    int next = 0;
    for (int i = 0; i < t->n_nodes; i++) {
        const struct stream_node *node = &t->node[i];
        CU_ASSERT(!lost_node[node->position] && node->n_children > 0);
        for (int c = 0; c < node->n_children && node->leaf_switch; c++)
            T_EQ(node->first_child + c, next++);
        for (int c = 0; c < node->n_children && !node->leaf_switch; c++)
            T_EQ(t->node[node->first_child + c].parent, i);
    }
    T_EQ(next, t->n_wafers);
    T_EQ(t->node[0].first_wafer, 0);
    T_EQ(t->node[0].end_wafer, t->n_wafers);
    for (int w = 0; w < t->n_wafers; w++)
        CU_ASSERT(!lost_wafer[t->wafer_position[w]] &&
                  (!w || t->wafer_position[w] > t->wafer_position[w - 1]));
}

/* @p whole without some parts. */
static void check_without(const struct stream_topology *whole, const bool *lost_wafer,
                          const bool *lost_node)
{
    struct stream_topology *t = NULL;
    T_OK(stream_topology_create_without(&t, whole, lost_wafer, lost_node));
    check_left(t, lost_wafer, lost_node);
    T_EQ(t->n_roles, whole->n_roles);
    stream_topology_destroy(&t);
}

/* Parts of the machine are lost one after the other until one node and one wafer are left. */
static void lose_one_after_the_other(int n_wafers)
{
    struct stream_topology *whole = NULL;
    bool lost_wafer[64] = {0}, lost_node[64] = {0};
    T_OK(stream_topology_create(&whole, SHARDS, n_wafers, 4));
    for (int i = 0; i < n_wafers - 1; i++) {
        lost_wafer[i * 7 % n_wafers] = true;
        if (i < whole->n_nodes - 1) lost_node[i] = true; /* each root in turn */
        check_without(whole, lost_wafer, lost_node);
    }
    stream_topology_destroy(&whole);
}

TEST(stream_topology, a_tree_formed_anew_has_every_leaf)
{
    static const int wafers[] = {2, 5, 8, 16, 33, 64};
    for (int k = 0; k < 6; k++)
        lose_one_after_the_other(wafers[k]);
}

TEST(stream_topology, siblings_and_the_next_level_stand_in)
{
    struct stream_topology *whole = NULL, *t = NULL;
    bool lost[21] = {0};
    T_OK(stream_topology_create(&whole, SHARDS, 64, 4));
    lost[0] = true; /* the root: the first of its children takes its place */
    T_OK(stream_topology_create_without(&t, whole, NULL, lost));
    T_EQ(t->n_nodes, 20);
    T_EQ(t->node[0].position, 1);
    T_EQ(t->node[0].n_children, 3);
    stream_topology_destroy(&t);
    lost[0] = false;
    lost[5] = true; /* a leaf: fifteen share 64 wafers */
    T_OK(stream_topology_create_without(&t, whole, NULL, lost));
    T_EQ(t->node[0].position, 0);
    T_EQ(t->node[t->n_nodes - 1].n_children, 5);
    stream_topology_destroy(&t);
    for (int i = 0; i < 20; i++)
        lost[i] = true;
    lost[5] = true;
    T_OK(stream_topology_create_without(&t, whole, NULL, lost)); /* one node serves all */
    T_EQ(t->n_nodes, 1);
    T_EQ(t->node[0].n_children, 64);
    CU_ASSERT(t->node[0].leaf_switch);
    stream_topology_destroy(&t);
    lost[20] = true;
    T_EQ(stream_topology_create_without(&t, whole, NULL, lost), WSC_CONFIG);
    stream_topology_destroy(&whole);
}
