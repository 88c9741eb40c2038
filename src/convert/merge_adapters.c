// SPDX-License-Identifier: Apache-2.0
/* Converts a checkpoint with low-rank adapters to one without: W + alpha / r B A replaces W, A and
 * B (Hu et al. 2021), summed in double precision, and `lora_params` is removed from the params, as
 * by fold_lora_checkpoint.py of the Model Zoo. One matrix is in memory at a time. cmd_convert.c
 * calls, with --from cs --to cs. */
#include <wsc/convert.h>

#include "job_params.h"
#include "output_folder.h"
#include "tensor_map.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>
#include <wsc/out.h>

#include <stdio.h>

/* State of one conversion. */
struct merge {
    const struct convert_job *job;
    struct convert_result *result;
    struct zoo_params params;
    struct model *model;
    struct store_file *from, *to;
};

static enum wsc_err open_input(struct merge *m)
{
    TRY(convert_read_params(&m->params, m->job));
    if (m->params.model.dpo.on)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: model.dpo: adapters are merged in one model", m->params.file),
            "the params without model.dpo take the policy");
    TRY(model_create(&m->model, &m->params, HW_STREAM_BLOCK));
    if (!m->params.model.lora_params.n)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: model.lora_params: there is nothing to merge",
                                      m->params.file),
                            "--from cs --to cs merges adapters");
    TRY(convert_open_checkpoint(&m->from, m->job));
    return convert_check_past(&m->params, m->from);
}

/* Read a whole tensor of the params; *@p out is owned by the caller. */
static enum wsc_err read_tensor(const struct merge *m, const struct model_tensor *t, float **out)
{
    const struct store_tensor what = model_stored(t);
    char name[STORE_NAME_BYTES];
    *out = NULL;
    if (!store_find_tensor(m->from, &what, name))
        return WSC_RAISE(WSC_FORMAT, "%s: tensor %s is missing", m->job->input, t->name);
    TRY(store_check_shape(m->from, name, &what));
    TRY_NEW(*out, WSC_MEM_CONVERT, t->n_elems);
    const enum wsc_err rc = store_read(m->from, name, STORE_F32, 0, t->n_elems, *out);
    if (!rc) return WSC_OK;
    wsc_free(*out);
    *out = NULL;
    return rc;
}

/* w (out, in) += scale b (out, r) a (r, in); an embedding is its transpose (in, out). */
static void add_product(const struct model_adapter *adapter, const struct model_tensor *t,
                        const float *a, const float *b, float *w)
{
    const bool table = model_is_table(t->kind);
    const int64_t in = t->shape[table ? 0 : 1], out = t->shape[table ? 1 : 0];
    WSC_CHECK(w, "tensor %s is not in memory", t->name);
    for (int64_t i = 0; i < out; i++)
        for (int64_t j = 0; j < in; j++) {
            double sum = 0;
            for (int64_t k = 0; k < adapter->r; k++)
                sum += (double)b[i * adapter->r + k] * (double)a[k * in + j];
            float *at = &w[table ? j * out + i : i * in + j];
            *at = (float)((double)*at + adapter->scale * sum);
        }
}

/* The two tensors after a matrix are those of its adapter. */
static enum wsc_err add_adapter(const struct merge *m, const struct model_tensor *t, float *w)
{
    const struct model_adapter *adapter = &m->model->adapter[t->kind];
    float *a = NULL, *b = NULL;
    if (!adapter->r) return WSC_OK;
    enum wsc_err rc = read_tensor(m, t + 1, &a);
    if (!rc) rc = read_tensor(m, t + 2, &b);
    if (a && b) add_product(adapter, t, a, b, w);
    wsc_free(a);
    wsc_free(b);
    return rc;
}

static enum wsc_err move_tensor(const struct merge *m, const struct model_tensor *t)
{
    float *w = NULL;
    TRY(read_tensor(m, t, &w));
    enum wsc_err rc = add_adapter(m, t, w);
    if (!rc) rc = store_write(m->to, t->name, 0, t->n_elems, w);
    wsc_free(w);
    return rc;
}

static enum wsc_err write_checkpoint(struct merge *m)
{
    const struct model *model = m->model;
    WSC_CHECK(model, "adapters are merged without a model");
    TRY(store_create(&m->to, m->result->checkpoint, NULL));
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        const struct store_tensor what = model_stored(t);
        if (t->kind >= MODEL_N_KINDS) continue;
        TRY(store_define_tensor(m->to, &what));
        m->result->n_tensors++;
        m->result->n_params += t->n_elems;
    }
    TRY(store_describe(m->to));
    for (int i = 0; i < model->n_tensors; i++)
        if (model->tensor[i].kind < MODEL_N_KINDS) TRY(move_tensor(m, &model->tensor[i]));
    return store_commit(&m->to);
}

/* Write the params without adapters, which start from the merged weights, from a copy of the struct
 * that owns nothing. */
static enum wsc_err write_params(const struct merge *m)
{
    struct zoo_params plain = m->params;
    char *text = NULL, weights[] = "model";
    plain.model.lora_params = (struct zoo_loras){0};
    plain.runconfig.checkpoint_path = m->result->checkpoint;
    plain.runconfig.load_checkpoint_states = weights;
    plain.runconfig.disable_strict_checkpoint_loading = false;
    TRY(zoo_params_dump(&plain, &text));
    const enum wsc_err rc = out_write_text(m->result->params, text);
    wsc_free(text);
    return rc;
}

enum wsc_err convert_merge_adapters(const struct convert_job *job, struct convert_result *result)
{
    struct merge m = {.job = job, .result = result};
    TRY(convert_name_checkpoint(job, result));
    result->family = "adapters merged";
    result->n_files = 1;
    enum wsc_err rc = open_input(&m);
    if (!rc) rc = wsc_file_mkdir(job->out);
    if (!rc) rc = write_checkpoint(&m);
    if (!rc) rc = write_params(&m);
    store_close(&m.from);
    store_close(&m.to);
    model_destroy(&m.model);
    zoo_params_fini(&m.params);
    return rc;
}
