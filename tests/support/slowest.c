// SPDX-License-Identifier: Apache-2.0
#include "slowest.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { N_SLOWEST = 12, NAME = 96 };

static struct timed {
    char name[NAME];
    double seconds;
} slowest[N_SLOWEST]; /* longest first; 0 s: not used */
static double began, total;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void slowest_begin(void)
{
    began = now();
}

void slowest_end(void)
{
    const double seconds = now() - began;
    total += seconds;
    int at = N_SLOWEST;
    while (at > 0 && slowest[at - 1].seconds < seconds)
        at--;
    if (at == N_SLOWEST || !CU_get_current_suite() || !CU_get_current_test()) return;
    memmove(&slowest[at + 1], &slowest[at], (size_t)(N_SLOWEST - 1 - at) * sizeof *slowest);
    slowest[at].seconds = seconds;
    (void)snprintf(slowest[at].name, NAME, "%s.%s", CU_get_current_suite()->pName,
                   CU_get_current_test()->pName);
}

void slowest_print(void)
{
    if (slowest[0].seconds < 1) return;
    printf("slowest of %.0f s:\n", total);
    for (int i = 0; i < N_SLOWEST && slowest[i].seconds >= 1; i++)
        printf("%8.1f s  %s\n", slowest[i].seconds, slowest[i].name);
}
