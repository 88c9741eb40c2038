// SPDX-License-Identifier: Apache-2.0
/* Every family against PyTorch, and with itself on other numbers of systems and ranks.
 * tests/fixtures/make_family_fixtures.py and make_generated.py made the references and describe
 * their layout. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/hash.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <dirent.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/data/families"
enum { B = 3, LEAST_CASES = 120, TRAIN_STEPS = 3 };

/* Owns what it points to. */
struct family {
    char name[64], dir[200];
    char *model, *input, *tensors;
    int16_t *weight;
    float *grad;
    double loss;
    /* NaN unless tokens have classes, or unless sequences are of sets */
    double f1, matched, mismatched;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* A dataset as @p type, owned, with a 0 after it; *n its elements (bytes of a text). */
static void *read_set(hid_t file, const char *name, hid_t type, size_t size, int64_t *n)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    hid_t stored = H5Dget_type(set);
    const bool text = H5Tget_class(stored) == H5T_STRING;
    if (text) type = stored;
    *n = text ? (int64_t)H5Tget_size(stored) : H5Sget_simple_extent_npoints(space);
    void *data = wsc_alloc(WSC_MEM_TEST, (size_t)*n + 1, size);
    if (!data || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) abort();
    (void)H5Tclose(stored);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return data;
}

/* Samples (B, rows, T) in memory as a file of the folder. */
static bool write_file(const char *dir, const int32_t *data, int64_t T, bool vsl)
{
    const struct store_samples_shape shape = {.n = B, .T = T, .vsl = vsl};
    struct store_samples_writer *w = NULL;
    char path[240];
    (void)snprintf(path, sizeof path, "%s/samples.h5", dir);
    const bool ok = store_samples_create(&w, path, &shape) == WSC_OK &&
                    store_samples_append(w, data, B) == WSC_OK &&
                    store_samples_finish(&w) == WSC_OK;
    store_samples_discard(&w);
    return ok;
}

static bool write_samples(hid_t file, const char *dir)
{
    static const char *const row[] = {"input_ids", "attention_mask", "labels", "attention_span",
                                      "position_ids"};
    const int n_rows = H5Lexists(file, "attention_span", H5P_DEFAULT) > 0 ? 5 : 3;
    int32_t *values[5], *data;
    int64_t n = 0;
    for (int r = 0; r < n_rows; r++)
        values[r] = read_set(file, row[r], H5T_NATIVE_INT32, sizeof *values[r], &n);
    const int64_t T = n / B;
    data = wsc_alloc(WSC_MEM_TEST, (size_t)(n_rows * n), sizeof *data);
    for (int64_t i = 0; data && i < n_rows * n; i++)
        data[i] = values[i / T % n_rows][i / (n_rows * T) * T + i % T];
    const bool ok = data && write_file(dir, data, T, n_rows == 5);
    for (int r = 0; r < n_rows; r++)
        wsc_free(values[r]);
    wsc_free(data);
    return ok;
}

/* One file of the case in its folder; those of encoders are as their loaders have them. */
static herr_t write_data_file(hid_t files, const char *name, const H5L_info_t *info, void *dir)
{
    char path[300];
    int64_t n;
    (void)info;
    char *bytes = read_set(files, name, H5T_NATIVE_UCHAR, 1, &n);
    (void)snprintf(path, sizeof path, "%s/%s", (const char *)dir, name);
    FILE *out = fopen(path, "w");
    const bool ok = out && fwrite(bytes, 1, (size_t)n, out) == (size_t)n;
    wsc_free(bytes);
    return (out && fclose(out)) || !ok ? -1 : 0;
}

static bool write_data(hid_t file, char *dir)
{
    if (H5Lexists(file, "files", H5P_DEFAULT) <= 0) return write_samples(file, dir);
    hid_t files = H5Gopen2(file, "files", H5P_DEFAULT);
    const bool ok = H5Literate(files, H5_INDEX_NAME, H5_ITER_INC, NULL, write_data_file, dir) >= 0;
    (void)H5Gclose(files);
    return ok;
}

