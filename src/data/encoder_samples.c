// SPDX-License-Identifier: Apache-2.0
/* Reads samples of the Model Zoo's data loaders for BERT, one row of the table at the end for each:
 * masked tokens (CSV, masked before or when they are read), sentences and pairs of sentences with a
 * class (SST-2, MNLI), tokens with a label each, sentences of a summary, answers. masked_samples.c
 * has HDF5 files of masked tokens, encoder_shared.c vocabularies and labels, meta_files.c lists of
 * files. Padding, truncation and special tokens are those of the loaders in every detail, so that
 * samples are equal. source_files.c calls. */
#include "encoder_samples.h"
#include "bert_characters.h"
#include "encoder_rows.h"
#include "encoder_shared.h"
#include "mask_tokens.h"
#include "masked_samples.h"
#include "meta_files.h"
#include "pair_texts.h"
#include "seq2seq_samples.h"
#include "table_file.h"

#include <wsc/check.h>
#include <wsc/data.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 8, TOKEN_BYTES = 400 };

struct layout;
struct data_examples {
    const struct layout *layout;
    struct data_examples_shared *shared;
    char *path;
    enum data_mnli_set set; /* of all samples of the file */
    struct data_table *table;
    struct data_masked *masked; /* HDF5 */
    struct data_seq2seq *pairs; /* HDF5 of sources and targets */
    struct data_pair_texts *texts;
    int column[MOST_COLUMNS]; /* indices of the layout's columns; -1: the file does not have it */
};

/* State while one sample is read. */
struct sample {
    struct data_examples *e;
    int64_t i, T;
    uint64_t draw;
    int32_t *row[DATA_ENCODER_ROWS];
    float *target;
};

/* Description of the files of a loader. Columns that end with '?' are optional. */
struct layout {
    const char *ending, *train, *eval; /* names of files: fixed ones, or those of meta.dat */
    /* lines: of tokens, with a vocabulary of one token per line */
    bool tabs, words, lines;
    const char *columns[MOST_COLUMNS];
    enum wsc_err (*read)(const struct sample *s);
};

static enum wsc_err bad(const struct sample *s, const char *what)
{
    return data_table_bad(s->e->table, s->i, what);
}

static enum wsc_err bad_at(const struct sample *s, const char *what, int64_t t)
{
    char text[100];
    (void)snprintf(text, sizeof text, "%s %lld", what, (long long)t);
    return bad(s, text);
}

static enum wsc_err field(const struct sample *s, int k, const char **text, int64_t *n)
{
    return data_table_field(s->e->table, s->i, s->e->column[k], text, n);
}

/* Read column @p k as a list of numbers into a row, whose remaining elements are unchanged; *@p n:
 * length of the list. */
static enum wsc_err numbers(const struct sample *s, int k, int32_t *out, int64_t *n)
{
    const char *text;
    TRY(field(s, k, &text, n));
    *n = data_list_numbers(text, *n, out, s->T);
    return *n < 0 ? bad(s, "a list of whole numbers, at most max_sequence_length of them, was "
                           "expected")
                  : WSC_OK;
}

static void set_padding(const struct sample *s, int64_t n)
{
    for (int64_t t = 0; t < s->T; t++)
        s->row[DATA_ROW_ATTENDS][t] = t < n;
}

/* ---- masked tokens ----------------------------------------------------------------------------
 */

/* Convert texts of tokens to ids; more than T are an error for pairs, else they are cut off. */
static enum wsc_err token_ids(const struct sample *s, int k, int64_t *n_ids)
{
    const struct data_examples_shared *shared = s->e->shared;
    const char *text;
    char token[TOKEN_BYTES], lowered[TOKEN_BYTES];
    int64_t n, at = 0, length;
    TRY(field(s, k, &text, &n));
    for (*n_ids = 0; (length = data_list_text(text, n, &at, token, sizeof token)) >= 0;) {
        const int64_t n_lowered = data_bert_lower(token, length, lowered, sizeof lowered);
        if (*n_ids == s->T && !shared->in->pairs) return WSC_OK;
        if (*n_ids == s->T) return bad(s, "more tokens than max_sequence_length");
        s->row[DATA_ROW_IDS][(*n_ids)++] =
            shared->in->do_lower ? data_wordpiece_id(shared->words, lowered, n_lowered)
                                 : data_wordpiece_id(shared->words, token, length);
    }
    return length == -2 ? bad(s, "a list of tokens was expected") : WSC_OK;
}

