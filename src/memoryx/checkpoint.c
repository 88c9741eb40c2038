// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160 };

static const char *const moment_name[2] = {"exp_avg", "exp_avg_sq"};

/* ---- virtual times: a row per shard ---------------------------------------------------------- */

/* step_end, reduced, updating, ready of each stage */
static int64_t n_times(const struct memoryx *mx)
{
    return 3 + mx->net->model->n_stages;
}

static void pack_times(const struct memoryx *mx, int64_t *row)
{
    *row++ = mx->times.step_end.ps;
    *row++ = mx->times.reduced.ps;
    *row++ = mx->times.updating.ps;
    for (int s = 0; s < mx->net->model->n_stages; s++)
        *row++ = mx->times.ready[s].ps;
}

static void unpack_times(struct memoryx *mx, const int64_t *row)
{
    mx->times.step_end.ps = *row++;
    mx->times.reduced.ps = *row++;
    mx->times.updating.ps = *row++;
    for (int s = 0; s < mx->net->model->n_stages; s++)
        mx->times.ready[s].ps = *row++;
}

static enum wsc_err save_times(const struct memoryx *mx, struct store_file *file)
{
    int64_t *row, n = n_times(mx);
    TRY_NEW(row, WSC_MEM_MEMORYX, n);
    pack_times(mx, row);
    enum wsc_err rc = store_write(file, "wsc.virtual_time_ps", mx->shard * n, n, row);
    wsc_free(row);
    return rc;
}

/* The rows of all shards, folded to their latest times when this cluster has another number of
 * shards; another model has other stages and starts its clock anew. */
static void fold_times(int64_t *rows, int64_t n_rows, int64_t n)
{
    for (int64_t r = 1; r < n_rows; r++)
        for (int64_t i = 0; i < n; i++)
            if (rows[r * n + i] > rows[i]) rows[i] = rows[r * n + i];
}

static enum wsc_err load_times(struct memoryx *mx, struct store_file *file)
{
    int n_dims;
    int64_t shape[2], n = n_times(mx), *rows;
    if (!store_has(file, "wsc.virtual_time_ps")) return WSC_OK;
    TRY(store_shape(file, "wsc.virtual_time_ps", &n_dims, shape));
    if (n_dims != 2 || shape[1] != n || shape[0] < 1 || shape[0] > CONF_MAX_SHARDS) return WSC_OK;
    TRY_NEW(rows, WSC_MEM_MEMORYX, shape[0] * n);
    enum wsc_err rc = store_read(file, "wsc.virtual_time_ps", STORE_I64, 0, shape[0] * n, rows);
    if (!rc) {
        const bool same = shape[0] == mx->n_shards;
        if (!same) fold_times(rows, shape[0], n);
        unpack_times(mx, same ? rows + mx->shard * n : rows);
    }
    wsc_free(rows);
    return rc;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static void state_name(char *name, int tensor, const char *what)
{
    (void)snprintf(name, NAME_BYTES, "optimizer.state.%d.%s", tensor, what);
}

static struct store_tensor tensor_of(const struct model_tensor *t)
{
    return (struct store_tensor){t->name, t->alias, t->n_dims, t->shape};
}

static enum wsc_err define_moments(const struct model_tensor *t, int i, struct store_file *file)
{
    char name[NAME_BYTES];
    for (int k = 0; k < 2; k++) {
        state_name(name, i, moment_name[k]);
        TRY(store_define(file, name, STORE_F32, t->n_dims, t->shape));
    }
    return WSC_OK;
}

static enum wsc_err save_moments(const struct memoryx_slice *s, int i, struct store_file *file)
{
    const float *const moment[2] = {s->m, s->v};
    char name[NAME_BYTES];
    for (int k = 0; k < 2; k++) {
        state_name(name, i, moment_name[k]);
        TRY(store_write(file, name, s->first, s->n, moment[k]));
    }
    return WSC_OK;
}

enum wsc_err memoryx_define(const struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    const int64_t times[2] = {memoryx->n_shards, n_times(memoryx)};
    for (int i = 0; i < model->n_tensors; i++) {
        const struct store_tensor t = tensor_of(&model->tensor[i]);
        TRY(store_define_tensor(file, &t));
    }
    for (int i = 0; i < model->n_tensors; i++)
        TRY(define_moments(&model->tensor[i], i, file));
    return store_define(file, "wsc.virtual_time_ps", STORE_I64, 2, times);
}

enum wsc_err memoryx_save(const struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct memoryx_slice *s = &memoryx->slice[i];
        TRY(store_write(file, model->tensor[i].name, s->first, s->n, s->w));
        TRY(save_moments(s, i, file));
    }
    return save_times(memoryx, file);
}

