// SPDX-License-Identifier: Apache-2.0
#include "../../../src/data/permute.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/mem.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_permutation(int64_t n, uint64_t seed, uint64_t epoch)
{
    enum { MAX = 5000 };
    static bool seen[MAX];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = data_permute(i, n, seed, epoch);
        if (x < 0 || x >= n || seen[x]) return false;
        seen[x] = true;
    }
    return true;
}

TEST(order, is_a_permutation_for_every_size)
{
    static const int64_t sizes[] = {127, 128,  129,  255,  256,  257,
                                    997, 1000, 1024, 4096, 4999, 5000};
    for (int64_t n = 1; n <= 70; n++)
        CU_ASSERT(is_permutation(n, 7, (uint64_t)n));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CU_ASSERT(is_permutation(sizes[i], 1337, 3));
    for (int64_t i = 0; i < 100; i++) { /* far beyond what fits in memory */
        int64_t n = ((int64_t)1 << 41) + 3, x = data_permute(n - 1 - i, n, 1, 0);
        CU_ASSERT(x >= 0 && x < n);
    }
}

/* Pinned, so that an old run can be resumed in the same order by a later release; the values come
 * from a Python program that follows the definitions. */
TEST(order, known_answer)
{
    static const int64_t ten[10] = {1, 7, 6, 3, 8, 9, 2, 5, 4, 0};
    for (int64_t i = 0; i < 10; i++)
        T_EQ(data_permute(i, 10, 1, 0), ten[i]);
    T_EQ(data_permute(123456, 1000000007, 42, 9), 873770896);
}

TEST(order, depends_on_seed_and_epoch)
{
    int same_epoch = 0, same_seed = 0, fixed = 0;
    enum { M = 1000 };
    for (int64_t i = 0; i < M; i++) {
        same_epoch += data_permute(i, M, 1, 0) == data_permute(i, M, 1, 1);
        same_seed += data_permute(i, M, 1, 0) == data_permute(i, M, 2, 0);
        fixed += data_permute(i, M, 1, 0) == i;
    }
    /* Poisson with mean 1: more than 8 of 1000 has a chance of 1e-6. */
    CU_ASSERT(same_epoch <= 8 && same_seed <= 8 && fixed <= 8);
}

/* Chi-squared of where element 0 of 12 goes, over epochs: 11 degrees of freedom, 99.99 % at 37. */
TEST(order, is_uniform_for_small_sizes)
{
    enum { M = 12, EPOCHS = 6000 };
    int count[M] = {0};
    double chi = 0, mean = (double)EPOCHS / M;
    for (uint64_t e = 0; e < EPOCHS; e++)
        count[data_permute(0, M, 5, e)]++;
    for (int k = 0; k < M; k++)
        chi += (count[k] - mean) * (count[k] - mean) / mean;
    CU_ASSERT(chi < 37);
}

/* ---- sources --------------------------------------------------------------------------------- */

enum { T = 4 };

static const char *folder(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    (void)mkdir(path, 0777);
    return path;
}

/* A file of @p n samples whose first token is their number, from @p first on. */
static void put_file(const char *dir, const char *name, int32_t first, int64_t n)
{
    int32_t data[64][3][T];
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    for (int32_t i = 0; i < n; i++)
        for (int t = 0; t < T; t++) {
            data[i][0][t] = first + i + 100 * t;
            data[i][1][t] = t < 3;
            data[i][2][t] = t < 3 ? first + i + 100 * (t + 1) : -100;
        }
    T_OK(store_samples_write(path, data[0][0], n, T));
}

static struct zoo_input input_of(char *dir)
{
    return (struct zoo_input){.present = true,
                              .repeat = true,
                              .data_dir = {dir},
                              .n_data_dirs = 1,
                              .max_sequence_length = CONF_NULL};
}

