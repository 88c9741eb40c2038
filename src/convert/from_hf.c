// SPDX-License-Identifier: Apache-2.0
/* Converts a Hugging Face folder to a checkpoint and params: config.json gives params, params give
 * a model, the table of the family matches its tensors with those of the folder, and then values
 * are copied a block at a time. */
#include "hf_config.h"
#include "hf_families.h"
#include "hf_family.h"
#include "hf_key.h"
#include "hf_source.h"
#include "job_params.h"
#include "json_file.h"
#include "output_folder.h"
#include "tensor_map.h"
#include "tensor_mover.h"
#include "weight_files.h"
#include "weight_shards.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>
#include <wsc/out.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* State of one conversion; convert_from_hf() frees it at its end, also after an error. */
struct import {
    const struct convert_job *job;
    struct convert_result *result;
    char config_path[CONVERT_PATH_BYTES];
    struct convert_files *files;
    struct convert_source config;
    char *yaml;
    struct zoo_params params;
    struct model *model;
    struct convert_side cs;
    struct convert_map map;
    const struct convert_tensor **from; /* tensor of the folder for each pair; NULL: left out */
    bool *used;                         /* for each tensor of the files: a pair uses it */
};

/* ---- what is there --------------------------------------------------------------------------- */

/* Find config.json in the folder, or beside the file that was given. */
static enum wsc_err find_config(struct import *im)
{
    const char *input = im->job->input, *slash = strrchr(input, '/');
    struct stat info;
    int n = (int)strlen(input);
    const bool folder = !stat(input, &info) && S_ISDIR(info.st_mode);
    if (!folder) n = slash ? (int)(slash - input) : 0;
    int written = snprintf(im->config_path, sizeof im->config_path, "%.*s%sconfig.json", n, input,
                           n ? "/" : "");
    if (written < (int)sizeof im->config_path) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s: the path is too long", input);
}

/* True when a folder has the body alone, without the level that a model with a head adds. */
static bool is_bare(const struct import *im)
{
    char name[CONVERT_NAME_BYTES];
    const struct convert_family *f = im->cs.family;
    (void)snprintf(name, sizeof name, "%s%s", f->prefix, f->rule[0].hf);
    return !convert_files_find(im->files, name) && convert_files_find(im->files, f->rule[0].hf);
}

/* The params are parsed as if config.json were their file, because the user has no other one. */
static enum wsc_err make_model(struct import *im)
{
    TRY(convert_parse_params(&im->params, im->job, im->config_path, im->yaml, strlen(im->yaml)));
    return model_create(&im->model, &im->params, HW_STREAM_BLOCK);
}

/* Report why the params select computation in 32 bits, unless the command line does so. */
static void report_precision(const struct import *im)
{
    static const char key[] = "model.mixed_precision=";
    bool said = im->params.model.mixed_precision;
    for (int i = 0; i < im->job->n_sets; i++)
        said = said || !strncmp(im->job->set[i].text, key, strlen(key));
    if (!said)
        WSC_INFO("model.mixed_precision: false, as torch_dtype of config.json, or without it the "
                 "tensors, have 32 bits; --set model.mixed_precision=true computes in 16");
}

/* The type of most weights of the folder. */
static enum convert_dtype most_stored(const struct convert_files *files)
{
    int64_t n[CONVERT_OTHER + 1] = {0};
    int most = CONVERT_F32;
    for (int i = 0; i < files->n_tensors; i++)
        n[files->tensor[i].dtype] += files->tensor[i].n;
    for (int d = 0; d < CONVERT_OTHER; d++)
        if (n[d] > n[most]) most = d;
    return (enum convert_dtype)most;
}

/* Errors of the params that were made of config.json are reported at its keys
 * (convert_source_blame). */
