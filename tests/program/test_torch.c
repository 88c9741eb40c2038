// SPDX-License-Identifier: Apache-2.0
/* Loss and every gradient of one step against PyTorch, through the program's own files: weights as
 * a checkpoint, samples as a dataset, results by --dump_gradients.
 * tests/fixtures/make_gpt2_fixture.py made the reference and describes its layout. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"
#include "torch_file.h"

#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIXTURE "tests/data/gpt2_torch.h5"
enum { B = 3, T = 12, LEAST_TENSORS = 30 };

static const char params[] = "train_input:\n"
                             "    data_processor: GptHDF5MapDataProcessor\n"
                             "    data_dir: DIR\n"
                             "    batch_size: 3\n"
                             "    shuffle: false\n"
                             "model:\n"
                             "    vocab_size: 32\n"
                             "    hidden_size: 16\n"
                             "    num_hidden_layers: 2\n"
                             "    num_heads: 2\n"
                             "    filter_size: 24\n"
                             "    max_position_embeddings: 12\n"
                             "    layer_norm_epsilon: 1.0e-5\n"
                             "    dropout_rate: 0.0\n"
                             "    attention_dropout_rate: 0.0\n"
                             "    use_bias_in_output: false\n"
                             "    mixed_precision: false\n"
                             "optimizer:\n"
                             "    optimizer_type: AdamW\n"
                             "    learning_rate: 0.001\n"
                             "    max_gradient_norm: 0.01\n"
                             "runconfig:\n"
                             "    num_steps: 1\n";

/* ---- the comparison -------------------------------------------------------------------------- */

static bool compare_tensor(void *ctx, const char *name, int n_dims, const int64_t *shape,
                           const float *x)
{
    const int64_t n = shape[0] * (n_dims > 1 ? shape[1] : 1);
    double difference = 0, largest = 0;
    float *ours = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *ours);
    bool read = ours && store_read(ctx, name, STORE_F32, 0, n, ours) == WSC_OK;
    for (int64_t i = 0; read && i < n; i++) {
        difference = num_max_error(difference, fabs((double)ours[i] - (double)x[i]));
        largest = fmax(largest, fabs((double)x[i]));
    }
    wsc_free(ours);
    /* Keys have no influence through their bias: softmax subtracts it; zero up to rounding. */
    if (largest < 1e-7) return read && difference < 1e-7;
    return read && torch_is_near(difference, largest, 1e-5, name);
}

static bool compare(hid_t variant, const char *path)
{
    struct store_file *f = NULL;
    double loss = 0;
    int64_t n;
    double *expected =
        torch_dataset(variant, "loss", H5T_NATIVE_DOUBLE, sizeof *expected, &n, NULL);
    bool ok =
        store_open(&f, path) == WSC_OK && store_read(f, "loss", STORE_F64, 0, 1, &loss) == WSC_OK;
    ok = ok && torch_is_near(fabs(loss - *expected), *expected, 1e-5, "loss");
    ok = ok && torch_for_tensors(variant, "grad", LEAST_TENSORS, compare_tensor, f);
    wsc_free(expected);
    store_close(&f);
    return ok;
}

static bool write_params(const char *dir)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/params.yaml", dir);
    FILE *f = fopen(path, "w");
    return f && fputs(params, f) >= 0 && !fclose(f);
}

static void check_variant(const char *name, const char *options)
{
    char dir[160], path[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path(name));
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t variant = H5Gopen2(file, name, H5P_DEFAULT);
    CU_ASSERT_FATAL(variant >= 0 && spawn_ok("mkdir -p %s", dir));
    CU_ASSERT_FATAL(write_params(dir) && torch_write_samples(variant, dir, B, T) &&
                    torch_write_weights(variant, dir, LEAST_TENSORS));
    for (int num_csx = 1; num_csx <= 2; num_csx++)
        for (int leaf = 1; leaf <= 2; leaf++) {
            (void)snprintf(path, sizeof path, "%s/gradients_%d_%d.mdl", dir, num_csx, leaf);
            CU_ASSERT_FATAL(spawn_ok(
                "\"$WSC\" run --params %s/params.yaml --num_csx %d --set reduction_leaf=%d "
                "--set train_input.data_dir=%s --checkpoint_path %s/weights.mdl "
                "--dump_gradients %s --model_dir %s/run %s",
                dir, num_csx, leaf, dir, dir, path, dir, options));
            CU_ASSERT(compare(variant, path));
        }
    (void)H5Gclose(variant);
    (void)H5Fclose(file);
}

TEST(torch, tied_gradients_are_those_of_pytorch)
{
    check_variant("tied", "--set model.share_embedding_weights=true --set model.nonlinearity=gelu");
}

TEST(torch, untied_gradients_are_those_of_pytorch)
{
    check_variant("untied", "--set model.share_embedding_weights=false "
                            "--set model.nonlinearity=gelu_new");
}
