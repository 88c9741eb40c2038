// SPDX-License-Identifier: Apache-2.0
/* Norms and the gradient noise scale, against gradients that the program dumps. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/store.h>

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, T = 64 };

/* Loss over the batch by a fixed number, so that a sample's gradient is the same alone. */
#define JOB                                                                                        \
    "--set model.loss_scaling=batch_size --set train_input.shuffle=false "                         \
    "--set optimizer.max_gradient_norm=0 "

/* ---- data ------------------------------------------------------------------------------------ */

/* Samples [first, first + n) as a folder. */
static const char *samples(int first, int n)
{
    static int32_t data[N][3][T];
    const char *dir = job_path("samples");
    char path[240];
    for (int i = 0; i < n; i++)
        for (int t = 0; t < T; t++) {
            const int64_t row = first + i;
            const uint64_t at = (uint64_t)(row * T + t);
            const uint64_t word = wsc_rng_u64(3, wsc_rng_stream(WSC_RNG_TEST, 9), at);
            data[i][0][t] = (int32_t)(word % 256);
            data[i][1][t] = word % 5 != 0;
            data[i][2][t] = (int32_t)(word / 256 % 256);
        }
    (void)snprintf(path, sizeof path, "%s/samples.h5", dir);
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", dir));
    T_OK(store_samples_write(path, &data[0][0][0], n, T));
    return dir;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Sum of the squares of all tensors of a file whose name has @p part in it. */
struct visit {
    const char *part;
    double sum;
};

static herr_t visit_one(hid_t file, const char *name, const H5L_info_t *info, void *arg)
{
    struct visit *v = arg;
    (void)info;
    /* "model.model..." is a second name of a tensor. */
    if (!strstr(name, v->part) || !strncmp(name, "loss", 4) || !strncmp(name, "model.model.", 12))
        return 0;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    double *x = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *x);
    if (!x || H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) < 0) abort();
    for (hssize_t i = 0; i < n; i++)
        v->sum += x[i] * x[i];
    wsc_free(x);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return 0;
}

static double squares_in(const char *path, const char *part)
{
    struct visit v = {.part = part};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_one, &v);
    (void)H5Fclose(file);
    return v.sum;
}

/* |gradient|^2 of the first step of samples [first, first + n) as one batch. */
static double square_of_batch(int first, int n)
{
    const char *dir = samples(first, n);
    char path[240];
    (void)snprintf(path, sizeof path, "%s/gradients.h5", dir);
    CU_ASSERT_FATAL(spawn_ok("%s " JOB "--set train_input.data_dir=%s --set "
                             "train_input.batch_size=%d --num_steps 1 --dump_gradients %s "
                             "--model_dir %s/run",
                             job_tiny(), dir, n, path, dir));
    return squares_in(path, "");
}

/* ---- results --------------------------------------------------------------------------------- */

/* The text of a field in line @p line (from 1) of metrics.jsonl. */
static void field_of(const char *dir, int line, const char *key, char value[60])
{
    struct spawn_result r;
    spawn_run(&r, "sed -n '%ds/.*\"%s\": \\([^,}]*\\).*/\\1/p' %s/metrics.jsonl | tr -d '\\n'",
              line, key, dir);
    (void)snprintf(value, 60, "%s", r.out);
    spawn_free(&r);
}

static double number_of(const char *dir, int line, const char *key)
{
    char text[60];
    field_of(dir, line, key, text);
    return strtod(text, NULL);
}

/* A scalar of the events of @p dir: its tag, then field 2 of the value, a float. */
static double event_of(const char *dir, const char *tag)
{
    struct spawn_result r;
    double found = NAN;
    spawn_run(&r, "cat %s/train/events* | od -An -v -tx1 | tr -d ' \\n'", dir);
    char hex[200] = "";
    for (size_t i = 0; tag[i]; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)tag[i]);
    (void)strncat(hex, "15", 3);
    const char *at = strstr(r.out, hex);
    if (at) {
        char bytes[9] = "";
        at += strlen(hex);
        for (size_t i = 0; i < 4; i++) /* little endian */
            memcpy(bytes + 2 * i, at + 6 - 2 * i, 2);
        const uint32_t bits = (uint32_t)strtoul(bytes, NULL, 16);
        float value;
        memcpy(&value, &bits, sizeof value);
        found = (double)value;
    }
    spawn_free(&r);
    return found;
}

/* ---- the noise scale ------------------------------------------------------------------------- */

#define NOISE "--set optimizer.gradient_noise_scale=true "