TEST(source, stream_runs_over_files_and_epochs_in_order)
{
    char dir[256];
    (void)snprintf(dir, sizeof dir, "%s", folder("three"));
    put_file(dir, "b.h5", 5, 2); /* sorted by path, whatever the order of making */
    put_file(dir, "a.h5", 0, 5);
    put_file(dir, "c.h5", 7, 1);
    struct zoo_input input = input_of(dir);
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    T_OK(data_source_open(&s, &input, T, 500));
    T_OK(data_batch_create(&b, 20, T));
    T_EQ(data_source_n_samples(s), 8);
    T_OK(data_source_read(s, 0, 20, b));
    T_EQ(b->n, 20);
    for (int64_t k = 0; k < 20; k++) {
        T_EQ(b->input_ids[k * T], k % 8);
        T_EQ(b->input_ids[k * T + 3], k % 8 + 300);
        T_EQ(b->mask[k * T + 2], 1);
        T_EQ(b->mask[k * T + 3], 0);
        T_EQ(b->labels[k * T + 2], k % 8 + 300);
        T_EQ(b->labels[k * T + 3], 0); /* -100 under the mask */
    }
    T_OK(data_source_read(s, (int64_t)8 << 40 | 6, 2, b));
    T_EQ(b->input_ids[0], 6);
    T_EQ(b->input_ids[T], 7);
    T_OK(data_source_read(s, 3, 0, b));
    T_EQ(b->n, 0);
    data_batch_destroy(&b);
    data_source_close(&s);
}

/* Any cut of the stream gives the same samples, and more files than are kept open work. */
TEST(source, shuffled_stream_does_not_depend_on_how_it_is_read)
{
    enum { FILES = 20, EACH = 3, N = FILES * EACH, EPOCHS = 2 * N };
    char dir[256], name[32];
    int wrong = 0;
    int seen[N] = {0};
    (void)snprintf(dir, sizeof dir, "%s", folder("many"));
    for (int f = 0; f < FILES; f++) {
        (void)snprintf(name, sizeof name, "p%02d.h5", f);
        put_file(dir, name, f * EACH, EACH);
    }
    struct zoo_input input = input_of(dir);
    input.shuffle = true;
    input.shuffle_seed = 1337;
    struct data_source *s = NULL;
    struct data_batch *all = NULL, *one = NULL;
    T_OK(data_source_open(&s, &input, T, 500));
    T_OK(data_batch_create(&all, EPOCHS, T));
    T_OK(data_batch_create(&one, 1, T));
    T_OK(data_source_read(s, 0, EPOCHS, all));
    for (int64_t g = EPOCHS - 1; g >= 0; g--) {
        wrong += data_source_read(s, g, 1, one) != WSC_OK;
        wrong += memcmp(one->input_ids, all->input_ids + g * T, T * sizeof(int32_t)) != 0;
        wrong += one->input_ids[0] != data_permute(g % N, N, 1337, (uint64_t)(g / N));
        seen[one->input_ids[0] % N]++;
    }
    T_EQ(wrong, 0);
    for (int i = 0; i < N; i++)
        T_EQ(seen[i], 2);
    data_batch_destroy(&all);
    data_batch_destroy(&one);
    data_source_close(&s);
}

static void copy_file(const char *from_path, const char *dir, const char *name)
{
    char to_path[512];
    (void)snprintf(to_path, sizeof to_path, "%s/%s", dir, name);
    FILE *from = fopen(from_path, "rb"), *to = fopen(to_path, "wb");
    CU_ASSERT_FATAL(from && to);
    for (int c = fgetc(from); c != EOF; c = fgetc(from))
        (void)fputc(c, to);
    (void)fclose(from);
    (void)fclose(to);
}

/* A file of an independent writer (tests/fixtures/make_h5py_samples.py). */
TEST(source, reads_a_file_of_h5py)
{
    char dir[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s", folder("h5py"));
    copy_file("tests/data/h5py_samples.h5", dir, "x.h5");
    struct zoo_input input = input_of(dir);
    T_OK(data_source_open(&s, &input, 16, 50));
    T_OK(data_batch_create(&b, 12, 16));
    T_OK(data_source_read(s, 0, 12, b));
    T_EQ(b->input_ids[11 * 16 + 5], (7 * 11 + 3 * 5) % 50);
    T_EQ(b->mask[11 * 16 + 4], 1);
    T_EQ(b->mask[11 * 16 + 5], 0);
    T_EQ(b->labels[2 * 16 + 7], (7 * 2 + 3 * 7 + 3) % 50);
    data_source_close(&s);
    copy_file("tests/data/h5py_weights.h5", dir, "y.h5"); /* no sample file */
    CU_ASSERT_EQUAL(data_source_open(&s, &input, 16, 50), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "y.h5: has no dataset `data`"));
    data_batch_destroy(&b);
}

