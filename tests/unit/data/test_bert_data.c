// SPDX-License-Identifier: Apache-2.0
/* Datasets for encoders: what `wsc data` writes for each data loader is what the reader of a run
 * gets; masks and pairs follow their definitions; answers stand where the question says. */
#include "../../support/test.h"
#include "make_defaults.h"

#include <wsc/data_bert.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static enum wsc_err make(const struct data_bert *bert, const char *input, double share,
                         const char *name, struct data_made *made)
{
    static char out[300];
    struct data_make m;
    make_defaults(&m);
    (void)snprintf(out, sizeof out, "%s/%s", test_tmpdir(), name);
    m.input = &input;
    m.n_inputs = 1;
    m.T = T;
    m.share[DATA_VAL] = share;
    m.seed = 3;
    m.samples_per_file = 30;
    m.out_dir = out;
    T_OK(data_tokenizer_open_wordpiece(&m.tokenizer, WORDS, true, data_bert_pairs(bert)));
    const enum wsc_err rc = data_make_bert(&m, bert, made);
    data_tokenizer_close(&m.tokenizer);
    return rc;
}

static struct data_bert request(const char *loader, bool pairs)
{
    return (struct data_bert){.loader = loader,
                              .disable_nsp = !pairs,
                              .share = 0.15,
                              .short_share = 0.1,
                              .most = MOST,
                              .stride = 8,
                              .most_question = 6};
}

/* All samples of a part as a run reads them. */
static int64_t read_all(const char *name, const char *part, enum zoo_samples samples, bool pairs,
                        struct data_batch **batch)
{
    char dir[400], words[] = WORDS;
    struct zoo_input in = {.data_dir = {dir},
                           .n_data_dirs = 1,
                           .samples = samples,
                           .num_samples = CONF_NULL,
                           .max_sequence_length = CONF_NULL,
                           .vocab_file = words,
                           .do_lower = true,
                           .masked_lm_prob = 0.15,
                           .max_predictions_per_seq = MOST,
                           .pairs = pairs,
                           .n_labels = samples == ZOO_SAMPLES_ANSWERS ? ZOO_ANSWER_LABELS : VOCAB,
                           .n_types = TYPES};
    struct data_source *s = NULL;
    (void)snprintf(dir, sizeof dir, "%s/%s/%s", test_tmpdir(), name, part);
    T_OK(data_source_open(&s, &in, T, VOCAB));
    const int64_t n = s ? data_source_n_samples(s) : 0;
    T_OK(data_batch_create(batch, n, T));
    T_OK(data_source_read(s, 0, n, *batch));
    data_source_close(&s);
    return n;
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
    bert = request("BertQADataProcessor", false);
    bert.most_question = T;
    T_EQ(make(&bert, put_text(), 0, "no", &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "max_seq_length is 24, expected 28"));
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
