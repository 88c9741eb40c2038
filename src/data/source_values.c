// SPDX-License-Identifier: Apache-2.0
/* Checks the values of samples: ids below the vocabulary, masks of 0 and 1, spans, positions and
 * classes in their ranges. Values are used as indices later, so each is checked when it is read;
 * the message has file, sample and position. batch_source.c calls. */
#include "encoder_rows.h"
#include "source_state.h"

#include <wsc/store.h>

#include <math.h>
#include <stdio.h>

/* Rows of samples of GPT. */
static const char *const row_name[] = {"input_ids", "attention_mask", "labels", "attention_span",
                                       "position_ids"};
static const char *const row_hint[] = {
    "does model.vocab_size belong to the tokenizer of this dataset?",
    "the mask says which labels count in the loss",
    "does model.vocab_size belong to the tokenizer of this dataset?",
    "a span is the number of places after a token that may see it",
    "positions begin at 0 with each text of a sample"};

/* Largest value of a row: ids below the vocabulary, mask 0 or 1, spans up to T, positions below T.
 */
static int64_t row_limit(const struct data_source *s, int row)
{
    const int64_t limit[] = {s->vocab - 1, 1, s->vocab - 1, s->T, s->T - 1};
    return limit[row];
}

/* Rows of sequence @p k of the sample just read. */
int32_t *data_source_rows(const struct data_source *s, int k)
{
    return s->sample + (int64_t)k * s->n_rows * s->T;
}

/* The row that is out of range at position t of a sequence; -1: none. */
static int bad_row(const struct data_source *s, int32_t *rows, int64_t t)
{
    const int32_t mask = rows[s->T + t];
    for (int row = 0; row < s->n_rows; row++) {
        int32_t *x = &rows[row * s->T + t];
        if (*x >= 0 && *x <= row_limit(s, row)) continue;
        if (row != 2 || mask) return row;
        *x = 0; /* the token does not count; with a value in range it can be used as an index */
    }
    return -1;
}

/* The head of the model computes so many masked tokens of a sample, also in virtual time. */
static enum wsc_err check_predictions(const struct data_source *s, const struct data_file *f,
                                      int64_t i)
{
    int64_t n = 0;
    for (int64_t t = 0; t < s->T; t++)
        n += s->sample[DATA_ROW_MASK * s->T + t];
    if (!s->n_predictions || n <= s->n_predictions) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                  "%s: sample %lld has %lld masked tokens, the model predicts at "
                                  "most %lld",
                                  f->path, (long long)(i - f->first), (long long)n,
                                  (long long)s->n_predictions),
                        "model.max_predictions_per_seq: the number that the files were made with");
}

/* Largest value of row @p row of an encoder at position @p t. */
static int64_t example_limit(const struct data_source *s, int64_t row, int64_t t)
{
    const int64_t limit[DATA_PACKED_ROWS] = {s->vocab - 1,   1,    s->n_labels - 1, 1,
                                             s->n_types - 1, s->T, s->T - 1};
    return row == DATA_ROW_IDS && t >= s->T_source ? s->target_vocab - 1 : limit[row];
}

/* Check the values of samples of encoders; the run checks labels of classes against the model. */
static enum wsc_err check_example(struct data_source *s, const struct data_file *f, int64_t i)
{
    static const char *const name[DATA_PACKED_ROWS] = {
        "input_ids",      "mask",           "labels",      "attention_mask",
        "token_type_ids", "attention_span", "position_ids"};
    int64_t attends = 0;
    for (int64_t k = 0; k < s->n_rows * s->T; k++) {
        const int64_t row = k / s->T, t = k % s->T;
        const int64_t limit = example_limit(s, row, t);
        if (s->sample[k] < 0 || s->sample[k] > limit)
            return WSC_RAISE(WSC_FORMAT,
                             "%s: sample %lld, position %lld: %s is %d, expected 0 to %lld",
                             f->path, (long long)(i - f->first), (long long)t, name[row],
                             (int)s->sample[k], (long long)limit);
        if (row == DATA_ROW_ATTENDS && t < s->T_source) attends += s->sample[k];
    }
    if (s->n_classes &&
        !(s->target >= 0 && s->target < (float)s->n_classes && s->target == floorf(s->target)))
        return WSC_RAISE(WSC_FORMAT, "%s: sample %lld: class %g, expected 0 to %lld", f->path,
                         (long long)(i - f->first), (double)s->target, (long long)s->n_classes - 1);
    if (attends) return check_predictions(s, f, i);
    return WSC_RAISE(WSC_FORMAT, "%s: sample %lld has no token that attention may see", f->path,
                     (long long)(i - f->first));
}