/* One line of `tensors`: a name, then one extent or two. */
struct tensor {
    char name[160];
    int n_dims;
    int64_t shape[2], n;
};

static const char *next_tensor(const char *line, struct tensor *t)
{
    if (!line || !*line) return NULL;
    const size_t n = strcspn(line, " ");
    (void)snprintf(t->name, sizeof t->name, "%.*s", (int)n, line);
    char *at = NULL;
    t->shape[0] = strtoll(line + n, &at, 10);
    t->n_dims = *at == ' ' ? 2 : 1;
    t->shape[1] = t->n_dims == 2 ? strtoll(at, &at, 10) : 1;
    t->n = t->shape[0] * t->shape[1];
    return at + 1;
}

static bool write_weights(const struct family *f)
{
    const struct store_group alone = {.size = 1};
    struct store_file *file = NULL;
    struct tensor t;
    char path[240];
    int64_t at = 0;
    (void)snprintf(path, sizeof path, "%s/weights.mdl", f->dir);
    bool ok = store_create(&file, path, &alone) == WSC_OK;
    for (const char *line = f->tensors; ok && (line = next_tensor(line, &t));)
        ok = store_define(file, t.name, STORE_F32, t.n_dims, t.shape) == WSC_OK;
    for (const char *line = f->tensors; ok && (line = next_tensor(line, &t)); at += t.n) {
        float *x = wsc_alloc(WSC_MEM_TEST, (size_t)t.n, sizeof *x);
        for (int64_t i = 0; x && i < t.n; i++)
            x[i] = (float)f->weight[at + i] / 256;
        ok = x && store_write(file, t.name, 0, t.n, x) == WSC_OK;
        wsc_free(x);
    }
    return ok && store_commit(&file) == WSC_OK;
}

static bool write_params(const struct family *f)
{
    char path[240];
    (void)snprintf(path, sizeof path, "%s/params.yaml", f->dir);
    FILE *out = fopen(path, "w");
    if (!out) return false;
    (void)fprintf(out,
                  "train_input:\n    data_processor: GptHDF5MapDataProcessor\n    data_dir: %s\n"
                  "    batch_size: %d\n    shuffle: false\n",
                  f->dir, B);
    for (const char *at = f->input; at && *at; at++) /* @: the folder of the case */
        (void)fprintf(out, *at == '@' ? "%s" : "%.1s", *at == '@' ? f->dir : at);
    (void)fprintf(out,
                  "%soptimizer:\n    optimizer_type: AdamW\n    learning_rate: 0.01\n"
                  "runconfig:\n    num_steps: 1\n",
                  f->model);
    return !fclose(out);
}

/* A number, or NaN if the file has none of this name. */
static double read_number(hid_t file, const char *name)
{
    int64_t n;
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0) return NAN;
    double *stored = read_set(file, name, H5T_NATIVE_DOUBLE, sizeof *stored, &n);
    const double value = *stored;
    wsc_free(stored);
    return value;
}

/* The case of @p file_name, with its params, samples and weights as files. */
static void open_case(struct family *f, const char *file_name)
{
    char path[200];
    int64_t n;
    (void)snprintf(path, sizeof path, FOLDER "/%.100s", file_name);
    (void)snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(file_name, "."), file_name);
    (void)snprintf(f->dir, sizeof f->dir, "%s", job_path(f->name));
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    f->model = read_set(file, "model", 0, 1, &n);
    if (H5Lexists(file, "input", H5P_DEFAULT) > 0) f->input = read_set(file, "input", 0, 1, &n);
    f->tensors = read_set(file, "tensors", 0, 1, &n);
    f->weight = read_set(file, "weights", H5T_NATIVE_INT16, sizeof *f->weight, &n);
    f->grad = read_set(file, "grad", H5T_NATIVE_FLOAT, sizeof *f->grad, &n);
    f->loss = read_number(file, "loss");
    f->f1 = read_number(file, "f1");
    f->matched = read_number(file, "accuracy_matched");
    f->mismatched = read_number(file, "accuracy_mismatched");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", f->dir) && write_data(file, f->dir));
    CU_ASSERT_FATAL(write_weights(f) && write_params(f));
    (void)H5Fclose(file);
}

