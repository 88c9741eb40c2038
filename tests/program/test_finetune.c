// SPDX-License-Identifier: Apache-2.0
/* Fine-tuning as users run it: adapters and frozen tensors with the same bits on any machine, what
 * travels and how long a step takes, checkpoints that resume and merge, a trained model that
 * adapters teach another language. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LORA                                                                                       \
    "--set model.lora_params='{r: 4, alpha: 8, dropout: 0.1, "                                     \
    "target_modules: [TransformerDecoderLayer, Linear]}' "
/* Adapters of both ends of the model; the vocabulary comes in several blocks of columns. */
#define ENDS                                                                                       \
    "--set model.share_embedding_weights=false --set model.vocab_size=20000 "                      \
    "--set model.lora_params='[{r: 2, alpha: 3, target_modules: [Embedding]}, "                    \
    "{r: 3, alpha: 2, dropout: %s, target_modules: [lm_head]}]' "
#define FREEZE "--set model.freeze='[embedding, norm1, \"layers.0.\"]' "
enum { STEPS = 6 };

static bool train(const char *before, const char *dir, const char *options)
{
    return spawn_ok("%s %s --max_steps %d --model_dir %s %s", before, job_tiny(), STEPS, dir,
                    options);
}

/* ---- one result on every machine ------------------------------------------------------------- */

static void check_bits(const char *tuning, const char *more)
{
    static const struct {
        const char *before, *options;
    } ways[] = {{"", "--num_csx 3 --set train_input.micro_batch_size=1"},
                {"OMP_NUM_THREADS=2", "--num_csx 2 --set cluster.memoryx.shards=3 --set "
                                      "cluster.stream.granularity=matrix"},
                {"mpirun --quiet -n 2", "--num_csx 2 --set cluster.memoryx.shards=2"},
                {"WSC_AHEAD=1 mpirun --quiet -n 4",
                 "--num_csx 1 --set cluster.memoryx.shards=3 --set cluster.stream.chunk=1KiB"}};
    struct job_metrics one = {0}, other = {0};
    char options[600], dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("tuned"));
    (void)snprintf(options, sizeof options, "%s%s", tuning, more);
    CU_ASSERT_FATAL(train("", dir, options) && job_read(dir, &one));
    T_EQ(one.n, STEPS);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        (void)snprintf(options, sizeof options, "%s%s%s", tuning, more, ways[i].options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("tuned"));
        CU_ASSERT_FATAL(train(ways[i].before, dir, options) && job_read(dir, &other));
        CU_ASSERT(job_same_values(&one, &other));
    }
}

TEST(finetune, values_do_not_depend_on_who_computes_them)
{
    check_bits(LORA, "--set model.mixed_precision=true --set model.fp16_type=bfloat16 ");
    check_bits(LORA, "--set optimizer.optimizer_type=Lamb ");
    char ends[600];
    (void)snprintf(ends, sizeof ends, ENDS, "0.2");
    check_bits(ends, "");
    check_bits(ends, "--set model.mixed_precision=true --set model.fp16_type=bfloat16 ");
    check_bits(FREEZE, "--set optimizer.optimizer_type=Adafactor ");
    check_bits(FREEZE, "--set optimizer.gradient_noise_scale=true ");
}

/* ---- embeddings and output layer ------------------------------------------------------------- */

/* A tensor of a file, owned; *rows and *cols its shape. */
static float *read_matrix(struct store_file *file, const char *stem, const char *tail,
                          int64_t shape[2])
{
    char name[160];
    int n_dims = 0;
    (void)snprintf(name, sizeof name, "%s.%s", stem, tail);
    T_OK(store_shape(file, name, &n_dims, shape));
    float *x = wsc_alloc(WSC_MEM_TEST, (size_t)(shape[0] * shape[1]), sizeof *x);
    if (!x || n_dims != 2) abort();
    T_OK(store_read(file, name, STORE_F32, 0, shape[0] * shape[1], x));
    return x;
}

/* Largest difference of two vectors over the largest element of the second. */
static double worst(const float *got, const double *want, int64_t n)
{
    double most = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(want[i]));
        error = fmax(error, fabs((double)got[i] - want[i]));
    }
    return most > 0 ? error / most : 1;
}

/* The three files: weights with adapters, their gradients, those of the merged matrices. */
struct gradients {
    struct store_file *weights, *adapters, *merged;
};

