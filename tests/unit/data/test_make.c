// SPDX-License-Identifier: Apache-2.0
#include "../../../src/data/dataset_folder.h"
#include "../../../src/data/permute.h"
#include "../../support/case_files.h"
#include "../../support/test.h"
#include "make_defaults.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/mem.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put_text(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, f), bytes);
    (void)fclose(f);
}

static void put_gz(const char *path, const char *text, size_t bytes)
{
    gzFile f = gzopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(gzwrite(f, text, (unsigned)bytes), (int)bytes);
    (void)gzclose(f);
}

/* Byte i of the text the tests use: every value occurs. */
static char byte_at(int64_t i)
{
    return (char)(unsigned char)((i * i / 3 + i) % 256);
}

/* Samples of one folder against byte_at(), from sample @p first of the whole on. */
static void check_folder(const char *dir, int64_t first, int64_t n, int64_t T, int64_t bytes)
{
    struct zoo_input input = {
        .data_dir = {NULL}, .n_data_dirs = 1, .max_sequence_length = CONF_NULL};
    char copy[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(copy, sizeof copy, "%s", dir);
    input.data_dir[0] = copy;
    T_OK(data_source_open(&s, &input, T, 256));
    T_EQ(data_source_n_samples(s), n);
    T_OK(data_batch_create(&b, n, T));
    T_OK(data_source_read(s, 0, n, b));
    int64_t wrong = 0;
    for (int64_t k = 0; k < n * T; k++) {
        int64_t i = first * T + k;
        bool valid = i + 1 < bytes;
        wrong += b->mask[k] != valid;
        wrong += b->input_ids[k] != (valid ? (unsigned char)byte_at(i) : 0);
        wrong += b->labels[k] != (valid ? (unsigned char)byte_at(i + 1) : 0);
    }
    T_EQ(wrong, 0);
    data_batch_destroy(&b);
    data_source_close(&s);
}

static struct data_make request(const char *out, const char *const *input, int n, int64_t T)
{
    struct data_make m;
    make_defaults(&m);
    m.input = input;
    m.n_inputs = n;
    m.out_dir = out;
    m.T = T;
    m.samples_per_file = 4;
    return m;
}

static enum wsc_err make_it(const struct data_make *wanted, struct data_made *made)
{
    struct data_make m = *wanted;
    enum wsc_err rc = data_tokenizer_open(&m.tokenizer, "byte", NULL, NULL);
    if (rc) return rc;
    rc = data_make_dataset(&m, made);
    data_tokenizer_close(&m.tokenizer);
    return rc;
}

static enum wsc_err make(const char *out, const char *const *input, int n, int64_t T, double split,
                         struct data_made *made)
{
    struct data_make m = request(out, input, n, T);
    m.share[DATA_VAL] = split;
    return make_it(&m, made);
}

/* Rows by hand: "abc" and "de" fit one sample of 5, "fghijklmnopq" is folded. */
static void put_mark(FILE *f, const void *text)
{
    (void)fputs(text, f);
}

/* A folder whose removal stops half-way is still known as ours, so that it can be replaced: the
 * file that says so goes after all others.  A folder with the name of a file stops it here. */
TEST(data, a_folder_that_is_half_removed_stays_ours)
{
    const char *dir = case_path("half/train"), *stuck = case_path("half/train/data-00000.h5");
    T_OK(data_folder_begin(dir, false));
    T_OK(data_file_write(dir, "data_params.json", put_mark, "{" DATA_CREATED_BY "}"));
    put_text(case_path("half/train/data-00001.h5"), "x", 1);
    CU_ASSERT_FATAL(!mkdir(stuck, 0777));
    data_folder_remove(dir);
    CU_ASSERT(!exists(case_path("half/train/data-00001.h5")) && exists(stuck));
    T_OK(data_folder_check_parts(&(struct data_make){.out_dir = case_path("half")}));
    CU_ASSERT(!rmdir(stuck));
    data_folder_remove(dir);
    CU_ASSERT(!exists(dir));
}

TEST(make, packs_whole_texts)
{
    enum { T = 5, N = 4, EOS = 256, PAD = 9 };
    static const char lines[] = "{\"text\": \"abc\"}\n{\"text\": \"\"}\n{\"text\": \"de\"}\n"
                                "{\"text\": \"fghijklmnopq\"}\n{\"text\": \"rst\"}\n";
    static const char inputs[] = "abcde"
                                 "fghij"
                                 "klmno"
                                 "pqrst";
    static const char labels[] = "bc.e."
                                 "ghijk"
                                 "lmnop"
                                 "q.st.";
    static const char spans[] = "21010"
                                "43210"
                                "43210"
                                "10210";
    static const char positions[] = "01201"
                                    "01234"
                                    "01234"
                                    "01012";
    struct data_made made = {0};
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    char in[256], dir[256];
    (void)snprintf(in, sizeof in, "%s", case_path("texts.jsonl"));
    (void)snprintf(dir, sizeof dir, "%s", case_path("texts/train"));
    put_text(in, lines, sizeof lines - 1);
    const char *const input[1] = {in};
    struct data_make m = request(case_path("texts"), input, 1, T);
    m.use_vsl = true;
    m.eos_id = EOS;
    m.pad_id = PAD;
    T_OK(make_it(&m, &made));
    T_EQ(made.n_samples[DATA_TRAIN], N);
    T_EQ(made.n_documents, 5);
    T_EQ(made.n_empty, 1);
    struct zoo_input from = {.data_dir = {dir}, .n_data_dirs = 1, .use_vsl = true};
    from.max_sequence_length = CONF_NULL;
    T_OK(data_source_open(&s, &from, T, EOS + 1));
    T_OK(data_batch_create(&b, N, T));
    T_OK(data_source_read(s, 0, N, b));
    for (int64_t k = 0; k < (int64_t)N * T; k++) {
        T_EQ(b->input_ids[k], inputs[k]);
        T_EQ(b->labels[k], labels[k] == '.' ? EOS : labels[k]);
        T_EQ(b->mask[k], 1);
        T_EQ(b->attention_span[k], spans[k] - '0');
        T_EQ(b->position_ids[k], positions[k] - '0');
    }
    data_batch_destroy(&b);
    data_source_close(&s);
    m.eos_id = DATA_NO_ID;
    CU_ASSERT_EQUAL(make_it(&m, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "use_vsl needs an EOS"));
    m.eos_id = 'h';
    CU_ASSERT_EQUAL(make_it(&m, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "text has the EOS, id 104, too"));
}

/* Read the packed samples of texts of 1 to 40 letters, with an EOS of 256. */
static void read_packed(const char *name, int64_t bos_id, struct data_batch *b)
{
    enum { T = 12, TEXTS = 40 };
    static char dir[300];
    struct data_made made = {0};
    struct data_source *s = NULL;
    const char *const input[1] = {case_path("letters.jsonl")};
    FILE *f = fopen(input[0], "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int n = 1; n <= TEXTS; n++)
        (void)fprintf(f, "{\"text\": \"%.*s\"}\n", n * 7 % TEXTS + 1,
                      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    (void)fclose(f);
    struct data_make m = request(case_path(name), input, 1, T);
    m.use_vsl = true;
    m.bos_id = bos_id;
    m.eos_id = 256;
    T_OK(make_it(&m, &made));
    CU_ASSERT_FATAL(made.n_samples[DATA_TRAIN] >= b->n_max);
    (void)snprintf(dir, sizeof dir, "%s/train", m.out_dir);
    struct zoo_input from = {.data_dir = {dir}, .n_data_dirs = 1, .use_vsl = true};
    from.max_sequence_length = CONF_NULL;
    T_OK(data_source_open(&s, &from, T, 258));
    T_OK(data_source_read(s, 0, b->n_max, b));
    data_source_close(&s);
}

/* A BOS that is the EOS too gives the samples of a BOS of its own. */
TEST(make, packs_texts_whose_bos_is_their_eos)
{
    enum { T = 12, N = 60, OWN = 257, EOS = 256 };
    struct data_batch *one = NULL, *two = NULL;
    int64_t n_bos = 0;
    T_OK(data_batch_create(&one, N, T));
    T_OK(data_batch_create(&two, N, T));
    read_packed("one", EOS, one);
    read_packed("two", OWN, two);
    for (int64_t k = 0; k < (int64_t)N * T; k++) {
        n_bos += two->input_ids[k] == OWN;
        T_EQ(one->input_ids[k], two->input_ids[k] == OWN ? EOS : two->input_ids[k]);
        T_EQ(one->labels[k], two->labels[k]);
        T_EQ(one->mask[k], two->mask[k]);
        T_EQ(one->attention_span[k], two->attention_span[k]);
        T_EQ(one->position_ids[k], two->position_ids[k]);
    }
    CU_ASSERT(n_bos > 20);
    data_batch_destroy(&one);
    data_batch_destroy(&two);
}

TEST(make, joins_cuts_splits_and_pads)
{
    enum { BYTES = 1003, T = 48 };
    static char text[BYTES];
    struct data_made made = {0};
    for (int i = 0; i < BYTES; i++)
        text[i] = byte_at(i);
    put_text(case_path("a.txt"), text, 400);
    put_gz(case_path("b.txt.gz"), text + 400, 500);
    put_text(case_path("empty.txt"), "", 0);
    put_text(case_path("c"), text + 900, BYTES - 900);
    char in[4][256];
    (void)snprintf(in[0], 256, "%s", case_path("a.txt"));
    (void)snprintf(in[1], 256, "%s", case_path("b.txt.gz"));
    (void)snprintf(in[2], 256, "%s", case_path("empty.txt"));
    (void)snprintf(in[3], 256, "%s", case_path("c"));
    const char *const input[4] = {in[0], in[1], in[2], in[3]};
    T_OK(make(case_path("out/deep/"), input, 4, T, 0.1, &made));
    T_EQ(made.n_bytes, BYTES);
    T_EQ(made.n_samples[DATA_TRAIN] + made.n_samples[DATA_VAL], 21); /* ceil(1002 / 48) */
    T_EQ(made.n_samples[DATA_VAL], 2);
    T_EQ(made.vocab_size, 256);
    check_folder(case_path("out/deep/train"), 0, 19, T, BYTES);
    check_folder(case_path("out/deep/val"), 19, 2, T, BYTES);
    CU_ASSERT(exists(case_path("out/deep/train/data-00004.h5")));
    CU_ASSERT(!exists(case_path("out/deep/train/data-00005.h5")));
    CU_ASSERT(!exists(case_path("out/deep/train.tmp")) && !exists(case_path("out/deep/val.tmp")));
    /* A second run replaces the first, and leaves no val/ when it makes none. */
    T_OK(make(case_path("out/deep"), input, 4, 250, 0, &made));
    T_EQ(made.n_samples[DATA_TRAIN], 5);
    check_folder(case_path("out/deep/train"), 0, 5, 250, BYTES);
    CU_ASSERT(!exists(case_path("out/deep/val")));
    CU_ASSERT(!exists(case_path("out/deep/train/data-00004.h5")));
}

TEST(make, last_label_is_neither_lost_nor_invented)
{
    struct data_made made = {0};
    char text[40], in[256];
    const char *const input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("edge.txt"));
    for (int i = 0; i < 40; i++)
        text[i] = byte_at(i);
    for (int bytes = 2; bytes <= 26; bytes++) { /* T = 8: samples end at 9, 17 and 25 bytes */
        put_text(in, text, (size_t)bytes);
        CU_ASSERT_EQUAL(make(case_path("edge"), input, 1, 8, 0, &made), WSC_OK);
        T_EQ(made.n_samples[DATA_TRAIN], (bytes - 1 + 7) / 8);
        check_folder(case_path("edge/train"), 0, made.n_samples[DATA_TRAIN], 8, bytes);
    }
}

/* Two symbols, the second in a quarter of the labels: -(3/4) ln (3/4) - (1/4) ln (1/4). */
TEST(make, unigram_entropy_is_that_of_the_training_labels)
{
    struct data_made made = {0};
    char in[256], text[201];
    const char *const input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("ab.txt"));
    for (int i = 0; i < 201; i++)
        text[i] = "zab"[i > 100 ? 0 : i % 4 ? 1 : 2]; /* the second half is held out */
    put_text(in, text, sizeof text);
    T_OK(make(case_path("ab"), input, 1, 20, 0.5, &made));
    T_EQ(made.n_samples[DATA_TRAIN], 5);
    T_NEAR(made.unigram_entropy_nats, -0.75 * log(0.75) - 0.25 * log(0.25), 1e-12);
}

TEST(make, params_file_tells_what_was_made)
{
    struct data_made made = {0};
    char in[256], text[4096] = "";
    const char *const input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("quo\"te\\.txt"));
    put_text(in, "na\xc3\xafve text", 11);
    T_OK(make(case_path("json"), input, 1, 4, 0, &made));
    FILE *f = fopen(case_path("json/train/data_params.json"), "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT(fread(text, 1, sizeof text - 1, f) > 0);
    (void)fclose(f);
    static const char *const parts[] = {
        "\"n_examples\": 3,",
        "\"vocab_size\": 256,",
        "quo\\\"te\\\\.txt",
        "\"num_tokens\": 12,",
        "\"num_pad_tokens\": 2,",
        "\"loss_valid_tokens\": 10,",
        "\"raw_bytes_count\": 11,",
        "\"raw_chars_count\": 10,",
        "\"max_seq_length\": 4,",
        "\"features\": [\"input_ids\", \"attention_mask\", \"labels\"]"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
}

struct reports {
    int n;
    int64_t done[2], total[2]; /* bytes, samples */
};

static void report(void *ctx, const char *what, int64_t done, int64_t total)
{
    struct reports *r = ctx;
    int k = strcmp(what, "samples") == 0;
    CU_ASSERT(done >= r->done[k]);
    r->n++;
    r->done[k] = done;
    r->total[k] = total;
}

TEST(make, progress_ends_at_the_total)
{
    struct data_made made = {0};
    struct reports reports = {0};
    char in[256];
    const char *const input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("progress.txt"));
    put_text(in, "0123456789012345678901234567890123456789", 40);
    struct data_make m = request(case_path("progress"), input, 1, 4);
    m.progress = report;
    m.progress_ctx = &reports;
    T_OK(make_it(&m, &made));
    CU_ASSERT(reports.n >= 4);
    T_EQ(reports.done[0], 40);
    T_EQ(reports.total[0], 40);
    T_EQ(reports.done[1], 10);
    T_EQ(reports.total[1], 10);
}

static void refused(const struct data_make *m, const char *what)
{
    struct data_made made = {0};
    enum wsc_err rc = make_it(m, &made);
    CU_ASSERT_NOT_EQUAL(rc, WSC_OK);
    bool said = rc && strstr(wsc_err_message(), what) != NULL;
    if (!said) (void)fprintf(stderr, "expected \"%s\": %s\n", what, wsc_err_message());
    CU_ASSERT(said);
}

TEST(make, wrong_requests_are_refused)
{
    char in[256], out[256];
    const char *input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("ok.txt"));
    (void)snprintf(out, sizeof out, "%s", case_path("wrong"));
    put_text(in, "some text that is long enough", 29);
    const struct data_make good = request(out, input, 1, 4);
    struct data_make m = good;
    m.T = 0;
    refused(&m, "max_seq_length is 0");
    m = good;
    m.share[DATA_VAL] = 1;
    refused(&m, "split is 1");
    m.share[DATA_VAL] = NAN;
    refused(&m, "split is");
    m = good;
    m.samples_per_file = 0;
    refused(&m, "at least 1");
    m = good;
    m.T = 100;
    m.share[DATA_VAL] = 0.1;
    refused(&m, "cannot be split");
    m = good;
    input[0] = "/nonexistent.txt";
    refused(&m, "/nonexistent.txt: cannot be opened: No such file");
    input[0] = "/dev/null";
    refused(&m, "is not a regular file");
    char packed[256];
    (void)snprintf(packed, sizeof packed, "%s", case_path("texts.parquet"));
    put_text(packed, "PAR1 some text that is long enough", 34);
    input[0] = packed;
    refused(&m, "texts.parquet: this is no text but Parquet; hint: write its texts as JSON Lines");
    put_text(packed,
             "\xFD"
             "7zXZ\0 some text that is long enough",
             36);
    refused(&m, "this is no text but xz; hint");
    put_text(packed, "P", 1);
    refused(&m, "has 1 tokens");
    input[0] = in;
    put_text(in, "x", 1);
    refused(&m, "has 1 tokens");
    put_text(in, "long enough", 11);
    m.eos_id = 1 << 22;
    refused(&m, "eos_id is 4194304, expected 0 to 4194303");
    m.eos_id = 65536;
    m.type = STORE_UINT16;
    refused(&m, "uint16 holds ids up to 65535, the largest is 65536; hint: --dtype int32");
    m = good;
    m.share[DATA_VAL] = m.share[DATA_TEST] = 0.5;
    refused(&m, "fractions add up to 1, expected less than 1");
    m = good;
    m.out_dir = case_path("ok.txt/below");
    refused(&m, "Not a directory");
    CU_ASSERT(!exists(out));
}

