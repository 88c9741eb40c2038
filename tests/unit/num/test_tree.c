// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

enum { MAX_ITEMS = 48 };

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static double item_value(int64_t i)
{
    return wsc_rng_uniform(7, wsc_rng_stream(WSC_RNG_TEST, 1), (uint64_t)i) - 0.3;
}

/* The definition: sum(left child) + sum(right child), in fp32. */
static float sum_of_node(int level, int64_t index, int64_t n_items)
{
    if (level == 0) return (float)item_value(index);
    float left = sum_of_node(level - 1, 2 * index, n_items);
    int64_t right = (2 * index + 1) << (level - 1);
    return right < n_items ? left + sum_of_node(level - 1, 2 * index + 1, n_items) : left;
}

static int level_of_root(int64_t n_items)
{
    return n_items <= 1 ? 0 : (int)ceil(log2((double)n_items));
}

/* First item and end item of a node, by its definition. */
static void span_of(const struct num_node *node, int64_t n_items, int64_t *first, int64_t *end)
{
    *first = node->index << node->level;
    *end = (node->index + 1) << node->level;
    if (*end > n_items) *end = n_items;
}

static bool inside(int level, int64_t index, int64_t first, int64_t end, int64_t n_items)
{
    int64_t a, b;
    span_of(&(struct num_node){level, index}, n_items, &a, &b);
    return a >= first && b <= end && a < b;
}

/* Every range of every n: the nodes tile the range and the parent of each one sticks out. */
static void check_range(int64_t first, int64_t end, int64_t n_items)
{
    struct num_nodes nodes;
    num_nodes_of_range(&nodes, first, end, n_items);
    int64_t at = first;
    for (int i = 0; i < nodes.n; i++) {
        const struct num_node *node = &nodes.node[i];
        int64_t a, b;
        span_of(node, n_items, &a, &b);
        T_EQ(a, at);
        CU_ASSERT(b > a);
        at = b;
        if (node->level < level_of_root(n_items))
            CU_ASSERT(!inside(node->level + 1, node->index / 2, first, end, n_items));
        CU_ASSERT(node->level <= level_of_root(n_items));
    }
    T_EQ(at, first < end ? end : first);
}

TEST(num_tree, every_range_is_tiled_by_maximal_nodes)
{
    for (int64_t n = 0; n <= 40; n++) {
        for (int64_t first = 0; first <= n; first++) {
            for (int64_t end = first; end <= n; end++)
                check_range(first, end, n);
        }
    }
}

TEST(num_tree, whole_range_is_one_node_whose_level_is_the_root)
{
    for (int64_t n = 1; n <= 300; n++) {
        struct num_nodes nodes;
        num_nodes_of_range(&nodes, 0, n, n);
        T_EQ(nodes.n, 1);
        T_EQ(nodes.node[0].level, level_of_root(n));
        T_EQ(nodes.node[0].index, 0);
    }
}

TEST(num_tree, large_ranges_stay_within_the_list)
{
    int64_t n = INT64_C(1) << 30;
    struct num_nodes left, right;
    num_nodes_of_range(&left, 1, n / 2 + 1, n);
    num_nodes_of_range(&right, n / 2 + 1, n - 1, n);
    CU_ASSERT(left.n + right.n <= NUM_MAX_NODES);
    struct num_merge merge;
    num_merge_plan(&merge, &left, &right, n);
    struct num_nodes whole;
    num_nodes_of_range(&whole, 1, n - 1, n);
    T_EQ(merge.result.n, whole.n);
}

/* A wafer's or switch's partial sums of a range. */
struct partial {
    int64_t first, end;
    struct num_nodes nodes;
    float sum[NUM_MAX_NODES];
};

static void partial_of_range(struct partial *p, int64_t first, int64_t end, int64_t n_items)
{
    p->first = first;
    p->end = end;
    num_nodes_of_range(&p->nodes, first, end, n_items);
    for (int i = 0; i < p->nodes.n; i++)
        p->sum[i] = sum_of_node(p->nodes.node[i].level, p->nodes.node[i].index, n_items);
}