static void close_case(struct family *f)
{
    wsc_free(f->model);
    wsc_free(f->input);
    wsc_free(f->tensors);
    wsc_free(f->weight);
    wsc_free(f->grad);
}

static void each_case(void (*check)(const struct family *f))
{
    DIR *folder = opendir(FOLDER);
    int n = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    if (!folder) return;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        struct family f = {.name = ""};
        if (!strstr(e->d_name, ".h5")) continue;
        open_case(&f, e->d_name);
        check(&f);
        close_case(&f);
        n++;
    }
    (void)closedir(folder);
    CU_ASSERT(n >= LEAST_CASES);
}

/* ---- against PyTorch ------------------------------------------------------------------------- */

/* What stands before the program, and its options. */
struct way {
    const char *before, *options;
};

static bool dump_as(const struct family *f, const struct way *way, char path[240])
{
    static int n;
    (void)snprintf(path, 240, "%s/gradients_%d.mdl", f->dir, n++);
    return spawn_ok("%s \"$WSC\" run --params %s/params.yaml --checkpoint_path %s/weights.mdl "
                    "--dump_gradients %s --model_dir %s/run %s",
                    way->before, f->dir, f->dir, path, f->dir, way->options);
}

static bool dump(const struct family *f, const char *options, char path[240])
{
    return dump_as(f, &(struct way){"", options}, path);
}

/* Of the largest gradient of a tensor; the mesh adds up in other orders and in fp32 throughout. */
#define HOST_TOLERANCE 1e-5
#define MESH_TOLERANCE 2e-5

/* Largest difference and largest value of a tensor's gradient; equal bits with @p same. */
static bool compare_tensor(const struct tensor *t, const float *expected, struct store_file *file,
                           struct store_file *same, double tolerance)
{
    float *ours = wsc_alloc(WSC_MEM_TEST, (size_t)t->n, sizeof *ours);
    float *again = wsc_alloc(WSC_MEM_TEST, (size_t)t->n, sizeof *again);
    double difference = 0, largest = 0;
    bool ok = ours && again && store_read(file, t->name, STORE_F32, 0, t->n, ours) == WSC_OK &&
              store_read(same, t->name, STORE_F32, 0, t->n, again) == WSC_OK;
    ok = ok && !memcmp(ours, again, (size_t)t->n * sizeof *ours);
    for (int64_t i = 0; ok && i < t->n; i++) {
        difference = num_max_error(difference, fabs((double)ours[i] - (double)expected[i]));
        largest = fmax(largest, fabs((double)expected[i]));
    }
    wsc_free(ours);
    wsc_free(again);
    /* Some tensors have no influence, such as the bias of keys: zero up to rounding. */
    ok = ok && difference <= (largest < 1e-7 ? 1e-7 : tolerance * largest);
    if (!ok) (void)fprintf(stderr, "%s: off by %.3g of %.3g\n", t->name, difference, largest);
    return ok;
}

/* A frozen tensor has no gradient, there or here. */
static bool has_no_gradient(const struct tensor *t, const float *expected, struct store_file *same)
{
    bool ok = !store_has(same, t->name);
    for (int64_t i = 0; i < t->n; i++)
        ok = ok && expected[i] == 0;
    if (!ok) (void)fprintf(stderr, "%s: no gradient\n", t->name);
    return ok;
}