/* With the gradient M (out, in) of W + s B A: dA = s B' M and dB = s M A'; an embedding has M'. */
static void check_matrix(const struct gradients *g, const char *stem, double scale, bool table)
{
    int64_t a_shape[2], b_shape[2], shape[2];
    float *a = read_matrix(g->weights, stem, "lora_A", a_shape);
    float *b = read_matrix(g->weights, stem, "lora_B", b_shape);
    float *da = read_matrix(g->adapters, stem, "lora_A", a_shape);
    float *db = read_matrix(g->adapters, stem, "lora_B", b_shape);
    float *m = read_matrix(g->merged, stem, "weight", shape);
    const int64_t r = a_shape[0], in = a_shape[1], out = b_shape[0];
    double *want_a = wsc_alloc(WSC_MEM_TEST, (size_t)(r * in), sizeof *want_a);
    double *want_b = wsc_alloc(WSC_MEM_TEST, (size_t)(r * out), sizeof *want_b);
    if (!want_a || !want_b) abort();
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t k = 0; k < r; k++) {
                const double grad = scale * (double)m[table ? i * out + o : o * in + i];
                want_a[k * in + i] += grad * (double)b[o * r + k];
                want_b[o * r + k] += grad * (double)a[k * in + i];
            }
    CU_ASSERT(worst(da, want_a, r * in) < 1e-4);
    CU_ASSERT(worst(db, want_b, r * out) < 1e-4);
    void *owned[] = {a, b, da, db, m, want_a, want_b};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        wsc_free(owned[i]);
}

/* The merged model is another path through the program: no adapters, a gradient of the whole
 * matrix. */
TEST(finetune, ends_have_the_gradients_of_their_merged_matrices)
{
    struct gradients g = {NULL, NULL, NULL};
    char ends[600], dir[160], path[240];
    (void)snprintf(ends, sizeof ends, ENDS, "0.0");
    (void)snprintf(dir, sizeof dir, "%s", job_path("ends"));
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 4 --set optimizer.learning_rate=0.05 --set "
                             "runconfig.checkpoint_steps=4 --model_dir %s",
                             job_tiny(), ends, dir));
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 1 --checkpoint_path %s/checkpoint_4.mdl --set "
                             "runconfig.load_checkpoint_states=model --dump_gradients %s/a.mdl "
                             "--model_dir %s/a",
                             job_tiny(), ends, dir, dir, dir));
    CU_ASSERT_FATAL(
        spawn_ok("%s %s --dump_params >%s/ends.yaml && \"$WSC\" convert --from cs --to cs "
                 "--params %s/ends.yaml --input %s/checkpoint_4.mdl --out %s/merged",
                 job_tiny(), ends, dir, dir, dir, dir));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params %s/merged/params.yaml --num_steps 1 "
                             "--checkpoint_path %s/merged/model.mdl --dump_gradients %s/b.mdl "
                             "--model_dir %s/b",
                             dir, dir, dir, dir));
    (void)snprintf(path, sizeof path, "%s/checkpoint_4.mdl", dir);
    T_OK(store_open(&g.weights, path));
    (void)snprintf(path, sizeof path, "%s/a.mdl", dir);
    T_OK(store_open(&g.adapters, path));
    (void)snprintf(path, sizeof path, "%s/b.mdl", dir);
    T_OK(store_open(&g.merged, path));
    check_matrix(&g, "model.embedding_layer.word_embeddings", 1.5, true);
    check_matrix(&g, "model.embedding_layer.position_embeddings.embed", 1.5, true);
    check_matrix(&g, "model.lm_head", 2.0 / 3, false);
    store_close(&g.weights);
    store_close(&g.adapters);
    store_close(&g.merged);
}

/* ---- time ------------------------------------------------------------------------------------ */

static long long step_time(const char *options)
{
    struct job_metrics m;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("tuned_time"));
    if (!spawn_ok("%s --num_steps 3 --model_dir %s --numerics none --num_csx 2 %s", job_tiny(), dir,
                  options) ||
        !job_read(dir, &m))
        return 0;
    return m.step[2].step_time_ps;
}

TEST(finetune, time_is_that_of_a_run_with_values)
{
    static const char *const tuning[] = {LORA, FREEZE};
    for (int i = 0; i < 2; i++) {
        struct job_metrics with, without;
        char options[400], a[160], b[160];
        (void)snprintf(a, sizeof a, "%s", job_path("tuned_values"));
        (void)snprintf(b, sizeof b, "%s", job_path("tuned_none"));
        (void)snprintf(options, sizeof options, "%s--num_csx 2", tuning[i]);
        CU_ASSERT_FATAL(train("", a, options) && job_read(a, &with));
        (void)snprintf(options, sizeof options, "%s--num_csx 2 --numerics none", tuning[i]);
        CU_ASSERT_FATAL(train("", b, options) && job_read(b, &without));
        CU_ASSERT(job_same_times(&with, &without));
    }
}

