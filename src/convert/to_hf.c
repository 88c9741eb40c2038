// SPDX-License-Identifier: Apache-2.0
/* Converts a checkpoint and params to a Hugging Face folder: config.json, safetensors files of
 * bounded size and their index. config.json is written last, because a folder without it is not a
 * model. */
#include "hf_config.h"
#include "hf_families.h"
#include "hf_key.h"
#include "job_params.h"
#include "json_file.h"
#include "output_folder.h"
#include "safetensors_writer.h"
#include "tensor_map.h"
#include "tensor_mover.h"
#include "weight_files.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>
#include <wsc/out.h>

#include <stdlib.h>
#include <string.h>

/* State of one conversion; convert_to_hf() frees it at its end, also after an error. */
struct export
{
    const struct convert_job *job;
    struct convert_result *result;
    struct zoo_params params;
    struct model *model;
    struct convert_side cs;
    struct convert_map map;
    struct store_file *store;
    json_t *dtypes;                    /* types that convert_from_hf() stored, or NULL */
    struct convert_out_tensor *tensor; /* owned, of each pair */
    int *shard;                        /* owned, of each pair */
    int64_t n_bytes;
};

/* ---- what is there --------------------------------------------------------------------------- */

/* True when a row of the family converts or checks this key of the params. */
static bool has_row(const struct convert_family *f, const char *cs)
{
    for (int i = 0; i < f->n_keys; i++)
        if (f->key[i].cs && !strcmp(f->key[i].cs, cs)) return true;
    return false;
}

/* Check features without which the model is another one: a row of the family must have them. */
static enum wsc_err check_plain(const struct export *ex)
{
    const struct model *m = ex->model;
    const struct {
        bool has;
        const char *key;
    } feature[] = {
        {m->zoo.attention_logit_softcapping != 0, "attention_logit_softcapping"},
        {m->zoo.final_logit_softcapping != 0, "final_logit_softcapping"},
        {m->sink_tokens != 0, "attention_sink_tokens"},
        {m->slopes, "alibi_trainable_slopes"},
        {model_norms_heads(m), "attention_qk_norm_layer"},
        {m->zoo.sliding_window_every_other_decoder_layer,
         "sliding_window_every_other_decoder_layer"},
        {m->zoo.norm_type == ZOO_BIASLESS_LAYERNORM, "norm_type"},
        {m->H * m->head_dim != m->C && !has_row(ex->cs.family, "d_kv"), "attention_inner_dim"},
    };
    for (size_t i = 0; i < sizeof feature / sizeof *feature; i++)
        if (feature[i].has && !has_row(ex->cs.family, feature[i].key))
            return WSC_RAISE(WSC_CONFIG, "%s: model: a %s model has no counterpart of %s",
                             ex->params.file, ex->cs.family->name, feature[i].key);
    return WSC_OK;
}

/* Read the types that convert_from_hf() stored in the checkpoint; other checkpoints do not have
 * them. */
static enum wsc_err read_dtypes(struct export *ex)
{
    char *text = NULL;
    if (!store_has_text(ex->store, CONVERT_DTYPES)) return WSC_OK;
    TRY(store_get_text(ex->store, CONVERT_DTYPES, &text));
    enum wsc_err rc = convert_json_parse(&ex->dtypes, ex->job->input, text, strlen(text));
    wsc_free(text);
    return rc;
}

/* Make the model of the params. A tied embedding with factors becomes two tensors: one with the
 * factor of the embeddings, one with that of the logits. Of the two models of preference
 * optimization the policy is exported: a single model finds its tensors in such a checkpoint. */
static enum wsc_err make_model(struct export *ex)
{
    ex->params.model.dpo.on = false;
    TRY(model_create(&ex->model, &ex->params, HW_STREAM_BLOCK));
    if (ex->cs.family->has_factors) return WSC_OK;
    ex->cs.fold = convert_has_factors(ex->model);
    if (!convert_unties(ex->model)) return WSC_OK;
    ex->params.model.share_embedding_weights = false;
    model_destroy(&ex->model);
    return model_create(&ex->model, &ex->params, HW_STREAM_BLOCK);
}

/* Hugging Face has adapters in files of their own, which no family here has rules for. */
static enum wsc_err refuse_adapters(const char *file, const char *what)
{
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: %s: adapters have no counterpart in the model's "
                                  "files",
                                  file, what),
                        "merge them first: wsc convert --from cs --to cs");
}

static enum wsc_err open_input(struct export *ex)
{
    TRY(convert_family_named(ex->job->family, &ex->cs.family));
    ex->result->family = ex->cs.family->name;
    TRY(convert_read_params(&ex->params, ex->job));
    if (ex->params.model.lora_params.n)
        return refuse_adapters(ex->params.file, "model.lora_params");
    TRY(convert_open_checkpoint(&ex->store, ex->job));
    TRY(convert_check_past(&ex->params, ex->store)); /* before make_model() changes them */
    TRY(make_model(ex));
    convert_warn_window(ex->model, true);
    TRY(check_plain(ex));
    ex->cs.params = &ex->params;
    ex->cs.model = ex->model;
    TRY(convert_map_create(&ex->map, &ex->cs, false));
    return read_dtypes(ex);
}

