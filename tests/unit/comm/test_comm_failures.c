// SPDX-License-Identifier: Apache-2.0
/* Failures at the start and in collective calls of a job of two ranks. MPI is not started: its
 * functions are replaced here while a test asks for it, through its profiling interface. */
#include "../../../src/comm/comm_state.h"
#include "../../support/test.h"
#include "../base/scarce.h"

static bool replaced; /* the functions below do nothing */

int MPI_Bcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm ranks)
{
    return replaced ? MPI_SUCCESS : PMPI_Bcast(x, n, type, root, ranks);
}

int MPI_Reduce(const void *x, void *sum, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm ranks)
{
    return replaced ? MPI_SUCCESS : PMPI_Reduce(x, sum, n, type, op, root, ranks);
}

/* Rank 0 listens nowhere, so that this rank is not watched. */
static enum wsc_err start_and_end(void)
{
    struct comm comm = {.rank = 1, .size = 2, .world = MPI_COMM_NULL};
    const enum wsc_err rc = comm_watch_start(&comm, 60);
    comm_watch_end(&comm);
    return rc;
}

/* A thread that ended for want of memory would have its rank declared silent later. */
TEST(comm_failures, heartbeats_without_memory_do_not_start)
{
    enum { N_BLOCKS = 3 };
    replaced = true;
    for (int i = 0; i < N_BLOCKS; i++) {
        test_scarce_after(i);
        const enum wsc_err rc = start_and_end();
        CU_ASSERT(test_scarce_end());
        T_EQ(rc, WSC_NOMEM);
    }
    T_OK(start_and_end());
    replaced = false;
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}
