// SPDX-License-Identifier: Apache-2.0
/* Tests of the program as users run it: WSC names it; run from the top of the source tree. */
#include "../support/slowest.h"
#include "../support/test.h"

#include <wsc/store.h>

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CASES = 1024, SECONDS_PER_CASE = 2000 };

static struct {
    const char *suite, *name;
    test_fn fn;
} cases[MAX_CASES];
static int n_cases;

void test_add(const char *suite, const char *name, test_fn fn)
{
    if (n_cases == MAX_CASES) abort();
    cases[n_cases].suite = suite;
    cases[n_cases].name = name;
    cases[n_cases++].fn = fn;
}

/* The many-times form of the fault tests takes its time, on a busy machine much of it. */
static void begin_case(void)
{
    enum { MANY_TIMES = 20 };
    (void)alarm(getenv("WSC_FAULTS") ? MANY_TIMES * SECONDS_PER_CASE : SECONDS_PER_CASE);
    slowest_begin();
}

static void end_case(void)
{
    slowest_end();
    (void)alarm(0);
}

/* WSC_TEST_PART=KofN: each N-th suite, from the K-th on; without it all.  Suites may run at the
 * same time, as their cases share what they prepare. */
struct part {
    int k, n;
};

static bool part_of_environment(struct part *part)
{
    const char *text = getenv("WSC_TEST_PART");
    char *end;
    *part = (struct part){1, 1};
    if (!text) return true;
    part->k = (int)strtol(text, &end, 10);
    if (strncmp(end, "of", 2) != 0) return false;
    part->n = (int)strtol(end + 2, &end, 10);
    return !*end && part->k >= 1 && part->k <= part->n;
}

static bool add_cases(const char *only, struct part part)
{
    int suite = -1;
    for (int i = 0; i < n_cases; i++) {
        suite += !i || strcmp(cases[i].suite, cases[i - 1].suite) != 0;
        if (suite % part.n != part.k - 1) continue;
        if (*only && !strstr(cases[i].name, only) && !strstr(cases[i].suite, only)) continue;
        CU_pSuite s = CU_get_suite(cases[i].suite);
        if (!s)
            s = CU_add_suite_with_setup_and_teardown(cases[i].suite, NULL, NULL, begin_case,
                                                     end_case);
        if (!s || !CU_add_test(s, cases[i].name, cases[i].fn)) return false;
    }
    return true;
}

/* More ranks than cores, and root in a container, are fine here; mpirun stays quiet. */
static void set_environment(void)
{
    static const char *const name[] = {
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle",
        "OMPI_MCA_orte_execute_quiet",
    };
    for (int i = 0; i < (int)(sizeof name / sizeof *name); i++)
        (void)setenv(name[i], "1", 0);
    /* On a busy host dozens of ranks on two cores take minutes to start. */
    (void)setenv("WSC_STALL_SECONDS", "300", 0);
    (void)setenv("WSC_HEARTBEAT_SECONDS", "300", 0);
    (void)unsetenv("OMP_NUM_THREADS");
    /* What a busy host makes slow says so on stderr, where tests compare; test_progress_lines.c
     * asks. */
    (void)setenv("WSC_PROGRESS_SECONDS", "0", 0);
}

/* The program by its full path, so that commands may run anywhere. */
static bool find_program(void)
{
    const char *name = getenv("WSC");
    char *path = name ? realpath(name, NULL) : NULL;
    bool found = path && !access(path, X_OK) && !setenv("WSC", path, 1);
    free(path);
    return found;
}

int main(int argc, char **argv)
{
    if (store_probe_served(argc, argv)) return 0;
    const char *only = argc > 1 ? argv[1] : "";
    if (!find_program()) {
        (void)fputs("WSC=path of the program is needed\n", stderr);
        return 2;
    }
    struct part part;
    if (!part_of_environment(&part)) {
        (void)fputs("WSC_TEST_PART: expected as 1of4\n", stderr);
        return 2;
    }
    set_environment();
    if (CU_initialize_registry() != CUE_SUCCESS || !add_cases(only, part)) return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    slowest_print();
    unsigned failed = CU_get_number_of_tests_failed(), ran = CU_get_number_of_tests_run();
    printf("program: %u passed, %u failed\n", ran - failed - test_n_skipped(), failed);
    CU_cleanup_registry();
    return failed || (!ran && part.n == 1);
}