/* ---- do both sides agree --------------------------------------------------------------------- */

/* Check that the checkpoint has every tensor of the params with its shape, and no others. */
static enum wsc_err check_tensors(const struct export *ex, struct store_tensor *all)
{
    char name[STORE_NAME_BYTES];
    const char *first;
    int n;
    for (int i = 0; i < ex->model->n_tensors; i++) {
        all[i] = model_stored(&ex->model->tensor[i]);
        if (!store_find_tensor(ex->store, &all[i], name))
            return WSC_RAISE(WSC_FORMAT, "%s: tensor %s is missing", ex->job->input, all[i].name);
        TRY(store_check_shape(ex->store, name, &all[i]));
    }
    TRY(store_count_unknown(ex->store, all, ex->model->n_tensors, &first, &n));
    ex->result->n_left_out = n;
    if (!n) return WSC_OK;
    if (strstr(first, ".lora_")) return refuse_adapters(ex->job->input, first);
    if (!ex->job->lenient)
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: the params have no tensor named %s", ex->job->input, first),
            "--lenient leaves it out");
    WSC_WARNING("%s and %d more tensors are none of the params' and left out", first, n - 1);
    return WSC_OK;
}

/* Called before anything is written, so that a checkpoint that does not match leaves no file. */
static enum wsc_err match(const struct export *ex)
{
    struct store_tensor *all;
    TRY_NEW(all, WSC_MEM_CONVERT, ex->model->n_tensors);
    enum wsc_err rc = check_tensors(ex, all);
    wsc_free(all);
    return rc;
}

/* ---- what will be written -------------------------------------------------------------------- */

/* Type by name; unknown names and NULL are fp32, which loses nothing. */
static enum convert_dtype named_dtype(const char *name)
{
    for (int d = CONVERT_F32; name && d < CONVERT_OTHER; d++)
        if (!strcmp(convert_dtype_name((enum convert_dtype)d), name)) return (enum convert_dtype)d;
    return CONVERT_F32;
}

/* Type of a tensor: that of --dtype, else its type in the original folder. */
static enum convert_dtype dtype_of(const struct export *ex, const char *hf)
{
    if (ex->job->dtype != CONVERT_OTHER) return ex->job->dtype;
    const json_t *own = json_object_get(ex->dtypes, hf);
    if (!own) own = json_object_get(ex->dtypes, "");
    return named_dtype(json_string_value(own));
}

/* Distribute the tensors over files, in the order of the pairs; a new file begins where the next
 * tensor would make one too large. */
static enum wsc_err plan(struct export *ex)
{
    int64_t in_shard = 0;
    int shard = 0;
    TRY_NEW(ex->tensor, WSC_MEM_CONVERT, ex->map.n_pairs);
    TRY_NEW(ex->shard, WSC_MEM_CONVERT, ex->map.n_pairs);
    for (int i = 0; i < ex->map.n_pairs; i++) {
        const struct convert_pair *p = &ex->map.pair[i];
        struct convert_out_tensor *t = &ex->tensor[i];
        (void)snprintf(t->name, sizeof t->name, "%s", p->hf);
        t->dtype = dtype_of(ex, p->hf);
        t->n_dims = p->n_dims;
        convert_pair_shape(p, t->shape);
        t->n = p->n_lines * p->width;
        const int64_t bytes = t->n * convert_dtype_bytes(t->dtype);
        if (in_shard && in_shard + bytes > ex->job->shard_bytes) {
            shard++;
            in_shard = 0;
        }
        in_shard += bytes;
        ex->shard[i] = shard;
        ex->n_bytes += bytes;
        ex->result->n_params += t->n;
    }
    ex->result->n_tensors = ex->map.n_pairs;
    ex->result->n_files = shard + 1;
    return WSC_OK;
}

