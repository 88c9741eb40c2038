// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/err.h>
#include <wsc/hash.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static WSC_CHECKED enum wsc_err inner(void)
{
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY, "layer %d needs %d KiB", 3, 49), "use fewer");
}

static WSC_CHECKED enum wsc_err outer(void)
{
    TRY(inner());
    return WSC_OK;
}

TEST(err, message_has_hint_and_trace_has_frames)
{
    CU_ASSERT_EQUAL(outer(), WSC_CAPACITY);
    T_STR(wsc_err_message(), "layer 3 needs 49 KiB; hint: use fewer");
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_trace(), "in inner()"));
    T_EQ(wsc_err_exit_status(WSC_CAPACITY), 3);
}

TEST(err, long_messages_are_cut_not_overrun)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    CU_ASSERT_EQUAL(WSC_RAISE(WSC_IO, "%s", text), WSC_IO);
    CU_ASSERT(strlen(wsc_err_message()) < 70000);
}

TEST(mem, counts_aligns_and_zeroes)
{
    int64_t before = wsc_mem_in_use(WSC_MEM_TEST);
    char *p = wsc_alloc(WSC_MEM_TEST, 10, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    if (!p) return;
    T_EQ((uintptr_t)p % 64, 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_TEST) - before, 30);
    for (int i = 0; i < 30; i++)
        T_EQ(p[i], 0);
    p[29] = 7;
    char *q = wsc_realloc(WSC_MEM_TEST, p, 100, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    T_EQ(q[29], 7);
    T_EQ(q[99], 0);
    wsc_free(q);
    T_EQ(wsc_mem_in_use(WSC_MEM_TEST), before);
}

TEST(mem, absurd_sizes_fail_cleanly)
{
    CU_ASSERT_PTR_NULL(wsc_alloc(WSC_MEM_TEST, SIZE_MAX / 2, 4));
    CU_ASSERT_PTR_NULL(wsc_alloc(WSC_MEM_TEST, SIZE_MAX, 1));
}

/* Known answer of Philox4x32-10 for an all-zero counter and key (Random123 kat_vectors). */
TEST(rng, philox_known_answer)
{
    CU_ASSERT_EQUAL(wsc_rng_u64(0, 0, 0), 0xe169c58d6627e8d5ULL);
}

TEST(rng, moments_and_bounds)
{
    enum { N = 20000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = wsc_rng_normal(1, 2, i), t = wsc_rng_truncated_normal(1, 3, i, -2, 2);
        CU_ASSERT(t >= -2 && t <= 2);
        sum += x;
        squares += x * x;
    }
    T_NEAR(sum / N, 0, 0.03);
    T_NEAR(squares / N, 1, 0.03);
}

TEST(rng, streams_differ)
{
    CU_ASSERT(wsc_rng_u64(1, wsc_rng_stream(WSC_RNG_INIT, 0), 5) !=
              wsc_rng_u64(1, wsc_rng_stream(WSC_RNG_INIT, 1), 5));
    CU_ASSERT(wsc_rng_u64(1, 7, 5) != wsc_rng_u64(2, 7, 5));
}

/* XXH3_64bits of the empty input under seed 0, from the reference implementation's test suite. */
TEST(hash, known_answer)
{
    CU_ASSERT_EQUAL(wsc_hash64("", 0, 0), 0x2d06800538d394c2ULL);
}