/* Read column @p k, the types of the @p n tokens of a sequence. */
static enum wsc_err read_types(const struct sample *s, int k, int64_t n)
{
    int64_t n_types;
    TRY(numbers(s, k, s->row[DATA_ROW_TYPES], &n_types));
    return n == n_types ? WSC_OK : bad(s, "token types and tokens have different lengths");
}

/* Read the types of the @p n_ids tokens, and whether the second sentence is a random one. */
static enum wsc_err read_pair(const struct sample *s, int types, int label, int64_t n_ids)
{
    int32_t *list = s->e->shared->scratch;
    int64_t n;
    if (!s->e->shared->in->pairs) return WSC_OK;
    if (s->e->column[types] < 0 || s->e->column[label] < 0)
        return wsc_err_hint(bad(s, "has no token types and labels of pairs of sentences"),
                            "model.disable_nsp: true trains without them");
    TRY(read_types(s, types, n_ids));
    TRY(numbers(s, label, list, &n));
    if (n != 1 || list[0] < 0 || list[0] > 1)
        return bad(s, "the label of a pair of sentences was expected, 0 or 1");
    *s->target = (float)list[0];
    return WSC_OK;
}

static enum wsc_err read_dynamic(const struct sample *s)
{
    const struct zoo_input *in = s->e->shared->in;
    const struct data_cloze cloze = {.words = s->e->shared->words,
                                     .share = in->masked_lm_prob,
                                     .most = in->max_predictions_per_seq,
                                     .whole_word = in->mask_whole_word,
                                     .seed = (uint64_t)in->shuffle_seed,
                                     .draw = s->draw};
    int64_t n;
    TRY(token_ids(s, 0, &n));
    set_padding(s, n);
    TRY(read_pair(s, 1, 2, n));
    data_mask_tokens(&cloze, n, s->row[DATA_ROW_IDS], s->row[DATA_ROW_LABELS],
                     s->row[DATA_ROW_MASK], s->e->shared->scratch);
    return WSC_OK;
}

/* Read the class of a sequence instead of labels of masked tokens. */
static enum wsc_err read_class(const struct sample *s, int64_t n_ids)
{
    int32_t *class = s->e->shared->scratch;
    int64_t n;
    if (s->e->column[5] >= 0 && s->e->shared->in->n_types > 0) TRY(read_types(s, 5, n_ids));
    TRY(numbers(s, 2, class, &n));
    if (n != 1) return bad(s, "the class of a sequence was expected, one number");
    *s->target = (float)class[0];
    return WSC_OK;
}

/* Read the ids of a sequence and column 1, the mask of its padding. */
static enum wsc_err read_sequence(const struct sample *s, int64_t *n)
{
    int64_t n_mask;
    TRY(numbers(s, 0, s->row[DATA_ROW_IDS], n));
    TRY(numbers(s, 1, s->row[DATA_ROW_ATTENDS], &n_mask));
    return *n == n_mask ? WSC_OK : bad(s, "input_ids and the mask have different lengths");
}

