// SPDX-License-Identifier: Apache-2.0
/* Shares cut at subtrees: every batch is covered once, no edge carries more than two gradient
 * vectors in a micro-batch, and no wafer gets much more than an even share. */
#include "../../../src/stream/stream_cuts.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

enum { N_DRAWN = 150 };

/* One drawn case, its cuts, and what they do. */
struct drawn {
    struct stream_batch batch;
    struct stream_topology *tree;
    int64_t *cut;
    int64_t most; /* items of the largest share */
};

static int64_t draw(int64_t i, int64_t what, int64_t least, int64_t most)
{
    const double u = wsc_rng_uniform(17, wsc_rng_stream(WSC_RNG_TEST, 3), (uint64_t)(4 * i + what));
    const int64_t n = least + (int64_t)(u * (double)(most - least + 1));
    return n < most ? n : most;
}

/* A micro-batch has at least one leaf on some wafer, as cluster_plan_batch() has it. */
static bool drawn_init(struct drawn *d, int64_t n_leaves, int n_wafers, int64_t n_micro, int fanout)
{
    const int64_t most_micro = (n_leaves + n_wafers - 1) / n_wafers;
    *d = (struct drawn){.batch = {n_leaves, 1, n_leaves,
                                  n_micro < most_micro ? n_micro : most_micro, n_wafers, NULL}};
    T_OK(stream_topology_create(&d->tree, 2, n_wafers, fanout));
    d->cut = wsc_alloc(WSC_MEM_TEST, (size_t)(d->batch.n_micro * n_wafers + 1), sizeof *d->cut);
    if (!d->tree || !d->cut) return false;
    T_OK(stream_cuts_make(d->tree, &d->batch, d->cut));
    d->batch.cut = d->cut;
    d->most = stream_max_samples(&d->batch);
    return true;
}

static void drawn_fini(struct drawn *d)
{
    stream_topology_destroy(&d->tree);
    wsc_free(d->cut);
}

/* Shares follow each other from the first leaf to the last. */
static bool covers(const struct drawn *d)
{
    const struct stream_batch *b = &d->batch;
    const int64_t n = b->n_micro * b->n_wafers;
    bool grows = b->cut[0] == 0 && b->cut[n] == b->n_micro_shards;
    for (int64_t i = 0; i < n; i++)
        grows = grows && b->cut[i] <= b->cut[i + 1];
    return grows;
}

/* Bytes that the edge above wafers [first, end) carries up for a gradient of one float, over those
 * of one vector in each micro-batch in which it carries any. */
static double over_minimum(const struct stream_batch *b, int first, int end, int64_t *most)
{
    int64_t bytes = 0, least = 0;
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        struct num_nodes nodes;
        stream_subtrees(b, micro, first, end, &nodes);
        bytes += nodes.n * (int64_t)sizeof(float);
        least += (nodes.n > 0) * (int64_t)sizeof(float);
        if (nodes.n > *most) *most = nodes.n;
    }
    return least ? (double)bytes / (double)least : 1;
}

/* The worst edge of all; *most: vectors of one micro-batch. */
static double worst_edge(const struct drawn *d, int64_t *most)
{
    const struct stream_topology *t = d->tree;
    double worst = over_minimum(&d->batch, 0, t->n_wafers, most);
    for (int i = 0; i < t->n_nodes + t->n_wafers; i++) {
        const bool node = i < t->n_nodes;
        const int w = i - t->n_nodes;
        const double ratio =
            node ? over_minimum(&d->batch, t->node[i].first_wafer, t->node[i].end_wafer, most)
                 : over_minimum(&d->batch, w, w + 1, most);
        if (ratio > worst) worst = ratio;
    }
    return worst;
}

static bool is_right(const struct drawn *d)
{
    int64_t most = 0;
    return covers(d) && worst_edge(d, &most) <= 2 && most <= STREAM_CUT_VECTORS &&
           stream_cuts_hold(d->tree, &d->batch);
}

/* Time of the host, in micro-shards: the largest share of each micro-batch. */
static int64_t time_of(const struct stream_batch *b)
{
    int64_t time = 0;
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        int64_t most = 0;
        for (int w = 0; w < b->n_wafers; w++) {
            int64_t first, end;
            stream_micro_shards(b, micro, w, w + 1, &first, &end);
            if (end - first > most) most = end - first;
        }
        time += most;
    }
    return time;
}

/* Time over that of even shares. */
static double slowdown(const struct drawn *d)
{
    struct stream_batch even = d->batch;
    even.cut = NULL;
    return (double)time_of(&d->batch) / (double)time_of(&even);
}

TEST(stream_cuts, no_edge_carries_more_than_two_vectors)
{
    int n_wrong = 0;
    double worst = 0;
    for (int64_t i = 0; i < N_DRAWN; i++) {
        struct drawn d;
        const int fanout = i % 4 ? 4 : (int)draw(i, 3, 2, 9);
        if (!drawn_init(&d, draw(i, 0, 1, 2048), (int)draw(i, 1, 2, 64), draw(i, 2, 1, 16), fanout))
            n_wrong++;
        else
            n_wrong += !is_right(&d);
        if (slowdown(&d) > worst) worst = slowdown(&d);
        drawn_fini(&d);
    }
    T_EQ(n_wrong, 0);
    CU_ASSERT(worst <= 1.5);
    T_EQ(wsc_mem_in_use(WSC_MEM_STREAM), 0);
}

/* More micro-batches than two levels of their tree hold: those of one size share what they are. */
TEST(stream_cuts, thousands_of_micro_batches_take_the_room_of_two_sizes)
{
    struct drawn d;
    CU_ASSERT(drawn_init(&d, 30000, 1, 6000, 2) && is_right(&d));
    CU_ASSERT(slowdown(&d) <= 1.5);
    drawn_fini(&d);
    CU_ASSERT(drawn_init(&d, 30001, 3, 5003, 2) && is_right(&d));
    drawn_fini(&d);
    T_EQ(wsc_mem_in_use(WSC_MEM_STREAM), 0);
}
