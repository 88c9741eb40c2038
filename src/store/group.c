// SPDX-License-Identifier: Apache-2.0
#include "store_impl.h"

/* HDF5's header brings MPI along; a parallel file needs three calls of it, all here. */

enum wsc_err store_group_agree(const struct store_group *g, enum wsc_err mine)
{
    if (!g->mpi_comm) return mine;
    int code = (int)mine, worst = code;
    if (MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, *(const MPI_Comm *)g->mpi_comm))
        return mine ? mine : WSC_RAISE(WSC_MPI, "the ranks that write a checkpoint lost contact");
    if (!mine && worst)
        return WSC_RAISE((enum wsc_err)worst, "another rank could not write its part of the file");
    return mine;
}

enum wsc_err store_group_sum(const struct store_group *g, uint64_t *x, int n)
{
    if (!g->mpi_comm) return WSC_OK;
    if (MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_UINT64_T, MPI_SUM, *(const MPI_Comm *)g->mpi_comm))
        return WSC_RAISE(WSC_MPI, "the ranks that write a checkpoint lost contact");
    return WSC_OK;
}

enum wsc_err store_group_driver(const struct store_group *g, hid_t fapl)
{
    if (!g->mpi_comm) return WSC_OK;
    if (H5Pset_fapl_mpio(fapl, *(const MPI_Comm *)g->mpi_comm, MPI_INFO_NULL) < 0)
        return H5_RAISE(WSC_MPI, "HDF5 does not accept the communicator");
    return WSC_OK;
}
