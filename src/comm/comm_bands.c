// SPDX-License-Identifier: Apache-2.0
/* Collectives of ranks of which each computes one band of rows of the same fabric: bytes for the
 * neighbouring ranks, minima of numbers, parts that every rank receives. `wsc mesh` under mpirun
 * calls the first two after every cycle. */
#include "comm_state.h"

#include <wsc/check.h>

enum { NEIGHBOURS = 2, TAG = 7, MAX_BYTES = 4 << 20 };

enum wsc_err comm_swap(struct comm *comm, const void *const out[2], const int64_t n_out[2],
                       void *const in[2], int64_t n_in[2])
{
    MPI_Request request[2 * NEIGHBOURS];
    MPI_Status status[2 * NEIGHBOURS];
    int n = 0, from[NEIGHBOURS] = {-1, -1};
    /* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): it does not follow requests of a loop */
    for (int i = 0; i < NEIGHBOURS && comm->use_mpi; i++) {
        const int other = comm->rank + (i ? 1 : -1);
        if (other < 0 || other >= comm->size) continue;
        from[i] = n;
        TRY_MPI(MPI_Irecv(in[i], (int)n_in[i], MPI_BYTE, other, TAG, comm->world, &request[n++]));
        TRY_MPI(MPI_Isend(out[i], (int)n_out[i], MPI_BYTE, other, TAG, comm->world, &request[n++]));
    }
    if (n) TRY_MPI(MPI_Waitall(n, request, status));
    /* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
    for (int i = 0; i < NEIGHBOURS; i++) {
        int bytes = 0;
        if (from[i] >= 0) TRY_MPI(MPI_Get_count(&status[from[i]], MPI_BYTE, &bytes));
        n_in[i] = bytes;
    }
    return WSC_OK;
}

enum wsc_err comm_least(struct comm *comm, int64_t *value, int n)
{
    if (comm->use_mpi)
        TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, value, n, MPI_INT64_T, MPI_MIN, comm->world));
    return WSC_OK;
}

/* Broadcast the part [first, end) of @p rank to all other ranks, in chunks: MPI counts in int. */
static enum wsc_err spread_part(struct comm *comm, char *bytes, int rank, int64_t first,
                                int64_t end)
{
    for (int64_t at = first; at < end; at += MAX_BYTES) {
        const int n = (int)(end - at < MAX_BYTES ? end - at : MAX_BYTES);
        TRY_MPI(MPI_Bcast(bytes + at, n, MPI_BYTE, rank, comm->world));
    }
    return WSC_OK;
}

enum wsc_err comm_spread(struct comm *comm, void *bytes, const int64_t *first)
{
    for (int rank = 0; rank < comm->size && comm->use_mpi; rank++)
        TRY(spread_part(comm, bytes, rank, first[rank], first[rank + 1]));
    return WSC_OK;
}
