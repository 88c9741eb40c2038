// SPDX-License-Identifier: Apache-2.0
/* Datasets for encoders: what `wsc data` writes for each data loader is what the reader of a run
 * gets; masks and pairs follow their definitions; answers stand where the question says. */
#include "../../../src/data/dataset_folder.h"
#include "../../support/test.h"
#include "make_defaults.h"

#include <wsc/data_bert.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { T = 24, MOST = 5, VOCAB = 400, TYPES = 2 };
#define WORDS "tests/data/wordpiece_vocab.txt"

/* Paragraphs of numbered words, so that a token says where it is from. */
static const char *put_text(void)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/text.txt", test_tmpdir());
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int p = 0; p < 40; p++) {
        for (int s = 0; s < 1 + p % 6; s++) {
            for (int w = 0; w < 3 + (p * s) % 9; w++)
                (void)fprintf(f, "%s ", w % 3 ? "ber" : "loan");
            (void)fprintf(f, "anst%s", s % 2 ? "!\n" : ". ");
        }
        (void)fputs("\n\n", f);
    }
    CU_ASSERT(!fclose(f));
    return path;
}

/* Short documents of different lengths, a line each. */
static const char *put_documents(void)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/documents.jsonl", test_tmpdir());
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int d = 0; d < 120; d++) {
        (void)fputs("{\"text\": \"loan", f);
        for (int w = 0; w < d * 7 % 31; w++)
            (void)fputs(w % 3 ? " ber" : " loan", f);
        (void)fputs("\"}\n", f);
    }
    CU_ASSERT(!fclose(f));
    return path;
}

static enum wsc_err make_packed(const struct data_bert *bert, const char *input, double share,
                                const char *name, bool packed, struct data_made *made)
{
    static char out[300];
    struct data_make m;
    make_defaults(&m);
    (void)snprintf(out, sizeof out, "%s/%s", test_tmpdir(), name);
    m.input = &input;
    m.n_inputs = 1;
    m.T = T;
    m.use_vsl = packed;
    m.share[DATA_VAL] = share;
    m.seed = 3;
    m.samples_per_file = 30;
    m.out_dir = out;
    T_OK(data_tokenizer_open_wordpiece(&m.tokenizer, WORDS, true, data_bert_pairs(bert)));
    const enum wsc_err rc = data_make_bert(&m, bert, made);
    data_tokenizer_close(&m.tokenizer);
    return rc;
}

static enum wsc_err make(const struct data_bert *bert, const char *input, double share,
                         const char *name, struct data_made *made)
{
    return make_packed(bert, input, share, name, false, made);
}

static struct data_bert request(const char *loader, bool pairs)
{
    return (struct data_bert){.loader = loader,
                              .disable_nsp = !pairs,
                              .share = 0.15,
                              .short_share = 0.1,
                              .most = MOST,
                              .dupe_factor = 1,
                              .stride = 8,
                              .most_question = 6};
}

/* The input of one source at a time, which borrows it. */
static enum wsc_err open_input(const char *name, const char *part, enum zoo_samples samples,
                               bool pairs, bool packed, struct data_source **source)
{
    static char dir[400], words[] = WORDS;
    static struct zoo_input in;
    in = (struct zoo_input){.data_dir = {dir},
                            .n_data_dirs = 1,
                            .samples = samples,
                            .use_vsl = packed,
                            .num_samples = CONF_NULL,
                            .max_sequence_length = CONF_NULL,
                            .vocab_file = words,
                            .do_lower = true,
                            .masked_lm_prob = 0.15,
                            .max_predictions_per_seq = MOST,
                            .pairs = pairs,
                            .n_labels = samples == ZOO_SAMPLES_ANSWERS ? ZOO_ANSWER_LABELS : VOCAB,
                            .n_types = TYPES};
    (void)snprintf(dir, sizeof dir, "%s/%s/%s", test_tmpdir(), name, part);
    return data_source_open(source, &in, T, VOCAB);
}

