// SPDX-License-Identifier: Apache-2.0
/* A new vocabulary for an old model (runconfig.new_vocabulary): token tables, and biases of logits,
 * with another number of rows in a checkpoint than in the params. Row i of the file becomes row i;
 * rows that the params do not have are left out. Additional rows start with the initial weights of
 * the params, or with the mean over the rows of the file, which gives new tokens the logits of an
 * average one (Hewitt 2021, "Initializing new word embeddings for pretrained language models").
 * Sums are in double, row after row, so that every shard has the same mean. memoryx_checkpoint.c
 * calls. */
#include "memoryx_vocabulary.h"

#include "memoryx_init.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>

#include <math.h>

enum { PIECE = 1 << 16 };

static bool is_by_token(const struct model_tensor *t)
{
    const enum model_tensor_kind kind = model_base_kind(t->kind);
    return t->kind == kind &&
           (kind == MODEL_WTE || kind == MODEL_LM_HEAD_W || kind == MODEL_LM_HEAD_B);
}

enum wsc_err memoryx_other_rows(const struct memoryx_config *config, const struct model_tensor *t,
                                struct store_file *file, const char *name, int64_t *n_rows)
{
    const struct store_tensor own = model_stored(t);
    int n_dims;
    int64_t shape[2] = {0};
    *n_rows = 0;
    if (!is_by_token(t)) return WSC_OK;
    TRY(store_shape(file, name, &n_dims, shape));
    if (n_dims != t->n_dims || shape[0] < 1 || shape[0] == t->shape[0]) return WSC_OK;
    if (n_dims > 1 && shape[1] != t->shape[1]) return WSC_OK;
    if (!config->params->runconfig.new_vocabulary)
        return wsc_err_hint(store_check_shape(file, name, &own),
                            "--set runconfig.new_vocabulary=mean takes the rows of another "
                            "vocabulary");
    *n_rows = shape[0];
    return WSC_OK;
}

/* Sum and number of the weights of a column. */
struct column {
    double sum, n;
};

/* A weight outside the mask is 0, or NaN in the layout of releases 1.7 to 1.9. */
static bool is_outside(const struct memoryx_part *s, float w)
{
    return s->mask && (w == 0 || isnan(w));
}

/* Sums of the columns of the file over its rows; those of a sparse tensor over the weights inside
 * the mask, so that a new row, which has a mask too, has weights of the size of the others. */
static enum wsc_err sum_columns(const struct memoryx_part *s, struct store_file *file,
                                const char *name, const struct memoryx_rows *rows,
                                struct column *column)
{
    const int64_t n_elems = rows->n * rows->cols;
    enum wsc_err rc = WSC_OK;
    float *values;
    TRY_NEW(values, WSC_MEM_MEMORYX, PIECE);
    for (int64_t first = 0; first < n_elems && !rc; first += PIECE) {
        const int64_t n = n_elems - first < PIECE ? n_elems - first : PIECE;
        rc = store_read(file, name, STORE_F32, first, n, values);
        for (int64_t i = 0; i < n && !rc; i++) {
            struct column *c = &column[(first + i) % rows->cols];
            if (is_outside(s, values[i])) continue;
            c->sum += (double)values[i];
            c->n++;
        }
    }
    wsc_free(values);
    return rc;
}

/* Set the elements of the part from @p from on to those of the mean row. */
static enum wsc_err take_means(const struct memoryx_part *s, struct store_file *file,
                               const char *name, const struct memoryx_rows *rows, int64_t from)
{
    struct column *column;
    TRY_NEW(column, WSC_MEM_MEMORYX, rows->cols);
    const enum wsc_err rc = sum_columns(s, file, name, rows, column);
    for (int64_t i = from; i < s->n && !rc; i++) {
        const struct column *c = &column[(s->first + i) % rows->cols];
        s->w[i] = c->n > 0 ? (float)(c->sum / c->n) : 0;
    }
    wsc_free(column);
    return rc;
}

enum wsc_err memoryx_load_rows(struct memoryx *mx, int tensor, struct store_file *file,
                               const char *name, int64_t n_rows)
{
    const struct memoryx_part *s = &mx->part[tensor];
    const struct memoryx_rows rows = {n_rows, mx->net->model->tensor[tensor].shape[1]};
    const int64_t left = n_rows * rows.cols - s->first;
    const int64_t n = left < 0 ? 0 : left < s->n ? left : s->n;
    memoryx_init_tensor(mx, tensor);
    if (n > 0) TRY(store_read(file, name, STORE_F32, s->first, n, s->w));
    if (n == s->n || mx->config.params->runconfig.new_vocabulary != ZOO_NEW_ROWS_MEAN)
        return WSC_OK;
    return take_means(s, file, name, &rows, n);
}

static enum wsc_err check_tensor(const struct memoryx_config *config, const struct model_tensor *m,
                                 struct store_file *file, bool optimizer)
{
    const struct store_tensor t = model_stored(m);
    const bool mean = config->params->runconfig.new_vocabulary == ZOO_NEW_ROWS_MEAN;
    char name[STORE_NAME_BYTES];
    int64_t n_rows = 0;
    if (!store_find_tensor(file, &t, name)) return WSC_OK;
    TRY(memoryx_other_rows(config, m, file, name, &n_rows));
    if (!n_rows) return WSC_OK;
    if (optimizer)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "runconfig.new_vocabulary: the optimizer state of %s has the "
                                      "%lld rows of the checkpoint",
                                      m->name, (long long)n_rows),
                            "--set runconfig.load_checkpoint_states=model");
    if (n_rows > m->shape[0])
        WSC_INFO("%s: the first %lld of the checkpoint's %lld rows are taken", m->name,
                 (long long)m->shape[0], (long long)n_rows);
    else
        WSC_INFO("%s: %lld rows come from the checkpoint, %lld new ones start from %s", m->name,
                 (long long)n_rows, (long long)(m->shape[0] - n_rows),
                 mean ? "their mean" : "initial weights");
    return WSC_OK;
}

enum wsc_err memoryx_check_vocabulary(const struct memoryx_config *config,
                                      const struct model *model, struct store_file *file,
                                      bool optimizer)
{
    for (int i = 0; i < model->n_tensors; i++)
        if (is_by_token(&model->tensor[i]))
            TRY(check_tensor(config, &model->tensor[i], file, optimizer));
    return WSC_OK;
}