static void refused(struct zoo_input *input, int64_t length, int64_t vocab, const char *what)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    T_OK(data_batch_create(&b, 6, length));
    enum wsc_err rc = data_source_open(&s, input, length, vocab);
    if (!rc) rc = data_source_read(s, 0, 3, b);
    CU_ASSERT_NOT_EQUAL(rc, WSC_OK);
    bool said = rc && strstr(wsc_err_message(), what) != NULL;
    if (!said) (void)fprintf(stderr, "expected \"%s\": %s\n", what, wsc_err_message());
    CU_ASSERT(said);
    data_batch_destroy(&b);
    data_source_close(&s);
}

/* The hint for a folder @p dir without samples names the folder that `wsc data` makes, @p out. */
static void refused_with_hint(struct zoo_input *input, const char *dir, const char *out)
{
    char text[1000];
    (void)snprintf(text, sizeof text,
                   "data_dir %s: holds no .h5 file; hint: wsc data --input TEXT... --out %s "
                   "--max_seq_length ",
                   dir, out);
    refused(input, T, 500, text);
}

TEST(source, errors_name_file_and_place)
{
    char dir[256] = "/nonexistent";
    struct zoo_input input = input_of(dir);
    refused(&input, T, 500, "/nonexistent: cannot be listed: No such file");
    (void)snprintf(dir, sizeof dir, "%s", folder("none"));
    input = input_of(dir);
    refused_with_hint(&input, dir, dir);
    char part[300];
    (void)snprintf(part, sizeof part, "%s", folder("none/train"));
    input = input_of(part);
    refused_with_hint(&input, part, dir);
    input = input_of(dir);
    (void)snprintf(dir, sizeof dir, "%s", folder("vocab"));
    put_file(dir, "x.h5", 10, 3);
    refused(&input, T, 312, "x.h5: sample 2, position 2: labels is 312, expected 0 to 311");
    refused(&input, T, 10, "x.h5: sample 0, position 0: input_ids is 10, expected 0 to 9");
    refused(&input, T + 1, 500,
            "sequences have 4 tokens, but model.max_position_embeddings is 5; hint: ");
    input.max_sequence_length = 7;
    refused(&input, T, 500, "max_sequence_length of the input is 7");
}

/* A file of one pair in a folder of its own. */
static struct zoo_input input_of_pair(const char *name, const int32_t data[6 * T])
{
    const struct store_samples_shape shape = {.n = 1, .T = T, .pairs = true};
    struct store_samples_writer *w = NULL;
    static char dir[256]; /* the input refers to it */
    char path[512];
    (void)snprintf(dir, sizeof dir, "%s", folder(name));
    (void)snprintf(path, sizeof path, "%s/p.h5", dir);
    T_OK(store_samples_create(&w, path, &shape));
    T_OK(store_samples_append(w, data, 1));
    T_OK(store_samples_finish(&w));
    struct zoo_input input = input_of(dir);
    input.samples = ZOO_SAMPLES_PAIRS;
    return input;
}

/* The length of pairs is that of the input where it has one: a policy may know longer texts. */
TEST(source, pairs_of_another_length_blame_the_key_that_was_given)
{
    struct zoo_input input = input_of_pair("pairs", (int32_t[6 * T]){0});
    refused(&input, T + 1, 500, "have 4 tokens, but model.max_position_embeddings is 5; hint: ");
    input.max_sequence_length = T + 1;
    refused(
        &input, T + 1, 500,
        "have 4 tokens, but max_sequence_length of the input is 5; hint: make the dataset again "
        "with --max_seq_length 5, or change the key");
}

static void read_a_pair(const struct zoo_input *input)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    T_OK(data_source_open(&s, input, T, 500));
    T_OK(data_batch_create(&b, 2, T));
    T_OK(data_source_read(s, 0, 1, b));
    data_batch_destroy(&b);
    data_source_close(&s);
}

/* A mean needs a token. */
TEST(source, texts_of_pairs_without_a_token_are_refused_where_their_mean_counts)
{
    int32_t data[6 * T] = {[T] = 1};
    struct zoo_input input = input_of_pair("empty_text", data);
    read_a_pair(&input);
    input.mean_of_text = true;
    refused(&input, T, 500,
            "p.h5: sample 0: rejected_attention_mask has no 1; hint: loss_type ipo");
    data[4 * T + T - 1] = 1;
    input = input_of_pair("full_texts", data);
    input.mean_of_text = true;
    read_a_pair(&input);
}

/* ---- parts and mixtures ---------------------------------------------------------------------- */