/* Frozen weights have no gradients to compute, to send and to apply. */
TEST(finetune, frozen_weights_take_less_time)
{
    const long long all = step_time(""), most = step_time(FREEZE),
                    few = step_time("--set model.freeze='[embedding, layers]' ");
    CU_ASSERT(few > 0 && few < most && most < all);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A number of performance.json by name, the first one. */
static double performance(const char *dir, const char *name)
{
    struct spawn_result r;
    spawn_run(&r, "grep -o '\"%s\": [0-9.e+]*' %s/performance.json | head -1 | sed 's/.*: //'",
              name, dir);
    const double value = strtod(r.out, NULL);
    spawn_free(&r);
    return value;
}

TEST(finetune, adapters_alone_travel_up)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("tuned_bytes"));
    CU_ASSERT_FATAL(train("", dir,
                          "--num_csx 2 --set model.lora_params='{r: 1, target_modules: "
                          "[proj_q_dense_layer]}'"));
    const double up = performance(dir, "gradients_bytes"),
                 dense = performance(dir, "gradients_dense_bytes");
    /* Two matrices of 64 x 64 with r = 1, of 129 thousand parameters. */
    CU_ASSERT(up > 0 && up < 0.02 * dense);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* True when the tensor has the same bytes in both files. */
static bool is_same(struct store_file *a, struct store_file *b, const char *name)
{
    enum { MOST = 1 << 16 };
    static float x[MOST], y[MOST];
    int n_dims;
    int64_t shape[2] = {1, 1};
    if (store_shape(a, name, &n_dims, shape)) return false;
    const int64_t n = shape[0] * (n_dims > 1 ? shape[1] : 1);
    return n <= MOST && store_read(a, name, STORE_F32, 0, n, x) == WSC_OK &&
           store_read(b, name, STORE_F32, 0, n, y) == WSC_OK &&
           !memcmp(x, y, (size_t)n * sizeof *x);
}

#define Q_LAYER "model.transformer_decoder.layers.0.self_attn.proj_q_dense_layer"

/* Without its adapters the model of a checkpoint is another one. */
static void check_export(const char *dir)
{
    static const char *const lora[] = {"", LORA};
    static const char *const what[] = {".lora_A: adapters", "model.lora_params: adapters"};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "\"$WSC\" convert --from cs --to hf --model gpt2 --lenient --params "
                  "configs/params/tiny.yaml %s --input %s/checkpoint_6.mdl --out %s",
                  lora[i], dir, job_path("exported"));
        CU_ASSERT(r.status != 0);
        CU_ASSERT(strstr(r.err, what[i]) &&
                  strstr(r.err, "merge them first: wsc convert --from cs --to cs"));
        spawn_free(&r);
    }
}

TEST(finetune, checkpoints_resume_and_merge)
{
    struct job_metrics straight, resumed;
    struct store_file *first = NULL, *last = NULL;
    char a[160], b[160], merged[160];
    (void)snprintf(a, sizeof a, "%s", job_path("lora_straight"));
    (void)snprintf(b, sizeof b, "%s", job_path("lora_resumed"));
    (void)snprintf(merged, sizeof merged, "%s", job_path("lora_merged"));
    CU_ASSERT_FATAL(train("", a, LORA "--num_csx 2"));
    CU_ASSERT_FATAL(train("", b,
                          LORA "--num_csx 1 --num_steps 3 --set "
                               "runconfig.checkpoint_steps=3 --set "
                               "runconfig.save_initial_checkpoint=true"));
    CU_ASSERT_FATAL(train("", b,
                          LORA "--num_csx 3 --set cluster.memoryx.shards=2 --set "
                               "runconfig.checkpoint_steps=3"));
    CU_ASSERT_FATAL(job_read(a, &straight) && job_read(b, &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed));
    char path[240];
    (void)snprintf(path, sizeof path, "%s/checkpoint_0.mdl", b);
    T_OK(store_open(&first, path));
    (void)snprintf(path, sizeof path, "%s/checkpoint_6.mdl", b);
    T_OK(store_open(&last, path));
    CU_ASSERT(is_same(first, last, Q_LAYER ".weight"));
    CU_ASSERT(!is_same(first, last, Q_LAYER ".lora_A"));
    CU_ASSERT(!is_same(first, last, Q_LAYER ".lora_B"));
    CU_ASSERT(store_has(last, "optimizer.param_groups.0.params.0"));
    CU_ASSERT(!store_has(last, "optimizer.param_groups.1.params.0"));
    store_close(&first);
    store_close(&last);
    /* The same loss of held-out text without adapters, up to rounding. */
    CU_ASSERT(spawn_ok("%s " LORA "--checkpoint_path %s/checkpoint_0.mdl --dump_params >%s.yaml && "
                       "\"$WSC\" convert --from cs --to cs "
                       "--params %s.yaml --input %s/checkpoint_6.mdl --out %s",
                       job_tiny(), b, merged, merged, b, merged));
    struct spawn_result with, without;
    spawn_run(&with,
              "%s " LORA "--mode eval --checkpoint_path %s/checkpoint_6.mdl --model_dir "
              "%s_a | sed -n 's/.*Eval Loss: //p'",
              job_tiny(), b, merged);
    spawn_run(&without,
              "\"$WSC\" run --params %s/params.yaml --mode eval --model_dir %s_b "
              "| sed -n 's/.*Eval Loss: //p'",
              merged, merged);
    const double adapted = strtod(with.out, NULL), plain = strtod(without.out, NULL);
    CU_ASSERT(adapted > 0 && fabs(plain / adapted - 1) < 1e-5);
    spawn_free(&with);
    spawn_free(&without);
    check_export(b);
}