/* Read labels at their positions, or gathered: label k belongs to position k of the list. */
static enum wsc_err read_static(const struct sample *s)
{
    const struct zoo_input *in = s->e->shared->in;
    int32_t *list = s->e->shared->scratch, *weights = list + s->T, *places = weights + s->T;
    int64_t n_ids, n, n_weights, n_places = 0;
    TRY(read_sequence(s, &n_ids));
    if (in->n_classes > 0 && !in->pairs) return read_class(s, n_ids);
    if (s->e->column[3] < 0) return bad(s, "has no column masked_lm_weights");
    TRY(numbers(s, 2, list, &n));
    TRY(numbers(s, 3, weights, &n_weights));
    if (s->e->column[4] >= 0) TRY(numbers(s, 4, places, &n_places));
    if (n_weights != n || (n_places && n_places != n))
        return bad(s, "labels, masked_lm_weights and masked_lm_positions have different lengths");
    for (int64_t k = 0; k < n; k++) {
        const int64_t t = n_places && n < s->T ? places[k] : k;
        const char *wrong = data_mask_named(s->T, t, list[k], weights[k], s->row[DATA_ROW_LABELS],
                                            s->row[DATA_ROW_MASK]);
        if (wrong) return bad_at(s, wrong, t);
    }
    return read_pair(s, 5, 6, n_ids);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

/* The ids of a text, owned by the caller. */
static enum wsc_err encode(const struct sample *s, int k, int32_t **ids, int64_t *n)
{
    const char *text;
    int64_t bytes;
    TRY(field(s, k, &text, &bytes));
    TRY_NEW(*ids, WSC_MEM_DATA, bytes + 1);
    data_wordpiece_encode(s->e->shared->words, text, bytes, *ids, bytes + 1, n);
    return WSC_OK;
}

/* Lay out [CLS] first [SEP] second [SEP]; if it is too long, the longer text loses its last tokens.
 * As in the Model Zoo's loader, token type 1 begins two positions before the second text. */
static void lay_texts(const struct sample *s, const int32_t *first, int64_t n_first,
                      const int32_t *second, int64_t n_second)
{
    const struct data_special special = data_wordpiece_special(s->e->shared->words);
    const int64_t most = s->T - (second ? 3 : 2);
    int32_t *ids = s->row[DATA_ROW_IDS];
    int64_t n = 0;
    WSC_CHECK(first, "a sample without a text");
    if (!second && n_first > most) n_first = most;
    while (second && n_first + n_second > most)
        *(n_first > n_second ? &n_first : &n_second) -= 1;
    ids[n++] = special.cls;
    for (int64_t i = 0; i < n_first; i++)
        ids[n++] = first[i];
    ids[n++] = special.sep;
    for (int64_t i = 0; second && i < n_second; i++) {
        ids[n++] = second[i];
        s->row[DATA_ROW_TYPES][n_first + i] = 1;
    }
    if (second) ids[n++] = special.sep;
    set_padding(s, n);
}

/* Read a class, or the number of a regression. */
static enum wsc_err read_target(const struct sample *s, int k)
{
    const char *text;
    char number[64] = "", *end;
    int64_t n;
    TRY(field(s, k, &text, &n));
    if (n > 0 && n < (int64_t)sizeof number) memcpy(number, text, (size_t)n);
    *s->target = strtof(number, &end);
    if (end == number || *end || !isfinite(*s->target))
        return bad(s, "a number was expected as label");
    return WSC_OK;
}

static enum wsc_err read_sst2(const struct sample *s)
{
    int32_t *ids = NULL;
    int64_t n = 0;
    const enum wsc_err rc = encode(s, 0, &ids, &n);
    if (!rc) lay_texts(s, ids, n, NULL, 0);
    wsc_free(ids);
    TRY(rc);
    return read_target(s, 1);
}

/* The pairs of MNLI for evaluation are of the sources of training, or of others; the Model Zoo goes
 * by the name of the file as well. */
static enum data_mnli_set set_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash : path, "mismatched") ? DATA_MNLI_MISMATCHED : DATA_MNLI_MATCHED;
}

/* The set stands where tokens have their label. */
static enum wsc_err read_mnli(const struct sample *s)
{
    static const char *const classes[] = {"entailment", "neutral", "contradiction"};
    int32_t *first = NULL, *second = NULL;
    int64_t n_first = 0, n_second = 0, n;
    const char *text;
    enum wsc_err rc = encode(s, 0, &first, &n_first);
    if (!rc) rc = encode(s, 1, &second, &n_second);
    if (!rc) lay_texts(s, first, n_first, second, n_second);
    wsc_free(first);
    wsc_free(second);
    TRY(rc);
    s->row[DATA_ROW_LABELS][0] = (int32_t)s->e->set;
    TRY(field(s, 2, &text, &n));
    for (int k = 0; k < 3; k++) {
        if (n != (int64_t)strlen(classes[k]) || memcmp(text, classes[k], (size_t)n) != 0) continue;
        *s->target = (float)k;
        return WSC_OK;
    }
    return bad(s, "entailment, neutral or contradiction was expected as label");
}