static bool compare(const struct family *f, const char *path, const char *same_path,
                    double tolerance)
{
    struct store_file *file = NULL, *same = NULL;
    struct tensor t;
    double loss = 0;
    int64_t at = 0;
    bool ok = store_open(&file, path) == WSC_OK && store_open(&same, same_path) == WSC_OK &&
              store_read(file, "loss", STORE_F64, 0, 1, &loss) == WSC_OK;
    ok = ok && fabs(loss - f->loss) <= 1e-5 * f->loss;
    if (!ok) (void)fprintf(stderr, "loss %.9g, expected %.9g\n", loss, f->loss);
    for (const char *line = f->tensors; (line = next_tensor(line, &t)); at += t.n)
        ok = (store_has(file, t.name) ? compare_tensor(&t, f->grad + at, file, same, tolerance)
                                      : has_no_gradient(&t, f->grad + at, same)) &&
             ok;
    store_close(&file);
    store_close(&same);
    return ok;
}

static void check_gradients(const struct family *f)
{
    char one[240], three[240];
    bool ok = dump(f, "--num_csx 1", one) &&
              dump(f, "--num_csx 3 --set cluster.stream.granularity=matrix", three) &&
              compare(f, one, three, HOST_TOLERANCE);
    if (!ok) (void)fprintf(stderr, "in: %s\n", f->name);
    CU_ASSERT(ok);
}

TEST(families, gradients_are_those_of_pytorch)
{
    each_case(check_gradients);
}

/* ---- ways of running --------------------------------------------------------------------------
 */

/* Ranks take longest to start; these families have every feature among them. */
static bool on_ranks_too(const struct family *f)
{
    static const char *const names[] = {
        "gpt_neox",         "bloom",        "gemma2",     "mixtral",       "moe_shared",
        "bert_pairs",       "bert_tokens",  "bert_spans", "esm2",          "esm2_packed",
        "t5_mup_heads",     "transformer",  "vsl_slopes", "relative_long", "qk_norm_llama",
        "tune_select_gpt2", "moe_sinkhorn", "moe_before"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(f->name, names[i])) return true;
    return false;
}

/* ---- scores of classes ----------------------------------------------------------------------- */

/* True when the number after @p name in @p text is @p expected. */
static bool says(const char *text, const char *name, double expected)
{
    const char *at = text ? strstr(text, name) : NULL;
    return at && fabs(strtod(at + strlen(name), NULL) - expected) < 1e-12;
}

/* A score of one evaluation in the log, on stdout and in metrics.jsonl. */
struct score {
    const char *name;
    double expected;
};

static bool says_everywhere(const struct score *s, const struct spawn_result *run,
                            const char *metrics)
{
    char log[80], json[80];
    (void)snprintf(log, sizeof log, "eval/%s = ", s->name);
    (void)snprintf(json, sizeof json, "\"eval_%s\": ", s->name);
    const bool ok = says(run->err, log, s->expected) && says(run->out, json, s->expected) &&
                    says(metrics, json, s->expected);
    if (!ok) (void)fprintf(stderr, "%s, expected %.17g:\n%s\n", s->name, s->expected, run->err);
    return ok;
}

static bool evaluates(const struct family *f, const struct way *way, const struct score *score,
                      int n)
{
    struct spawn_result r, metrics;
    spawn_run(&r,
              "rm -rf %s/evaluated; %s \"$WSC\" run --params %s/params_eval.yaml "
              "--checkpoint_path %s/weights.mdl --mode eval --json --model_dir %s/evaluated %s",
              f->dir, way->before, f->dir, f->dir, f->dir, way->options);
    spawn_run(&metrics, "tail -n 1 %s/evaluated/metrics.jsonl", f->dir);
    bool ok = !r.status;
    for (int i = 0; i < n; i++)
        ok = says_everywhere(&score[i], &r, metrics.out) && ok;
    if (!ok) (void)fprintf(stderr, "in: %s\n", f->name);
    spawn_free(&r);
    spawn_free(&metrics);
    return ok;
}

static void check_scores(const struct family *f, const struct score *score, int n)
{
    static const struct way ways[] = {
        {"", "--num_csx 1"},
        {"mpirun --quiet -n 3", "--num_csx 3 --set cluster.memoryx.shards=2"},
        {"", "--num_csx 2 --numerics mesh --set cluster.wafer.pe_cols=8 --set "
             "cluster.wafer.pe_rows=6"}};
    CU_ASSERT_FATAL(spawn_ok("sed 's/train_input/eval_input/' %s/params.yaml > "
                             "%s/params_eval.yaml",
                             f->dir, f->dir));
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++)
        CU_ASSERT(evaluates(f, &ways[i], score, n));
}