static enum wsc_err open_input(struct import *im)
{
    struct convert_result *r = im->result;
    TRY(find_config(im));
    TRY(convert_source_read(&im->config, im->config_path));
    TRY(convert_family_of(im->config_path, im->config.json, &im->cs.family));
    TRY(convert_files_open(&im->files, im->job->input));
    r->family = im->cs.family->name;
    TRY(convert_config_to_yaml(im->cs.family, &im->config, most_stored(im->files), r->checkpoint,
                               &im->yaml));
    const enum wsc_err rc = make_model(im);
    if (rc) return convert_source_blame(&im->config, im->cs.family, rc);
    convert_warn_window(im->model, false);
    im->cs.params = &im->params;
    im->cs.model = im->model;
    report_precision(im);
    TRY(convert_map_create(&im->map, &im->cs, is_bare(im)));
    return WSC_OK;
}

/* ---- do both sides agree --------------------------------------------------------------------- */

/* "12, 768" for messages. */
static void shape_text(char *text, size_t size, int n_dims, const int64_t *shape)
{
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < n_dims && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? ", " : "",
                                 (long long)shape[d]);
}

/* Check type and shape of a folder's tensor against the configuration. */
static enum wsc_err check_tensor(const struct import *im, const struct convert_pair *p,
                                 const struct convert_tensor *t)
{
    char found[128], expected[128];
    int64_t shape[2];
    const char *path = im->files->file[t->file].path;
    if (t->dtype == CONVERT_OTHER)
        return WSC_RAISE(WSC_FORMAT, "%s: %s holds neither F32, F16 nor BF16", path, t->name);
    convert_pair_shape(p, shape);
    if (t->n_dims == p->n_dims && t->shape[0] == shape[0] &&
        (t->n_dims < 2 || t->shape[1] == shape[1]))
        return WSC_OK;
    shape_text(found, sizeof found, t->n_dims, t->shape);
    shape_text(expected, sizeof expected, p->n_dims, shape);
    return WSC_RAISE(WSC_FORMAT, "%s: %s has shape (%s), config.json gives (%s)", path, t->name,
                     found, expected);
}

/* A tensor of a pair is missing: with --lenient it is reported and left out, otherwise an error. */
static enum wsc_err missing(struct import *im, const struct convert_pair *p)
{
    im->result->n_left_out++;
    if (!im->job->lenient)
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: tensor %s is missing", im->job->input, p->hf),
            "--lenient leaves it out of the checkpoint, which then loads with "
            "disable_strict_checkpoint_loading");
    WSC_WARNING("%s: tensor %s is missing and left out", im->job->input, p->hf);
    return WSC_OK;
}

/* Folders of before 2019 call the weight and the bias of a norm gamma and beta, as the transformers
 * library still reads them. */
static const struct convert_tensor *find_older(const struct import *im, const char *name)
{
    static const char *const word[][2] = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                                          {".LayerNorm.bias", ".LayerNorm.beta"}};
    char older[CONVERT_NAME_BYTES];
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, word[i][0]);
        if (!at || at[strlen(word[i][0])]) continue;
        (void)snprintf(older, sizeof older, "%.*s%s", (int)(at - name), name, word[i][1]);
        return convert_files_find(im->files, older);
    }
    return NULL;
}

/* Find and check the folder's tensor of a pair; NULL in `from` when it is left out. */
static enum wsc_err match_pair(struct import *im, int i)
{
    const struct convert_pair *p = &im->map.pair[i];
    const struct convert_tensor *t = convert_files_find(im->files, p->hf);
    if (!t) t = find_older(im, p->hf);
    if (!t) return missing(im, p);
    TRY(check_tensor(im, p, t));
    im->used[t - im->files->tensor] = true;
    im->from[i] = t;
    return WSC_OK;
}

static enum wsc_err match_pairs(struct import *im)
{
    for (int i = 0; i < im->map.n_pairs; i++)
        TRY(match_pair(im, i));
    return WSC_OK;
}

/* True for the tensor of a tied head, which is the embedding, even if a folder also stores it. */
static bool is_tied_head(const struct import *im, const char *name)
{
    const struct convert_family *f = im->cs.family;
    for (int i = 0; im->model->tied && i < f->n_rules; i++)
        if (*f->rule[i].hf == '/' && !strcmp(f->rule[i].hf + 1, name)) return true;
    return false;
}

