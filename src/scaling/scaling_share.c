// SPDX-License-Identifier: Apache-2.0
/* Shares independent computations over the ranks of a communicator and the threads of a rank: item
 * i belongs to rank i modulo the number of ranks, whose threads take its items in turn, and
 * afterwards every rank has all items, so that the results of any number of ranks and threads have
 * the same bits.  Called by scaling_run() for the points of a sweep and by `validation` for
 * published rows. */
#include <wsc/mem.h>
#include <wsc/scaling.h>

#include <stddef.h>

/* Items of this rank that are computed side by side, or those that are alone. */
struct own {
    const struct scaling_items *items;
    int *which; /* owned (n): their numbers among all, which rise */
    int n;
    int first, step; /* of the rank's items among all */
    int begun;
};

static enum wsc_err compute_at(const struct scaling_items *items, int i)
{
    return items->compute(items->ctx, i, (char *)items->item + i * items->bytes);
}

static bool compute(void *ctx, int k)
{
    const struct own *own = ctx;
    return !compute_at(own->items, own->which[k]);
}

static void begin(void *ctx, int k)
{
    struct own *own = ctx;
    const int done = own->first + own->begun++ * own->step;
    if (own->items->progress) own->items->progress(own->items->ctx, done, own->which[k]);
}

/* Those items of the rank before item @p end for which alone() is @p alone. */
static void list(struct own *own, bool alone, int end)
{
    const struct scaling_items *items = own->items;
    own->n = 0;
    for (int i = own->first; i < end; i += own->step)
        if ((items->alone && items->alone(items->ctx, i)) == alone) own->which[own->n++] = i;
}

/* @return the first of the listed items with an error, or the number of all */
static int compute_listed(struct own *own, int n_threads)
{
    const struct comm_items items = {own->n, compute, begin, own};
    const int failed = comm_compute_items(n_threads, &items);
    return failed < own->n ? own->which[failed] : own->items->n;
}

/* What rank @p comm has to compute; *@p failed: its first item with an error, or n. */
static WSC_CHECKED enum wsc_err run_own(struct comm *comm, const struct scaling_items *items,
                                        int *failed)
{
    struct own own = {
        .items = items, .first = comm ? comm_rank(comm) : 0, .step = comm ? comm_size(comm) : 1};
    *failed = 0;
    TRY_NEW(own.which, WSC_MEM_SCALING, items->n);
    list(&own, false, items->n);
    *failed = compute_listed(&own, comm_threads(own.n));
    list(&own, true, *failed);
    const int alone = compute_listed(&own, 1);
    if (alone < *failed) *failed = alone;
    wsc_free(own.which);
    return WSC_OK;
}

enum wsc_err scaling_share(struct comm *comm, const struct scaling_items *items)
{
    int failed;
    enum wsc_err rc = run_own(comm, items, &failed);
    const int n = items->n, first = comm ? n - (int)comm_max(comm, n - failed) : failed;
    if (first == n) return comm ? comm_collect(comm, items->item, items->bytes, n) : WSC_OK;
    /* It depends on the item alone, so each rank computes it again and has its message. */
    if (!rc) rc = compute_at(items, first);
    return rc ? rc : WSC_RAISE(WSC_NOMEM, "item %d of %d failed, and not again", first, n);
}
