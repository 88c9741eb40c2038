// SPDX-License-Identifier: Apache-2.0
/* Masks in checkpoints, in the layouts of all releases. Since 2.2 a truth value per element is
 * stored beside the tensor, and the counter of each entry under `sparsity`; this layout is written.
 * Releases 1.8 to 2.1 have masks among the states of an optimizer of masks. 1.7 to 1.9 mark pruned
 * elements by NaN in weights and states; the first mask pass sets these to zero. The index of a
 * cycling sparsity follows from the counter and is neither written nor read. */
#include "memoryx_mask_checkpoint.h"

#include <wsc/mem.h>
#include <wsc/model_stored.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 48, PIECE = 1 << 16 };

/* ---- counters -------------------------------------------------------------------------------- */

/* Counters, one per entry of params, all with one value. */
struct counters {
    char name[ZOO_MAX_SPARSITIES][NAME_BYTES];
    struct store_counter row[ZOO_MAX_SPARSITIES];
    int n;
};

static void list_counters(struct memoryx *mx, struct counters *c)
{
    c->n = mx->config.params->sparsity.n;
    for (int i = 0; i < c->n; i++) {
        (void)snprintf(c->name[i], NAME_BYTES, "sparsity.%d.step", i);
        c->row[i] = (struct store_counter){c->name[i], &mx->mask_step, NULL, 0, INT64_MAX};
    }
}

/* Counters of groups are equal. Files converted from 2.1 have one counter, older ones another. */
enum wsc_err memoryx_load_mask_step(struct memoryx *mx, struct store_file *file)
{
    static const char *const single[] = {"sparsity.step", "optimizer.sparsity.step"};
    char name[NAME_BYTES];
    int64_t step = -1, other;
    mx->mask_step = 0;
    for (int i = 0; i < ZOO_MAX_SPARSITIES + 2; i++) {
        const bool group = i < ZOO_MAX_SPARSITIES;
        (void)snprintf(name, sizeof name, "sparsity.%d.step", i);
        if (!group) (void)snprintf(name, sizeof name, "%s", single[i - ZOO_MAX_SPARSITIES]);
        if (!store_has(file, name)) continue;
        TRY(store_read_i64(file, name, 0, STORE_LAST_STEP, &other));
        if (step >= 0 && other != step)
            return WSC_RAISE(WSC_FORMAT, "%s: %s is %lld, another counter of masks %lld",
                             store_path(file), name, (long long)other, (long long)step);
        step = other;
    }
    if (step >= 0) mx->mask_step = step;
    return WSC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum wsc_err memoryx_define_masks(struct memoryx *mx, struct store_file *file)
{
    struct counters c = {.n = 0};
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct store_tensor t = model_stored(&mx->net->model->tensor[i]);
        if (mx->part[i].mask) TRY(store_define_mask(file, &t));
        if (mx->part[i].chosen) TRY(store_define_selected(file, &t));
    }
    list_counters(mx, &c);
    return store_define_counters(file, c.row, c.n);
}

/* Write a byte per element, one piece at a time. */
static enum wsc_err save_bits(const struct memoryx_part *s, const uint64_t *bits,
                              struct store_file *file, const char *name)
{
    unsigned char *bytes;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(bytes, WSC_MEM_MEMORYX, PIECE);
    for (int64_t first = 0; first < s->n && !rc; first += PIECE) {
        const int64_t n = s->n - first < PIECE ? s->n - first : PIECE;
        for (int64_t i = first; i < first + n; i++)
            bytes[i - first] = bits[i / MEMORYX_WORD_BITS] >> i % MEMORYX_WORD_BITS & 1;
        rc = store_write(file, name, s->first + first, n, bytes);
    }
    wsc_free(bytes);
    return rc;
}

enum wsc_err memoryx_save_masks(struct memoryx *mx, struct store_file *file)
{
    struct counters c = {.n = 0};
    char name[STORE_NAME_BYTES];
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct memoryx_part *s = &mx->part[i];
        (void)snprintf(name, sizeof name, "%s_mask", mx->net->model->tensor[i].name);
        if (s->mask) TRY(save_bits(s, s->mask, file, name));
        (void)snprintf(name, sizeof name, "%s_requires_grad", mx->net->model->tensor[i].name);
        if (s->chosen) TRY(save_bits(s, s->chosen, file, name));
    }
    list_counters(mx, &c);
    return mx->shard ? WSC_OK : store_write_counters(file, c.row, c.n);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bits of a tensor in a file: truth values, or weights in which NaN stands for 0. */
struct dataset {
    const char *name;
    int64_t n_elems;
    bool weights;
};

/* Read bits [first, first + n) of the dataset; n <= PIECE. */
static enum wsc_err read_piece(struct store_file *file, const struct dataset *from, int64_t first,
                               int64_t n, bool *bits)
{
    union {
        unsigned char truth[PIECE];
        float weight[PIECE];
    } * values;
    TRY_NEW(values, WSC_MEM_MEMORYX, 1);
    enum wsc_err rc =
        store_read(file, from->name, from->weights ? STORE_F32 : STORE_BOOL, first, n, values);
    for (int64_t i = 0; i < n && !rc; i++)
        bits[i] = from->weights ? !isnan(values->weight[i]) : values->truth[i] != 0;
    wsc_free(values);
    return rc;
}