/* All samples of a source, which is closed. */
static int64_t read_source(struct data_source *s, struct data_batch **batch)
{
    const int64_t n = s ? data_source_n_samples(s) : 0;
    T_OK(data_batch_create(batch, n, T));
    T_OK(data_source_read(s, 0, n, *batch));
    data_source_close(&s);
    return n;
}

/* All samples of a part as a run reads them. */
static int64_t read_all(const char *name, const char *part, enum zoo_samples samples, bool pairs,
                        struct data_batch **batch)
{
    struct data_source *s = NULL;
    T_OK(open_input(name, part, samples, pairs, false, &s));
    return read_source(s, batch);
}

enum { PAD, UNK, CLS, SEP, MASK };

/* [CLS], tokens and one [SEP] or two, where the padding begins; token types change after the first
 * [SEP]; what is masked has a label. */
static void check_sample(const struct data_batch *b, int64_t i, bool pair)
{
    const int32_t *id = b->input_ids + i * T, *type = b->token_types + i * T;
    const int32_t *attends = b->attends + i * T, *mask = b->mask + i * T;
    int64_t n = 0, n_masked = 0, n_seps = 0;
    while (n < T && attends[n])
        n++;
    for (int64_t t = 0; t < T; t++) {
        CU_ASSERT(t < n || (id[t] == PAD && !attends[t] && !mask[t] && !type[t]));
        if (t < n) CU_ASSERT_EQUAL(type[t], pair && n_seps > 0);
        n_seps += id[t] == SEP;
        n_masked += mask[t];
        if (id[t] == MASK) CU_ASSERT(mask[t] && b->labels[i * T + t] > MASK);
    }
    CU_ASSERT(id[0] == CLS && id[n - 1] == SEP && n_seps == 1 + pair);
    CU_ASSERT(n_masked >= 1 && n_masked <= MOST);
}

/* The counts in data_params.json are those of the samples; with masks in the files (@p is_static)
 * these are the labels. */
static void check_counts(const char *name, const struct data_batch *b, int64_t n, bool is_static)
{
    int64_t n_pad = 0, n_labels = 0;
    for (int64_t i = 0; i < n * T; i++) {
        n_pad += !b->attends[i];
        n_labels += b->mask[i];
    }
    char command[400];
    (void)snprintf(command, sizeof command,
                   "cd %s/%s/train && grep -q '\"num_pad_tokens\": %lld,' data_params.json && "
                   "(%s grep -q '\"loss_valid_tokens\": %lld,' data_params.json) && "
                   "! grep -q raw_ data_params.json",
                   test_tmpdir(), name, (long long)n_pad, is_static ? "" : "!",
                   (long long)n_labels);
    CU_ASSERT_EQUAL(system(command), 0);
}

TEST(bert_data, each_loader_gets_masked_samples)
{
    static const struct {
        const char *loader;
        enum zoo_samples samples;
        bool pairs;
    } row[] = {{"BertHDF5DataProcessor", ZOO_SAMPLES_MASKED, false},
               {"BertCSVDataProcessor", ZOO_SAMPLES_CSV_STATIC, false},
               {"BertCSVDataProcessor", ZOO_SAMPLES_CSV_STATIC, true},
               {"BertCSVDynamicMaskDataProcessor", ZOO_SAMPLES_CSV_DYNAMIC, false},
               {"BertCSVDynamicMaskDataProcessor", ZOO_SAMPLES_CSV_DYNAMIC, true}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const struct data_bert bert = request(row[k].loader, row[k].pairs);
        struct data_made made;
        struct data_batch *b = NULL;
        char name[16];
        (void)snprintf(name, sizeof name, "set%zu", k);
        T_OK(make(&bert, put_text(), 0.2, name, &made));
        const int64_t n = read_all(name, "train", row[k].samples, row[k].pairs, &b);
        T_EQ(n, made.n_samples[DATA_TRAIN]);
        CU_ASSERT(n > 30); /* several files */
        check_counts(name, b, n, row[k].samples != ZOO_SAMPLES_CSV_DYNAMIC);
        int64_t n_random = 0;
        for (int64_t i = 0; i < n; i++) {
            check_sample(b, i, row[k].pairs);
            n_random += b->targets[i] > 0;
        }
        CU_ASSERT(row[k].pairs ? n_random > n / 4 && n_random < n : n_random == 0);
        data_batch_destroy(&b);
        CU_ASSERT(read_all(name, "val", row[k].samples, row[k].pairs, &b) >= 1);
        data_batch_destroy(&b);
        CU_ASSERT(made.unigram_entropy_nats > 0);
    }
}

