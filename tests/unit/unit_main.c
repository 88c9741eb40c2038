// SPDX-License-Identifier: Apache-2.0
#include "../support/slowest.h"
#include "../support/test.h"

#include <wsc/store.h>

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processor time of a case; slow builds may take longer. */
#ifndef TEST_SECONDS
#    define TEST_SECONDS 60
#endif

enum { MAX_CASES = 2048 };

static struct test_case {
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

static void arm(void)
{
    test_limit(TEST_SECONDS);
}

void test_more_time(void)
{
    arm();
}

static void begin_case(void)
{
    arm();
    slowest_begin();
}

static void end_case(void)
{
    slowest_end();
    test_limit(0);
}

static CU_pSuite suite_named(const char *name)
{
    CU_pSuite s = CU_get_suite(name);
    return s ? s : CU_add_suite_with_setup_and_teardown(name, NULL, NULL, begin_case, end_case);
}

/* A test is named SUITE.TEST; @p only is a part of that, or empty. */
static bool is_wanted(const struct test_case *c, const char *only)
{
    char name[256];
    (void)snprintf(name, sizeof name, "%s.%s", c->suite, c->name);
    return strstr(name, only);
}

int main(int argc, char **argv)
{
    if (store_probe_served(argc, argv)) return 0;
    const char *only = argc > 1 ? argv[1] : "";
    if (CU_initialize_registry() != CUE_SUCCESS) return 2;
    for (int i = 0; i < n_cases; i++) {
        if (!is_wanted(&cases[i], only)) continue;
        CU_pSuite s = suite_named(cases[i].suite);
        if (!s || !CU_add_test(s, cases[i].name, cases[i].fn)) return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    slowest_print();
    unsigned failed = CU_get_number_of_tests_failed(), ran = CU_get_number_of_tests_run();
    printf("unit: %u passed, %u failed\n", ran - failed - test_n_skipped(), failed);
    CU_cleanup_registry();
    return failed || !ran;
}