enum wsc_err memoryx_define_gradients(const struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        TRY(store_define(file, t->name, STORE_F32, t->n_dims, t->shape));
    }
    return WSC_OK;
}

enum wsc_err memoryx_save_gradients(const struct memoryx *memoryx, struct store_file *file)
{
    for (int i = 0; i < memoryx->net->model->n_tensors; i++) {
        const struct memoryx_slice *s = &memoryx->slice[i];
        TRY(store_write(file, memoryx->net->model->tensor[i].name, s->first, s->n, s->g));
    }
    return WSC_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static enum wsc_err load_weights(struct memoryx *mx, struct store_file *file, int i, bool strict)
{
    const struct store_tensor t = tensor_of(&mx->net->model->tensor[i]);
    struct memoryx_slice *s = &mx->slice[i];
    char name[STORE_NAME_BYTES];
    if (!store_find_tensor(file, &t, name)) {
        if (!strict) return WSC_OK;
        enum wsc_err rc = WSC_RAISE(WSC_FORMAT, "checkpoint: %s is missing", t.name);
        return wsc_err_hint(rc, "--set runconfig.disable_strict_checkpoint_loading=true keeps the "
                                "initial values of missing tensors");
    }
    TRY(store_check_shape(file, name, &t));
    return store_read(file, name, STORE_F32, s->first, s->n, s->w);
}

static enum wsc_err load_moments(struct memoryx *mx, struct store_file *file, int i)
{
    struct memoryx_slice *s = &mx->slice[i];
    float *const moment[2] = {s->m, s->v};
    const struct store_tensor t = tensor_of(&mx->net->model->tensor[i]);
    char name[NAME_BYTES];
    for (int k = 0; k < 2; k++) {
        state_name(name, i, moment_name[k]);
        if (!store_has(file, name))
            return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "checkpoint: %s is missing", name),
                                "--set runconfig.load_checkpoint_states=model takes the weights "
                                "alone");
        TRY(store_check_shape(file, name, &t));
        TRY(store_read(file, name, STORE_F32, s->first, s->n, moment[k]));
    }
    return WSC_OK;
}

/* Only names of tensors matter: state of other parts of a trainer may stand beside. */
static enum wsc_err check_known(const struct model *model, struct store_file *file)
{
    struct store_tensor *tensor;
    const char *first;
    int n;
    TRY_NEW(tensor, WSC_MEM_MEMORYX, model->n_tensors);
    for (int i = 0; i < model->n_tensors; i++)
        tensor[i] = tensor_of(&model->tensor[i]);
    enum wsc_err rc = store_count_unknown(file, tensor, model->n_tensors, &first, &n);
    if (!rc && n) {
        rc = WSC_RAISE(WSC_FORMAT, "checkpoint: the params have no tensor named %s", first);
        (void)wsc_err_hint(rc, "--set runconfig.disable_strict_checkpoint_loading=true ignores it");
    }
    wsc_free(tensor);
    return rc;
}

enum wsc_err memoryx_load(struct memoryx *memoryx, struct store_file *file,
                          const struct memoryx_load *what)
{
    if (what->strict) TRY(check_known(memoryx->net->model, file));
    for (int i = 0; i < memoryx->net->model->n_tensors; i++) {
        TRY(load_weights(memoryx, file, i, what->strict));
        if (what->optimizer) TRY(load_moments(memoryx, file, i));
    }
    return what->optimizer ? load_times(memoryx, file) : WSC_OK;
}