/* The same masks in HDF5 and in CSV, and the tokens of all samples one after the other are those of
 * the text. */
TEST(bert_data, masks_do_not_depend_on_the_file)
{
    const struct data_bert h5 = request("BertHDF5DataProcessor", false);
    const struct data_bert csv = request("BertCSVDataProcessor", false);
    struct data_made made;
    struct data_batch *b[2] = {NULL, NULL};
    T_OK(make(&h5, put_text(), 0, "h5", &made));
    T_OK(make(&csv, put_text(), 0, "csv", &made));
    const int64_t n = read_all("h5", "train", ZOO_SAMPLES_MASKED, false, &b[0]);
    T_EQ(read_all("csv", "train", ZOO_SAMPLES_CSV_STATIC, false, &b[1]), n);
    const size_t size = (size_t)(n * T) * sizeof(int32_t);
    CU_ASSERT(!memcmp(b[0]->input_ids, b[1]->input_ids, size));
    CU_ASSERT(!memcmp(b[0]->labels, b[1]->labels, size));
    CU_ASSERT(!memcmp(b[0]->mask, b[1]->mask, size));
    int64_t n_tokens = 0;
    for (int64_t i = 0; i < n * T; i++)
        n_tokens += b[0]->attends[i];
    T_EQ(n_tokens - 2 * n, made.n_tokens - 1); /* the document's end is a mark */
    for (int i = 0; i < 2; i++)
        data_batch_destroy(&b[i]);
}

/* A file of samples of another length is refused by the key of the params. */
TEST(bert_data, masked_samples_of_another_length)
{
    const struct data_bert h5 = request("BertHDF5DataProcessor", false);
    struct data_made made;
    struct data_source *s = NULL;
    T_OK(make(&h5, put_text(), 0, "longer", &made));
    struct zoo_input in = {.samples = ZOO_SAMPLES_MASKED,
                           .batch_size = 1,
                           .n_data_dirs = 1,
                           .max_sequence_length = CONF_NULL,
                           .length_place = "p.yaml:3:4: model.max_position_embeddings"};
    char dir[512];
    (void)snprintf(dir, sizeof dir, "%s/longer/train", test_tmpdir());
    in.data_dir[0] = dir;
    T_EQ(data_source_open(&s, &in, T + 1, 500), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "but p.yaml:3:4: model.max_position_embeddings is "));
    CU_ASSERT_PTR_NULL(s);
}

/* The text of @p n tokens at @p t: its own positions and spans, marks at its ends alone. */
static void check_packed_text(const struct data_batch *b, int64_t t, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const int32_t id = b->input_ids[t + k];
        CU_ASSERT(b->position_ids[t + k] == k && b->attention_span[t + k] == n - 1 - k);
        CU_ASSERT(b->attends[t + k] && (id == CLS) == (k == 0) && (id == SEP) == (k == n - 1));
    }
}

/* Whole texts [CLS] ... [SEP] one after the other, each with its own positions and spans, then
 * padding; returns their number. */