/* First tokens of samples [0, n) of the stream. */
static void first_tokens(const struct zoo_input *input, int64_t n, int64_t expected_epoch,
                         int32_t *out)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    T_OK(data_source_open(&s, input, T, 500));
    T_EQ(data_source_n_samples(s), expected_epoch);
    T_OK(data_batch_create(&b, n, T));
    T_OK(data_source_read(s, 0, n, b));
    for (int64_t k = 0; k < n; k++)
        out[k] = b->input_ids[k * T];
    data_batch_destroy(&b);
    data_source_close(&s);
}

static void expect(const struct zoo_input *input, int64_t epoch, const int32_t *expected, int64_t n)
{
    int32_t got[64];
    first_tokens(input, n, epoch, got);
    for (int64_t k = 0; k < n; k++)
        T_EQ(got[k], expected[k]);
}

TEST(source, subsets_are_cut_as_the_model_zoo_cuts_them)
{
    char dir[256];
    (void)snprintf(dir, sizeof dir, "%s", folder("subset"));
    put_file(dir, "a.h5", 0, 4);
    put_file(dir, "b.h5", 4, 7);
    struct zoo_input input = input_of(dir);
    /* int(11 x 0.1) = 1 to int(11 x 0.3) = 3, int(11 x 0.5) = 5 to 5, int(11 x 0.7) = 7 to 11 */
    input.data_subset[0] =
        (struct zoo_subset){.n = 3, .from = {0.1, 0.5, 0.7}, .to = {0.3, 0.5, 1}};
    static const int32_t expected[] = {1, 2, 7, 8, 9, 10, 1, 2};
    expect(&input, 6, expected, 8);
    input.data_subset[0] = (struct zoo_subset){.n = 1, .from = {0}, .to = {0.05}};
    struct data_source *s = NULL;
    CU_ASSERT_EQUAL(data_source_open(&s, &input, T, 500), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "hold 11 samples, none of them in data_subset"));
}

TEST(source, num_samples_is_the_length_of_an_epoch)
{
    char dir[256];
    int32_t got[30];
    int seen[5] = {0};
    (void)snprintf(dir, sizeof dir, "%s", folder("epoch"));
    put_file(dir, "a.h5", 0, 5);
    struct zoo_input input = input_of(dir);
    input.num_samples = 3;
    static const int32_t shorter[] = {0, 1, 2, 0, 1, 2, 0}, longer[] = {0, 1, 2, 3, 4, 0, 1, 0, 1};
    expect(&input, 3, shorter, 7);
    input.num_samples = 7;
    expect(&input, 7, longer, 9);
    input.shuffle = true;
    input.shuffle_seed = 4;
    input.num_samples = 12; /* two whole copies and two samples more */
    first_tokens(&input, 12, 12, got);
    for (int i = 0; i < 12; i++)
        seen[got[i]]++;
    int three = 0;
    for (int i = 0; i < 5; i++) {
        CU_ASSERT(seen[i] == 2 || seen[i] == 3);
        three += seen[i] == 3;
    }
    T_EQ(three, 2);
    input.num_samples = 4; /* the first four of the permutation of all */
    first_tokens(&input, 8, 4, got);
    for (int64_t i = 0; i < 8; i++)
        T_EQ(got[i], data_permute(i % 4, 5, 4, (uint64_t)i / 4));
}

TEST(source, data_that_do_not_repeat_end)
{
    char dir[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s", folder("once"));
    put_file(dir, "a.h5", 0, 5);
    struct zoo_input input = input_of(dir);
    input.repeat = false;
    T_OK(data_source_open(&s, &input, T, 500));
    T_OK(data_batch_create(&b, 4, T));
    T_OK(data_source_read(s, 1, 4, b));
    CU_ASSERT_EQUAL(data_source_read(s, 2, 4, b), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "the data end after 5 samples, and repeat"));
    data_batch_destroy(&b);
    data_source_close(&s);
}

static struct zoo_input mixture_of(char *a, char *b, char *c)
{
    return (struct zoo_input){.present = true,
                              .repeat = true,
                              .data_dir = {a, b, c},
                              .data_set = {0, 1, 1},
                              .n_data_dirs = 3,
                              .n_sets = 2,
                              .weight = {3, 1},
                              .max_sequence_length = CONF_NULL};
}

/* Shares 3/4 and 1/4 of 6 and 4 samples: an epoch is max(6 / 0.75, 4 / 0.25) = 16 samples, 12 of
 * the first, which begins again, and 4 of the second. */