/* The folder's table of tokens that stands for the head too, of a decoder the last one; NULL: it is
 * left out. */
static const struct convert_tensor *find_tied_table(const struct import *im)
{
    const struct convert_tensor *table = NULL;
    for (int i = 0; i < im->map.n_pairs; i++)
        if (im->model->tensor[im->map.pair[i].tensor[0]].kind == MODEL_WTE) table = im->from[i];
    return table;
}

/* Compare the values of two matrices of one shape, in blocks of rows. */
static enum wsc_err compare_tables(const struct import *im, const struct convert_tensor *a,
                                   const struct convert_tensor *b, bool *same)
{
    const int64_t width = a->shape[1], most = CONVERT_BLOCK_ELEMS / width + 1;
    float *x;
    TRY_NEW(x, WSC_MEM_CONVERT, 2 * most * width);
    enum wsc_err rc = WSC_OK;
    for (int64_t row = 0; row < a->shape[0] && !rc && *same; row += most) {
        const int64_t left = a->shape[0] - row;
        const struct store_box box = {row, left < most ? left : most, 0, width};
        rc = convert_files_read(im->files, a, &box, x);
        if (!rc) rc = convert_files_read(im->files, b, &box, x + most * width);
        *same = !memcmp(x, x + most * width, (size_t)(box.rows * width) * sizeof *x);
    }
    wsc_free(x);
    return rc;
}

/* A folder whose tied head has values of its own contradicts its config.json. */
static enum wsc_err check_tied_head(const struct import *im, const struct convert_tensor *head)
{
    const struct convert_tensor *table = find_tied_table(im);
    if (!table || table->n_dims != 2) return WSC_OK;
    bool same = head->n_dims == 2 && head->shape[0] == table->shape[0] &&
                head->shape[1] == table->shape[1] && head->dtype != CONVERT_OTHER;
    if (same) TRY(compare_tables(im, table, head, &same));
    if (!same)
        WSC_WARNING("tensor %s differs from %s and is left out, as config.json has "
                    "tie_word_embeddings: true; hint: false there if the model has a head of its "
                    "own",
                    head->name, table->name);
    return WSC_OK;
}

/* True for a second name of a table that the model has once. */
static bool is_copy(const struct import *im, const char *name)
{
    const char *const *copy = im->cs.family->copies;
    for (; copy && *copy; copy++)
        if (!strcmp(*copy, name)) return true;
    return false;
}

/* A tensor without a place in the model: an error unless it may be left out. */
static enum wsc_err leave_out(struct import *im, const struct convert_tensor *t)
{
    const struct convert_family *family = im->cs.family;
    im->result->n_left_out++;
    if (!im->job->lenient && !convert_ends_with(family->beside, t->name))
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: tensor %s is none of a %s model",
                                      im->files->file[t->file].path, t->name, family->name),
                            "--lenient leaves it out");
    WSC_WARNING("tensor %s is none of a %s model and left out", t->name, family->name);
    return WSC_OK;
}

/* Check the tensors of the folder that no pair uses: buffers and copies of a tied head are known,
 * others are errors. */
static enum wsc_err match_rest(struct import *im)
{
    for (int i = 0; i < im->files->n_tensors; i++) {
        const struct convert_tensor *t = &im->files->tensor[i];
        if (im->used[i] || convert_is_buffer(t->name) || is_copy(im, t->name)) continue;
        TRY(is_tied_head(im, t->name) ? check_tied_head(im, t) : leave_out(im, t));
    }
    return WSC_OK;
}

