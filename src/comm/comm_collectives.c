// SPDX-License-Identifier: Apache-2.0
/* Collectives over all ranks, for start-up and results only: none is on the data path. A rank that
 * waits in a collective reports it in its heartbeat. Where an error of MPI would leave a
 * rank with a value of its own, and so in another branch than the other ranks, the job ends. */
#include "comm_state.h"

#include <wsc/check.h>

/* Most bytes of one call. */
enum { MAX_BYTES = 4 << 20 };

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): it does not know that comm_wait() waits */
/* MPI_Bcast() and MPI_Allreduce() in place, but a rank that waits sleeps; return the code of MPI.
 */
static int broadcast(const struct comm *comm, void *x, int n, MPI_Datatype type, int root)
{
    MPI_Request request;
    const int mpi_rc = MPI_Ibcast(x, n, type, root, comm->world, &request);
    return mpi_rc == MPI_SUCCESS ? comm_wait(comm, &request) : mpi_rc;
}

static int reduce_all(const struct comm *comm, void *x, int n, MPI_Datatype type, MPI_Op op,
                      MPI_Comm ranks)
{
    MPI_Request request;
    const int mpi_rc = MPI_Iallreduce(MPI_IN_PLACE, x, n, type, op, ranks, &request);
    return mpi_rc == MPI_SUCCESS ? comm_wait(comm, &request) : mpi_rc;
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* Broadcast the length, then the bytes in chunks: MPI counts in int. */
static enum wsc_err share(struct comm *comm, char **bytes, int64_t *n_bytes)
{
    long long n = *n_bytes;
    TRY_MPI(broadcast(comm, &n, 1, MPI_LONG_LONG, 0));
    *n_bytes = n;
    if (comm->rank) *bytes = NULL;
    if (n < 0) return WSC_OK;
    if (comm->rank) {
        *bytes = wsc_alloc(WSC_MEM_COMM, (size_t)n + 1, 1);
        if (!*bytes) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "share bytes");
    }
    for (int64_t at = 0; at < n; at += MAX_BYTES) {
        const int64_t left = n - at;
        const int count = (int)(left < MAX_BYTES ? left : MAX_BYTES);
        TRY_MPI(broadcast(comm, *bytes + at, count, MPI_BYTE, 0));
    }
    return WSC_OK;
}

enum wsc_err comm_share(struct comm *comm, char **bytes, int64_t *n_bytes)
{
    if (!comm->use_mpi) return WSC_OK;
    comm_watch_waits(comm->watch, "rank 0 shares a text with all ranks");
    enum wsc_err rc = share(comm, bytes, n_bytes);
    comm_watch_waits(comm->watch, NULL);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, "share") : WSC_OK;
}

/* The error of the lowest rank that has one is returned on every rank. */
enum wsc_err comm_agree(struct comm *comm, enum wsc_err rc, bool *reports)
{
    struct {
        int rank, rc;
    } first = {.rank = rc ? comm->rank : comm->size, .rc = (int)rc};
    *reports = rc != WSC_OK;
    if (!comm->use_mpi) return rc;
    comm_watch_waits(comm->watch, "all ranks compare their errors");
    NEED_MPI(reduce_all(comm, &first.rank, 1, MPI_INT, MPI_MIN, comm->world));
    if (first.rank < comm->size) NEED_MPI(broadcast(comm, &first.rc, 1, MPI_INT, first.rank));
    comm_watch_waits(comm->watch, NULL);
    *reports = comm->rank == first.rank;
    return first.rank < comm->size ? (enum wsc_err)first.rc : WSC_OK;
}

enum wsc_err comm_collect(struct comm *comm, void *items, int64_t bytes, int64_t n)
{
    WSC_CHECK(bytes <= MAX_BYTES, "items of %lld bytes", (long long)bytes);
    comm_watch_waits(comm->watch, "all ranks collect their results");
    for (int64_t i = 0; i < n && comm->use_mpi; i++)
        TRY_MPI(broadcast(comm, (char *)items + i * bytes, (int)bytes, MPI_BYTE,
                          (int)(i % comm->size)));
    comm_watch_waits(comm->watch, NULL);
    return WSC_OK;
}

int64_t comm_max(struct comm *comm, int64_t value)
{
    long long all = value;
    if (!comm->use_mpi) return value;
    comm_watch_waits(comm->watch, "all ranks compare a number");
    NEED_MPI(reduce_all(comm, &all, 1, MPI_LONG_LONG, MPI_MAX, comm->world));
    comm_watch_waits(comm->watch, NULL);
    return all;
}

const void *comm_subgroup(struct comm *comm, bool member, int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    if (!comm->use_mpi) return NULL;
    if (comm->subgroup != MPI_COMM_NULL) (void)MPI_Comm_free(&comm->subgroup);
    NEED_MPI(MPI_Comm_split(comm->world, member ? 0 : MPI_UNDEFINED, comm->rank, &comm->subgroup));
    if (comm->subgroup == MPI_COMM_NULL) return NULL;
    NEED_MPI(MPI_Comm_rank(comm->subgroup, rank));
    NEED_MPI(MPI_Comm_size(comm->subgroup, size));
    return &comm->subgroup;
}

/* Reduce in place over the subgroup's communicator, which returns errors too. */
static enum wsc_err reduce_subgroup(struct comm *comm, void *x, int n, MPI_Datatype type, MPI_Op op)
{
    if (reduce_all(comm, x, n, type, op, comm->subgroup) == MPI_SUCCESS) return WSC_OK;
    return WSC_RAISE(WSC_MPI, "the ranks that write a checkpoint lost contact");
}

enum wsc_err comm_subgroup_max(struct comm *comm, int64_t *x)
{
    return reduce_subgroup(comm, x, 1, MPI_INT64_T, MPI_MAX);
}

enum wsc_err comm_subgroup_sum(struct comm *comm, uint64_t *x, int n)
{
    return reduce_subgroup(comm, x, n, MPI_UINT64_T, MPI_SUM);
}
