// SPDX-License-Identifier: Apache-2.0
/* Assigns roles to ranks. Ranks are sorted by host, so that roles that exchange most, a SwarmX node
 * and its wafers, share a host, and each host has a part of the shards. On one host this is the
 * order of the ranks. */
#include <wsc/stream.h>

#include <wsc/check.h>
#include <wsc/mem.h>

/* The ranks of a job that get a role. */
struct ranks {
    int n;
    const int *host; /* borrowed; NULL: all ranks are on one host */
    int *sorted;     /* owned (n): ranks by host, then by number */
    int *light;      /* owned (n_light): ranks without a wafer, if there are enough ranks */
    int n_light;
};

static int host_of(const struct ranks *ranks, int rank)
{
    return ranks->host ? ranks->host[rank] : 0;
}

static enum wsc_err sort_ranks(struct ranks *ranks)
{
    int n = 0;
    TRY_NEW(ranks->sorted, WSC_MEM_STREAM, ranks->n);
    TRY_NEW(ranks->light, WSC_MEM_STREAM, ranks->n);
    for (int host = 0; n < ranks->n; host++)
        for (int r = 0; r < ranks->n; r++)
            if (host_of(ranks, r) == host) ranks->sorted[n++] = r;
    return WSC_OK;
}

/* ---- a rank for each wafer, and some for the others ------------------------------------------ */

/* Each host gets wafers in proportion to its ranks, fewer than it has ranks; its ranks before those
 * of the wafers are for shards and nodes. */
static void place_wafers(const struct stream_topology *t, struct ranks *ranks, int *rank_of_role)
{
    const int64_t n_wafers = t->n_wafers;
    for (int begin = 0, end = 0; begin < ranks->n; begin = end) {
        const int host = host_of(ranks, ranks->sorted[begin]);
        while (end < ranks->n && host_of(ranks, ranks->sorted[end]) == host)
            end++;
        const int first = (int)(n_wafers * begin / ranks->n);
        const int n = (int)(n_wafers * end / ranks->n) - first;
        for (int i = begin; i < end - n; i++)
            ranks->light[ranks->n_light++] = ranks->sorted[i];
        for (int w = 0; w < n; w++)
            rank_of_role[stream_role_of_wafer(t, first + w)] = ranks->sorted[end - n + w];
    }
}

/* Rank of position @p p of @p n: shards and nodes share the ranks without a wafer evenly. */
static int rank_of_place(const struct ranks *ranks, int p, int n)
{
    WSC_CHECK(ranks->light, "no ranks");
    return ranks->light[(int64_t)p * ranks->n_light / n];
}

/* The last free position on host @p host, or the last free one of all; position 0 is for shard 0.
 */
static int free_place(const struct ranks *ranks, const bool *taken, int n, int host)
{
    int any = 0;
    for (int p = n - 1; p > 0; p--) {
        if (taken[p]) continue;
        if (host_of(ranks, rank_of_place(ranks, p, n)) == host) return p;
        if (!any) any = p;
    }
    return any;
}

/* Place nodes on the host of their first wafer while positions are free, then shards on the
 * remaining positions, in order. */
static enum wsc_err place_others(const struct stream_topology *t, const struct ranks *ranks,
                                 int *rank_of_role)
{
    const int n = t->n_shards + t->n_nodes;
    bool *taken;
    WSC_CHECK(ranks->n_light > 0, "%d ranks for %d wafers leave none for shards", ranks->n,
              t->n_wafers);
    TRY_NEW(taken, WSC_MEM_STREAM, n);
    for (int i = t->n_nodes - 1; i >= 0; i--) {
        const int wafer = stream_role_of_wafer(t, t->node[i].first_wafer);
        const int p = free_place(ranks, taken, n, host_of(ranks, rank_of_role[wafer]));
        taken[p] = true;
        rank_of_role[stream_role_of_node(t, i)] = rank_of_place(ranks, p, n);
    }
    for (int p = 0, m = 0; p < n; p++)
        if (!taken[p]) rank_of_role[stream_role_of_shard(t, m++)] = rank_of_place(ranks, p, n);
    wsc_free(taken);
    return WSC_OK;
}

/* ---- fewer ----------------------------------------------------------------------------------- */

/* With few ranks: wafers in contiguous blocks, a node on the rank of its first wafer, shards
 * evenly. */
static void place_narrow(const struct stream_topology *t, const struct ranks *ranks,
                         int *rank_of_role)
{
    const int64_t n = ranks->n;
    for (int w = 0; w < t->n_wafers; w++)
        rank_of_role[stream_role_of_wafer(t, w)] = ranks->sorted[w * n / t->n_wafers];
    for (int i = 0; i < t->n_nodes; i++)
        rank_of_role[stream_role_of_node(t, i)] =
            rank_of_role[stream_role_of_wafer(t, t->node[i].first_wafer)];
    for (int m = 0; m < t->n_shards; m++)
        rank_of_role[stream_role_of_shard(t, m)] = ranks->sorted[m * n / t->n_shards];
}

static enum wsc_err place_all(const struct stream_topology *t, struct ranks *ranks,
                              int *rank_of_role)
{
    TRY(sort_ranks(ranks));
    if (ranks->n <= t->n_wafers) {
        place_narrow(t, ranks, rank_of_role);
        return WSC_OK;
    }
    place_wafers(t, ranks, rank_of_role);
    return place_others(t, ranks, rank_of_role);
}

enum wsc_err stream_place(const struct stream_topology *t, int n_ranks, const int *host_of_rank,
                          int *rank_of_role)
{
    struct ranks ranks = {.n = n_ranks < t->n_roles ? n_ranks : t->n_roles, .host = host_of_rank};
    enum wsc_err rc = place_all(t, &ranks, rank_of_role);
    wsc_free(ranks.sorted);
    wsc_free(ranks.light);
    return rc;
}