/* Read the bits of this shard's part. Elements beyond the end of a dataset with fewer rows than the
 * tensor get the bits of its rows from the first one on, again and again. */
static enum wsc_err read_bits(const struct memoryx_part *s, uint64_t *bits, struct store_file *file,
                              const struct dataset *from)
{
    bool *piece;
    enum wsc_err rc = WSC_OK;
    int64_t n = 0;
    TRY_NEW(piece, WSC_MEM_MEMORYX, PIECE);
    memset(bits, 0, (size_t)memoryx_mask_words(s->n) * sizeof *bits);
    for (int64_t first = 0; first < s->n && !rc; first += n) {
        const int64_t at = (s->first + first) % from->n_elems, left = s->n - first;
        n = left < PIECE ? left : PIECE;
        if (from->n_elems - at < n) n = from->n_elems - at;
        rc = read_piece(file, from, at, n, piece);
        for (int64_t i = first; i < first + n && !rc; i++)
            bits[i / MEMORYX_WORD_BITS] |= (uint64_t)piece[i - first] << i % MEMORYX_WORD_BITS;
    }
    wsc_free(piece);
    return rc;
}

/* Reads the whole tensor, so that all shards get the same answer. */
static enum wsc_err has_nan(struct store_file *file, const char *name, int64_t n_elems, bool *found)
{
    float *values;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(values, WSC_MEM_MEMORYX, PIECE);
    *found = false;
    for (int64_t first = 0; first < n_elems && !rc && !*found; first += PIECE) {
        const int64_t n = n_elems - first < PIECE ? n_elems - first : PIECE;
        rc = store_read(file, name, STORE_F32, first, n, values);
        for (int64_t i = 0; i < n && !rc && !*found; i++)
            *found = isnan(values[i]);
    }
    wsc_free(values);
    return rc;
}

/* Shape of tensor @p i in a file where it has @p n_rows rows; 0: those of the params. */
struct file_shape {
    int64_t dim[2];
    struct store_tensor tensor;
    int64_t n_elems;
};

static void shape_in_file(const struct memoryx *mx, int i, int64_t n_rows, struct file_shape *out)
{
    const struct model_tensor *t = &mx->net->model->tensor[i];
    *out = (struct file_shape){.dim = {n_rows ? n_rows : t->shape[0], t->shape[1]},
                               .tensor = model_stored(t),
                               .n_elems = n_rows ? n_rows * t->shape[1] : t->n_elems};
    if (n_rows) out->tensor.shape = out->dim;
}

/* Weights of rows that the file does not have train. */
static void choose_new_rows(const struct memoryx_part *s, int64_t n_elems)
{
    for (int64_t i = n_elems > s->first ? n_elems - s->first : 0; i < s->n; i++)
        s->chosen[i / MEMORYX_WORD_BITS] |= UINT64_C(1) << i % MEMORYX_WORD_BITS;
}

/* A file without this dataset is from a training of all weights: then the weights are chosen. */
enum wsc_err memoryx_load_selected(struct memoryx *mx, struct store_file *file, int tensor,
                                   int64_t n_rows)
{
    struct memoryx_part *s = &mx->part[tensor];
    struct file_shape own;
    char name[STORE_NAME_BYTES];
    shape_in_file(mx, tensor, n_rows, &own);
    if (!s->chosen) return WSC_OK;
    s->chosen_due = !store_find_selected(file, &own.tensor, name);
    if (s->chosen_due) return WSC_OK;
    TRY(store_check_shape(file, name, &own.tensor));
    TRY(read_bits(s, s->chosen, file, &(struct dataset){name, own.n_elems, false}));
    choose_new_rows(s, own.n_elems);
    return WSC_OK;
}

enum wsc_err memoryx_load_mask(struct memoryx *mx, struct store_file *file, int tensor,
                               const struct memoryx_weights *weights)
{
    struct memoryx_part *s = &mx->part[tensor];
    struct file_shape own;
    char name[STORE_NAME_BYTES];
    bool nan = false;
    shape_in_file(mx, tensor, weights->n_rows, &own);
    if (!s->mask) return WSC_OK;
    s->mask_due = false;
    if (store_find_mask(file, &own.tensor, name)) {
        TRY(store_check_shape(file, name, &own.tensor));
        return read_bits(s, s->mask, file, &(struct dataset){name, own.n_elems, false});
    }
    TRY(has_nan(file, weights->name, own.n_elems, &nan));
    if (nan)
        return read_bits(s, s->mask, file, &(struct dataset){weights->name, own.n_elems, true});
    s->mask_due = true;
    if (!weights->strict) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s: it has no mask of %s", store_path(file), own.tensor.name),
        "--set runconfig.disable_strict_checkpoint_loading=true makes new masks "
        "by init_method");
}
