// SPDX-License-Identifier: Apache-2.0
/* Which ranks share a host.  MPI tells, not the hosts' names, which need not differ. */
#include "comm_impl.h"

#include <stdio.h>
#include <unistd.h>

/* What a rank says of itself: the lowest rank on its host, and that host's name. */
struct home {
    int first;
    char name[COMM_HOST_BYTES];
};

/* The communicator's members on this host are in the order of their ranks. */
static enum wsc_err find_home(struct comm *comm, struct home *home, int *n_here)
{
    MPI_Comm here;
    home->first = comm->rank;
    (void)gethostname(home->name, sizeof home->name - 1);
    if (!comm->use_mpi) return WSC_OK;
    TRY_MPI(
        MPI_Comm_split_type(comm->world, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &here));
    TRY_MPI(MPI_Comm_size(here, n_here));
    TRY_MPI(MPI_Bcast(&home->first, 1, MPI_INT, 0, here));
    TRY_MPI(MPI_Comm_free(&here));
    return WSC_OK;
}

static enum wsc_err gather_homes(struct comm *comm, const struct home *mine, struct home *all)
{
    const int bytes = (int)sizeof *mine;
    all[comm->rank] = *mine;
    if (comm->use_mpi)
        TRY_MPI(MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm->world));
    return WSC_OK;
}

static void number_hosts(struct comm *comm, const struct home *all)
{
    int n_hosts = 0;
    for (int r = 0; r < comm->size; r++) {
        const int first = all[r].first;
        comm->host_of_rank[r] = first == r ? n_hosts++ : comm->host_of_rank[first];
        (void)snprintf(comm->host_name[r], COMM_HOST_BYTES, "%s", all[r].name);
    }
}

enum wsc_err comm_hosts_learn(struct comm *comm, int *n_here)
{
    struct home home = {0}, *all;
    *n_here = 1;
    TRY(find_home(comm, &home, n_here));
    TRY_NEW(comm->host_of_rank, WSC_MEM_COMM, comm->size);
    TRY_NEW(comm->host_name, WSC_MEM_COMM, comm->size);
    TRY_NEW(all, WSC_MEM_COMM, comm->size);
    enum wsc_err rc = gather_homes(comm, &home, all);
    if (!rc) number_hosts(comm, all);
    wsc_free(all);
    return rc;
}

const int *comm_host_of_rank(const struct comm *comm)
{
    return comm->host_of_rank;
}

const char *comm_host_name(const struct comm *comm, int rank)
{
    return comm->host_name[rank];
}
