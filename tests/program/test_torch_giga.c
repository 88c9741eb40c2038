// SPDX-License-Identifier: Apache-2.0
/* A training by a params file of gigaGPT against PyTorch: twelve steps from given weights and a
 * file of tokens, with the warm-up, the decay of the matrices alone, and the clipped gradient.
 * tests/fixtures/make_giga_fixture.py made the reference and describes its layout. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"
#include "torch_file.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE "tests/data/giga_torch.h5"
enum { STEPS = 12, LEAST_TENSORS = 30 };

static void put_file(const char *dir, const char *name, const void *bytes, size_t n)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_FATAL(f && fwrite(bytes, 1, n, f) == n);
    (void)fclose(f);
}

/* The params of the file, as the text of an attribute. */
static void put_params(hid_t file, const char *dir)
{
    char *text = NULL;
    hid_t a = H5Aopen(file, "params", H5P_DEFAULT), type = H5Aget_type(a);
    CU_ASSERT_FATAL(H5Aread(a, type, &text) >= 0 && text);
    if (text) put_file(dir, "params.yaml", text, strlen(text));
    (void)H5free_memory(text);
    (void)H5Tclose(type);
    (void)H5Aclose(a);
}

static void put_tokens(hid_t file, const char *dir)
{
    int64_t n = 0;
    unsigned char *tokens = torch_dataset(file, "tokens", H5T_STD_U16LE, 2, &n, NULL);
    put_file(dir, "train.bin", tokens, (size_t)n * 2);
    wsc_free(tokens);
}

static void check_losses(hid_t file, const char *dir)
{
    static struct job_metrics m;
    int64_t n = 0;
    double *loss = torch_dataset(file, "loss", H5T_NATIVE_DOUBLE, sizeof *loss, &n, NULL);
    CU_ASSERT_FATAL(job_read(dir, &m) && m.n == STEPS && n == STEPS);
    for (int i = 0; i < STEPS; i++) {
        const double ours = strtod(m.step[i].loss, NULL);
        CU_ASSERT(torch_is_near(fabs(ours - loss[i]), loss[i], 1e-6, "loss"));
    }
    wsc_free(loss);
}

/* In single precision and in the order of the text, which are not those of gigaGPT. */
TEST(torch_giga, twelve_steps_have_the_losses_of_pytorch)
{
    char dir[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("giga"));
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0 && spawn_ok("mkdir -p %s", dir));
    put_params(file, dir);
    put_tokens(file, dir);
    CU_ASSERT_FATAL(torch_write_weights(file, dir, LEAST_TENSORS));
    for (int num_csx = 1; num_csx <= 2; num_csx++) {
        char run[240];
        (void)snprintf(run, sizeof run, "%s/run%d", dir, num_csx);
        CU_ASSERT_FATAL(
            spawn_ok("\"$WSC\" run --params %s/params.yaml --set dataset=%s --num_csx %d "
                     "--set checkpoint_path=%s/weights.mdl --set model.mixed_precision=false "
                     "--set train_input.shuffle=false --model_dir %s",
                     dir, dir, num_csx, dir, run));
        check_losses(file, run);
    }
    (void)H5Fclose(file);
}