TEST(make, damaged_gzip_leaves_nothing)
{
    char in[256];
    const char *const input[1] = {in};
    static char text[100000];
    struct stat info;
    for (int i = 0; i < 100000; i++)
        text[i] = byte_at(i * 7 % 1000);
    (void)snprintf(in, sizeof in, "%s", case_path("cut.gz"));
    put_gz(in, text, sizeof text);
    CU_ASSERT_EQUAL_FATAL(stat(in, &info), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(in, info.st_size / 2), 0);
    struct data_make m = request(case_path("cut"), input, 1, 4);
    refused(&m, "cut.gz: cannot be read");
    CU_ASSERT(!exists(case_path("cut/train")) && !exists(case_path("cut/train.tmp")));
}

/* What follows a gzip member, and is none, may be text that would be lost. */
TEST(make, what_follows_compressed_data_is_not_ignored)
{
    static const struct {
        const char *bytes, *why; /* NULL: nothing is lost */
        size_t n;
    } tail[] = {{"more text", "something follows the compressed data, from byte", 9},
                {"\0\0\0\0more", "something follows the compressed data, from byte", 8},
                {"\x1F\x8Bxx", "cannot be read", 4},
                {"\0\0\0\0\0\0\0\0", NULL, 8}};
    char in[256];
    const char *const input[1] = {in};
    static char text[3000];
    for (int i = 0; i < 3000; i++)
        text[i] = byte_at(i * 7 % 1000);
    for (size_t t = 0; t < sizeof tail / sizeof *tail; t++) {
        struct data_made made = {0};
        (void)snprintf(in, sizeof in, "%s", case_path("tail.gz"));
        put_gz(in, text, sizeof text);
        FILE *f = fopen(in, "ab");
        CU_ASSERT_FATAL(f && fwrite(tail[t].bytes, 1, tail[t].n, f) == tail[t].n && !fclose(f));
        struct data_make m = request(case_path("tail"), input, 1, 4);
        if (tail[t].why)
            refused(&m, tail[t].why);
        else
            T_OK(make_it(&m, &made));
        CU_ASSERT(exists(case_path("tail/train")) == !tail[t].why);
    }
}

