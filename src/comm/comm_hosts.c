// SPDX-License-Identifier: Apache-2.0
/* Where things are: which ranks share a host, and which rank has which role.  MPI says who shares a
 * host, as the names of hosts need not differ. */
#include "comm_state.h"

#include <wsc/check.h>

#include <stdio.h>
#include <unistd.h>

/* What a rank says of itself: the lowest rank on its host, and that host's name. */
struct comm_home {
    int first;
    char name[COMM_HOST_BYTES];
};

/* The communicator's members on this host are in the order of their ranks. */
static enum wsc_err find_home(struct comm *comm, struct comm_home *home, int *n_here)
{
    MPI_Comm here;
    home->first = comm->rank;
    (void)gethostname(home->name, sizeof home->name - 1);
    if (!comm->use_mpi) return comm_share_processors(MPI_COMM_NULL);
    TRY_MPI(
        MPI_Comm_split_type(comm->world, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &here));
    TRY_MPI(MPI_Comm_size(here, n_here));
    TRY_MPI(MPI_Bcast(&home->first, 1, MPI_INT, 0, here));
    TRY(comm_share_processors(here));
    TRY_MPI(MPI_Comm_free(&here));
    return WSC_OK;
}

/* The homes of all ranks on every rank. */
static enum wsc_err gather_homes(struct comm *comm, const struct comm_home *mine,
                                 struct comm_home *all)
{
    const int bytes = (int)sizeof *mine;
    all[comm->rank] = *mine;
    if (comm->use_mpi)
        TRY_MPI(MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm->world));
    return WSC_OK;
}

/* Numbers in the order of the hosts' first ranks, which are equal on every rank. */
static void number_hosts(struct comm *comm, const struct comm_home *all)
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
    struct comm_home home = {0}, *all;
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

enum wsc_err comm_place(struct comm *comm, int n_roles, const int *rank_of_role)
{
    wsc_free(comm->rank_of_role);
    TRY_NEW(comm->rank_of_role, WSC_MEM_COMM, n_roles);
    for (int r = 0; r < n_roles; r++) {
        WSC_CHECK(rank_of_role[r] >= 0 && rank_of_role[r] < comm->size, "role %d on rank %d of %d",
                  r, rank_of_role[r], comm->size);
        comm->rank_of_role[r] = rank_of_role[r];
    }
    comm->n_roles = n_roles;
    return WSC_OK;
}

bool comm_is_local(const struct comm *comm, int role)
{
    return comm->rank_of_role[role] == comm->rank;
}
