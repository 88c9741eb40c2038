// SPDX-License-Identifier: Apache-2.0
/* Batches of samples of like length: those of a plain re-computation, in any portions, in every
 * epoch; what has no batch of its length is left out. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { T = 16, N = 75, BATCH = 4, VOCAB = 100, BUCKETS = 3, EPOCHS = 3 };
static const int64_t boundary[BUCKETS] = {4, 9, 9};

/* Tokens of sample @p i. */
static int length_of(int i)
{
    return 1 + i * 7 % 13;
}

static void put_row(FILE *f, int i)
{
    (void)fputs("\"[", f);
    for (int t = 0; t < T; t++)
        (void)fprintf(f, t ? ", %d" : "%d", i);
    (void)fputs("]\",\"[", f);
    for (int t = 0; t < T; t++)
        (void)fprintf(f, t ? ", %d" : "%d", t < length_of(i));
    (void)fprintf(f, "]\",\"[%d]\",\"[1]\",\"[0]\"\n", i);
}

/* Samples whose tokens are their number. */
static const char *put_samples(void)
{
    static char dir[300];
    char path[340];
    (void)snprintf(dir, sizeof dir, "%s", test_tmpdir());
    (void)snprintf(path, sizeof path, "%s/samples.csv", dir);
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs("input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions\n", f);
    for (int i = 0; i < N; i++)
        put_row(f, i);
    CU_ASSERT(!fclose(f));
    (void)snprintf(path, sizeof path, "%s/meta.dat", dir);
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fprintf(f, "samples.csv %d\n", N);
    CU_ASSERT(!fclose(f));
    return dir;
}

static struct zoo_input input_of(char *dir, bool shuffle, int n_buckets, int64_t batch)
{
    struct zoo_input in = {.data_dir = {dir},
                           .n_data_dirs = 1,
                           .samples = ZOO_SAMPLES_CSV_STATIC,
                           .num_samples = CONF_NULL,
                           .max_sequence_length = CONF_NULL,
                           .batch_size = batch,
                           .shuffle = shuffle,
                           .shuffle_seed = 5,
                           .repeat = true,
                           .n_labels = VOCAB,
                           .n_buckets = n_buckets};
    memcpy(in.bucket, boundary, (size_t)n_buckets * sizeof *boundary);
    return in;
}

/* The numbers of samples [first, first + n) of the stream. */
static void read_numbers(struct data_source *s, int64_t first, int64_t n, int *number)
{
    struct data_batch *b = NULL;
    T_OK(data_batch_create(&b, n, T));
    T_OK(data_source_read(s, first, n, b));
    for (int64_t i = 0; i < n; i++)
        number[i] = (int)b->input_ids[i * T];
    data_batch_destroy(&b);
}

static int bucket_of(int i)
{
    int k = 0;
    for (int j = 0; j < BUCKETS; j++)
        k += boundary[j] <= length_of(i);
    return k;
}

/* The batches of an epoch whose samples come as @p order says; returns how many samples they are.
 */
static int group(const int *order, int *out)
{
    int n = 0;
    for (int end = 0; end < N; end++) {
        int same = 0, at = n + BATCH;
        for (int i = 0; i <= end; i++)
            same += bucket_of(order[i]) == bucket_of(order[end]);
        if (same % BATCH) continue;
        for (int i = end; at > n; i--)
            if (bucket_of(order[i]) == bucket_of(order[end])) out[--at] = order[i];
        n += BATCH;
    }
    return n;
}

static void check_epochs(char *dir, bool shuffle)
{
    struct zoo_input plain = input_of(dir, shuffle, 0, BATCH);
    struct zoo_input grouped = input_of(dir, shuffle, BUCKETS, BATCH);
    struct data_source *s = NULL, *b = NULL;
    int order[N], expected[N], found[N];
    T_OK(data_source_open(&s, &plain, T, VOCAB));
    T_OK(data_source_open(&b, &grouped, T, VOCAB));
    const int64_t n = data_source_n_samples(b);
    for (int64_t epoch = EPOCHS - 1; epoch >= 0; epoch--) {
        read_numbers(s, epoch * N, N, order);
        T_EQ(group(order, expected), n);
        read_numbers(b, epoch * n, n, found);
        CU_ASSERT(!memcmp(found, expected, (size_t)n * sizeof *found));
        read_numbers(b, epoch * n + 7, 2, found); /* the share of another wafer */
        CU_ASSERT(found[0] == expected[7] && found[1] == expected[8]);
    }
    CU_ASSERT(n < N && n > N - (BUCKETS + 1) * BATCH && n % BATCH == 0);
    data_source_close(&s);
    data_source_close(&b);
}

TEST(buckets, batches_have_samples_of_like_length)
{
    char dir[300];
    (void)snprintf(dir, sizeof dir, "%s", put_samples());
    check_epochs(dir, false);
    check_epochs(dir, true);
}

TEST(buckets, a_batch_that_no_bucket_fills_is_an_error)
{
    char dir[300];
    (void)snprintf(dir, sizeof dir, "%s", put_samples());
    struct zoo_input in = input_of(dir, false, BUCKETS, N);
    struct data_source *s = NULL;
    T_EQ(data_source_open(&s, &in, T, VOCAB), WSC_CONFIG);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "buckets: none of 4 has a batch of 75"));
}