static void merge_partials(struct partial *left, const struct partial *right, int64_t n_items)
{
    float slot[NUM_MAX_NODES];
    struct num_merge plan;
    num_merge_plan(&plan, &left->nodes, &right->nodes, n_items);
    memcpy(slot, left->sum, (size_t)left->nodes.n * sizeof *slot);
    memcpy(slot + left->nodes.n, right->sum, (size_t)right->nodes.n * sizeof *slot);
    for (int i = 0; i < plan.n_steps; i++)
        slot[plan.step[i].into] += slot[plan.step[i].from];
    left->end = right->end;
    left->nodes = plan.result;
    for (int i = 0; i < plan.result.n; i++)
        left->sum[i] = slot[plan.slot[i]];
}

/* The nodes and sums of a merged range are those of the range itself. */
static void check_partial(const struct partial *p, int64_t n_items)
{
    struct partial direct;
    partial_of_range(&direct, p->first, p->end, n_items);
    T_EQ(p->nodes.n, direct.nodes.n);
    for (int i = 0; i < direct.nodes.n && i < p->nodes.n; i++) {
        T_EQ(p->nodes.node[i].level, direct.nodes.node[i].level);
        T_EQ(p->nodes.node[i].index, direct.nodes.node[i].index);
        CU_ASSERT(same_bits(&p->sum[i], &direct.sum[i], sizeof p->sum[i]));
    }
}

static void check_pair(int64_t first, int64_t cut, int64_t end, int64_t n_items)
{
    static struct partial left, right;
    partial_of_range(&left, first, cut, n_items);
    partial_of_range(&right, cut, end, n_items);
    merge_partials(&left, &right, n_items);
    check_partial(&left, n_items);
}

TEST(num_tree, every_pair_of_adjacent_ranges_merges)
{
    for (int64_t n = 1; n <= 18; n++) {
        for (int64_t cut = 0; cut <= n; cut++) {
            for (int64_t pair = 0; pair < (cut + 1) * (n - cut + 1); pair++)
                check_pair(pair % (cut + 1), cut, cut + pair / (cut + 1), n);
        }
    }
}

static int64_t draw(uint64_t *at, int64_t below)
{
    return (int64_t)(wsc_rng_u64(3, wsc_rng_stream(WSC_RNG_TEST, 2), (*at)++) % (uint64_t)below);
}

/* Cut [0, n) at random places, some parts empty, and merge neighbours in a random order. */
static void check_random_split(int64_t n, uint64_t *at)
{
    static struct partial part[12];
    int n_parts = 1 + (int)draw(at, 12);
    int64_t first = 0;
    for (int i = 0; i < n_parts; i++) {
        int64_t end = i == n_parts - 1 ? n : first + draw(at, n - first + 1);
        partial_of_range(&part[i], first, end, n);
        first = end;
    }
    while (n_parts > 1) {
        int64_t i = draw(at, n_parts - 1);
        merge_partials(&part[i], &part[i + 1], n);
        memmove(&part[i + 1], &part[i + 2], (size_t)(n_parts - i - 2) * sizeof *part);
        n_parts--;
        check_partial(&part[i], n);
    }
    T_EQ(part[0].nodes.n, 1);
    float whole = sum_of_node(level_of_root(n), 0, n);
    CU_ASSERT(same_bits(&part[0].sum[0], &whole, sizeof whole));
}

TEST(num_tree, any_split_merged_in_any_order_gives_the_same_bits)
{
    uint64_t at = 0;
    for (int64_t n = 1; n <= MAX_ITEMS; n++) {
        for (int round = 0; round < 40; round++)
            check_random_split(n, &at);
    }
}

TEST(num_tree, the_order_of_additions_matters_at_all)
{
    float ascending = 0;
    for (int64_t i = 0; i < 43; i++)
        ascending += (float)item_value(i);
    CU_ASSERT(ascending != sum_of_node(level_of_root(43), 0, 43));
}
