// SPDX-License-Identifier: Apache-2.0
/* Reads samples of the Model Zoo's DpoHDF5DataProcessor: six features of each pair, in one dataset
 * `data` in the order of the loader's features_list, or in six datasets with their names.
 * source_files.c calls, source_values.c checks the values; src/store reads the file. */
#include "pair_samples.h"

#include <wsc/mem.h>
#include <wsc/store.h>

static const char *const feature[DATA_PAIR_ROWS] = {
    "chosen_input_ids",   "chosen_attention_mask",   "chosen_labels",
    "rejected_input_ids", "rejected_attention_mask", "rejected_labels"};

struct data_pairs {
    int n_sets; /* 1, or one for each feature */
    struct store_samples *set[DATA_PAIR_ROWS];
};

/* Every dataset has as many samples as the first one, of its length. */
static enum wsc_err check(const struct data_pairs *p, const char *path)
{
    const int rows = p->n_sets == 1 ? DATA_PAIR_ROWS : 1;
    for (int i = 0; i < p->n_sets; i++) {
        const struct store_samples *s = p->set[i];
        if (store_samples_rows(s) == rows && store_samples_n(s) == data_pairs_n(p) &&
            store_samples_T(s) == data_pairs_T(p))
            continue;
        return WSC_RAISE(WSC_FORMAT,
                         "%s: dataset %s has %lld samples of %d rows of %lld tokens, expected %lld "
                         "of %d rows of %lld",
                         path, p->n_sets == 1 ? "data" : feature[i], (long long)store_samples_n(s),
                         store_samples_rows(s), (long long)store_samples_T(s),
                         (long long)data_pairs_n(p), rows, (long long)data_pairs_T(p));
    }
    return WSC_OK;
}

static enum wsc_err open_sets(struct data_pairs *p, const char *path)
{
    bool apart;
    TRY(store_samples_have(path, feature[0], &apart));
    for (int i = 0; i < (apart ? DATA_PAIR_ROWS : 1); i++) {
        TRY(store_samples_open_dataset(&p->set[i], path, apart ? feature[i] : "data"));
        p->n_sets++;
    }
    return check(p, path);
}

enum wsc_err data_pairs_open(struct data_pairs **out, const char *path)
{
    struct data_pairs *p = NULL;
    *out = NULL;
    TRY_NEW(p, WSC_MEM_DATA, 1);
    const enum wsc_err rc = open_sets(p, path);
    if (rc) data_pairs_close(&p);
    *out = p;
    return rc;
}

void data_pairs_close(struct data_pairs **pairs)
{
    struct data_pairs *p = *pairs;
    *pairs = NULL;
    if (!p) return;
    for (int i = 0; i < p->n_sets; i++)
        store_samples_close(&p->set[i]);
    wsc_free(p);
}

int64_t data_pairs_n(const struct data_pairs *p)
{
    return store_samples_n(p->set[0]);
}

int64_t data_pairs_T(const struct data_pairs *p)
{
    return store_samples_T(p->set[0]);
}

enum wsc_err data_pairs_read(struct data_pairs *p, int64_t i, int32_t *rows)
{
    for (int k = 0; k < p->n_sets; k++)
        TRY(store_samples_read(p->set[k], i, rows + k * data_pairs_T(p)));
    return WSC_OK;
}