/* Their shapes do not tell the factor and the dropout of adapters. */
TEST(finetune, adapters_of_another_factor_are_named)
{
    static const struct {
        int status;
        const char *lora, *more, *says;
    } row[] = {{2, "alpha: 16", "",
                "model.lora_params.alpha: 16, but the checkpoint is of a model with 8"},
               {0, "alpha: 16", "--set runconfig.load_checkpoint_states=model",
                "model.lora_params.alpha: 16; the checkpoint is of a run with 8"},
               {0, "alpha: 8, dropout: 0.5", "",
                "model.lora_params.dropout: 0.5; the checkpoint is of a run with 0.1"}};
    const char *dir = job_path("lora_factor");
    CU_ASSERT_FATAL(train("", dir, LORA "--num_steps 1 --set runconfig.checkpoint_steps=1"));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --set model.lora_params='{r: 4, %s, target_modules: "
                  "[TransformerDecoderLayer, Linear]}' --num_steps 1 --checkpoint_path "
                  "%s/checkpoint_1.mdl --model_dir %s %s",
                  job_tiny(), row[i].lora, dir, job_path("lora_other"), row[i].more);
        T_EQ(r.status, row[i].status);
        if (!strstr(r.err, row[i].says)) T_STR(r.err, row[i].says);
        spawn_free(&r);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

static double held_out(const char *checkpoint, const char *data, const char *options)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --mode eval --checkpoint_path %s --set eval_input.data_dir=%s/val --model_dir %s "
              "%s | sed -n 's/.*Eval Loss: //p'",
              job_tiny(), checkpoint, data, job_path("held_out"), options);
    const double loss = strtod(r.out, NULL);
    spawn_free(&r);
    return loss;
}

#define SMALL                                                                                      \
    "--set model.lora_params='{r: 1, alpha: 4, target_modules: [TransformerDecoderLayer, "         \
    "Linear]}' "

/* A model of one language learns another one, whose letters stand for those of the first. */
TEST(finetune, adapters_lower_the_loss_of_held_out_text)
{
    char data[160], base[160], tuned[160], path[240];
    (void)snprintf(data, sizeof data, "%s", job_path("rotated"));
    (void)snprintf(base, sizeof base, "%s", job_path("base"));
    (void)snprintf(tuned, sizeof tuned, "%s", job_path("adapted"));
    CU_ASSERT_FATAL(spawn_ok("zcat /usr/share/doc/jargon-text/jargon.txt.gz | head -c 400000 | "
                             "tr a-z n-za-m >%s.txt && \"$WSC\" data --input %s.txt --out %s "
                             "--max_seq_length 64 --split 0.1",
                             data, data, data));
    CU_ASSERT_FATAL(spawn_ok("%s --max_steps 150 --set runconfig.checkpoint_steps=150 --model_dir "
                             "%s --set optimizer.learning_rate=0.003",
                             job_tiny(), base));
    CU_ASSERT_FATAL(spawn_ok("%s " SMALL
                             "--max_steps 60 --set runconfig.checkpoint_steps=60 --model_dir %s "
                             "--checkpoint_path %s/checkpoint_150.mdl --set "
                             "runconfig.load_checkpoint_states=model --set "
                             "runconfig.disable_strict_checkpoint_loading=true --set "
                             "optimizer.learning_rate=0.02 --set train_input.data_dir=%s/train",
                             job_tiny(), tuned, base, data));
    (void)snprintf(path, sizeof path, "%s/checkpoint_150.mdl", base);
    const double before = held_out(path, data, "");
    (void)snprintf(path, sizeof path, "%s/checkpoint_60.mdl", tuned);
    const double after = held_out(path, data, SMALL);
    const double share =
        performance(tuned, "gradients_bytes") / performance(tuned, "gradients_dense_bytes");
    (void)printf("held-out loss %.4f -> %.4f, %.2f %% of the bytes up\n", before, after,
                 100 * share);
    CU_ASSERT(before > 0 && after > 0 && after < before - 0.3);
    CU_ASSERT(share > 0 && share < 0.02);
}
