// SPDX-License-Identifier: Apache-2.0
/* Failures of a job: heartbeats without memory, links without a tag, collective calls. MPI is not
 * started: its functions are replaced here while a test asks for it, through its profiling
 * interface. */
#include "../../../src/comm/comm_state.h"
#include "../../support/test.h"
#include "../base/scarce.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The functions below do nothing; those that comm_collectives.c calls fail. */
static bool replaced;

int MPI_Bcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm ranks)
{
    return replaced ? MPI_SUCCESS : PMPI_Bcast(x, n, type, root, ranks);
}

int MPI_Reduce(const void *x, void *sum, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm ranks)
{
    return replaced ? MPI_SUCCESS : PMPI_Reduce(x, sum, n, type, op, root, ranks);
}

int MPI_Iallreduce(const void *x, void *sum, int n, MPI_Datatype type, MPI_Op op, MPI_Comm ranks,
                   MPI_Request *request)
{
    return replaced ? MPI_ERR_OTHER : PMPI_Iallreduce(x, sum, n, type, op, ranks, request);
}

int MPI_Comm_split(MPI_Comm ranks, int color, int key, MPI_Comm *out)
{
    return replaced ? MPI_ERR_OTHER : PMPI_Comm_split(ranks, color, key, out);
}

int MPI_Error_string(int code, char *text, int *length)
{
    if (!replaced) return PMPI_Error_string(code, text, length);
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "the network is gone");
    return MPI_SUCCESS;
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

/* ---- links ----------------------------------------------------------------------------------- */

/* Trees that are formed again open new links, each with a tag of its own. */
TEST(comm_failures, links_end_with_the_tags_of_mpi)
{
    static const struct comm_link_spec spec = {.name = "weights"};
    struct comm *comm = NULL;
    struct comm_link *link = NULL;
    T_OK(comm_create(&comm, false));
    T_OK(comm_place(comm, 2, (int[]){0, 0}));
    comm->max_links = 3;
    for (int i = 0; i < 3; i++)
        T_OK(comm_link_open(comm, &link, 0, 1, &spec));
    T_EQ(comm_link_open(comm, &link, 1, 0, &spec), WSC_MPI);
    CU_ASSERT_PTR_NULL(link);
    CU_ASSERT(strstr(wsc_err_message(), "link weights: no MPI tag is left after 3 links") != NULL);
    comm_destroy(&comm);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void agree(struct comm *comm)
{
    bool reports;
    (void)!comm_agree(comm, WSC_OK, &reports);
}

static void compare(struct comm *comm)
{
    (void)comm_max(comm, 3);
}

static void group(struct comm *comm)
{
    int rank, size;
    (void)comm_subgroup(comm, true, &rank, &size);
}

typedef void collective(struct comm *comm);

/* A child process's rank of two, whose network is gone. */
static int one_of_two(void *call)
{
    struct comm comm = {
        .use_mpi = true, .rank = 1, .size = 2, .world = MPI_COMM_NULL, .subgroup = MPI_COMM_NULL};
    replaced = true;
    (*(collective **)call)(&comm);
    return 0;
}

/* A rank with a value of its own would take another branch than the others. */
TEST(comm_failures, ranks_without_a_common_result_end)
{
    collective *call[] = {agree, compare, group};
    char text[1024];
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        const int status = test_in_child(one_of_two, &call[i], text, sizeof text);
        T_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, wsc_err_exit_status(WSC_MPI));
        CU_ASSERT(strstr(text, "wsc: error: ") == text);
        CU_ASSERT(strstr(text, "the network is gone") != NULL);
    }
}