/* Names of files as in the transformers library. */
static void shard_name(const struct export *ex, int shard, char name[CONVERT_NAME_BYTES])
{
    if (ex->result->n_files == 1)
        (void)snprintf(name, CONVERT_NAME_BYTES, "model.safetensors");
    else
        (void)snprintf(name, CONVERT_NAME_BYTES, "model-%05d-of-%05d.safetensors", shard + 1,
                       (int)ex->result->n_files);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Write tensors first to first + n - 1 of the plan as one file. */
static enum wsc_err write_shard(struct export *ex, struct convert_mover *m, int shard, int first,
                                int n)
{
    char name[CONVERT_NAME_BYTES], path[CONVERT_PATH_BYTES];
    shard_name(ex, shard, name);
    TRY(convert_path(path, ex->job->out, name));
    TRY(convert_writer_create(&m->writer, path, ex->tensor + first, n));
    enum wsc_err rc = WSC_OK;
    for (int i = first; i < first + n && !rc; i++)
        rc = convert_move_to_hf(m, &ex->map.pair[i], ex->model);
    if (!rc) return convert_writer_finish(&m->writer);
    convert_writer_discard(&m->writer);
    return rc;
}

/* Write one shard after the other, each a run of the plan. */
static enum wsc_err write_shards(struct export *ex)
{
    struct convert_mover m;
    enum wsc_err rc = convert_mover_init(&m, &ex->map, ex->job);
    m.store = ex->store;
    for (int first = 0, n; first < ex->map.n_pairs && !rc; first += n) {
        const int shard = ex->shard[first];
        for (n = 0; first + n < ex->map.n_pairs && ex->shard[first + n] == shard;)
            n++;
        rc = write_shard(ex, &m, shard, first, n);
    }
    convert_mover_fini(&m);
    return rc;
}

/* The text of @p json with the fewest digits, of 15 or 17, from which all its reals come back. NULL
 * without memory; the caller frees it. */
static char *text_of(const json_t *json)
{
    const size_t flags = JSON_INDENT(2) | JSON_SORT_KEYS;
    char *text = json_dumps(json, flags | JSON_REAL_PRECISION(15));
    json_t *back = text ? json_loads(text, 0, NULL) : NULL;
    const bool exact = back && json_equal(json, back);
    json_decref(back);
    if (exact) return text;
    free(text);
    return json_dumps(json, flags | JSON_REAL_PRECISION(17));
}

/* Takes @p json. */
static enum wsc_err write_json(const struct export *ex, const char *name, json_t *json)
{
    char path[CONVERT_PATH_BYTES];
    enum wsc_err rc = convert_path(path, ex->job->out, name);
    char *text = text_of(json);
    json_decref(json);
    if (!text) return WSC_RAISE(WSC_NOMEM, "%s: no memory for the text", name);
    if (!rc) rc = out_write_text(path, text);
    free(text);
    return rc;
}

/* An index is written only for several files. */
static enum wsc_err write_index(const struct export *ex)
{
    char name[CONVERT_NAME_BYTES];
    if (ex->result->n_files == 1) return WSC_OK;
    json_t *map = json_object();
    for (int i = 0; i < ex->map.n_pairs; i++) {
        shard_name(ex, ex->shard[i], name);
        (void)json_object_set_new(map, ex->map.pair[i].hf, json_string(name));
    }
    return write_json(ex, "model.safetensors.index.json",
                      json_pack("{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)ex->n_bytes,
                                "weight_map", map));
}

/* config.json has only the type of the tensors: with 32 bits the conversion back makes params that
 * select computation in 32 bits. Warn if the present params select 16 bits. */
static void warn_of_precision(const struct export *ex)
{
    if (dtype_of(ex, "") != CONVERT_F32 || !ex->cs.params->model.mixed_precision) return;
    WSC_WARNING("config.json says torch_dtype float32 and cannot say model.mixed_precision; hint: "
                "converted back, add --set model.mixed_precision=true, or write 16 bits, --dtype "
                "bf16");
}

/* config.json is written last, because a folder without it is not a model. */
static enum wsc_err write_all(struct export *ex)
{
    /* With one of them there, the folder would have parts of two models. */
    static const char *const names[] = {"config.json",
                                        "model.safetensors",
                                        "model.safetensors.index.json",
                                        "pytorch_model.bin",
                                        "pytorch_model.bin.index.json",
                                        "model-*-of-*.safetensors",
                                        "pytorch_model-*-of-*.bin",
                                        NULL};
    json_t *config;
    TRY(convert_check_new(ex->job->out, names));
    TRY(convert_config_to_json(&ex->cs, dtype_of(ex, ""), &config));
    enum wsc_err rc = wsc_file_mkdir(ex->job->out);
    if (!rc) rc = write_shards(ex);
    if (!rc) rc = write_index(ex);
    if (!rc) warn_of_precision(ex);
    if (!rc) return write_json(ex, "config.json", config);
    json_decref(config);
    return rc;
}

enum wsc_err convert_to_hf(const struct convert_job *job, struct convert_result *result)
{
    struct export ex = {.job = job, .result = result};
    *result = (struct convert_result){0};
    enum wsc_err rc = open_input(&ex);
    if (!rc) rc = match(&ex);
    if (!rc) rc = plan(&ex);
    if (!rc) rc = write_all(&ex);
    wsc_free(ex.tensor);
    wsc_free(ex.shard);
    json_decref(ex.dtypes);
    store_close(&ex.store);
    convert_map_fini(&ex.map);
    model_destroy(&ex.model);
    zoo_params_fini(&ex.params);
    return rc;
}
