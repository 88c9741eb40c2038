// SPDX-License-Identifier: Apache-2.0
/* CUnit under MPI.  Each rank runs the same cases and counts its own failures; a case has failed
 * when it failed anywhere, so the verdict and the closing line come from all ranks together. */
#include "../support/test.h"

#include <wsc/store.h>

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CASES = 256, SECONDS_PER_CASE = 600 };

static struct {
    const char *suite, *name;
    test_fn fn;
} cases[MAX_CASES];
static int n_cases, my_rank, n_ranks;
static const char *volatile running; /* name of the case in progress */

void test_add(const char *suite, const char *name, test_fn fn)
{
    if (n_cases == MAX_CASES) abort();
    cases[n_cases].suite = suite;
    cases[n_cases].name = name;
    cases[n_cases++].fn = fn;
}

bool test_agree(bool ok)
{
    int all = ok;
    (void)MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* ---- a time limit for each case, wide: ranks share busy cores -------------------------------- */

/* Only calls that a signal handler may make; mpirun ends the others when one rank has ended. */
static void too_long(int signal_number)
{
    const char *name = running;
    static const char head[] = "mpi: time limit exceeded in ";
    (void)signal_number;
    (void)!write(STDERR_FILENO, head, sizeof head - 1);
    if (name) (void)!write(STDERR_FILENO, name, strlen(name));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(3);
}

static void arm(void)
{
    CU_pTest test = CU_get_current_test();
    running = test ? test->pName : NULL;
    (void)alarm(SECONDS_PER_CASE);
}

static void disarm(void)
{
    (void)alarm(0);
    (void)MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- verdicts of all ranks ------------------------------------------------------------------- */

static bool failed_here(const char *suite, const char *name)
{
    for (CU_pFailureRecord f = CU_get_failure_list(); f; f = f->pNext)
        if (f->pSuite && f->pTest && !strcmp(f->pSuite->pName, suite) &&
            !strcmp(f->pTest->pName, name))
            return true;
    return false;
}

static void print_failures(void)
{
    for (CU_pFailureRecord f = CU_get_failure_list(); f; f = f->pNext)
        (void)fprintf(stderr, "rank %d of %d: %s:%u: %s.%s: %s\n", my_rank, n_ranks,
                      f->strFileName ? f->strFileName : "?", f->uiLineNumber,
                      f->pSuite ? f->pSuite->pName : "?", f->pTest ? f->pTest->pName : "?",
                      f->strCondition ? f->strCondition : "?");
    (void)fflush(stderr);
}

/* Rank after rank, so that lines do not mix. */
static void report_failures(void)
{
    for (int r = 0; r < n_ranks; r++) {
        (void)MPI_Barrier(MPI_COMM_WORLD);
        if (r == my_rank) print_failures();
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
}

static bool chosen(int i, const char *only)
{
    return !*only || strstr(cases[i].name, only) || strstr(cases[i].suite, only);
}

static int count_failed(const char *only)
{
    int mine[MAX_CASES] = {0}, failed = 0;
    for (int i = 0; i < n_cases; i++)
        mine[i] = chosen(i, only) && failed_here(cases[i].suite, cases[i].name);
    (void)MPI_Allreduce(MPI_IN_PLACE, mine, n_cases, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n_cases; i++)
        failed += mine[i];
    return failed;
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool add_cases(const char *only)
{
    for (int i = 0; i < n_cases; i++) {
        if (!chosen(i, only)) continue;
        CU_pSuite s = CU_get_suite(cases[i].suite);
        if (!s) s = CU_add_suite_with_setup_and_teardown(cases[i].suite, NULL, NULL, arm, disarm);
        if (!s || !CU_add_test(s, cases[i].name, cases[i].fn)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (store_probe_served(argc, argv)) return 0;
    int provided;
    const char *only = argc > 1 ? argv[1] : "";
    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    (void)signal(SIGALRM, too_long);
    if (CU_initialize_registry() != CUE_SUCCESS || !add_cases(only))
        (void)MPI_Abort(MPI_COMM_WORLD, 2);
    (void)CU_run_all_tests(); /* without CUnit's report, which is per process */
    report_failures();
    int ran = (int)CU_get_number_of_tests_run(), failed = count_failed(only);
    if (my_rank == 0) (void)printf("mpi%d: %d passed, %d failed\n", n_ranks, ran - failed, failed);
    CU_cleanup_registry();
    (void)MPI_Finalize();
    return failed > 0 || ran == 0;
}
