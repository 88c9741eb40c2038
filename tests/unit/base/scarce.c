// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out: the linker sends what src/base/mem.c asks of calloc and malloc here
 * (--wrap in the Makefile), and one call fails when its turn has come. */
#include "scarce.h"

#include <stdlib.h>

static int64_t left = -1; /* allocations until one fails; -1: none will */
static bool failed;

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);

static bool fails(void)
{
    if (left < 0 || left--) return false;
    failed = true;
    return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void test_scarce_after(int64_t n)
{
    failed = false;
    left = n;
}

bool test_scarce_end(void)
{
    left = -1;
    return failed;
}