static int64_t check_packed(const struct data_batch *b, int64_t i)
{
    const int32_t *id = b->input_ids + i * T, *span = b->attention_span + i * T;
    const int32_t *position = b->position_ids + i * T, *attends = b->attends + i * T;
    int64_t n_texts = 0, t = 0;
    for (; t < T && attends[t]; t += span[t] + 1) {
        const int64_t n = span[t] + 1;
        CU_ASSERT_FATAL(n >= 3 && t + n <= T);
        check_packed_text(b, i * T + t, n);
        n_texts++;
    }
    for (; t < T; t++)
        CU_ASSERT(id[t] == PAD && !attends[t] && !position[t] && !span[t]);
    return n_texts;
}

/* Fewer samples of the same tokens; the next text would not have fitted. */
TEST(bert_data, texts_are_packed)
{
    const struct data_bert h5 = request("BertHDF5DataProcessor", false);
    struct data_made made, plain;
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    T_OK(make(&h5, put_documents(), 0, "not_packed", &plain));
    T_OK(make_packed(&h5, put_documents(), 0, "packed", true, &made));
    T_EQ(open_input("packed", "train", ZOO_SAMPLES_MASKED, false, false, &s), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has 4 rows a sample, expected input_ids"));
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "hint: packed texts: set use_vsl: true"));
    T_EQ(open_input("not_packed", "train", ZOO_SAMPLES_MASKED, false, true, &s), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has 2 rows a sample, but use_vsl is true"));
    T_OK(open_input("packed", "train", ZOO_SAMPLES_MASKED, false, true, &s));
    const int64_t n = read_source(s, &b);
    T_EQ(n, made.n_samples[DATA_TRAIN]);
    CU_ASSERT(n < plain.n_samples[DATA_TRAIN]);
    int64_t n_texts = 0, before = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t used = 0;
        for (int64_t t = 0; t < T; t++)
            used += b->attends[i * T + t];
        CU_ASSERT(!i || before + b->attention_span[i * T] + 1 > T);
        before = used;
        n_texts += check_packed(b, i);
    }
    T_EQ(n_texts, plain.n_samples[DATA_TRAIN]);
    data_batch_destroy(&b);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

enum { ROUNDS = 3 };

/* Row @p t of sample @p i before it was masked. */
static int32_t original(const struct data_batch *b, int64_t i, int64_t t)
{
    return b->mask[i * T + t] ? b->labels[i * T + t] : b->input_ids[i * T + t];
}

/* Do two samples have the same tokens before masks; the same masked places? */
static bool same_text(const struct data_batch *a, int64_t i, const struct data_batch *b, int64_t k)
{
    for (int64_t t = 0; t < T; t++)
        if (original(a, i, t) != original(b, k, t)) return false;
    return true;
}

static bool same_places(const struct data_batch *a, int64_t i, const struct data_batch *b,
                        int64_t k)
{
    return !memcmp(a->mask + i * T, b->mask + k * T, T * sizeof *a->mask);
}

/* Masked tokens that the definition asks for: the share of the sample's tokens, rounded, at least
 * one, at most MOST. */
static int64_t wanted_masks(const struct data_batch *b, int64_t i)
{
    int64_t n = 0;
    for (int64_t t = 0; t < T; t++)
        n += b->attends[i * T + t];
    const int64_t count = (int64_t)(0.15 * (double)n + 0.5);
    return count < 1 ? 1 : count > MOST ? MOST : count;
}

static int64_t masks_of(const struct data_batch *b, int64_t i)
{
    int64_t n = 0;
    for (int64_t t = 0; t < T; t++)
        n += b->mask[i * T + t];
    return n;
}

