// SPDX-License-Identifier: Apache-2.0
/* Steps of a diffusion transformer in virtual time: bytes on the links are those of all tensors,
 * conditioning included; a step is longer than that of an encoder of the same sizes by the starts
 * of kernels. */
#include "../../support/diffusion_case.h"

enum { STEPS = 3 };

static const char *const diffusion[] = {DIFFUSION_SETS, NULL};

static struct small_result run(const char *const *sets, int64_t num_csx, int64_t *n_params)
{
    struct small_config c;
    struct small_result r;
    struct model *m;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(model_create(&m, &c.params, HW_STREAM_BLOCK));
    T_OK(small_run_alone(&c, STEPS, NULL, &r));
    *n_params = m->n_params;
    model_destroy(&m);
    small_config_fini(&c);
    return r;
}

/* In 32 bits, for each step: weights down for the forward and the backward pass, gradients up. */
TEST(diffusion_steps, bytes_on_the_links_are_those_of_all_tensors)
{
    const char *const small[] = {DIFFUSION_SETS, "model.hidden_size=64", "model.filter_size=256",
                                 NULL};
    int64_t n[2];
    const struct small_result a = run(diffusion, 1, &n[0]), b = run(small, 1, &n[1]);
    const int64_t down = b.bytes_down - a.bytes_down, up = b.bytes_up - a.bytes_up;
    const int64_t C = 32, block = 18 * C * C + 15 * C;
    T_EQ(n[0], 2 * block + (17 + 13 + 33 + 11 + 66 + 16) * C + 4);
    T_EQ(down, (int64_t)2 * 4 * STEPS * (n[1] - n[0]));
    T_EQ(up, (int64_t)4 * STEPS * (n[1] - n[0]));
}

TEST(diffusion_steps, starts_of_kernels_are_part_of_a_step)
{
    const char *const none[] = {DIFFUSION_SETS, "cluster.wafer.condition_kernels=0", NULL};
    const char *const encoder[] = {"model.name=bert",
                                   "train_input.data_processor=BertHDF5DataProcessor",
                                   "model.disable_nsp=true",
                                   "model.max_predictions_per_seq=16",
                                   "model.loss_scaling=num_tokens",
                                   NULL};
    int64_t n;
    const struct small_result with = run(diffusion, 1, &n), without = run(none, 1, &n);
    const struct small_result stands = run(encoder, 1, &n);
    const int64_t each = 1130000000; /* ps, wafer.stage_latency */
    const int64_t n_starts = (2 * 4 + 1) * (int64_t)3, starts = n_starts * each;
    const int64_t longer = with.batch[STEPS - 1].end.ps - without.batch[STEPS - 1].end.ps;
    CU_ASSERT(longer > starts * STEPS * 9 / 10 && longer <= starts * STEPS);
    CU_ASSERT(without.batch[STEPS - 1].end.ps > stands.batch[STEPS - 1].end.ps);
}
