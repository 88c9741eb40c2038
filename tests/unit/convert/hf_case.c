// SPDX-License-Identifier: Apache-2.0
#include "hf_case.h"

#include "../../support/test.h"

#include <wsc/data.h>
#include <wsc/file.h>
#include <wsc/host.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/out.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- files ----------------------------------------------------------------------------------- */

const char *hf_path(const char *name)
{
    static char path[64][512];
    static int turn;
    turn = (turn + 1) % 64;
    (void)snprintf(path[turn], sizeof path[0], "%s/%s", test_tmpdir(), name);
    return path[turn];
}

bool hf_write(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    return file && fwrite(bytes, 1, n, file) == n && !fclose(file);
}

bool hf_write_text(const char *path, const char *text)
{
    return hf_write(path, text, strlen(text));
}

bool hf_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool hf_write_safetensors(const char *path, const char *header, size_t n)
{
    const uint64_t length = strlen(header); /* tests run on little-endian machines */
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(&length, sizeof length, 1, file) == 1 && fputs(header, file) >= 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = fputc((int)(i % 251), file) != EOF;
    return file && !fclose(file) && ok;
}

/* ---- random folders -------------------------------------------------------------------------- */

static enum wsc_err write_pairs(const char *dir, const struct convert_map *map,
                                enum convert_dtype dtype, uint64_t seed)
{
    char path[512];
    struct convert_writer *w = NULL;
    struct convert_out_tensor *t;
    TRY_NEW(t, WSC_MEM_TEST, map->n_pairs);
    for (int i = 0; i < map->n_pairs; i++) {
        const struct convert_pair *p = &map->pair[i];
        (void)snprintf(t[i].name, sizeof t[i].name, "%s", p->hf);
        t[i].dtype = strstr(p->hf, "norm") ? CONVERT_F32 : dtype;
        t[i].n_dims = p->n_dims;
        convert_pair_shape(p, t[i].shape);
        t[i].n = t[i].shape[0] * t[i].shape[1];
    }
    (void)snprintf(path, sizeof path, "%s/model.safetensors", dir);
    enum wsc_err rc = convert_writer_create(&w, path, t, map->n_pairs);
    for (int i = 0; i < map->n_pairs && !rc; i++) {
        float *x = wsc_alloc(WSC_MEM_TEST, (size_t)t[i].n, sizeof *x);
        test_fill(x, t[i].n, seed + (uint64_t)i);
        rc = x ? convert_writer_append(w, x, t[i].n) : WSC_NOMEM;
        wsc_free(x);
    }
    if (!rc)
        rc = convert_writer_finish(&w);
    else
        convert_writer_discard(&w);
    wsc_free(t);
    return rc;
}

static enum wsc_err write_random(const char *dir, const char *text, enum convert_dtype dtype,
                                 uint64_t seed)
{
    struct convert_source config;
    char *yaml = NULL, path[512];
    struct zoo_params params = {0};
    struct model *model = NULL;
    struct convert_map map = {0};
    struct convert_side cs = {.params = &params};
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    TRY(wsc_file_mkdir(dir));
    TRY(out_write_text(path, text));
    enum wsc_err rc = convert_source_parse(&config, path, text, strlen(text));
    if (!rc) rc = convert_family_of(path, config.json, &cs.family);
    if (!rc) rc = convert_config_to_yaml(cs.family, &config, CONVERT_F32, "none.mdl", &yaml);
    if (!rc) rc = zoo_params_parse(&params, path, yaml, strlen(yaml), NULL, 0);
    if (!rc) rc = model_create(&model, &params, HW_STREAM_BLOCK);
    cs.model = model;
    if (!rc) rc = convert_map_create(&map, &cs, false);
    if (!rc) rc = write_pairs(dir, &map, dtype, seed);
    convert_map_fini(&map);
    model_destroy(&model);
    zoo_params_fini(&params);
    wsc_free(yaml);
    convert_source_fini(&config);
    return rc;
}

bool hf_write_random(const char *dir, const char *config, enum convert_dtype dtype, uint64_t seed)
{
    if (!write_random(dir, config, dtype, seed)) return true;
    (void)fprintf(stderr, "%s\n", wsc_err_trace());
    return false;
}

/* ---- comparing tensors ----------------------------------------------------------------------- */

static char *read_bytes(const struct convert_files *f, const struct convert_tensor *t)
{
    char *bytes = wsc_alloc(WSC_MEM_TEST, (size_t)t->bytes + 1, 1);
    bool ok = bytes && pread(f->file[t->file].fd, bytes, (size_t)t->bytes, t->at) == t->bytes;
    if (ok) return bytes;
    wsc_free(bytes);
    return NULL;
}

