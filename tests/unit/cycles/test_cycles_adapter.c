// SPDX-License-Identifier: Apache-2.0
#include "../../../src/cycles/cycles_adapter.h"
#include "../../support/small_run.h"
#include "cycles_case.h"

enum { RANK = 8 };

/* One layer of a model that is not tied, with an adapter of the kind. */
static void rig_open_adapted(struct rig *r, enum model_tensor_kind kind)
{
    const struct model_case small = {256, 1, 4, 512, 128};
    struct zoo_params p = model_case_params(small);
    p.model.share_embedding_weights = false;
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, &p, HW_STREAM_BLOCK));
    r->model->adapter[kind] = (struct model_adapter){.r = RANK, .scale = 1};
}

/* An embedding looks A up, as a table of r features, and has no input gradient. */
TEST(cycles_adapter, an_embedding_by_its_terms)
{
    struct rig r;
    struct cycles_layout l, low;
    struct cycles_breakdown forward = {0}, backward = {0};
    rig_open_adapted(&r, MODEL_WTE);
    cycles_layout_init(&l, &r.hw, r.model, 1, 16);
    low = l;
    low.hidden = cycles_side_of(&l, RANK);
    const double rows = (double)r.model->V;
    cycles_adapters_forward(&l, MODEL_PART_EMBED, &forward);
    cycles_adapters_backward(&l, MODEL_PART_EMBED, &backward);
    T_NEAR(forward.products, cycles_product(&l, &low.hidden, l.hidden.n, 1), 0);
    T_NEAR(forward.elementwise, cycles_gather(&low, rows) + cycles_residual(&l, l.hidden.k), 0);
    T_NEAR(backward.recompute, cycles_gather(&low, rows), 0);
    T_NEAR(backward.products,
           cycles_product(&l, &l.hidden, RANK, 1) +
               cycles_weight_gradient(&l, &low.hidden, &l.hidden, 1),
           0);
    T_NEAR(backward.elementwise, cycles_scatter(&low, rows), 0);
    model_destroy(&r.model);
}

/* The output layer's is that of a linear layer, of the tokens of the head. */
TEST(cycles_adapter, an_output_layer_by_its_terms)
{
    struct rig r;
    struct cycles_layout l;
    struct cycles_breakdown forward = {0}, other = {0};
    rig_open_adapted(&r, MODEL_LM_HEAD_W);
    cycles_layout_init(&l, &r.hw, r.model, 1, 16);
    const struct cycles_side low = cycles_side_of(&l, RANK), out = cycles_side_of(&l, r.model->V);
    cycles_adapters_forward(&l, MODEL_PART_HEAD, &forward);
    cycles_adapters_forward(&l, MODEL_PART_EMBED, &other);
    T_NEAR(forward.products,
           cycles_product(&l, &l.hidden, RANK, 1) + cycles_product(&l, &low, out.n, 1), 0);
    T_NEAR(forward.elementwise, cycles_residual(&l, out.k), 0);
    T_NEAR(other.products + other.elementwise, 0, 0);
    model_destroy(&r.model);
}

/* A stage starts a kernel and two for each adapter in it, twice as many in the backward pass. */
TEST(cycles_adapter, its_products_start_as_kernels_of_their_own)
{
    struct small_config c, plain;
    struct model *with, *without;
    const char *const adapters[] = {
        "model.lora_params={r: 2, alpha: 4, target_modules: [TransformerDecoderLayer, Linear]}",
        NULL};
    const char *const none[] = {NULL};
    T_OK(small_config_init(&c, 1, adapters));
    T_OK(small_config_init(&plain, 1, none));
    T_OK(model_create(&with, &c.params, HW_STREAM_BLOCK));
    T_OK(model_create(&without, &plain.params, HW_STREAM_BLOCK));
    int block = 0; /* of a GPT: six matrices */
    while (with->stage[block].layer < 0)
        block++;
    c.cluster.wafer.stage_latency_ps = 1000;
    c.cluster.wafer.backward_kernels = 2;
    c.cluster.wafer.adapter_kernels = 2;
    T_EQ(cycles_latency_ps(&c.cluster, without, block, false), 1000);
    T_EQ(cycles_latency_ps(&c.cluster, without, block, true), 2000);
    T_EQ(cycles_latency_ps(&c.cluster, with, block, false), 13000);
    T_EQ(cycles_latency_ps(&c.cluster, with, block, true), 26000);
    T_EQ(cycles_latency_ps(&c.cluster, with, 0, true), 2000);
    c.cluster.wafer.adapter_kernels = 0;
    T_EQ(cycles_latency_ps(&c.cluster, with, block, true), 2000);
    model_destroy(&with);
    model_destroy(&without);
    small_config_fini(&c);
    small_config_fini(&plain);
}