static void check_f1(const struct family *f)
{
    if (!isnan(f->f1)) check_scores(f, &(struct score){"f1_score", f->f1}, 1);
}

TEST(families, f1_of_token_classes_is_that_of_pytorch)
{
    each_case(check_f1);
}

static void check_sets(const struct family *f)
{
    const struct score sets[] = {{"accuracy_matched", f->matched},
                                 {"accuracy_mismatched", f->mismatched}};
    if (!isnan(f->matched)) check_scores(f, sets, 2);
}

TEST(families, accuracy_of_matched_and_mismatched_pairs_is_that_of_pytorch)
{
    each_case(check_sets);
}

/* ---- generated texts ------------------------------------------------------------------------- */

#define GENERATED "tests/data/generated.txt"
enum { MOST_IDS = 600, TEXTS = 3 };

/* The texts of a family, and the command that continues their beginnings. */
struct texts {
    int n, most_new;
    char ids[TEXTS][MOST_IDS];
    char prompts[400];
};

/* The first @p n ids of a list, without the comma after them. */
static int ids_length(const char *ids, int n)
{
    const char *at = ids;
    for (int i = 0; i < n && *at; i++)
        at += strcspn(at, ",>") + (i < n - 1);
    return (int)(at - ids);
}

/* A text begins with the ids that are given, a target after `>` does not. */
static void take_text(struct texts *t, const char *ids, int n_given)
{
    const size_t used = strlen(t->prompts);
    const char *target = strchr(ids, '>');
    int n_new = 1 - (target ? 0 : n_given);
    for (const char *at = target ? target : ids; *at; at++)
        n_new += *at == ',';
    if (n_new > t->most_new) t->most_new = n_new;
    (void)snprintf(t->ids[t->n++], MOST_IDS, "%s", target ? target + 1 : ids);
    (void)snprintf(t->prompts + used, sizeof t->prompts - used, " --prompt_ids %.*s",
                   ids_length(ids, n_given), ids);
}

/* A line is the name of a case, the number of ids that are given, all ids. */
static void read_texts(struct texts *t, const char *name)
{
    char line[MOST_IDS + 80];
    const size_t n = strlen(name);
    FILE *in = fopen(GENERATED, "r");
    *t = (struct texts){0};
    while (in && fgets(line, sizeof line, in)) {
        char *ids = line;
        if (strncmp(line, name, n) != 0 || line[n] != ' ' || t->n == TEXTS) continue;
        const long n_given = strtol(line + n, &ids, 10);
        ids[strcspn(ids, "\n")] = '\0';
        take_text(t, ids + 1, (int)n_given);
    }
    if (in) (void)fclose(in);
}

/* What the program writes after the beginnings. */
static void continue_texts(const struct family *f, const struct texts *t, const struct way *way,
                           struct spawn_result *r)
{
    spawn_run(r,
              "%s \"$WSC\" run --params %s/params.yaml --checkpoint_path %s/weights.mdl "
              "--mode generate --temperature 0 --max_new_tokens %d --model_dir %s/generated%s %s "
              "| grep -v INFO:",
              way->before, f->dir, f->dir, t->most_new, f->dir, t->prompts, way->options);
}

/* Every text begins as the reference does, which may end earlier. */
static bool are_texts(const struct texts *t, const char *lines)
{
    bool ok = true;
    for (int i = 0; i < t->n; i++) {
        const size_t n = strlen(t->ids[i]);
        ok = ok && !strncmp(lines, t->ids[i], n) && (lines[n] == '\n' || lines[n] == ',');
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    return ok && !*lines;
}

/* An encoder, or a pair of models, has no texts in the file, and says so. */
static bool refuses_to_write(const struct family *f)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params %s/params.yaml --checkpoint_path %s/weights.mdl "
              "--mode generate --prompt_ids 1 --model_dir %s/generated",
              f->dir, f->dir, f->dir);
    const bool refused = r.status == 2 && strstr(r.err, "generate no text");
    spawn_free(&r);
    return refused;
}