/* The name of the text of a pair that has element @p at. */
static const char *text_name(const struct data_source *s, int64_t at)
{
    if (s->sequences == 1) return "";
    return at < s->T ? "chosen_" : "rejected_";
}

/* Write value @p at of the current sample in digits. A value of a pair beyond int32 is not shown
 * exactly, because it came from one of several files or datasets. */
static enum wsc_err digits_of(const struct data_source *s, const struct data_file *f, int64_t i,
                              int64_t at, char text[STORE_DIGITS])
{
    const int32_t value = s->sample[at];
    const bool beyond = value == INT32_MAX || value == INT32_MIN;
    if (beyond && f->open) return store_samples_digits(f->open, i, at, text);
    (void)snprintf(text, STORE_DIGITS, "%d%s", (int)value,
                   !beyond     ? ""
                   : value > 0 ? " or more"
                               : " or less");
    return WSC_OK;
}

/* A sample of a corpus may lie in several files: name the one that has the token at position @p t
 * of its row @p row, and its index there. */
static enum wsc_err refuse_token(struct data_source *s, const struct data_file *f, int64_t i,
                                 int row, int64_t t)
{
    const struct data_file *from;
    int64_t at;
    char digits[STORE_DIGITS];
    TRY(data_source_token(s, f, i * s->T + t + (row == 2), &from, &at, digits));
    (void)WSC_RAISE(WSC_FORMAT, "%s: token %lld: %s is %s, expected 0 to %lld", from->path,
                    (long long)at, row_name[row], digits, (long long)row_limit(s, row));
    return wsc_err_hint(WSC_FORMAT, "%s", row_hint[row]);
}

static enum wsc_err check_ids(struct data_source *s, const struct data_file *f, int64_t i)
{
    for (int64_t at = 0; at < s->sequences * s->T; at++) {
        const int64_t t = at % s->T;
        int32_t *rows = data_source_rows(s, (int)(at / s->T));
        int row = bad_row(s, rows, t);
        if (row < 0) continue;
        if (f->n_tokens >= 0) return refuse_token(s, f, i, row, t);
        char digits[STORE_DIGITS];
        TRY(digits_of(s, f, i - f->first, rows + row * s->T + t - s->sample, digits));
        (void)WSC_RAISE(WSC_FORMAT,
                        "%s: sample %lld, position %lld: %s%s is %s, expected 0 to %lld", f->path,
                        (long long)(i - f->first), (long long)t, text_name(s, at), row_name[row],
                        digits, (long long)row_limit(s, row));
        return wsc_err_hint(WSC_FORMAT, "%s", row_hint[row]);
    }
    return WSC_OK;
}

/* A mean over no tokens is not a number. */
static enum wsc_err check_texts(const struct data_source *s, const struct data_file *f, int64_t i)
{
    for (int k = 0; k < s->sequences; k++) {
        const int32_t *mask = data_source_rows(s, k) + s->T;
        int64_t n = 0;
        for (int64_t t = 0; t < s->T; t++)
            n += mask[t];
        if (n) continue;
        (void)WSC_RAISE(WSC_FORMAT, "%s: sample %lld: %s%s has no 1", f->path,
                        (long long)(i - f->first), text_name(s, k * s->T), row_name[1]);
        return wsc_err_hint(WSC_FORMAT, "loss_type ipo divides by the number of these tokens");
    }
    return WSC_OK;
}

enum wsc_err data_source_check(struct data_source *s, const struct data_file *f, int64_t i)
{
    if (s->shared) return check_example(s, f, i);
    TRY(check_ids(s, f, i));
    return s->mean_of_text ? check_texts(s, f, i) : WSC_OK;
}