TEST(make, folders_of_others_are_left_alone)
{
    struct data_made made = {0};
    char in[256];
    const char *const input[1] = {in};
    int32_t sample[3] = {1, 1, 2};
    (void)snprintf(in, sizeof in, "%s", case_path("mine.txt"));
    put_text(in, "some text that is long enough", 29);
    CU_ASSERT_EQUAL(mkdir(case_path("theirs"), 0777), 0);
    CU_ASSERT_EQUAL(mkdir(case_path("theirs/train"), 0777), 0);
    T_OK(make(case_path("theirs"), input, 1, 4, 0, &made)); /* an empty one may be taken */
    put_text(case_path("theirs/train/thesis.tex"), "x", 1);
    struct data_make m = request(case_path("theirs"), input, 1, 4);
    refused(&m, "holds thesis.tex, which `wsc data` did not make");
    CU_ASSERT(exists(case_path("theirs/train/data-00000.h5")));
    /* Our names, but nothing says that we made them. */
    CU_ASSERT_EQUAL(mkdir(case_path("other"), 0777), 0);
    CU_ASSERT_EQUAL(mkdir(case_path("other/val"), 0777), 0);
    T_OK(store_samples_write(case_path("other/val/data-00000.h5"), sample, 1, 1));
    m.out_dir = case_path("other");
    refused(&m, "holds a dataset that `wsc data` did not make");
    CU_ASSERT(exists(case_path("other/val/data-00000.h5")));
}