static void check_texts(const struct family *f)
{
    static const struct way ways[] = {
        {"", "--num_csx 1"},
        {"OMP_NUM_THREADS=2", "--num_csx 2 --set cluster.stream.granularity=matrix"},
        {"mpirun --quiet -n 3", "--num_csx 3 --set cluster.memoryx.shards=2"}};
    struct texts t;
    if (!strncmp(f->name, "vsl_", 4)) return; /* what is particular there are the data */
    read_texts(&t, f->name);
    bool ok = t.n > 0 || refuses_to_write(f);
    if (!ok) (void)fprintf(stderr, "%s: no texts in " GENERATED "\n", f->name);
    for (int i = 0; ok && t.n && i < (on_ranks_too(f) ? 3 : 2); i++) {
        struct spawn_result r;
        continue_texts(f, &t, &ways[i], &r);
        ok = are_texts(&t, r.out);
        if (!ok) (void)fprintf(stderr, "in: %s %s\n%s%s", f->name, ways[i].options, r.out, r.err);
        spawn_free(&r);
    }
    CU_ASSERT(ok);
}

TEST(families, generated_texts_are_those_of_pytorch)
{
    each_case(check_texts);
}

/* ---- with itself ----------------------------------------------------------------------------- */

static bool train(const struct family *f, const char *before, const char *options,
                  struct job_metrics *m)
{
    const char *run = job_path("train");
    return spawn_ok("%s \"$WSC\" run --params %s/params.yaml --set runconfig.num_steps=%d "
                    "--set trace_hash=true --model_dir %s %s",
                    before, f->dir, TRAIN_STEPS, run, options) &&
           job_read(run, m);
}

#define DROPOUT                                                                                    \
    "--set model.dropout_rate=0.2 --set model.residual_dropout_rate=0.2 "                          \
    "--set model.attention_dropout_rate=0.1 --set model.embedding_dropout_rate=0.1 "
#define BF16 "--set model.mixed_precision=true --set model.fp16_type=bfloat16 "

/* The same values for every way of running. */
static bool same_everywhere(const struct family *f, const char *options, const struct way *way,
                            struct job_metrics *first)
{
    char all[400];
    (void)snprintf(all, sizeof all, "--num_csx 1 %s", options);
    bool ok = train(f, "", all, first) && first->n == TRAIN_STEPS;
    for (; ok && way->before; way++) {
        struct job_metrics m;
        (void)snprintf(all, sizeof all, "%s %s", way->options, options);
        ok = train(f, way->before, all, &m) && job_same_values(&m, first);
        if (!ok) (void)fprintf(stderr, "in: %s %s\n", way->before, all);
    }
    return ok;
}

static void check_bits(const struct family *f)
{
    static const struct way ways[] = {
        {"", "--num_csx 3 --set train_input.micro_batch_size=1"},
        {"OMP_NUM_THREADS=2", "--num_csx 4 --set cluster.stream.granularity=matrix"},
        {NULL, NULL}};
    static const struct way rank_ways[] = {
        {"mpirun --quiet -n 2",
         "--num_csx 2 --set cluster.memoryx.shards=2 --set model.recompute=true"},
        {NULL, NULL}};
    static const struct way way[] = {{"", "--num_csx 2 --set model.recompute=true"}, {NULL, NULL}};
    struct job_metrics dropped, bf16;
    if (!strncmp(f->name, "f_", 2)) return;
    bool ok = same_everywhere(f, DROPOUT, on_ranks_too(f) ? rank_ways : ways, &dropped) &&
              same_everywhere(f, BF16, way, &bf16);
    struct job_metrics time_alone;
    ok = ok && train(f, "", "--num_csx 1 --numerics none " BF16, &time_alone) &&
         job_same_times(&time_alone, &bf16);
    if (!ok) (void)fprintf(stderr, "in: %s\n", f->name);
    CU_ASSERT(ok);
    CU_ASSERT(strcmp(dropped.step[0].hash, bf16.step[0].hash) != 0);
}