/* ---- labels of tokens and of sentences --------------------------------------------------------
 */

static enum wsc_err read_tokens(const struct sample *s)
{
    const char *text = NULL;
    char label[DATA_LABEL_BYTES];
    int64_t n_ids = 0, n = 0, at = 0, t = 0;
    TRY(token_ids(s, 0, &n_ids));
    set_padding(s, n_ids);
    for (int64_t i = 0; i < s->T; i++)
        s->row[DATA_ROW_MASK][i] = s->e->shared->in->padding_in_loss || i < n_ids;
    TRY(field(s, 1, &text, &n));
    while (t < n_ids) {
        const int64_t length = data_list_text(text, n, &at, label, sizeof label);
        if (length < 0) return bad(s, "fewer labels than tokens");
        const int32_t class = data_labels_find(&s->e->shared->labels, label, length);
        if (class < 0) return bad(s, "a label that is not in label_vocab_file");
        s->row[DATA_ROW_LABELS][t++] = class;
    }
    if (n_ids < s->T && data_list_text(text, n, &at, label, sizeof label) >= 0)
        return bad(s, "more labels than tokens");
    return WSC_OK;
}

/* The label of a sentence is at its [CLS]. The list of positions is padded with the pad id, which
 * the loader cannot distinguish from a sentence at this position. */
static enum wsc_err read_sentences(const struct sample *s)
{
    const struct zoo_input *in = s->e->shared->in;
    const int32_t pad = data_wordpiece_special(s->e->shared->words).pad;
    int32_t *labels = s->e->shared->scratch, *places = labels + s->T;
    int64_t n, n_labels, n_places;
    TRY(numbers(s, 0, s->row[DATA_ROW_IDS], &n));
    for (int64_t t = 0; t < s->T; t++) {
        if (t >= n) s->row[DATA_ROW_IDS][t] = pad;
        s->row[DATA_ROW_ATTENDS][t] = s->row[DATA_ROW_IDS][t] != pad;
    }
    TRY(read_types(s, 2, n));
    TRY(numbers(s, 1, labels, &n_labels));
    TRY(numbers(s, 3, places, &n_places));
    if (n_labels != n_places) return bad(s, "labels and cls_indices have different lengths");
    for (int64_t k = 0; k < n_places && k < in->max_cls_tokens; k++) {
        if (places[k] == pad) continue;
        if (places[k] < 0 || places[k] >= s->T) return bad(s, "a sentence outside the sequence");
        s->row[DATA_ROW_LABELS][places[k]] = labels[k];
        s->row[DATA_ROW_MASK][places[k]] = 1;
    }
    return WSC_OK;
}

/* Read one end of an answer; positions after the sequence do not count, as in the loader. */
static enum wsc_err read_end(const struct sample *s, int k, int32_t bit)
{
    int32_t *place = s->e->shared->scratch;
    int64_t n;
    TRY(numbers(s, k, place, &n));
    if (n != 1 || place[0] < 0)
        return wsc_err_hint(bad(s, "the place of an answer was expected, a token from 0 on"),
                            "rows without answers are for predictions");
    if (place[0] >= s->T) return WSC_OK;
    s->row[DATA_ROW_LABELS][place[0]] |= bit;
    s->row[DATA_ROW_MASK][place[0]] = 1;
    return WSC_OK;
}

static enum wsc_err read_answer(const struct sample *s)
{
    int64_t n;
    TRY(read_sequence(s, &n));
    TRY(read_types(s, 2, n));
    TRY(read_end(s, 3, ZOO_ANSWER_FIRST));
    return read_end(s, 4, ZOO_ANSWER_LAST);
}

static enum wsc_err read_masked(const struct sample *s)
{
    return data_masked_read(s->e->masked, s->i, s->row[DATA_ROW_IDS]);
}