TEST(norms, noise_scale_is_that_of_single_gradients)
{
    double leaves = 0;
    for (int i = 0; i < N; i++)
        leaves += square_of_batch(i, 1) / N;
    const double batch = square_of_batch(0, N);
    const double variance = (leaves - batch) / (1 - 1.0 / N);
    const double gradient = (N * batch - leaves) / (N - 1);
    const char *dir = samples(0, N);
    CU_ASSERT_FATAL(spawn_ok("%s " JOB NOISE "--set train_input.data_dir=%s --set "
                             "train_input.batch_size=%d --num_steps 1 --set runconfig.log_steps=1 "
                             "--model_dir %s/run",
                             job_tiny(), dir, N, dir));
    char run[240];
    (void)snprintf(run, sizeof run, "%s/run", dir);
    T_NEAR(number_of(run, 1, "pegsqnorm") / leaves, 1, 1e-5);
    T_NEAR(number_of(run, 1, "gsqnorm") / batch, 1, 1e-5);
    T_NEAR(number_of(run, 1, "noise_variance") / variance, 1, 1e-4);
    T_NEAR(number_of(run, 1, "noise_scale") / (variance / gradient), 1, 1e-4);
    T_NEAR(event_of(run, "pegsqnorm/model") / leaves, 1, 1e-5);
    T_NEAR(event_of(run, "gradient_noise_scale") / (variance / gradient), 1, 1e-4);
}

/* The last line of a run of eight steps. */
static void last_noise(const char *before, const char *options, char value[60])
{
    const char *dir = job_path("noise");
    CU_ASSERT_FATAL(spawn_ok("%s %s " NOISE "--num_steps 8 --set runconfig.log_steps=1 "
                             "--model_dir %s %s",
                             before, job_tiny(), dir, options));
    field_of(dir, 8, "noise_scale", value);
}

TEST(norms, noise_scale_does_not_depend_on_who_computes_it)
{
    static const char *const way[][2] = {
        {"", "--num_csx 3"},
        {"OMP_NUM_THREADS=2", "--num_csx 2 --set train_input.micro_batch_size=3"},
        {"", "--num_csx 5 --set cluster.swarmx.fanout=2 --set cluster.memoryx.shards=3"},
        {"mpirun --quiet -n 3", "--num_csx 2 --set train_input.micro_batch_size=2"},
        {"", "--num_csx 12"}};
    char one[60], other[60];
    last_noise("", "--num_csx 1", one);
    CU_ASSERT(strtod(one, NULL) > 0);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        last_noise(way[i][0], way[i][1], other);
        T_STR(other, one);
    }
}

TEST(norms, noise_scale_goes_on_after_a_restart)
{
    char straight[60], resumed[60];
    const char *dir = job_path("resumed");
    last_noise("", "", straight);
    for (int part = 1; part <= 2; part++)
        CU_ASSERT_FATAL(spawn_ok("%s " NOISE "--max_steps %d --set runconfig.log_steps=1 "
                                 "--set runconfig.checkpoint_steps=4 --model_dir %s",
                                 job_tiny(), 4 * part, dir));
    field_of(dir, 8, "noise_scale", resumed);
    T_STR(resumed, straight);
}

/* Neither values nor time change because something is measured. */
TEST(norms, measuring_changes_nothing)
{
    struct job_metrics plain, measured;
    const char *a = job_path("plain"), *b = job_path("measured");
    CU_ASSERT_FATAL(spawn_ok("%s --num_csx 3 --num_steps 6 --model_dir %s", job_tiny(), a));
    CU_ASSERT_FATAL(spawn_ok("%s --num_csx 3 --num_steps 6 --model_dir %s " NOISE
                             "--set optimizer.log_summaries=true",
                             job_tiny(), b));
    CU_ASSERT_FATAL(job_read(a, &plain) && job_read(b, &measured));
    CU_ASSERT(job_same_values(&plain, &measured) && job_same_times(&plain, &measured));
}

TEST(norms, one_leaf_has_no_noise_scale)
{
    struct spawn_result r;
    const char *dir = job_path("leaf");
    spawn_run(&r,
              "%s " NOISE "--num_steps 2 --set reduction_leaf=8 --model_dir %s --json && "
              "! grep -q pegsqnorm %s/metrics.jsonl",
              job_tiny(), dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "\"gradient_noise_scale\": null") != NULL);
    spawn_free(&r);
}

#define SMALL                                                                                      \
    "--set model.hidden_size=16 --set model.num_heads=2 --set model.filter_size=32 "               \
    "--set model.num_hidden_layers=1 --set train_input.batch_size=6 --num_steps 3 "                \
    "--set cluster.wafer.pe_cols=6 --set cluster.wafer.pe_rows=8 --set runconfig.log_steps=1 "

static const char *run_small(const char *before, const char *options)
{
    const char *dir = job_path("small");
    CU_ASSERT_FATAL(spawn_ok("%s %s " SMALL "%s --model_dir %s", before, job_tiny(), options, dir));
    return dir;
}

/* On the mesh: the host's numbers up to rounding, and the virtual time of a run that measures
 * nothing; returns the folder of the run. */