TEST(families, values_do_not_depend_on_who_computes_them)
{
    each_case(check_bits);
}

/* ---- on the mesh ----------------------------------------------------------------------------- */

#define FABRIC "--numerics mesh --set cluster.wafer.pe_cols=12 --set cluster.wafer.pe_rows=8 "

/* Beginnings of the names of cases that the mesh has no programs for, and the key that it names. */
static const char *mesh_lacks(const struct family *f)
{
    static const char *const lacks[][2] = {
        {"t5", "model.objective"},
        {"transformer", "model.objective"},
    };
    for (int i = 0; i < (int)(sizeof lacks / sizeof *lacks); i++)
        if (!strncmp(f->name, lacks[i][0], strlen(lacks[i][0]))) return lacks[i][1];
    return NULL;
}

static bool mesh_refuses(const struct family *f, const char *options, const char *key)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" run --params %s/params.yaml --model_dir %s/mesh " FABRIC "%s", f->dir,
              f->dir, options);
    const bool ok = r.status == 2 && strstr(r.err, key) && strstr(r.err, "--numerics mesh");
    if (!ok) (void)fprintf(stderr, "status %d: %s\n", r.status, r.err);
    spawn_free(&r);
    return ok;
}

#define LANES "--set lanes=2 --set cluster.wafer.pe_cols=25 "

/* A long sequence whose scores are kept before their cap too asks for more memory. */
static bool dump_on_mesh_as(const struct family *f, const struct way *way, char path[240])
{
    char all[240];
    const bool large = !strcmp(f->name, "relative_capped_window");
    (void)snprintf(all, sizeof all, FABRIC "%s%s", large ? "--set cluster.wafer.pe_rows=24 " : "",
                   way->options);
    return dump_as(f, &(struct way){way->before, all}, path);
}

static bool dump_on_mesh(const struct family *f, const char *options, char path[240])
{
    return dump_on_mesh_as(f, &(struct way){"", options}, path);
}

/* Encoders with every feature among them, also on ranks. */
static bool same_on_ranks(const struct family *f, const char *one)
{
    const struct way ranks = {"mpirun --quiet -n 3", "--num_csx 2"};
    char path[240];
    if (strcmp(f->name, "bert_pairs") != 0 && strcmp(f->name, "esm2_packed") != 0) return true;
    return dump_on_mesh_as(f, &ranks, path) && compare(f, one, path, MESH_TOLERANCE);
}

/* Loss and every gradient of PyTorch's, and the same bits of half of the cases on two systems and
 * two threads, with matrices streaming one by one, of the others on two lanes with as many columns
 * each. */
static void check_mesh(const struct family *f)
{
    static const char *const ways[] = {"--num_csx 2 --set cluster.stream.granularity=matrix",
                                       LANES "--num_csx 1"};
    const uint64_t way = wsc_hash64(f->name, strlen(f->name), 0) % 2;
    char one[240], other[240];
    const char *lacks = mesh_lacks(f);
    bool ok = lacks ? mesh_refuses(f, "", lacks)
                    : dump_on_mesh(f, "--num_csx 1", one) && dump_on_mesh(f, ways[way], other) &&
                          compare(f, one, other, MESH_TOLERANCE) && same_on_ranks(f, one);
    if (!ok) (void)fprintf(stderr, "on the mesh: %s %s\n", f->name, f->dir);
    CU_ASSERT(ok);
}

TEST(families, the_mesh_computes_the_gradients_of_pytorch)
{
    each_case(check_mesh);
}

TEST(families, the_mesh_names_what_it_lacks)
{
    struct family f = {.name = ""};
    open_case(&f, "gpt2.h5");
    CU_ASSERT(mesh_refuses(&f, "--set model.moe.num_experts=17 --set model.moe.top_k=17",
                           "model.moe.top_k"));
    close_case(&f);
}