/* Train with one round and with three, val once. */
static void make_rounds(struct data_bert bert, const char *name, enum zoo_samples samples,
                        struct data_batch *once[2], struct data_batch *often[2], int64_t n[2][2])
{
    struct data_made made[2];
    char set[2][16];
    for (int k = 0; k < 2; k++) {
        bert.dupe_factor = k ? ROUNDS : 1;
        (void)snprintf(set[k], sizeof set[k], "%s%d", name, k);
        T_OK(make(&bert, put_text(), 0.2, set[k], &made[k]));
        for (int part = 0; part < 2; part++) {
            n[k][part] = read_all(set[k], part ? "val" : "train", samples, data_bert_pairs(&bert),
                                  k ? &often[part] : &once[part]);
            T_EQ(n[k][part], made[k].n_samples[part ? DATA_VAL : DATA_TRAIN]);
        }
    }
}

static bool same_samples(const struct data_batch *a, const struct data_batch *b, int64_t n)
{
    const size_t size = (size_t)(n * T) * sizeof(int32_t);
    return !memcmp(a->input_ids, b->input_ids, size) && !memcmp(a->mask, b->mask, size) &&
           !memcmp(a->labels, b->labels, size) && !memcmp(a->token_types, b->token_types, size);
}

/* Every piece three times, with other masks each time, as many as the definition asks for; the
 * first round and val are those of one round. */
TEST(bert_data, train_has_every_piece_as_often_as_asked)
{
    struct data_batch *once[2] = {NULL, NULL}, *often[2] = {NULL, NULL};
    int64_t n[2][2], n_same = 0;
    make_rounds(request("BertHDF5DataProcessor", false), "piece", ZOO_SAMPLES_MASKED, once, often,
                n);
    T_EQ(n[1][0], ROUNDS * n[0][0]);
    T_EQ(n[1][1], n[0][1]);
    CU_ASSERT(same_samples(once[0], often[0], n[0][0]));
    CU_ASSERT(same_samples(once[1], often[1], n[0][1]));
    for (int64_t i = 0; i < n[1][0]; i++) {
        CU_ASSERT(same_text(often[0], i, once[0], i % n[0][0]));
        T_EQ(masks_of(often[0], i), wanted_masks(often[0], i));
        for (int64_t k = i % n[0][0]; k < i; k += n[0][0])
            n_same += same_places(often[0], i, often[0], k);
    }
    CU_ASSERT(n_same * 10 < n[1][0]);
    for (int part = 0; part < 2; part++) {
        data_batch_destroy(&once[part]);
        data_batch_destroy(&often[part]);
    }
}

/* Other rounds pair other sentences of the same documents: more than half of their samples are in
 * no other round. */
TEST(bert_data, every_round_has_pairs_of_its_own)
{
    struct data_batch *once[2] = {NULL, NULL}, *often[2] = {NULL, NULL};
    int64_t n[2][2], n_new = 0;
    make_rounds(request("BertCSVDataProcessor", true), "pair", ZOO_SAMPLES_CSV_STATIC, once, often,
                n);
    CU_ASSERT(same_samples(once[0], often[0], n[0][0]));
    CU_ASSERT(n[1][1] == n[0][1] && same_samples(once[1], often[1], n[0][1]));
    CU_ASSERT(n[1][0] > ROUNDS * n[0][0] * 3 / 4 && n[1][0] < ROUNDS * n[0][0] * 4 / 3);
    for (int64_t i = n[0][0]; i < n[1][0]; i++) {
        bool old = false;
        check_sample(often[0], i, true);
        for (int64_t k = 0; k < n[0][0] && !old; k++)
            old = same_text(often[0], i, once[0], k);
        n_new += !old;
    }
    CU_ASSERT(2 * n_new > n[1][0] - n[0][0]);
    for (int part = 0; part < 2; part++) {
        data_batch_destroy(&once[part]);
        data_batch_destroy(&often[part]);
    }
}

