// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "model_case.h"

#include <wsc/model.h>

#include <string.h>

/* GPT-3 XL, tied, 2048 tokens: C 2048, L 24, F 8192. */
static struct model *gpt3_xl(struct zoo_sparsity *entry)
{
    struct zoo_params p = model_case_params((struct model_case){2048, 24, 16, 8192, 2048});
    struct model *model = NULL;
    p.sparsity = (struct zoo_sparsities){entry ? 1 : 0, entry};
    T_OK(model_create(&model, &p, HW_STREAM_BLOCK));
    return model;
}

static struct zoo_sparsity at(double sparsity)
{
    return (struct zoo_sparsity){.sparsity = {.init = sparsity}, .seed = CONF_NULL};
}

/* SPDF (arXiv 2303.10464) reports 2.5 times fewer FLOPs for pre-training at 75 %. */
TEST(model_density, useful_flops_of_spdf)
{
    struct zoo_sparsity entry = at(0.75);
    struct model *m = gpt3_xl(&entry);
    const double C = 2048, matrices = 24 * 12 * C * C;
    const double dense = model_flop_per_token(m, true),
                 useful = model_useful_flop_per_token(m, true, 0);
    T_NEAR(useful, dense - 6 * 0.75 * matrices, 1e-9);
    CU_ASSERT(dense / useful > 2.45 && dense / useful < 2.55);
    model_destroy(&m);
    m = gpt3_xl(NULL);
    T_NEAR(model_useful_flop_per_token(m, true, 0), model_flop_per_token(m, true), 0);
    model_destroy(&m);
}

/* A forward pass takes 2 FLOPs for a kept weight, whether the weight is trained or not. */
TEST(model_density, useful_flops_of_a_forward_pass)
{
    struct zoo_sparsity entry = at(0.75);
    struct model *sparse = gpt3_xl(&entry), *m = gpt3_xl(NULL);
    const double C = 2048, matrices = 24 * 12 * C * C, third = model_flop_per_token(m, true) / 3;
    T_NEAR(model_flop_per_token(m, false), third, 1e-15);
    T_NEAR(model_useful_flop_per_token(m, false, 0), third, 1e-15);
    T_NEAR(model_useful_flop_per_token(sparse, false, 0), third - 2 * 0.75 * matrices, 1e-9);
    for (int i = 0; i < m->n_tensors; i++)
        m->tensor[i].frozen = m->tensor[i].layer >= 0;
    T_NEAR(model_useful_flop_per_token(m, false, 0), third, 1e-15);
    T_NEAR(model_useful_flop_per_token(m, true, 0), 3 * third - 2 * matrices, 1e-9);
    model_destroy(&m);
    model_destroy(&sparse);
}

/* Steps of RigL: 3 f_s, and 2 f_s + f_d in the one that ends with new masks, where f are the FLOPs
 * of a forward pass (code of Sparse-IFT). */
TEST(model_density, useful_flops_of_rigl)
{
    struct zoo_sparsity entry = at(0.75);
    entry.algorithm = ZOO_SPARSITY_RIGL;
    entry.drop_fraction.init = 0.3;
    entry.update = (struct zoo_mask_update){.freq = 10, .stop = CONF_NULL};
    struct model *m = gpt3_xl(&entry);
    const double C = 2048, matrices = 24 * 12 * C * C;
    const double usual = model_useful_flop_per_token(m, true, 8),
                 update = model_useful_flop_per_token(m, true, 9);
    T_NEAR(update - usual, 2 * 0.75 * matrices, 1e-9);
    CU_ASSERT(model_chooses_mask(m, model_case_view(m, &m->stage[1], MODEL_Q_W), 9) ||
              model_chooses_mask(m, m->stage[1].view[2].tensor, 9));
    model_destroy(&m);
}

TEST(model_density, densities_by_kind)
{
    struct zoo_sparsity entry = at(0.9);
    struct model_density d;
    struct model *m = gpt3_xl(&entry);
    CU_ASSERT(model_density_at(m, 1, 0, &d));
    T_NEAR(d.weights[MODEL_FFN0_W], 0.1, 1e-6);
    T_NEAR(d.gradients[MODEL_O_W], 0.1, 1e-6);
    T_NEAR(d.weights[MODEL_LM_HEAD_W], 1, 0);
    T_NEAR(d.weights[MODEL_NORM1_W], 1, 0);
    CU_ASSERT(!model_density_at(m, 0, 0, &d)); /* embeddings stay dense */
    CU_ASSERT(model_density_at(m, -1, MODEL_DENSEST, &d));
    T_NEAR(d.weights[MODEL_FFN1_W], 0.1, 1e-6);
    model_destroy(&m);
}
