// SPDX-License-Identifier: Apache-2.0
/* Reads samples of the Model Zoo's BertHDF5DataProcessor: two datasets of one file, inputs and
 * labels; labels are at their positions, or gathered with a list of positions. encoder_samples.c
 * calls; src/store reads the file. */
#include "masked_samples.h"
#include "encoder_rows.h"
#include "mask_tokens.h"

#include <wsc/mem.h>
#include <wsc/store.h>

struct data_masked {
    char *path;
    int64_t T, n_labels;
    bool gathered, packed;
    struct store_samples *data, *labels;
    int32_t *sample, *label; /* rows of the two datasets */
};

enum { INPUT_ROWS = 2, PACKED_ROWS = 4, GATHERED_ROWS = 3 };

static int input_rows(const struct data_masked *m)
{
    return m->packed ? PACKED_ROWS : INPUT_ROWS;
}

static enum wsc_err check_rows(const struct data_masked *m)
{
    const int rows = store_samples_rows(m->data);
    if (rows == input_rows(m)) return WSC_OK;
    if (m->packed)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: dataset data has %d rows a sample, but use_vsl is true: expected "
                         "input_ids, attention_mask, attention_span and position_ids",
                         m->path, rows);
    (void)WSC_RAISE(WSC_FORMAT,
                    "%s: dataset data has %d rows a sample, expected input_ids "
                    "and attention_mask",
                    m->path, rows);
    if (rows != PACKED_ROWS) return WSC_FORMAT;
    return wsc_err_hint(WSC_FORMAT, "packed texts: set use_vsl: true in the input section");
}

static enum wsc_err check(struct data_masked *m, const struct zoo_input *input)
{
    m->n_labels = store_samples_T(m->labels);
    m->gathered = store_samples_rows(m->labels) == GATHERED_ROWS;
    if (store_samples_T(m->data) != m->T)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: its sequences have %lld tokens, but %s is "
                                      "%lld",
                                      m->path, (long long)store_samples_T(m->data),
                                      zoo_input_length_key(input, false), (long long)m->T),
                            "make the dataset again with --max_seq_length %lld, or change the key",
                            (long long)m->T);
    TRY(check_rows(m));
    if (store_samples_n(m->labels) != store_samples_n(m->data) ||
        (!m->gathered && (store_samples_rows(m->labels) != 1 || m->n_labels != m->T)))
        return WSC_RAISE(WSC_FORMAT, "%s: dataset labels does not fit dataset data", m->path);
    TRY_NEW(m->sample, WSC_MEM_DATA, input_rows(m) * m->T);
    TRY_NEW(m->label, WSC_MEM_DATA, GATHERED_ROWS * m->n_labels);
    return WSC_OK;
}

static enum wsc_err open_file(struct data_masked *m, const struct zoo_input *input)
{
    TRY(store_probe(m->path));
    if (input->pairs)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: has no labels of pairs of sentences, which the model "
                                      "predicts",
                                      m->path),
                            "model.disable_nsp: true");
    TRY(store_samples_open_dataset(&m->data, m->path, "data"));
    TRY(store_samples_open_dataset(&m->labels, m->path, "labels"));
    return check(m, input);
}

enum wsc_err data_masked_open(struct data_masked **out, const char *path, int64_t T,
                              const struct zoo_input *input)
{
    struct data_masked *m = NULL;
    *out = NULL;
    TRY_NEW(m, WSC_MEM_DATA, 1);
    m->T = T;
    m->packed = input->use_vsl;
    m->path = wsc_strdup(WSC_MEM_DATA, path);
    const enum wsc_err rc = m->path ? open_file(m, input) : WSC_NOMEM;
    if (rc) data_masked_close(&m);
    *out = m;
    return rc;
}

void data_masked_close(struct data_masked **masked)
{
    struct data_masked *m = *masked;
    *masked = NULL;
    if (!m) return;
    store_samples_close(&m->data);
    store_samples_close(&m->labels);
    wsc_free(m->path);
    wsc_free(m->sample);
    wsc_free(m->label);
    wsc_free(m);
}

int64_t data_masked_n(const struct data_masked *m)
{
    return store_samples_n(m->data);
}

enum wsc_err data_masked_read(struct data_masked *m, int64_t i, int32_t *rows)
{
    const int64_t T = m->T, P = m->n_labels;
    TRY(store_samples_read(m->data, i, m->sample));
    TRY(store_samples_read(m->labels, i, m->label));
    for (int64_t t = 0; t < T; t++) {
        rows[DATA_ROW_IDS * T + t] = m->sample[t];
        rows[DATA_ROW_ATTENDS * T + t] = m->sample[T + t];
        if (!m->packed) continue;
        rows[DATA_ROW_SPAN * T + t] = m->sample[2 * T + t];
        rows[DATA_ROW_POSITION * T + t] = m->sample[3 * T + t];
    }
    for (int64_t k = 0; k < P; k++) {
        const int64_t t = m->gathered ? m->label[P + k] : k;
        const int32_t weight = m->gathered ? m->label[2 * P + k] : m->label[k] >= 0;
        const char *wrong = data_mask_named(T, t, m->label[k], weight, rows + DATA_ROW_LABELS * T,
                                            rows + DATA_ROW_MASK * T);
        if (wrong)
            return WSC_RAISE(WSC_FORMAT, "%s: sample %lld: %s %lld, of %lld tokens", m->path,
                             (long long)i, wrong, (long long)t, (long long)T);
    }
    return WSC_OK;
}