static enum wsc_err read_pairs(const struct sample *s)
{
    return data_seq2seq_read(s->e->pairs, s->i, s->row[DATA_ROW_IDS]);
}

static enum wsc_err read_texts(const struct sample *s)
{
    data_pair_texts_read(s->e->texts, s->i, s->draw, s->row[DATA_ROW_IDS]);
    return WSC_OK;
}

static const struct layout layouts[] = {
    [ZOO_SAMPLES_SPANS] = {.lines = true, .read = read_texts},
    [ZOO_SAMPLES_TRANSLATION] = {.lines = true, .read = read_texts},
    [ZOO_SAMPLES_SEQ2SEQ] = {.ending = ".h5", .read = read_pairs},
    [ZOO_SAMPLES_MASKED] = {.ending = ".h5", .read = read_masked},
    [ZOO_SAMPLES_CSV_STATIC] = {.columns = {"input_ids", "attention_mask", "labels",
                                            "masked_lm_weights?", "masked_lm_positions?",
                                            "token_type_ids?", "next_sentence_label?"},
                                .read = read_static},
    [ZOO_SAMPLES_CSV_DYNAMIC] = {.words = true,
                                 .columns = {"tokens", "segment_ids?", "is_random_next?"},
                                 .read = read_dynamic},
    [ZOO_SAMPLES_SST2] = {.train = "train.tsv",
                          .eval = "dev.tsv",
                          .tabs = true,
                          .words = true,
                          .columns = {"sentence", "label"},
                          .read = read_sst2},
    [ZOO_SAMPLES_MNLI] = {.train = "train.tsv",
                          .eval = "dev_matched.tsv dev_mismatched.tsv",
                          .tabs = true,
                          .words = true,
                          .columns = {"sentence1", "sentence2", "gold_label"},
                          .read = read_mnli},
    [ZOO_SAMPLES_TOKENS] = {.words = true, .columns = {"tokens", "labels"}, .read = read_tokens},
    [ZOO_SAMPLES_SENTENCES] = {.words = true,
                               .columns = {"input_token_ids", "labels", "segment_ids",
                                           "cls_indices"},
                               .read = read_sentences},
    [ZOO_SAMPLES_ANSWERS] = {.columns = {"input_ids", "input_mask", "segment_ids", "start_position",
                                         "end_position"},
                             .read = read_answer},
};

enum wsc_err data_examples_share(struct data_examples_shared **out, const struct zoo_input *input,
                                 int64_t T, int64_t vocab)
{
    const struct layout *layout = &layouts[input->samples];
    const struct data_examples_needs needs = {layout->words, layout->lines,
                                              input->samples == ZOO_SAMPLES_TOKENS};
    return data_shared_open(out, input, T, vocab, &needs);
}

