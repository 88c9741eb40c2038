// SPDX-License-Identifier: Apache-2.0
/* Shares independent computations over the ranks of a communicator: item i is computed by rank i
 * modulo the number of ranks, and afterwards every rank has all items, so that the results of any
 * number of ranks have the same bits.  Called by scaling_run() for the points of a sweep and by
 * `validation` for published rows. */
#include <wsc/scaling.h>

#include <stddef.h>

/* What rank @p comm has to compute; *@p failed: its first item with an error, or n. */
static WSC_CHECKED enum wsc_err run_own(struct comm *comm, const struct scaling_items *items,
                                        int *failed)
{
    const int n_ranks = comm ? comm_size(comm) : 1;
    *failed = items->n;
    for (int i = comm ? comm_rank(comm) : 0; i < items->n; i += n_ranks) {
        enum wsc_err rc = items->compute(items->ctx, i, (char *)items->item + i * items->bytes);
        if (!rc) continue;
        *failed = i;
        return rc;
    }
    return WSC_OK;
}

/* An error depends on the item alone, so that each rank raises that of the first item that has
 * one. */
static WSC_CHECKED enum wsc_err collect(struct comm *comm, const struct scaling_items *items,
                                        enum wsc_err rc, int failed)
{
    const int n = items->n, first = n - (int)comm_max(comm, n - failed);
    if (first == n) return comm_collect(comm, items->item, items->bytes, n);
    if (first != failed)
        rc = items->compute(items->ctx, first, (char *)items->item + first * items->bytes);
    return rc ? rc : WSC_RAISE(WSC_NOMEM, "another rank failed at item %d of %d", first, n);
}

enum wsc_err scaling_share(struct comm *comm, const struct scaling_items *items)
{
    int failed;
    enum wsc_err rc = run_own(comm, items, &failed);
    return comm ? collect(comm, items, rc, failed) : rc;
}
