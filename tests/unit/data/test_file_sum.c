// SPDX-License-Identifier: Apache-2.0
/* Sums of sample files: every byte counts within the limit, the ends and the size beyond it. */
#include "../../../src/data/file_sum.h"
#include "../../support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)

static const char *path_of(void)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/samples", test_tmpdir());
    return path;
}

/* A file of @p size zeros but for a one at @p at; at most @p most bytes of it are hashed. */
static struct data_file_sum sum_of(int64_t size, int64_t at, int64_t most)
{
    struct data_file_sum sum;
    FILE *f = fopen(path_of(), "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    T_EQ(fseek(f, (long)size - 1, SEEK_SET), 0);
    T_EQ(fputc(0, f), 0);
    T_EQ(fseek(f, (long)at, SEEK_SET), 0);
    T_EQ(fputc(1, f), 1);
    T_EQ(fclose(f), 0);
    T_OK(data_sum_file(path_of(), most, &sum));
    T_EQ(sum.size, size);
    return sum;
}

TEST(file_sum, every_byte_counts_within_the_limit)
{
    static const int64_t at[] = {1, MIB - 1, MIB, 2 * MIB + 5, 3 * MIB - 8, 3 * MIB - 1};
    const struct data_file_sum first = sum_of(3 * MIB, 0, 3 * MIB);
    CU_ASSERT(first.whole);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        CU_ASSERT(sum_of(3 * MIB, at[i], 3 * MIB).hash != first.hash);
    T_EQ(sum_of(3 * MIB, 0, 3 * MIB).hash, first.hash);
    CU_ASSERT(sum_of(3, 0, 0).whole && sum_of(3, 0, 0).hash != sum_of(3, 2, 0).hash);
}

/* Of ten blocks the first, one in the middle and the last. */
TEST(file_sum, beyond_the_limit_blocks_are_spread_over_the_file)
{
    static const bool looked_at[] = {true,  false, false, false, true,
                                     false, false, false, false, true};
    const struct data_file_sum none = sum_of(10 * MIB, 2 * MIB, 3 * MIB);
    CU_ASSERT(!none.whole);
    for (int i = 0; i < 10; i++) {
        const uint64_t hash = sum_of(10 * MIB, i * MIB + 77, 3 * MIB).hash;
        T_EQ(hash != none.hash, looked_at[i]);
    }
    CU_ASSERT(sum_of(10 * MIB, 10 * MIB - 1, 0).hash != sum_of(10 * MIB, 5 * MIB, 0).hash);
}

TEST(file_sum, errors_name_the_file)
{
    struct data_file_sum sum;
    T_EQ(data_sum_file("/nonexistent/samples", MIB, &sum), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "/nonexistent/samples: cannot be opened"));
}

TEST(file_sum, a_pipe_is_refused)
{
    struct data_file_sum sum;
    char path[200];
    (void)snprintf(path, sizeof path, "%s/pipe", test_tmpdir());
    CU_ASSERT_FATAL(!mkfifo(path, 0600));
    (void)alarm(30); /* ends the process where opening waits */
    T_EQ(data_sum_file(path, MIB, &sum), WSC_IO);
    (void)alarm(0);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "pipe: is not a regular file"));
}
