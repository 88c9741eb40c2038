// SPDX-License-Identifier: Apache-2.0
/* The exchange among shards: everybody gets what shard 0 made of all parts, at the time that the
 * links say; a round of no size takes none; a failure of the combination leaks nothing. */
#include "../../../src/memoryx/memoryx_exchange.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MOST_SHARDS = 8, STEP = 3 };

/* One shard's side of a round. */
struct side {
    struct memoryx *mx;
    const struct memoryx_round *round;
    bool values;
    double part, total; /* total stays -1 when there is no payload */
    struct vtime at;
};

/* Weighted, so that two parts that change places show. */
static enum wsc_err weigh(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                          struct comm_buf **total)
{
    double sum = 0, one;
    for (int m = 0; m < mx->n_shards; m++) {
        memcpy(&one, comm_buf_data(part[m]), sizeof one);
        sum += (m + 1) * one;
    }
    TRY(comm_buf_create(mx->net->comm, total, (int64_t)sizeof sum));
    memcpy(comm_buf_data(*total), &sum, sizeof sum);
    return ctx ? WSC_RAISE(WSC_NUMERIC, "a combination that fails") : WSC_OK;
}

static enum wsc_err run_side(void *arg)
{
    struct side *s = arg;
    struct comm_buf *own = NULL, *total = NULL;
    if (s->values) {
        TRY(comm_buf_create(s->mx->net->comm, &own, (int64_t)sizeof s->part));
        memcpy(comm_buf_data(own), &s->part, sizeof s->part);
    }
    enum wsc_err rc = memoryx_exchange(s->mx, s->round, own, &total, &s->at);
    if (rc) CU_ASSERT(!total);
    if (total) memcpy(&s->total, comm_buf_data(total), sizeof s->total);
    comm_buf_unref(&total);
    return rc;
}

/* One round among @p n shards, of which number m is ready at 1000 m ps. */
static WSC_CHECKED enum wsc_err exchange(int n, const struct memoryx_round *round, bool values,
                                         struct side *side)
{
    const struct memoryx_hooks hooks = {0};
    char shards[40];
    struct small_config c;
    struct comm *comm = NULL;
    struct cluster *cluster = NULL;
    (void)snprintf(shards, sizeof shards, "cluster.memoryx.shards=%d", n);
    const char *const sets[] = {shards, "cluster.memoryx.link_rate=1 GB/s",
                                "cluster.memoryx.link_latency=1 us", "cluster.swarmx.header=0 B",
                                NULL};
    TRY(small_config_init(&c, 2, sets));
    TRY(comm_create(&comm, false));
    TRY(cluster_create(&cluster, comm, &c.params, &c.cluster, false, &hooks));
    for (int m = 0; m < n; m++) {
        side[m] =
            (struct side){cluster->memoryx[m], round, values, m + 0.5, -1, {(int64_t)1000 * m, 0}};
        TRY(comm_spawn(comm, stream_role_of_shard(cluster->net->topology, m), run_side, &side[m], 0,
                       "shard"));
    }
    const enum wsc_err rc = comm_run(comm);
    cluster_destroy(&cluster);
    comm_destroy(&comm);
    small_config_fini(&c);
    return rc;
}

/* One round of 2000 bytes each way among @p n shards. */
static void exchange_2000(int n, bool values, struct side *side)
{
    const struct memoryx_round round = {.step = STEP, .bytes = 2000, .combine = weigh};
    T_OK(exchange(n, &round, values, side));
}

TEST(memoryx_exchange, everybody_gets_the_total_of_all_parts)
{
    struct side side[MOST_SHARDS] = {0};
    for (int n = 1; n <= MOST_SHARDS; n++) {
        double total = 0;
        exchange_2000(n, true, side);
        for (int m = 0; m < n; m++)
            total += (m + 1) * (m + 0.5);
        for (int m = 0; m < n; m++)
            CU_ASSERT(side[m].total == total);
    }
}

/* A link carries 2000 bytes in 2 us and its latency is 1 us: parts take 3 us to shard 0, and the
 * total 3 us back. */
static void check_times(int n, bool values)
{
    struct side side[MOST_SHARDS] = {0};
    const int64_t known = (int64_t)1000 * (n - 1) + 3000000;
    exchange_2000(n, values, side);
    T_EQ(side[0].at.ps, known);
    for (int m = 1; m < n; m++)
        T_EQ(side[m].at.ps, known + 3000000);
    CU_ASSERT(values || side[n - 1].total < 0);
}

TEST(memoryx_exchange, the_total_is_known_after_two_ways)
{
    for (int n = 2; n <= MOST_SHARDS; n++) {
        check_times(n, true);
        check_times(n, false);
    }
}

TEST(memoryx_exchange, a_round_of_no_size_takes_no_turn_at_shard_0)
{
    const struct memoryx_round round = {.step = STEP, .combine = weigh};
    struct side side[MOST_SHARDS] = {0};
    T_OK(exchange(3, &round, true, side));
    T_EQ(side[0].at.ps, 0);
    CU_ASSERT(side[1].total == side[0].total && side[2].total == side[0].total);
}

TEST(memoryx_exchange, a_failure_at_shard_0_ends_the_round)
{
    struct side side[MOST_SHARDS] = {0};
    int fail = 1;
    const struct memoryx_round round = {.step = STEP, .bytes = 8, .combine = weigh, .ctx = &fail};
    T_EQ(exchange(1, &round, true, side), WSC_NUMERIC);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MEMORYX), 0);
}
