// SPDX-License-Identifier: Apache-2.0
/* Sums of leaves, merged from lists of any cut of the batch, have the bits of the one canonical
 * tree: the definition of the tree is written out here again, as a recursion. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/stream.h>

#include <string.h>

enum { ELEMS = 3, MOST_LEAVES = 40, CUTS = 6 };

static float leaf_value(int64_t leaf, int e)
{
    /* Different sizes, so that another order of adding shows in the bits. */
    double u = wsc_rng_uniform(5, wsc_rng_stream(WSC_RNG_TEST, 2), (uint64_t)(leaf * ELEMS + e));
    return (float)((u - 0.5) * (double)(1 << (leaf * 7 % 11)));
}

/* Smallest power of two that reaches n leaves, halved at every level. */
static float tree(int64_t first, int64_t span, int64_t n, int e)
{
    if (span == 1) return leaf_value(first, e);
    const int64_t middle = first + span / 2;
    const float left = tree(first, span / 2, n, e);
    return middle < n ? left + tree(middle, span / 2, n, e) : left;
}

static int64_t reach(int64_t n)
{
    int64_t span = 1;
    while (span < n)
        span *= 2;
    return span;
}

static bool same_bytes(const void *a, const void *b, size_t n)
{
    return !memcmp(a, b, n);
}

static void append_leaf(struct comm *comm, struct stream_sums *s, int64_t leaf, int64_t n)
{
    struct comm_buf *buf = NULL;
    struct num_nodes one;
    T_OK(comm_buf_create(comm, &buf, ELEMS * (int64_t)sizeof(float)));
    for (int e = 0; e < ELEMS; e++)
        ((float *)comm_buf_data(buf))[e] = leaf_value(leaf, e);
    num_nodes_of_range(&one, leaf, leaf + 1, n);
    stream_sums_append(s, &one, n, ELEMS, buf);
}

/* One part of the batch, packed as it travels, then taken into the joint list. */
static void append_part(struct comm *comm, struct stream_sums *joint, int64_t first, int64_t end,
                        int64_t n)
{
    struct stream_sums part = {0};
    struct comm_buf *packed = NULL;
    struct num_nodes nodes;
    for (int64_t leaf = first; leaf < end; leaf++)
        append_leaf(comm, &part, leaf, n);
    num_nodes_of_range(&nodes, first, end, n);
    T_EQ(part.nodes.n, nodes.n);
    T_OK(stream_sums_pack(&part, comm, ELEMS, &packed));
    T_EQ(part.nodes.n, 0);
    T_EQ(comm_buf_bytes(packed), (int64_t)nodes.n * ELEMS * (int64_t)sizeof(float));
    stream_sums_append(joint, &nodes, n, ELEMS, packed);
}

/* Cut at places that depend on @p cut; some parts are empty. */
static void append_cut(struct comm *comm, struct stream_sums *joint, int64_t n, int cut)
{
    int64_t at = 0;
    for (uint64_t i = 0; at < n; i++) {
        uint64_t draw =
            wsc_rng_u64((uint64_t)cut, wsc_rng_stream(WSC_RNG_TEST, 3), (uint64_t)n * 64 + i);
        int64_t end = at + (int64_t)(draw % 6);
        if (end > n) end = n;
        append_part(comm, joint, at, end, n);
        at = end;
    }
}

static bool cut_gives_tree(struct comm *comm, int64_t n, int cut)
{
    struct stream_sums joint = {0};
    append_cut(comm, &joint, n, cut);
    bool same = joint.nodes.n == 1;
    for (int e = 0; same && e < ELEMS; e++) {
        const float expected = tree(0, reach(n), n, e);
        same = same_bytes(&expected, &joint.vector[0][e], sizeof expected);
    }
    stream_sums_clear(&joint);
    return same;
}

TEST(stream_sums, any_cut_of_the_batch_has_the_bits_of_the_tree)
{
    struct comm *comm = NULL;
    int n_wrong = 0;
    T_OK(comm_create(&comm, false));
    for (int64_t n = 1; n <= MOST_LEAVES; n++)
        for (int cut = 0; cut < CUTS; cut++)
            n_wrong += !cut_gives_tree(comm, n, cut);
    T_EQ(n_wrong, 0);
    comm_destroy(&comm);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* The values above do tell orders apart: from left to right most sums have other bits. */
TEST(stream_sums, another_order_would_show)
{
    int n_other = 0;
    for (int64_t n = 1; n <= MOST_LEAVES; n++) {
        float straight = 0;
        for (int64_t leaf = 0; leaf < n; leaf++)
            straight += leaf_value(leaf, 0);
        const float canonical = tree(0, reach(n), n, 0);
        n_other += !same_bytes(&straight, &canonical, sizeof straight);
    }
    CU_ASSERT(n_other > MOST_LEAVES / 4);
}

static double scalar_tree(int64_t first, int64_t span, int64_t n)
{
    if (span == 1) return (double)leaf_value(first, 0) * 1.1;
    const int64_t middle = first + span / 2;
    const double left = scalar_tree(first, span / 2, n);
    return middle < n ? left + scalar_tree(middle, span / 2, n) : left;
}

/* Losses and scalars follow the same tree; counts are exact. */
TEST(stream_sums, losses_and_scalars_follow_the_tree)
{
    for (int64_t n = 1; n <= MOST_LEAVES; n++) {
        struct stream_losses losses = {0};
        struct stream_scalars scalars = {0};
        for (int64_t leaf = 0; leaf < n; leaf++) {
            struct num_nodes one;
            const double value = (double)leaf_value(leaf, 0) * 1.1;
            const struct stream_loss loss = {.loss_sum = value, .n_tokens = leaf, .n_correct = 1};
            num_nodes_of_range(&one, leaf, leaf + 1, n);
            stream_losses_append(&losses, &one, n, &loss);
            stream_scalars_append(&scalars, &one, n, &value);
        }
        const double expected = scalar_tree(0, reach(n), n);
        CU_ASSERT(same_bytes(&losses.sum[0].loss_sum, &expected, sizeof expected));
        CU_ASSERT(same_bytes(&scalars.sum[0], &expected, sizeof expected));
        T_EQ(losses.sum[0].n_tokens, n * (n - 1) / 2);
        T_EQ(losses.sum[0].n_correct, n);
    }
}
