// SPDX-License-Identifier: Apache-2.0
/* `wsc inspect`: looks into a file, finds out what it is (HDF5: dataset or tensors; safetensors
 * and files of torch.save: tensors; YAML: params or cluster) and prints what is in it.  Other files
 * that the program writes are named, with what reads them. */
#include "cmd.h"
#include "mesh_archive.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/convert.h>
#include <wsc/job.h>
#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/store.h>
#include <wsc/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What is looked into. */
enum kind { YAML, HDF5, WEIGHTS };
static const char *const kind_name[] = {"a YAML", "an HDF5", "a safetensors or torch"};

/* What the ending of a name promises: a file without the signature, empty or cut, is a damaged one
 * and no YAML. */
static const struct {
    const char *ending;
    enum kind kind;
} by_name[] = {{".mdl", HDF5},    {".h5", HDF5},    {".safetensors", WEIGHTS},
               {".bin", WEIGHTS}, {".pt", WEIGHTS}, {".pth", WEIGHTS}};

static enum kind kind_of_name(const char *path)
{
    const char *const dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof by_name / sizeof *by_name; i++)
        if (!strcmp(dot, by_name[i].ending)) return by_name[i].kind;
    return YAML;
}

/* By the first bytes of the file, its signature; so it is read twice, which a pipe cannot be. */
static enum wsc_err find_kind(const char *path, enum kind *kind)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char start[8] = {0};
    bool weights = false;
    struct stat info;
    if (!stat(path, &info) && !S_ISREG(info.st_mode))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: is not a regular file", path),
                            "one file: a dataset (.h5), a checkpoint (.mdl), weights, params or a "
                            "cluster");
    FILE *file = fopen(path, "rb");
    if (!file) return WSC_RAISE(WSC_IO, "%s: %s", path, strerror(errno));
    const size_t n = fread(start, 1, sizeof start, file);
    (void)fclose(file);
    *kind = HDF5;
    if (n == sizeof start && !memcmp(start, signature, sizeof start)) return WSC_OK;
    TRY(convert_is_weights(path, &weights));
    *kind = weights ? WEIGHTS : kind_of_name(path);
    return WSC_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const char *const columns[] = {"name", "type", "shape"};

/* Sums over the datasets of a file, for its last line. */
struct totals {
    struct out_table *table;
    int64_t n_datasets, n_elems;
};

/* A second name below the level that a state dict adds says nothing new. */
static bool is_repeated(const struct store_item *item)
{
    static const char level[] = "model.model.";
    return item->same_as && !strncmp(item->name, level, sizeof level - 1) &&
           strncmp(item->same_as, level, sizeof level - 1) != 0;
}

/* Elements of a dataset; extents beside one of 0 may have any size. */
static int64_t n_elements(const struct store_item *item)
{
    int64_t n = 1;
    for (int d = 0; d < item->n_dims; d++)
        if (!item->shape[d]) return 0;
    for (int d = 0; d < item->n_dims; d++)
        n *= item->shape[d];
    return n;
}

static void write_shape(char *text, size_t size, const struct store_item *item)
{
    size_t used = (size_t)snprintf(text, size, "%s", item->n_dims ? "" : "scalar");
    for (int d = 0; d < item->n_dims && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? " x " : "",
                                 (long long)item->shape[d]);
}