/* Called before anything is written, so that a folder that does not match leaves no file. */
static enum wsc_err match(struct import *im)
{
    TRY_NEW(im->from, WSC_MEM_CONVERT, im->map.n_pairs);
    TRY_NEW(im->used, WSC_MEM_CONVERT, im->files->n_tensors);
    TRY(match_pairs(im));
    return match_rest(im);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Define the tensors of the checkpoint under the names of this program, all before their values are
 * written. */
static enum wsc_err define_parts(struct import *im, const struct convert_pair *p,
                                 struct store_file *store)
{
    for (int part = 0; part < p->n_parts; part++) {
        const struct model_tensor *tensor = &im->model->tensor[p->tensor[part]];
        const struct store_tensor t = model_stored(tensor);
        TRY(store_define_tensor(store, &t));
        im->result->n_tensors++;
        im->result->n_params += tensor->n_elems;
    }
    return WSC_OK;
}

/* Define all tensors, except those of pairs that are left out. */
static enum wsc_err define(struct import *im, struct store_file *store)
{
    for (int i = 0; i < im->map.n_pairs; i++)
        if (im->from[i]) TRY(define_parts(im, &im->map.pair[i], store));
    return WSC_OK;
}

/* Store the types of the folder's tensors, so that the conversion back gives equal bytes: the type
 * of most tensors under "", other types under the tensors' names. */
static enum wsc_err note_dtypes(const struct import *im, struct store_file *store)
{
    int count[CONVERT_OTHER + 1] = {0}, most = 0;
    for (int i = 0; i < im->map.n_pairs; i++)
        if (im->from[i]) count[im->from[i]->dtype]++;
    for (int d = 1; d < CONVERT_OTHER; d++)
        if (count[d] > count[most]) most = d;
    json_t *note = json_pack("{s:s}", "", convert_dtype_name((enum convert_dtype)most));
    for (int i = 0; i < im->map.n_pairs; i++)
        if (im->from[i] && (int)im->from[i]->dtype != most)
            (void)json_object_set_new(note, im->map.pair[i].hf,
                                      json_string(convert_dtype_name(im->from[i]->dtype)));
    char *text = json_dumps(note, JSON_COMPACT);
    json_decref(note);
    enum wsc_err rc = text ? store_set_text(store, CONVERT_DTYPES, text)
                           : WSC_RAISE(WSC_NOMEM, "no memory for the types of tensors");
    free(text);
    return rc;
}

/* Write the values of all pairs, in the order of the table. */
static enum wsc_err fill(struct import *im, struct store_file *store)
{
    struct convert_mover m;
    enum wsc_err rc = convert_mover_init(&m, &im->map, im->job);
    m.store = store;
    m.files = im->files;
    for (int i = 0; i < im->map.n_pairs && !rc; i++) {
        m.from = im->from[i];
        if (m.from) rc = convert_move_to_cs(&m, &im->map.pair[i], im->model);
    }
    convert_mover_fini(&m);
    return rc;
}

/* store_commit() renames the file at the end, so a failure before leaves no file. */
static enum wsc_err write_checkpoint(struct import *im)
{
    struct store_file *store = NULL;
    TRY(store_create(&store, im->result->checkpoint, NULL));
    enum wsc_err rc = define(im, store);
    if (!rc) rc = store_describe(store);
    if (!rc) rc = note_dtypes(im, store);
    if (!rc) rc = fill(im, store);
    if (!rc) return store_commit(&store);
    store_close(&store);
    return rc;
}

/* The params are written last, because they contain the path of the complete checkpoint. */
static enum wsc_err write_all(struct import *im)
{
    TRY(wsc_file_mkdir(im->job->out));
    TRY(write_checkpoint(im));
    im->result->n_files = 1;
    return out_write_text(im->result->params, im->yaml);
}

enum wsc_err convert_from_hf(const struct convert_job *job, struct convert_result *result)
{
    struct import im = {.job = job, .result = result};
    TRY(convert_name_checkpoint(job, result));
    enum wsc_err rc = open_input(&im);
    if (!rc) rc = match(&im);
    if (!rc) rc = write_all(&im);
    wsc_free(im.from);
    wsc_free(im.used);
    convert_map_fini(&im.map);
    model_destroy(&im.model);
    zoo_params_fini(&im.params);
    wsc_free(im.yaml);
    convert_source_fini(&im.config);
    convert_files_close(&im.files);
    return rc;
}