/* ---- shares, order, types ---------------------------------------------------------------------
 */

enum { MANY = 1000 };

/* First ids of the samples of a folder, each of two tokens; returns how many. */
static int64_t first_ids(const char *dir, int32_t *ids)
{
    char copy[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(copy, sizeof copy, "%s", dir);
    struct zoo_input input = {
        .data_dir = {copy}, .n_data_dirs = 1, .max_sequence_length = CONF_NULL};
    T_OK(data_source_open(&s, &input, 1, 70000));
    int64_t n = data_source_n_samples(s);
    T_OK(data_batch_create(&b, n, 1));
    T_OK(data_source_read(s, 0, n, b));
    memcpy(ids, b->input_ids, (size_t)n * sizeof *ids);
    data_batch_destroy(&b);
    data_source_close(&s);
    return n;
}

TEST(make, shares_are_exact_and_the_order_is_that_of_the_seed)
{
    static char text[MANY + 1];
    static int32_t id[MANY];
    struct data_made made = {0};
    char in[256], out[256];
    const char *const input[1] = {in};
    int wrong = 0;
    for (int i = 0; i <= MANY; i++)
        text[i] = byte_at(i);
    (void)snprintf(in, sizeof in, "%s", case_path("shares.txt"));
    (void)snprintf(out, sizeof out, "%s", case_path("shares"));
    put_text(in, text, sizeof text);
    struct data_make m = request(out, input, 1, 1);
    m.share[DATA_VAL] = 0.1;
    m.share[DATA_TEST] = 0.0455;
    m.shuffle = true;
    m.seed = 9;
    m.type = STORE_UINT16;
    T_OK(make_it(&m, &made));
    T_EQ(made.n_samples[DATA_TRAIN], 854);
    T_EQ(made.n_samples[DATA_VAL], 100);
    T_EQ(made.n_samples[DATA_TEST], 46);
    T_EQ(first_ids(case_path("shares/train"), id), 854);
    T_EQ(first_ids(case_path("shares/val"), id + 854), 100);
    T_EQ(first_ids(case_path("shares/test"), id + 954), 46);
    for (int64_t i = 0; i < MANY; i++)
        wrong += id[i] != (unsigned char)byte_at(data_permute(i, MANY, 9, 0));
    T_EQ(wrong, 0);
    m.share[DATA_TEST] = 0;
    T_OK(make_it(&m, &made));
    CU_ASSERT(!exists(case_path("shares/test")));
}

TEST(make, documents_are_marked_at_both_ends)
{
    static const int32_t expected[] = {300, 'a', 301, 300, 'b', 'c'};
    static int32_t id[16];
    struct data_made made = {0};
    char in[256], out[256];
    const char *const input[1] = {in};
    (void)snprintf(in, sizeof in, "%s", case_path("marks.jsonl"));
    (void)snprintf(out, sizeof out, "%s", case_path("marks"));
    const char text[] = "{\"text\": \"a\"}\n{\"text\": \"\"}\n{\"text\": \"bc\"}\n";
    put_text(in, text, sizeof text - 1);
    struct data_make m = request(out, input, 1, 1);
    m.bos_id = 300;
    m.eos_id = 301;
    T_OK(make_it(&m, &made));
    T_EQ(made.n_tokens, 7);
    T_EQ(made.n_documents, 3);
    T_EQ(made.n_empty, 1);
    T_EQ(made.vocab_size, 302);
    T_EQ(made.n_bytes, 3);
    T_EQ(first_ids(case_path("marks/train"), id), 6);
    CU_ASSERT_EQUAL(memcmp(id, expected, sizeof expected), 0);
}

/* ---- back to text ---------------------------------------------------------------------------- */

static void decodes(const char *bytes, const char *expected)
{
    int32_t ids[64];
    char text[65];
    int64_t n = (int64_t)strlen(bytes);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (unsigned char)bytes[i];
    data_decode_bytes(ids, n, text);
    T_STR(text, expected);
}

TEST(decode, gives_valid_utf8)
{
    static const int32_t outside[] = {'a', 256, -1, 0, 2147483647, 'b'};
    char text[7];
    decodes("plain\ttext\n", "plain\ttext\n");
    decodes("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x99\x82",
            "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x99\x82");
    decodes("\x1b[31m\x7f\r", "?[31m??");
    decodes("a\xc3", "a?");                   /* cut short */
    decodes("\xe2\x82z", "??z");              /* cut short inside */
    decodes("\xc0\xaf\xe0\x80\x80", "?????"); /* overlong */
    decodes("\xed\xa0\x80\xf5", "????");      /* surrogate, beyond U+10FFFF */
    decodes("\xc2\x85", "??");                /* C1 control */
    data_decode_bytes(outside, 6, text);
    T_STR(text, "a????b");
    data_decode_bytes(outside, 0, text);
    T_STR(text, "");
}

TEST(make, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_DATA), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