static const char *compare_noise(const char *options)
{
    static const char *const key[] = {"pegsqnorm", "gsqnorm", "noise_variance"};
    struct job_metrics measured, plain;
    char host[300], mesh[300], unmeasured[300];
    (void)snprintf(host, sizeof host, NOISE "%s", options);
    (void)snprintf(mesh, sizeof mesh, NOISE "--numerics mesh %s", options);
    (void)snprintf(unmeasured, sizeof unmeasured, "--numerics mesh %s", options);
    const char *on_host = run_small("", host), *on_mesh = run_small("", mesh);
    for (int k = 0; k < 3; k++)
        T_NEAR(number_of(on_mesh, 3, key[k]) / number_of(on_host, 3, key[k]), 1, 1e-4);
    CU_ASSERT(job_read(on_mesh, &measured) && job_read(run_small("", unmeasured), &plain));
    CU_ASSERT(job_same_times(&plain, &measured));
    return on_mesh;
}

/* The same bits whoever computes them. */
static void check_noise_ways(const char *options)
{
    static const char *const way[][2] = {{"", "--num_csx 3"},
                                         {"OMP_NUM_THREADS=2", "--num_csx 2"},
                                         {"mpirun --quiet -n 2", "--num_csx 2"},
                                         {"", "--set lanes=2 --set cluster.wafer.pe_cols=12"}};
    char one[60], other[60], all[300];
    field_of(compare_noise(options), 3, "noise_variance", one);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        (void)snprintf(all, sizeof all, NOISE "--numerics mesh %s %s", way[i][1], options);
        field_of(run_small(way[i][0], all), 3, "noise_variance", other);
        T_STR(other, one);
    }
}

/* A tied table counts once; of sparse weights only those count that there are, whether arriving
 * data or loops multiply them; frozen tensors do not count. */
TEST(norms, noise_scale_on_the_mesh)
{
#define SPARSE "--set sparsity='{algorithm: static, sparsity: 0.9}' "
    check_noise_ways("");
    check_noise_ways("--set model.share_embedding_weights=false");
    (void)compare_noise(SPARSE);
    (void)compare_noise(SPARSE "--set cluster.wafer.data_triggered=false");
    (void)compare_noise("--set model.freeze='[norm1, ffn]'");
#undef SPARSE
}

/* ---- norms of weights and layers ------------------------------------------------------------- */

static void check_norms(const char *options)
{
    const char *dir = job_path("summaries");
    char gradients[240], weights[240];
    (void)snprintf(gradients, sizeof gradients, "%s/gradients.h5", dir);
    (void)snprintf(weights, sizeof weights, "%s/checkpoint_0.mdl", dir);
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 1 --set optimizer.log_summaries=true --model_dir %s "
                             "--set runconfig.save_initial_checkpoint=true --dump_gradients %s "
                             "--set runconfig.log_steps=1 %s",
                             job_tiny(), dir, gradients, options));
    T_NEAR(number_of(dir, 1, "grad_norm") / sqrt(squares_in(gradients, "")), 1, 1e-6);
    T_NEAR(event_of(dir, "model_wise_grad_norm") / sqrt(squares_in(gradients, "")), 1, 1e-6);
    T_NEAR(event_of(dir, "per_layer_grad_norm/layer_0") / sqrt(squares_in(gradients, "layers.0.")),
           1, 1e-6);
    T_NEAR(event_of(dir, "per_layer_grad_norm/layer_1") / sqrt(squares_in(gradients, "layers.1.")),
           1, 1e-6);
    CU_ASSERT(isnan(event_of(dir, "per_layer_grad_norm/layer_2")));
    const double params =
        sqrt(squares_in(weights, "transformer_decoder.") + squares_in(weights, "embeddings"));
    T_NEAR(number_of(dir, 1, "params_norm") / params, 1, 1e-6);
    T_NEAR(event_of(dir, "model_wise_params_norm") / params, 1, 1e-6);
}

TEST(norms, of_weights_and_layers_are_those_of_the_tensors)
{
    check_norms("");
    check_norms("--num_csx 3 --set cluster.memoryx.shards=5");
}

static void params_norm(const char *before, const char *options, char value[60])
{
    const char *dir = job_path("params_norm");
    CU_ASSERT_FATAL(
        spawn_ok("%s %s --num_steps 3 --set optimizer.log_summaries=true --model_dir %s "
                 "--set runconfig.log_steps=1 %s",
                 before, job_tiny(), dir, options));
    field_of(dir, 3, "params_norm", value);
}

TEST(norms, of_weights_do_not_depend_on_shards_or_ranks)
{
    char one[60], other[60];
    params_norm("", "--num_csx 1", one);
    params_norm("", "--num_csx 3 --set cluster.memoryx.shards=7", other);
    T_STR(other, one);
    params_norm("mpirun --quiet -n 4", "--num_csx 2 --set cluster.memoryx.shards=3", other);
    T_STR(other, one);
    CU_ASSERT(strtod(one, NULL) > 0);
}