/* One dataset of store_visit(): a line, and its part of the sums. */
static enum wsc_err add_dataset(void *ctx, const struct store_item *item)
{
    struct totals *t = ctx;
    char shape_text[96];
    if (is_repeated(item)) return WSC_OK;
    write_shape(shape_text, sizeof shape_text, item);
    out_table_cell(t->table, "%s", item->name);
    out_table_cell(t->table, "%s", item->type);
    out_table_cell(t->table, "%s%s%s", item->same_as ? "= " : "",
                   item->same_as ? item->same_as : "", item->same_as ? "" : shape_text);
    if (item->same_as) return WSC_OK;
    t->n_datasets++;
    t->n_elems += n_elements(item);
    return WSC_OK;
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

/* A dataset: shape and kind of its samples. */
static enum wsc_err inspect_samples(const char *path, struct store_samples *s)
{
    (void)printf("%s: dataset, %lld samples of %lld tokens, %d rows each\n", path,
                 (long long)store_samples_n(s), (long long)store_samples_T(s),
                 store_samples_rows(s));
    store_samples_close(&s);
    return WSC_OK;
}

/* A checkpoint: names, shapes, types, the number of parameters.  A snapshot of a kernel on the mesh
 * has its command line as well. */
static enum wsc_err inspect_tensors(struct store_file *file, const char *path)
{
    struct totals t = {0};
    int64_t step = -1;
    TRY(out_table_new(&t.table, "llr", columns));
    enum wsc_err rc = store_visit(file, add_dataset, &t);
    if (!rc && store_has(file, "global_step"))
        rc = store_read_i64(file, "global_step", 0, STORE_LAST_STEP, &step);
    char *of = NULL;
    if (!rc && store_has_text(file, APP_SNAPSHOT_CASE))
        rc = store_get_text(file, APP_SNAPSHOT_CASE, &of);
    if (!rc) {
        if (of) (void)printf("snapshot of wsc mesh %s\n", of);
        (void)printf("%s: %lld datasets, %lld elements", path, (long long)t.n_datasets,
                     (long long)t.n_elems);
        if (step >= 0) (void)printf(", global step %lld", (long long)step);
        (void)printf("\n");
        rc = out_table_print(t.table, stdout, 2);
    }
    wsc_free(of);
    out_table_free(&t.table);
    return rc;
}

/* A file that opens as samples is a dataset, any other is tried as a checkpoint. */
static enum wsc_err inspect_hdf5(const char *path)
{
    struct store_file *file = NULL;
    struct store_samples *samples = NULL;
    bool masked = false;
    TRY(store_probe(path));
    if (!store_samples_open(&samples, path, 0)) return inspect_samples(path, samples);
    TRY(store_samples_have(path, "labels", &masked)); /* masked tokens: a second dataset */
    if (masked && !store_samples_open_dataset(&samples, path, "data"))
        return inspect_samples(path, samples);
    TRY(store_open(&file, path));
    enum wsc_err rc = inspect_tensors(file, path);
    store_close(&file);
    if (rc) return rc;
    (void)fflush(stdout);
    out_progress_start("check", 0);
    rc = store_check(path);
    out_progress_end();
    return rc;
}

/* ---- weights of other programs --------------------------------------------------------------- */

static enum wsc_err inspect_weights(const char *path)
{
    struct totals t = {0};
    TRY(out_table_new(&t.table, "llr", columns));
    enum wsc_err rc = convert_visit(path, add_dataset, &t);
    if (!rc) {
        (void)printf("%s: %lld tensors, %lld elements\n", path, (long long)t.n_datasets,
                     (long long)t.n_elems);
        rc = out_table_print(t.table, stdout, 2);
    }
    out_table_free(&t.table);
    return rc;
}

/* ---- YAML ------------------------------------------------------------------------------------ */

/* Constants of a machine file with their sources. */
static enum wsc_err inspect_cluster(const char *path, bool json)
{
    const struct app_config config = {.cluster_path = path};
    struct hw_machine cluster;
    enum wsc_err rc = app_load_cluster(NULL, &config, &cluster, NULL);
    if (!rc) rc = json ? report_constants_print_json(&cluster) : report_constants_print(&cluster);
    hw_machine_fini(&cluster);
    return rc;
}

/* What a params file comes to. */
static enum wsc_err inspect_params(const char *path, bool json)
{
    const struct app_config config = {.params_path = path};
    struct zoo_params params;
    struct hw_machine cluster = {0};
    enum wsc_err rc = app_load_params(NULL, &config, &params);
    if (!rc) rc = app_load_cluster(NULL, &config, &cluster, NULL);
    const struct job job = {.params = &params, .cluster = &cluster};
    struct job_description description = {0};
    if (!rc) rc = job_describe(&description, &job, false);
    if (!rc) rc = report_job_print(&description, NULL, json);
    job_description_fini(&description);
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}

/* A file that no command lists: by the ending of its name and a text in its first bytes ("": any),
 * what it is, and who reads it.  Results come before what looks like them. */
static const struct {
    const char *ending, *holds, *what, *hint;
} others[] = {
    {".json", "\"traceEvents\"", "a trace in Chrome's format",
     "Perfetto (ui.perfetto.dev) and chrome://tracing show it"},
    {".json", "\"virtual_time_ps\"", "the totals of a run", "docs/FILES.md has its fields"},
    {".json", "\"router_cycles\"", "the result of wsc mesh", "docs/FILES.md has its fields"},
    {".json", "\"simulated_cycles\"", "a comparison of wsc validate --mesh",
     "docs/FILES.md has its fields"},
    {".json", "\"requests\"", "the scores of an evaluation", "docs/FILES.md has its fields"},
    {".json", "\"created_by\": \"wsc data", "the counts of a dataset",
     "wsc inspect describes the .h5 files beside it"},
    {".jsonl", "{\"step\": ", "the metrics of a run", "docs/FILES.md has the fields of its lines"},
    {".csv", "num_csx", "a table of results", "docs/FILES.md has its columns"},
    {".csv", "_ps,", "a table of results", "docs/FILES.md has its columns"},
    {".csv", ",published,predicted", "a table of results", "docs/FILES.md has its columns"},
    {".goal", "", "a GOAL schedule", "LogGOPSim reads it"},
    {".html", "", "a page", "a browser shows it"},
    {".svg", "", "a picture", "a browser shows it"},
    {".png", "", "a picture", "a browser shows it"},
    {".pdf", "", "a document", "a viewer of PDF shows it"},
    {".gp", "", "a script of gnuplot", "gnuplot draws it"},
    {".log", "", "a log", "a pager shows it"},
    {"config.json", "", NULL, "wsc convert reads the folder of a Hugging Face checkpoint"},
    {".index.json", "", NULL, "wsc inspect lists the tensors of each of its shards"},
    {".jsonl", "", NULL, "wsc data makes a dataset of texts"},
    {".txt", "", NULL, "wsc data makes a dataset of texts"},
    {".csv", "", NULL, "wsc data makes a dataset of tables"},
    {"", "brain.Event:", "events for TensorBoard", "tensorboard --logdir shows them"},
    {"", "", NULL,
     "a params file has the sections model, train_input, optimizer and runconfig, or trainer"}};

/* The row of a file; a file without a text of the others has the last one. */
static size_t find_other(const char *path, const char *start)
{
    size_t i = 0;
    while (!wsc_ends_with(path, others[i].ending) || !strstr(start, others[i].holds))
        i++;
    return i;
}

static enum wsc_err refuse_other(const char *path, size_t i)
{
    static const char *const none =
        "no params or cluster file, checkpoint, dataset or file of weights";
    const enum wsc_err rc =
        others[i].what
            ? WSC_RAISE(WSC_CONFIG, "%s: wsc inspect does not print %s", path, others[i].what)
            : WSC_RAISE(WSC_CONFIG, "%s: is %s", path, none);
    return wsc_err_hint(rc, "%s", others[i].hint);
}

/* The first bytes of a file as a text, its NULs as blanks. */
static enum wsc_err read_start(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return WSC_RAISE(WSC_IO, "%s: %s", path, strerror(errno));
    const size_t n = fread(text, 1, size - 1, file);
    (void)fclose(file);
    for (size_t i = 0; i < n; i++)
        if (!text[i]) text[i] = ' ';
    text[n] = '\0';
    return WSC_OK;
}

/* Machine and params files are recognised by their keys; one that is named as YAML is read as
 * params, whose errors tell the line that is wrong. */
static enum wsc_err inspect_yaml(const char *path, bool json)
{
    char start[4096];
    char *bytes = NULL;
    size_t n = 0;
    TRY(read_start(path, start, sizeof start));
    const size_t other = find_other(path, start);
    if (others[other].what) return refuse_other(path, other);
    TRY(conf_read_file(path, &bytes, &n));
    const bool cluster = hw_is_machine_file(bytes, n);
    const bool params =
        wsc_ends_with(path, ".yaml") || wsc_ends_with(path, ".yml") || zoo_is_params_file(bytes, n);
    wsc_free(bytes);
    if (cluster) return inspect_cluster(path, json);
    return params ? inspect_params(path, json) : refuse_other(path, other);
}

enum wsc_err app_run_inspect(struct app_call *call)
{
    const struct app_inspect *o = call->request;
    enum kind kind = YAML;
    TRY(find_kind(o->file, &kind));
    if (kind != YAML && o->json)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--json: %s is %s file", o->file, kind_name[kind]),
                            "params and cluster files are described as JSON");
    if (kind == WEIGHTS) return inspect_weights(o->file);
    return kind == HDF5 ? inspect_hdf5(o->file) : inspect_yaml(o->file, o->json);
}
