// SPDX-License-Identifier: Apache-2.0
/* Finds which ranks share a host, and stores which rank has which role. MPI reports which ranks
 * share a host; names of hosts are not used, because they need not differ. */
#include "comm_state.h"

#include <wsc/check.h>

#include <stdio.h>
#include <unistd.h>

/* The host of a rank: the lowest rank on it, and its name. */
struct comm_rank_host {
    int first;
    char name[COMM_HOST_BYTES];
};

/* Find the host of this rank. Members of `here` are in the order of their ranks. */
static enum wsc_err find_host(struct comm *comm, struct comm_rank_host *own, int *n_here)
{
    MPI_Comm here;
    own->first = comm->rank;
    (void)gethostname(own->name, sizeof own->name - 1);
    if (!comm->use_mpi) return comm_share_processors(MPI_COMM_NULL);
    TRY_MPI(
        MPI_Comm_split_type(comm->world, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &here));
    TRY_MPI(MPI_Comm_size(here, n_here));
    TRY_MPI(MPI_Bcast(&own->first, 1, MPI_INT, 0, here));
    TRY(comm_share_processors(here));
    TRY_MPI(MPI_Comm_free(&here));
    return WSC_OK;
}

/* Collect the hosts of all ranks on every rank. */
static enum wsc_err gather_hosts(struct comm *comm, const struct comm_rank_host *own,
                                 struct comm_rank_host *all)
{
    const int bytes = (int)sizeof *own;
    all[comm->rank] = *own;
    if (comm->use_mpi)
        TRY_MPI(MPI_Allgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm->world));
    return WSC_OK;
}

/* Number the hosts in the order of their lowest ranks, so that all ranks get the same numbers. */
static void number_hosts(struct comm *comm, const struct comm_rank_host *all)
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
    struct comm_rank_host own = {0}, *all;
    *n_here = 1;
    TRY(find_host(comm, &own, n_here));
    TRY_NEW(comm->host_of_rank, WSC_MEM_COMM, comm->size);
    TRY_NEW(comm->host_name, WSC_MEM_COMM, comm->size);
    TRY_NEW(all, WSC_MEM_COMM, comm->size);
    enum wsc_err rc = gather_hosts(comm, &own, all);
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
