// SPDX-License-Identifier: Apache-2.0
/* Reads pairs of sequences in HDF5, with a dataset for each feature as the Model Zoo's T5 takes
 * them. A sample has the source's tokens, then the target's. Labels count where the decoder's mask
 * is 1; attention sees the source where the source's mask is 1. encoder_samples.c calls; src/store
 * reads the file. */
#include "seq2seq_samples.h"
#include "encoder_rows.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <string.h>

enum feature { INPUT_IDS, ATTENTION, DECODER_IDS, DECODER_ATTENTION, LABELS, N_FEATURES };

/* Destination of a feature: row of a sample, source or target. */
static const struct {
    const char *name;
    int row;
    bool target;
} features[N_FEATURES] = {[INPUT_IDS] = {"input_ids", DATA_ROW_IDS, false},
                          [ATTENTION] = {"attention_mask", DATA_ROW_ATTENDS, false},
                          [DECODER_IDS] = {"decoder_input_ids", DATA_ROW_IDS, true},
                          [DECODER_ATTENTION] = {"decoder_attention_mask", DATA_ROW_MASK, true},
                          [LABELS] = {"labels", DATA_ROW_LABELS, true}};

struct data_seq2seq {
    char *path;
    int64_t T[2];
    const struct zoo_input *input; /* borrowed while the file is opened */
    struct store_samples *feature[N_FEATURES];
};

static enum wsc_err open_feature(struct data_seq2seq *p, int k)
{
    const int64_t T = p->T[features[k].target];
    TRY(store_samples_open_dataset(&p->feature[k], p->path, features[k].name));
    const struct store_samples *s = p->feature[k];
    if (store_samples_rows(s) != 1)
        return WSC_RAISE(WSC_FORMAT, "%s: dataset %s has %d rows a sample, expected one", p->path,
                         features[k].name, store_samples_rows(s));
    if (store_samples_T(s) != T)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s has %lld tokens, but %s is %lld", p->path,
                                      features[k].name, (long long)store_samples_T(s),
                                      zoo_input_length_key(p->input, features[k].target),
                                      (long long)T),
                            "the lengths of the input section and of the files must agree");
    if (store_samples_n(s) != store_samples_n(p->feature[0]))
        return WSC_RAISE(WSC_FORMAT, "%s: dataset %s has %lld samples, input_ids %lld", p->path,
                         features[k].name, (long long)store_samples_n(s),
                         (long long)store_samples_n(p->feature[0]));
    return WSC_OK;
}

static enum wsc_err open_file(struct data_seq2seq *p)
{
    TRY(store_probe(p->path));
    for (int k = 0; k < N_FEATURES; k++)
        TRY(open_feature(p, k));
    return WSC_OK;
}

enum wsc_err data_seq2seq_open(struct data_seq2seq **out, const char *path,
                               const struct zoo_input *input)
{
    struct data_seq2seq *p = NULL;
    *out = NULL;
    TRY_NEW(p, WSC_MEM_DATA, 1);
    p->T[0] = input->max_sequence_length;
    p->T[1] = input->tgt_max_sequence_length;
    p->input = input;
    p->path = wsc_strdup(WSC_MEM_DATA, path);
    const enum wsc_err rc = p->path ? open_file(p) : WSC_NOMEM;
    if (rc) data_seq2seq_close(&p);
    *out = p;
    return rc;
}

void data_seq2seq_close(struct data_seq2seq **pairs)
{
    struct data_seq2seq *p = *pairs;
    *pairs = NULL;
    if (!p) return;
    for (int k = 0; k < N_FEATURES; k++)
        store_samples_close(&p->feature[k]);
    wsc_free(p->path);
    wsc_free(p);
}

int64_t data_seq2seq_n(const struct data_seq2seq *p)
{
    return store_samples_n(p->feature[0]);
}

enum wsc_err data_seq2seq_read(struct data_seq2seq *p, int64_t i, int32_t *rows)
{
    const int64_t T = p->T[0] + p->T[1];
    for (int k = 0; k < N_FEATURES; k++)
        TRY(store_samples_read(p->feature[k], i,
                               rows + features[k].row * T + (features[k].target ? p->T[0] : 0)));
    for (int64_t t = p->T[0]; t < T; t++) {
        const int32_t mask = rows[DATA_ROW_MASK * T + t];
        rows[DATA_ROW_ATTENDS * T + t] = mask;
        /* masked labels may have any value in the file */
        if (!mask) rows[DATA_ROW_LABELS * T + t] = 0;
    }
    return WSC_OK;
}
