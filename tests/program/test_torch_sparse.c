// SPDX-License-Identifier: Apache-2.0
/* Fifty steps of sparse training against PyTorch, through the program's own files: a GPT, real
 * gradients in two micro-batches, masks of every tenth step from the checkpoints, element by
 * element, and all sparse weights after the last step.  Steps that loss scaling skips are in
 * tests/unit/memoryx/test_masks_trained.c.  tests/fixtures/make_sparse_training.py made the
 * reference and describes its layout. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"
#include "torch_file.h"

#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE "tests/data/sparse_torch.h5"
enum { STEPS = 50, EVERY = 10, BATCH = 4, T = 12, LEAST_TENSORS = 30, TEXT_BYTES = 2048 };

static const char params[] =
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: DIR, batch_size: 4, "
    "micro_batch_size: 2, shuffle: false}\n"
    "model: {vocab_size: 32, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 24, "
    "max_position_embeddings: 12, layer_norm_epsilon: 1.0e-5, dropout_rate: 0.0, "
    "attention_dropout_rate: 0.0, share_embedding_weights: true, nonlinearity: gelu, "
    "mixed_precision: false}\n"
    "optimizer: {optimizer_type: AdamW, learning_rate: 0.002, betas: [0.9, 0.999], eps: 1.0e-6, "
    "weight_decay: 0.1, max_gradient_norm: 1.0}\n"
    "runconfig: {num_steps: 50, checkpoint_steps: 10, log_steps: 1, "
    "disable_strict_checkpoint_loading: true}\n";

static void attribute(hid_t at, const char *name, char text[TEXT_BYTES])
{
    char *value = NULL;
    hid_t a = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(a);
    if (H5Aread(a, type, &value) < 0 || !value || strlen(value) >= TEXT_BYTES) abort();
    (void)snprintf(text, TEXT_BYTES, "%s", value);
    (void)H5free_memory(value);
    (void)H5Tclose(type);
    (void)H5Aclose(a);
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* What PyTorch has: masks of the checkpoints, weights, losses, names of the tensors. */
struct expected {
    uint8_t *mask;
    float *w;
    double *loss;
    int64_t n, n_masks, n_losses;
    char tensors[TEXT_BYTES], sparsity[TEXT_BYTES];
};

static struct expected read_expected(hid_t file, const char *name)
{
    struct expected e;
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT), masks = H5Dopen2(group, "masks", H5P_DEFAULT);
    attribute(group, "sparsity", e.sparsity);
    attribute(masks, "tensors", e.tensors);
    e.mask = torch_dataset(group, "masks", H5T_NATIVE_UINT8, 1, &e.n_masks, NULL);
    e.w = torch_dataset(group, "weights", H5T_NATIVE_FLOAT, sizeof *e.w, &e.n, NULL);
    e.loss = torch_dataset(group, "loss", H5T_NATIVE_DOUBLE, sizeof *e.loss, &e.n_losses, NULL);
    (void)H5Dclose(masks);
    (void)H5Gclose(group);
    CU_ASSERT_FATAL(e.n_losses == STEPS && e.n_masks == e.n * (STEPS / EVERY));
    return e;
}

static void free_expected(struct expected *e)
{
    wsc_free(e->mask);
    wsc_free(e->w);
    wsc_free(e->loss);
}

/* Elements of tensor @p name of a checkpoint, as its listing of tensors goes: n and where it
 * starts are known from the order alone. */
static int64_t elements_of(const char *name)
{
    return strstr(name, "ffn.ffn") ? 16 * 24 : 16 * 16;
}

static void compare_mask(struct store_file *f, const char *name, const uint8_t *expected, int step)
{
    enum { MOST = 16 * 24 };
    unsigned char mask[MOST];
    char stored[STORE_NAME_BYTES];
    int wrong = 0;
    (void)snprintf(stored, sizeof stored, "%s_mask", name);
    T_OK(store_read(f, stored, STORE_BOOL, 0, elements_of(name), mask));
    for (int64_t i = 0; i < elements_of(name); i++)
        wrong += mask[i] != expected[i];
    T_EQ(wrong, 0);
    if (wrong) (void)fprintf(stderr, "step %d: %s: %d elements\n", step, name, wrong);
}

static void compare_weights(struct store_file *f, const char *name, const float *expected)
{
    enum { MOST = 16 * 24 };
    float w[MOST];
    double difference = 0;
    T_OK(store_read(f, name, STORE_F32, 0, elements_of(name), w));
    for (int64_t i = 0; i < elements_of(name); i++)
        difference = num_max_error(difference, fabs((double)w[i] - (double)expected[i]));
    CU_ASSERT(torch_is_near(difference, 1, 1e-5, name));
}

static void compare_checkpoint(const struct expected *e, const char *dir, int step)
{
    struct store_file *f = NULL;
    char path[300], names[TEXT_BYTES];
    int64_t at = 0;
    (void)snprintf(path, sizeof path, "%s/checkpoint_%d.mdl", dir, step);
    (void)snprintf(names, sizeof names, "%s", e->tensors);
    T_OK(store_open(&f, path));
    for (char *name = strtok(names, "\n"); name && f; name = strtok(NULL, "\n")) {
        compare_mask(f, name, e->mask + (step / EVERY - 1) * e->n + at, step);
        if (step == STEPS) compare_weights(f, name, e->w + at);
        at += elements_of(name);
    }
    T_EQ(at, e->n);
    store_close(&f);
}

static void check_run(const struct expected *e, const char *dir, const char *options)
{
    static struct job_metrics m;
    const char *run = job_path("torch_run");
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params %s/params.yaml --set train_input.data_dir=%s "
                             "--checkpoint_path %s/weights.mdl --model_dir %s %s "
                             "--set sparsity='{%s}'",
                             dir, dir, dir, run, options, e->sparsity));
    CU_ASSERT_FATAL(job_read(run, &m));
    T_EQ(m.n, STEPS);
    for (int i = 0; i < m.n; i++)
        T_NEAR(strtod(m.step[i].loss, NULL), e->loss[i], 1e-5);
    for (int step = EVERY; step <= STEPS; step += EVERY)
        compare_checkpoint(e, run, step);
}

static void check_case(const char *name)
{
    char dir[160], path[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path(name));
    (void)snprintf(path, sizeof path, "%s/params.yaml", dir);
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0 && spawn_ok("mkdir -p %s", dir));
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fputs(params, f) >= 0 && !fclose(f));
    CU_ASSERT_FATAL(torch_write_samples(file, dir, STEPS * BATCH, T) &&
                    torch_write_weights(file, dir, LEAST_TENSORS));
    struct expected e = read_expected(file, name);
    check_run(&e, dir, "--num_csx 1");
    check_run(&e, dir,
              "--num_csx 2 --set cluster.memoryx.shards=3 "
              "--set train_input.micro_batch_size=1");
    free_expected(&e);
    (void)H5Fclose(file);
}

TEST(torch_sparse, static_masks)
{
    check_case("static");
}

TEST(torch_sparse, gradual_pruning)
{
    check_case("gmp");
}

TEST(torch_sparse, sparse_evolutionary_training)
{
    check_case("set");
}

TEST(torch_sparse, rigl)
{
    check_case("rigl");
}
