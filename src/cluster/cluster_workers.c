// SPDX-License-Identifier: Apache-2.0
/* Which thread runs which role of a large cluster whose virtual time alone is kept: wafers in
 * contiguous blocks, so that subtrees stay together, a SwarmX node with its first wafer, the shards
 * with the root.  Where there are values, or several ranks, there is one thread.  comm has the
 * threads (src/comm/comm_workers.c). */
#include "cluster_workers.h"

#include <wsc/mem.h>

/* Each stage the threads meet twice, which takes as long as some dozen wafers. */
enum { LEAST_WAFERS = 256 };

bool cluster_has_workers(int64_t num_csx)
{
    return num_csx / LEAST_WAFERS > 1;
}

static int count_workers(const struct cluster *c)
{
    const int most = c->machine->n_wafers / LEAST_WAFERS;
    if (c->values || comm_size(c->comm) > 1 || most < 2) return 1;
    const int n = comm_threads(most), least = most < COMM_MAX_WORKERS ? most : COMM_MAX_WORKERS;
    return n < least ? n : least;
}

static int worker_of_wafer(const struct cluster *c, int w)
{
    return (int)((int64_t)w * c->n_workers / c->machine->n_wafers);
}

static enum wsc_err assign(struct cluster *c)
{
    const struct stream_topology *t = c->machine;
    int *worker;
    TRY_NEW(worker, WSC_MEM_RUN, t->n_roles);
    for (int w = 0; w < t->n_wafers; w++)
        worker[stream_role_of_wafer(t, w)] = worker_of_wafer(c, w);
    for (int i = 0; i < t->n_nodes; i++)
        worker[stream_role_of_node(t, i)] = worker_of_wafer(c, t->node[i].first_wafer);
    const enum wsc_err rc = comm_set_workers(c->comm, c->n_workers, worker);
    wsc_free(worker);
    return rc;
}

enum wsc_err cluster_workers_create(struct cluster *c)
{
    c->n_workers = count_workers(c);
    TRY_NEW(c->prices, WSC_MEM_RUN, c->n_workers);
    for (int i = 0; i < c->n_workers; i++)
        TRY(wafer_prices_create(&c->prices[i], c->model));
    return c->n_workers > 1 ? assign(c) : WSC_OK;
}

void cluster_workers_destroy(struct cluster *c)
{
    for (int i = 0; c->prices && i < c->n_workers; i++)
        wafer_prices_destroy(&c->prices[i]);
    wsc_free(c->prices);
    c->prices = NULL;
}

struct wafer_prices *cluster_prices_of(const struct cluster *c, int w)
{
    return c->prices[worker_of_wafer(c, w)];
}