TEST(bert_data, requests_that_make_no_sense)
{
    struct data_made made;
    struct data_bert bert = request("BertHDF5DataProcessor", true);
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "reads no pairs of sentences; hint: --disable"));
    bert = request("BertCSVDataProcessor", true);
    bert.most = T;
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "max_predictions_per_seq is 24"));
    bert = request("BertCSVDataProcessor", true);
    T_EQ(make(&bert, "tests/data/wordpiece_train.txt", 0.1, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has 1 documents, too few for pairs"));
    bert = request("BertCSVDataProcessor", false);
    T_EQ(make_packed(&bert, put_text(), 0, "no", true, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "BertCSVDataProcessor packs no texts; hint"));
    bert = request("BertCSVDynamicMaskDataProcessor", true);
    bert.dupe_factor = 2;
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has no masks in its files"));
    bert.dupe_factor = 0;
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "dupe_factor is 0, expected 1 to 1000"));
    bert = request("BertQADataProcessor", false);
    bert.most_question = T;
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "max_seq_length is 24, expected 28"));
}

static void put_mark(FILE *f, const void *text)
{
    (void)fputs(text, f);
}

/* What another dataset left beside the new parts may have their texts. */
TEST(bert_data, parts_of_an_earlier_dataset_are_removed)
{
    const struct data_bert bert = request("BertCSVDynamicMaskDataProcessor", true);
    struct data_made made;
    for (int i = 0; i < 2; i++) {
        char dir[300];
        (void)snprintf(dir, sizeof dir, "%s/stale/%s", test_tmpdir(), data_part_folder[1 + i]);
        T_OK(data_folder_begin(dir, false));
        T_OK(data_file_write(dir, "data_params.json", put_mark, "{" DATA_CREATED_BY "}"));
        T_OK(make(&bert, put_text(), 0, "stale", &made));
        CU_ASSERT(access(dir, F_OK) != 0);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

static const char *put_json(const char *text)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/questions.json", test_tmpdir());
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && !fclose(f));
    return path;
}

/* The text is "caf\u00e9 ber, loan" and 20 times "st": places count characters, not bytes. */
#define TEN "st st st st st st st st st st "
#define QUESTION(text, answer, start)                                                              \
    "{\"id\": \"x\", \"question\": \"" text "\", \"answers\": [{\"text\": \"" answer               \
    "\", \"answer_start\": " start "}, {\"text\": \"no\", \"answer_start\": 0}]}"

/* Ends of the answer of window @p i: two, among the tokens that count, in the second text but for
 * windows without the answer. */
static void check_ends(const struct data_batch *b, int64_t i)
{
    const int32_t *label = b->labels + i * T, *type = b->token_types + i * T;
    int64_t ends = 0;
    for (int64_t t = 0; t < T; t++) {
        ends += label[t] & ZOO_ANSWER_FIRST;
        ends += (label[t] & ZOO_ANSWER_LAST) > 0;
        CU_ASSERT_EQUAL(label[t] != 0, b->mask[i * T + t]);
        CU_ASSERT(!t || !label[t] || type[t] == 1);
    }
    T_EQ(ends, 2);
}

TEST(bert_data, answers_stand_where_the_question_says)
{
    static const char json[] =
        "{\"version\": \"1.1\", \"data\": [{\"title\": \"a\", \"paragraphs\": [{\"qas\": "
        "[" QUESTION("an", "ber", "5") ", " QUESTION(
            "an an an an an an an an", "loan " TEN,
            "10") ", " QUESTION("an", "lost",
                                "10") ", {\"question\": \"an\", \"is_impossible\": true, "
                                      "\"answers\": []}], \"context\": \"Caf\\u00e9 ber, loan " TEN
                                          TEN "\"}]}]}";
    const struct data_bert bert = request("BertQADataProcessor", false);
    struct data_made made;
    struct data_batch *b = NULL;
    T_OK(make(&bert, put_json(json), 0, "squad", &made));
    T_EQ(made.n_documents, 4);
    T_EQ(made.n_empty, 1); /* "lost" does not stand at 10 */
    const int64_t n = read_all("squad", "train", ZOO_SAMPLES_ANSWERS, false, &b);
    T_EQ(n, made.n_samples[DATA_TRAIN]);
    int64_t both = 0;
    for (int64_t i = 0; i < n; i++) {
        check_ends(b, i);
        both += b->labels[i * T] == (ZOO_ANSWER_FIRST | ZOO_ANSWER_LAST);
    }
    /* [CLS] an [SEP] caf ... */
    CU_ASSERT(b->input_ids[0] == CLS && b->input_ids[2] == SEP);
    int64_t at = 3;
    while (at < T && !b->labels[at])
        at++;
    CU_ASSERT(at < T && b->labels[at] == (ZOO_ANSWER_FIRST | ZOO_ANSWER_LAST));
    CU_ASSERT(both >= 2); /* windows without the answer, and the impossible question */
    data_batch_destroy(&b);
}