static bool same_tensor(const struct convert_files *a, const struct convert_files *b,
                        const struct convert_tensor *t)
{
    const struct convert_tensor *u = convert_files_find(b, t->name);
    bool same = u && u->dtype == t->dtype && u->bytes == t->bytes && u->n_dims == t->n_dims &&
                !memcmp(u->shape, t->shape, sizeof t->shape);
    char *x = read_bytes(a, t), *y = same ? read_bytes(b, u) : NULL;
    same = x && y && !memcmp(x, y, (size_t)t->bytes);
    if (!same) (void)fprintf(stderr, "tensor %s differs\n", t->name);
    wsc_free(x);
    wsc_free(y);
    return same;
}

bool hf_same_tensors(const char *a, const char *b, int n_left_out)
{
    struct convert_files *f = NULL, *g = NULL;
    bool same = !convert_files_open(&f, a) && !convert_files_open(&g, b);
    int n = 0;
    for (int i = 0; same && i < f->n_tensors; i++)
        n += !convert_is_buffer(f->tensor[i].name);
    for (int i = 0; same && i < g->n_tensors; i++) {
        const struct convert_tensor *t = convert_files_find(f, g->tensor[i].name);
        same = t && same_tensor(f, g, t);
        if (!t) (void)fprintf(stderr, "tensor %s is new\n", g->tensor[i].name);
    }
    same = same && n == g->n_tensors + n_left_out;
    convert_files_close(&f);
    convert_files_close(&g);
    return same;
}

/* ---- logits ---------------------------------------------------------------------------------- */

struct forward {
    struct zoo_params params;
    struct model *model;
    struct store_file *store;
    struct host *host;
    struct data_batch *batch;
    json_t *reference;
};

static enum wsc_err open_model(struct forward *f, const char *checkpoint, const char *params)
{
    char *bytes = NULL;
    size_t n = 0;
    TRY(conf_read_file(params, &bytes, &n));
    const struct conf_set narrow_off = {.text = "model.mixed_precision=false"};
    enum wsc_err rc = zoo_params_parse(&f->params, params, bytes, n, &narrow_off, 1);
    wsc_free(bytes);
    TRY(rc);
    TRY(model_create(&f->model, &f->params, HW_STREAM_BLOCK));
    return store_open(&f->store, checkpoint);
}

/* Classes of sequences, or of all their tokens. */
static void fill_classes(struct forward *f, const int64_t *position)
{
    struct data_batch *b = f->batch;
    const json_t *classes = json_object_get(f->reference, "classes");
    for (int64_t i = 0; classes && i < b->n; i++) {
        const json_t *row = json_array_get(classes, (size_t)i);
        b->targets[i] = (float)json_integer_value(json_array_get(row, 0));
        for (int64_t t = 0; t <= position[i]; t++) {
            b->mask[i * f->model->T + t] = 1;
            b->labels[i * f->model->T + t] =
                (int32_t)json_integer_value(json_array_get(row, (size_t)t));
        }
    }
}

/* An encoder's batch also says which tokens are no padding, and their types; its head takes the
 * tokens that are asked for. */
static enum wsc_err fill_encoder(struct forward *f, const int64_t *position)
{
    struct data_batch *b = f->batch;
    const int64_t T = f->model->T;
    const json_t *types = json_object_get(f->reference, "types");
    TRY_NEW(b->attends, WSC_MEM_DATA, b->n * T);
    TRY_NEW(b->token_types, WSC_MEM_DATA, b->n * T);
    TRY_NEW(b->targets, WSC_MEM_DATA, b->n);
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t t = 0; t < T; t++) {
            const json_t *type = json_array_get(json_array_get(types, (size_t)i), (size_t)t);
            b->token_types[i * T + t] = (int32_t)json_integer_value(type);
            b->attends[i * T + t] = t <= position[i];
            b->mask[i * T + t] = t == position[i];
            if (t > position[i]) b->input_ids[i * T + t] = (int32_t)f->model->pad_token;
        }
    fill_classes(f, position);
    return WSC_OK;
}

/* Sequences under @p name from place @p first of each sample on, and the place of their last. */
static void fill_rows(struct forward *f, const char *name, int64_t first, int64_t *last)
{
    const json_t *ids = json_object_get(f->reference, name);
    for (int64_t i = 0; i < f->batch->n; i++) {
        const json_t *row = json_array_get(ids, (size_t)i);
        int32_t *to = f->batch->input_ids + i * f->model->T + first;
        last[i] = (int64_t)json_array_size(row) - 1;
        for (int64_t t = 0; t <= last[i]; t++)
            to[t] = (int32_t)json_integer_value(json_array_get(row, (size_t)t));
    }
}