TEST(source, a_mixture_keeps_the_shares)
{
    char a[256], b[256], c[256];
    int32_t got[32];
    (void)snprintf(a, sizeof a, "%s", folder("mix_a"));
    (void)snprintf(b, sizeof b, "%s", folder("mix_b"));
    (void)snprintf(c, sizeof c, "%s", folder("mix_c"));
    put_file(a, "a.h5", 0, 6);
    put_file(b, "b.h5", 20, 1);
    put_file(c, "c.h5", 21, 3);
    struct zoo_input input = mixture_of(a, b, c);
    first_tokens(&input, 32, 16, got);
    int n_second = 0, next[2] = {0};
    for (int i = 0; i < 16; i++) { /* in order within each set, every four places three and one */
        const bool second = got[i] >= 20;
        T_EQ(got[i], second ? 20 + next[1]++ : next[0]++ % 6);
        n_second += second;
        if (i % 4 == 3) T_EQ(n_second, (i + 1) / 4);
        T_EQ(got[i + 16], got[i]);
    }
    input.shuffle = true;
    input.shuffle_seed = 11;
    first_tokens(&input, 32, 16, got);
    for (int64_t i = 0; i < 32; i++) {
        int64_t at = data_permute(i % 16, 16, 11, (uint64_t)i / 16);
        T_EQ(got[i], at < 12 ? at % 6 : 20 + at - 12);
    }
    input.weight[1] = 0; /* as if it were not there */
    first_tokens(&input, 6, 6, got);
}

TEST(source, reads_vsl_and_corpus_files_of_h5py)
{
    char dir[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s", folder("vsl"));
    copy_file("tests/data/h5py_vsl.h5", dir, "x.h5");
    struct zoo_input input = input_of(dir);
    CU_ASSERT_EQUAL(data_source_open(&s, &input, 16, 50), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "have 5 rows (VSL: attention_span"));
    input.use_vsl = true;
    T_OK(data_source_open(&s, &input, 16, 50));
    T_OK(data_batch_create(&b, 12, 16));
    CU_ASSERT_PTR_NULL(b->attention_span);
    T_OK(data_source_read(s, 0, 12, b));
    for (int64_t k = 0; k < (int64_t)12 * 16; k++) {
        int64_t i = k / 16, t = k % 16, last = t - t % 5 + 4 < 15 ? t - t % 5 + 4 : 15;
        T_EQ(b->input_ids[k], (i + t) % 50);
        T_EQ(b->mask[k], t % 5 != 4);
        T_EQ(b->attention_span[k], last - t);
        T_EQ(b->position_ids[k], t % 5);
    }
    data_source_close(&s);
    (void)snprintf(dir, sizeof dir, "%s", folder("corpus"));
    copy_file("tests/data/h5py_corpus.h5", dir, "x.h5");
    CU_ASSERT_EQUAL(data_source_open(&s, &input, 16, 50), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "have 3 rows, but use_vsl is true"));
    input.use_vsl = false;
    T_OK(data_source_open(&s, &input, 16, 50));
    T_EQ(data_source_n_samples(s), 4);
    T_OK(data_source_read(s, 0, 4, b));
    for (int64_t k = 0; k < (int64_t)4 * 16; k++) {
        T_EQ(b->input_ids[k], k * 7 % 50);
        T_EQ(b->labels[k], (k + 1) * 7 % 50);
        T_EQ(b->mask[k], 1);
    }
    data_batch_destroy(&b);
    data_source_close(&s);
}

/* The tokens of h5py_corpus.h5 without HDF5. */
static void put_tokens(const char *path, int n)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; f && i < n; i++) {
        const unsigned char token[2] = {(unsigned char)(i * 7 % 50), 0};
        (void)fwrite(token, 2, 1, f);
    }
    if (f) (void)fclose(f);
}

/* Give token @p at of the file an id beyond any vocabulary. */
static void spoil_token(const char *path, int at)
{
    FILE *f = fopen(path, "r+b");
    CU_ASSERT_FATAL(f && !fseek(f, 2L * at, SEEK_SET) && fputc(0xff, f) == 0xff);
    if (f) (void)fclose(f);
}