/* BERT's program divides the answer at all white space, by str.split(), but the text at few
 * characters: an answer with a no-break blank is not found, one with a blank of U+202F is. */
TEST(bert_data, answers_are_compared_word_by_word)
{
    static const char json[] =
        "{\"data\": [{\"paragraphs\": [{\"context\": \"an\\u00a0ber loan\\u202fcafe\", \"qas\": ["
        "{\"question\": \"an\", \"answers\": [{\"text\": \"an\\u00a0ber\", \"answer_start\": 0}]}, "
        "{\"question\": \"an\", \"answers\": [{\"text\": \"loan\\u202fcafe\", \"answer_start\": "
        "7}]}, "
        "{\"question\": \"an\", \"answers\": [{\"text\": \" loan\\u202f\", \"answer_start\": "
        "6}]}]}]}]}";
    const struct data_bert bert = request("BertQADataProcessor", false);
    struct data_made made;
    T_OK(make(&bert, put_json(json), 0, "squad", &made));
    T_EQ(made.n_documents, 3);
    T_EQ(made.n_empty, 1);
}

#define ONE_QUESTION                                                                               \
    "{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"question\": \"b\", "

TEST(bert_data, questions_that_are_none_are_refused)
{
    static const struct {
        const char *json, *why;
    } row[] = {
        {"[]", ":1:1: "},
        {"{\"text\": 1}", "has no member data"},
        {"{\"data\": [{\"paragraphs\": [{\"qas\": []}]}]}", "has no context"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"id\": 1}]}]}]}",
         "has no text"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"question\": \"b\"}]}]}]}",
         "has no answer; hint: "},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"question\": \"b\", "
         "\"answers\": [{\"text\": \"a\"}]}]}]}]}",
         "has no answer_start"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [], \"context\": \"b\"}]}]}",
         ":1:65: \"context\" stands there twice"},
        {"{\"data\": [{\"paragraphs\": [{\"qas\": [{\"question\": \"a\", \"question\": "
         "\"b\"}]}]}]}",
         "\"question\" stands there twice"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"question\": \"b\", "
         "\"answers\": [{\"text\": \"a\", \"answer_start\": 0, \"answer_start\": 1}]}]}]}]}",
         "\"answer_start\" stands there twice"},
        {ONE_QUESTION
         "\"answers\": [], \"answers\": [{\"text\": \"a\", \"answer_start\": 0}]}]}]}]}",
         "\"answers\" stands there twice"},
        {ONE_QUESTION "\"is_impossible\": true, \"is_impossible\": false}]}]}]}",
         "\"is_impossible\" stands there twice"},
        {"{\"data\": []}", "0 questions with answers, too few"},
        {"{\"data\": []} x", "something follows the object"},
    };
    const struct data_bert bert = request("BertQADataProcessor", false);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct data_made made;
        CU_ASSERT(make(&bert, put_json(row[i].json), 0, "wrong", &made) != WSC_OK);
        if (!strstr(wsc_err_message(), row[i].why))
            (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", wsc_err_message(), row[i].why);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), row[i].why));
    }
}
