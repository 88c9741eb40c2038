// SPDX-License-Identifier: Apache-2.0
/* Coordinates the processes that write one checkpoint: they agree on success, add up sums, and pass
 * their communicator to HDF5. The caller, who owns MPI, supplies the reductions. checkpoint_file.c
 * calls these functions at every step in which one process can fail and the others must not
 * continue. */
#include "writer_group.h"
#include "h5_error.h"

enum wsc_err store_group_agree(const struct store_group *g, enum wsc_err own)
{
    int64_t worst = (int64_t)own;
    if (!g->communicator) return own;
    const enum wsc_err lost = g->max(g->ctx, &worst);
    if (own || lost) return own ? own : lost;
    if (worst)
        return WSC_RAISE((enum wsc_err)worst, "another rank could not write its part of the file");
    return WSC_OK;
}

enum wsc_err store_group_sum(const struct store_group *g, uint64_t *x, int n)
{
    return g->communicator ? g->sum(g->ctx, x, n) : WSC_OK;
}

enum wsc_err store_group_driver(const struct store_group *g, hid_t fapl)
{
    const void *communicator = g->communicator;
    if (!communicator) return WSC_OK;
    if (H5Pset_fapl_mpio(fapl, *(const MPI_Comm *)communicator, MPI_INFO_NULL) < 0)
        return H5_RAISE(WSC_MPI, "HDF5 does not accept the communicator");
    return WSC_OK;
}