TEST(source, reads_files_of_tokens_alone)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    char one[320], two[320];
    (void)snprintf(one, sizeof one, "%s/train.bin", folder("tokens"));
    (void)snprintf(two, sizeof two, "%s/more", folder("tokens"));
    put_tokens(one, 65);
    put_tokens(two, 40);
    struct zoo_input input = input_of(one);
    input.samples = ZOO_SAMPLES_UINT16;
    input.data_dir[1] = two;
    input.n_data_dirs = 2;
    T_OK(data_source_open(&s, &input, 16, 50));
    T_OK(data_batch_create(&b, 6, 16));
    T_EQ(data_source_n_samples(s), 6); /* in the order of names: more, train.bin */
    T_OK(data_source_read(s, 0, 6, b));
    for (int64_t k = 0; k < (int64_t)6 * 16; k++) {
        const int64_t at = k < (int64_t)2 * 16 ? k : k - (int64_t)2 * 16;
        T_EQ(b->input_ids[k], at * 7 % 50);
        T_EQ(b->labels[k], (at + 1) * 7 % 50);
        T_EQ(b->mask[k], 1);
    }
    data_source_close(&s);
    T_OK(data_source_open(&s, &input, 16, 49)); /* an id beyond the vocabulary */
    CU_ASSERT_EQUAL(data_source_read(s, 0, 6, b), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "position 6: labels is 49, expected 0 to 48"));
    data_source_close(&s);
    put_tokens(two, 16);
    spoil_token(one, 20); /* the label of position 3 in the second sample of its file */
    T_OK(data_source_open(&s, &input, 16, 50));
    CU_ASSERT_EQUAL(data_source_read(s, 0, 4, b), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "train.bin: sample 1, position 3: labels is "));
    data_source_close(&s);
    put_tokens(two, 40); /* now two samples are before that file */
    T_OK(data_source_open(&s, &input, 16, 50));
    CU_ASSERT_EQUAL(data_source_read(s, 0, 6, b), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "train.bin: sample 1, position 3: labels is "));
    data_source_close(&s);
    put_tokens(two, 16);
    input.n_data_dirs = 1;
    input.data_dir[0] = two;
    CU_ASSERT_EQUAL(data_source_open(&s, &input, 16, 50), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "hold no sample"));
    data_batch_destroy(&b);
}

TEST(source, puts_sink_tokens_before_samples)
{
    enum { SINKS = 3, N = 5, ALL = T + SINKS };
    char dir[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL, *plain = NULL;
    (void)snprintf(dir, sizeof dir, "%s", folder("sinks"));
    put_file(dir, "x.h5", 0, N);
    struct zoo_input input = input_of(dir);
    T_OK(data_source_open(&s, &input, T, 1000));
    T_OK(data_batch_create(&plain, N, T));
    T_OK(data_source_read(s, 0, N, plain));
    data_source_close(&s);
    input.sink_tokens = SINKS;
    input.sink_token_id = 999;
    T_OK(data_source_open(&s, &input, ALL, 1000));
    T_OK(data_batch_create(&b, N, ALL));
    T_OK(data_source_read(s, 0, N, b));
    for (int64_t k = 0; k < (int64_t)N * ALL; k++) {
        const int64_t t = k % ALL - SINKS, from = k / ALL * T + t;
        T_EQ(b->input_ids[k], t < 0 ? 999 : plain->input_ids[from]);
        T_EQ(b->mask[k], t < 0 ? 0 : plain->mask[from]);
        T_EQ(b->labels[k], t < 0 ? 0 : plain->labels[from]);
    }
    data_batch_destroy(&plain);
    data_batch_destroy(&b);
    data_source_close(&s);
    refused(&input, T, 1000,
            "have 4 tokens, but model.max_position_embeddings without sink tokens");
    refused(&input, SINKS, 1000, "3 sink tokens leave no place for text");
    refused(&input, ALL, 999, "sink_token_id is 999, expected 0 to 998");
}

TEST(source, mask_must_be_zero_or_one)
{
    int32_t data[3 * T] = {1, 2, 3, 4, 1, 1, 2, 0, 2, 3, 4, 5};
    char path[512], dir[256];
    (void)snprintf(dir, sizeof dir, "%s", folder("mask"));
    (void)snprintf(path, sizeof path, "%s/m.h5", dir);
    T_OK(store_samples_write(path, data, 1, T));
    struct zoo_input input = input_of(dir);
    refused(&input, T, 500, "sample 0, position 2: attention_mask is 2, expected 0 to 1");
    data[T + 2] = 1;
    data[2 * T + 1] = -1;
    T_OK(store_samples_write(path, data, 1, T));
    refused(&input, T, 500, "sample 0, position 1: labels is -1, expected 0 to 499");
}

TEST(source, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_DATA), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