/* Sources, then what the decoder takes; the sources' tokens are attended to. */
static enum wsc_err fill_pairs(struct forward *f, int64_t *position)
{
    struct data_batch *b = f->batch;
    TRY_NEW(b->attends, WSC_MEM_DATA, b->n * f->model->T);
    fill_rows(f, "ids", 0, position);
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t t = 0; t <= position[i]; t++)
            b->attends[i * f->model->T + t] = 1;
    fill_rows(f, "targets", f->model->stack[0].T, position);
    return WSC_OK;
}

static enum wsc_err fill_batch(struct forward *f, int64_t *position)
{
    const int64_t n = (int64_t)json_array_size(json_object_get(f->reference, "ids"));
    TRY(data_batch_create(&f->batch, n, f->model->T));
    f->batch->n = n;
    if (f->model->n_stacks > 1) return fill_pairs(f, position);
    fill_rows(f, "ids", 0, position);
    return f->model->causal ? WSC_OK : fill_encoder(f, position);
}

static enum wsc_err run_stage(struct forward *f, int s)
{
    const struct model_stage *stage = &f->model->stage[s];
    float *weights;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(weights, WSC_MEM_TEST, stage->n_elems);
    for (int v = 0; v < stage->n_views && !rc; v++) {
        const struct model_tensor *t = &f->model->tensor[stage->view[v].tensor];
        rc = store_read(f->store, t->name, STORE_F32, 0, t->n_elems,
                        weights + stage->view[v].offset);
    }
    if (!rc) host_forward(f->host, s, weights);
    wsc_free(weights);
    return rc;
}

static double compare(const struct forward *f)
{
    const json_t *rows = json_object_get(f->reference, "logits");
    double difference = 0, largest = 0;
    for (int64_t i = 0; i < f->batch->n; i++) {
        const float *ours = host_logits(f->host, i);
        for (int64_t v = 0; v < f->model->V; v++) {
            const json_t *row = json_array_get(rows, (size_t)i);
            const double x = json_real_value(json_array_get(row, (size_t)v));
            difference = num_max_error(difference, fabs(x - (double)ours[v]));
            largest = fmax(largest, fabs(x));
        }
    }
    return largest > 0 ? difference / largest : -1;
}

/* Of the second head: what is left of the losses without the first one's. */
static double compare_pairs(const struct forward *f)
{
    const double expected = json_real_value(json_object_get(f->reference, "pair_nats"));
    double found = 0;
    for (int64_t i = 0; i < f->batch->n && f->model->n_heads > 1; i++) {
        const struct model_loss *loss = &host_losses(f->host)[i];
        found += loss->loss_sum - f->model->head[0].weight * loss->nats;
    }
    return fabs(found - expected) / (1 + expected);
}

/* Of a head of classes: nats of all sequences, or of all their tokens. */
static double compare_classes(const struct forward *f)
{
    const double expected = json_real_value(json_object_get(f->reference, "class_nats"));
    double found = 0;
    for (int64_t i = 0; i < f->batch->n; i++)
        found += host_losses(f->host)[i].nats;
    return expected > 0 ? fabs(found - expected) / expected : -1;
}

static enum wsc_err forward(struct forward *f, const char *reference, double *error)
{
    int64_t position[16];
    TRY(convert_json_read(&f->reference, reference));
    TRY(fill_batch(f, position));
    const int64_t n = f->batch->n;
    TRY(host_create(&f->host, f->model, n, false));
    const struct data_share share = {
        .end_leaf = n, .n_leaves = n, .leaf_samples = 1, .batch_size = n};
    host_begin(f->host, &share, f->batch);
    const bool classes = json_object_get(f->reference, "classes") != NULL;
    if (!classes) TRY(host_want_logits(f->host, position));
    for (int s = 0; s < f->model->n_stages; s++)
        TRY(run_stage(f, s));
    *error = classes ? compare_classes(f) : num_max_error(compare(f), compare_pairs(f));
    return WSC_OK;
}

double hf_logits_error(const char *checkpoint, const char *params, const char *reference)
{
    struct forward f = {0};
    double error = -1;
    enum wsc_err rc = open_model(&f, checkpoint, params);
    if (!rc) rc = forward(&f, reference, &error);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    host_destroy(&f.host);
    data_batch_destroy(&f.batch);
    store_close(&f.store);
    model_destroy(&f.model);
    zoo_params_fini(&f.params);
    json_decref(f.reference);
    return error;
}