void data_examples_unshare(struct data_examples_shared **shared)
{
    data_shared_close(shared);
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* Find the columns; those without '?' must be in the file. */
static enum wsc_err find_columns(struct data_examples *e)
{
    for (int k = 0; k < MOST_COLUMNS && e->layout->columns[k]; k++) {
        char name[64] = "";
        const size_t n = strlen(e->layout->columns[k]);
        const bool may_miss = e->layout->columns[k][n - 1] == '?';
        memcpy(name, e->layout->columns[k], n - may_miss);
        TRY(data_table_column(e->table, name, &e->column[k]));
        if (e->column[k] < 0 && !may_miss)
            return WSC_RAISE(WSC_FORMAT, "%s: has no column %s", e->path, name);
    }
    return WSC_OK;
}

static enum wsc_err open_file(struct data_examples *e, const char *targets)
{
    const struct data_examples_shared *s = e->shared;
    if (s->in->samples == ZOO_SAMPLES_MASKED)
        return data_masked_open(&e->masked, e->path, s->T, s->in);
    if (s->in->samples == ZOO_SAMPLES_SEQ2SEQ) return data_seq2seq_open(&e->pairs, e->path, s->in);
    if (e->layout->lines)
        return data_pair_texts_open(&e->texts, e->path, targets, &e->shared->pairs);
    TRY(data_table_open(&e->table, e->path, e->layout->tabs));
    return find_columns(e);
}

enum wsc_err data_examples_open(struct data_examples **out, const char *path, const char *targets,
                                struct data_examples_shared *shared)
{
    struct data_examples *e = NULL;
    *out = NULL;
    TRY_NEW(e, WSC_MEM_DATA, 1);
    e->shared = shared;
    e->layout = &layouts[shared->in->samples];
    e->set = set_of(path);
    e->path = wsc_strdup(WSC_MEM_DATA, path);
    const enum wsc_err rc = e->path ? open_file(e, targets) : WSC_NOMEM;
    if (rc) data_examples_close(&e);
    *out = e;
    return rc;
}

void data_examples_close(struct data_examples **examples)
{
    struct data_examples *e = *examples;
    *examples = NULL;
    if (!e) return;
    data_table_close(&e->table);
    data_masked_close(&e->masked);
    data_seq2seq_close(&e->pairs);
    data_pair_texts_close(&e->texts);
    wsc_free(e->path);
    wsc_free(e);
}

int64_t data_examples_lines(const struct data_examples *e)
{
    return e->texts ? data_pair_texts_lines(e->texts) : data_examples_n(e);
}

bool data_examples_are_lines(const struct data_examples *e)
{
    return e->texts != NULL;
}

int64_t data_examples_left_out(const struct data_examples *e)
{
    return e->texts ? data_pair_texts_left_out(e->texts) : 0;
}

int64_t data_examples_n(const struct data_examples *e)
{
    if (e->pairs) return data_seq2seq_n(e->pairs);
    if (e->texts) return data_pair_texts_n(e->texts);
    return e->masked ? data_masked_n(e->masked) : data_table_n(e->table);
}

enum wsc_err data_examples_read(struct data_examples *e, int64_t i, uint64_t draw, int32_t *rows,
                                float *target)
{
    const int64_t T = e->shared->T;
    struct sample s = {.e = e, .i = i, .T = T, .draw = draw, .target = target};
    memset(rows, 0, (size_t)(DATA_ENCODER_ROWS * T) * sizeof *rows);
    *target = 0;
    for (int r = 0; r < DATA_ENCODER_ROWS; r++)
        s.row[r] = rows + r * T;
    return e->layout->read(&s);
}

bool data_examples_are_h5(const struct zoo_input *input)
{
    return layouts[input->samples].ending != NULL;
}

/* ---- folders ----------------------------------------------------------------------------------
 */

enum wsc_err data_examples_file(const struct zoo_input *input, const char *dir, int k, char **name)
{
    const struct layout *layout = &layouts[input->samples];
    if (layout->train) return data_word_in(input->trains ? layout->train : layout->eval, k, name);
    return data_meta_word(dir, k, 0, name);
}

enum wsc_err data_examples_listed(const struct zoo_input *input, const char *dir, int k, int64_t *n)
{
    const bool translation = input->samples == ZOO_SAMPLES_TRANSLATION;
    char *word = NULL, *end = NULL;
    *n = DATA_NOT_LISTED;
    if (layouts[input->samples].train) return WSC_OK;
    TRY(data_meta_word(dir, k, translation ? 2 : 1, &word));
    if (!word) return WSC_OK;
    *n = strtoll(word, &end, 10);
    enum wsc_err rc = WSC_OK;
    if (end == word || *end || *n < 0)
        rc = WSC_RAISE(WSC_FORMAT, "%s/meta.dat: \"%s\" is no number of samples", dir, word);
    wsc_free(word);
    return rc;
}

enum wsc_err data_examples_targets(const struct zoo_input *input, const char *dir, int k,
                                   char **path)
{
    char *name = NULL;
    *path = NULL;
    if (input->samples != ZOO_SAMPLES_TRANSLATION) return WSC_OK;
    TRY(data_meta_word(dir, k, 1, &name));
    if (!name)
        return WSC_RAISE(WSC_FORMAT, "%s/meta.dat: number %d of its lines names no file of targets",
                         dir, k + 1);
    const char *folder = input->tgt_data_dir ? input->tgt_data_dir : dir;
    const enum wsc_err rc = data_meta_path(folder, name, path);
    wsc_free(name);
    return rc;
}
