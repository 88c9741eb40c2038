// SPDX-License-Identifier: Apache-2.0
/* What tensors that do not train leave out of a backward pass, by the terms of docs/MODEL.md. */
#include "../../../src/cycles/cycles_layout.h"
#include "../../../src/cycles/cycles_rows.h"
#include "../../support/diffusion_case.h"
#include "../../support/params_case.h"
#include "cycles_case.h"

#include <math.h>
#include <string.h>

static const struct model_case small = {256, 2, 4, 512, 128};

static void open_params(struct rig *r, const struct zoo_params *p)
{
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, p, HW_STREAM_BLOCK));
}

static void all_train(struct model_density *d)
{
    for (int kind = 0; kind < MODEL_N_KINDS; kind++)
        d->weights[kind] = d->gradients[kind] = d->trained[kind] = 1;
}

/* Cycles of the backward pass of a part that the fraction @p trained of a kind saves. */
static struct cycles_breakdown saved(struct cycles_layout l, enum model_part part,
                                     enum model_tensor_kind kind, double trained)
{
    struct model_density d;
    all_train(&d);
    l.density = &d;
    const struct cycles_breakdown all = cycles_part_backward(&l, part, CYCLES_KEEP_ALL);
    d.trained[kind] = trained;
    const struct cycles_breakdown some = cycles_part_backward(&l, part, CYCLES_KEEP_ALL);
    return (struct cycles_breakdown){.products = all.products - some.products,
                                     .elementwise = all.elementwise - some.elementwise};
}

/* Each table leaves alone; a half of it takes half of the time. */
TEST(cycles_frozen, tables_by_their_terms)
{
    struct zoo_params p = model_case_params(small);
    struct cycles_layout l;
    struct rig r;
    p.model.share_embedding_weights = false;
    open_params(&r, &p);
    r.model->token_types = 2;
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    const double tokens = cycles_scatter(&l, (double)r.model->V);
    T_NEAR(saved(l, MODEL_PART_EMBED, MODEL_WTE, 0).elementwise, tokens, 1e-3);
    T_NEAR(saved(l, MODEL_PART_EMBED, MODEL_WTE, 0.5).elementwise, tokens / 2, 1e-3);
    T_NEAR(saved(l, MODEL_PART_EMBED, MODEL_WPE, 0).elementwise,
           cycles_scatter_positions(&l, (double)small.T), 1e-3);
    T_NEAR(saved(l, MODEL_PART_EMBED, MODEL_WTT, 0).elementwise, cycles_scatter(&l, 2), 1e-3);
    model_destroy(&r.model);
}

/* Classes of images are looked up once for a sequence. */
TEST(cycles_frozen, the_table_of_classes_by_its_terms)
{
    struct zoo_params p = diffusion_params(768, 12, 12);
    struct cycles_layout l, rows;
    struct rig r;
    open_params(&r, &p);
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    rows = l;
    rows.t = 3;
    T_NEAR(saved(l, MODEL_PART_EMBED, MODEL_LABEL_W, 0).elementwise,
           cycles_scatter(&rows, (double)r.model->V), 1e-3);
    model_destroy(&r.model);
    zoo_params_fini(&p);
}

/* A decoder's layout and, of its encoder's tokens, @p encoder; @p biases: of q, k and v too. */
static struct cycles_layout open_decoder(struct rig *r, bool biases, struct cycles_layout *encoder)
{
    struct zoo_params p;
    struct cycles_layout l;
    T_OK(zoo_params_parse(&p, "t5.yaml", params_t5, strlen(params_t5), NULL, 0));
    p.model.use_projection_bias_in_attention = biases;
    p.model.use_ffn_bias_in_attention = biases;
    open_params(r, &p);
    zoo_params_fini(&p);
    cycles_layout_init(&l, &r->hw, r->model, 1, 2000);
    *encoder = l;
    cycles_layout_stack(encoder, 0);
    cycles_layout_stack(&l, 1);
    return l;
}

/* Keys and values of the encoder's output have one product and one gradient; each is a half. */
TEST(cycles_frozen, keys_and_values_of_the_encoder_are_halves)
{
    struct cycles_layout e;
    struct model_density d;
    struct rig r;
    struct cycles_layout l = open_decoder(&r, false, &e);
    const enum model_part part = MODEL_PART_CROSS_QKV;
    const struct cycles_side kv = {.n = 2 * l.heads.n, .k = 2 * l.heads.k};
    const double half = cycles_weight_gradient(&e, &e.hidden, &kv, 1) / 2;
    T_NEAR(saved(l, part, MODEL_CROSS_K_W, 0).products, half, 1e-4);
    T_NEAR(saved(l, part, MODEL_CROSS_V_W, 0).products, half, 1e-4);
    T_NEAR(saved(l, part, MODEL_CROSS_V_W, 0.5).products, half / 2, 1e-4);
    all_train(&d);
    l.density = &d;
    const double dense = cycles_part_backward(&l, part, CYCLES_KEEP_ALL).products;
    for (int i = 0; i < 2; i++) {
        const enum model_tensor_kind kind = i ? MODEL_CROSS_V_W : MODEL_CROSS_K_W;
        d.weights[kind] = 0.5;
        e.density = &d;
        T_NEAR(dense - cycles_part_backward(&l, part, CYCLES_KEEP_ALL).products,
               cycles_product(&e, &kv, e.hidden.n, 1) - cycles_product(&e, &kv, e.hidden.n, 0.75),
               1e-4);
        d.weights[kind] = 1;
    }
    model_destroy(&r.model);
}

/* Biases that train leave together, in one way down the column. */
TEST(cycles_frozen, biases_by_their_terms)
{
    struct zoo_params p = model_case_params(small);
    struct cycles_layout l;
    struct model_density d;
    struct rig r;
    open_params(&r, &p);
    r.model->head[0].dense = MODEL_DENSE_W;
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    const double k = l.heads.k,
                 one = cycles_bias_gradient(&l, k, 3) - cycles_bias_gradient(&l, k, 2);
    static const enum model_tensor_kind kind[] = {MODEL_Q_B, MODEL_K_B, MODEL_V_B};
    all_train(&d);
    l.density = &d;
    const double all = cycles_part_backward(&l, MODEL_PART_QKV, CYCLES_KEEP_ALL).elementwise;
    for (int i = 0; i < 3; i++)
        T_NEAR(saved(l, MODEL_PART_QKV, kind[i], 0).elementwise, one, 1e-3);
    for (int i = 0; i < 3; i++)
        d.trained[kind[i]] = 0.25;
    T_NEAR(all - cycles_part_backward(&l, MODEL_PART_QKV, CYCLES_KEEP_ALL).elementwise,
           0.75 * cycles_bias_gradient(&l, k, 3), 1e-3);
    for (int i = 0; i < 3; i++)
        d.trained[kind[i]] = 0;
    T_NEAR(all - cycles_part_backward(&l, MODEL_PART_QKV, CYCLES_KEEP_ALL).elementwise,
           cycles_bias_gradient(&l, k, 3), 1e-3);
    T_NEAR(saved(l, MODEL_PART_HEAD, MODEL_DENSE_B, 0).elementwise,
           cycles_bias_gradient(&l, l.hidden.k, 1), 1e-3);
    model_destroy(&r.model);
}

/* A decoder's biases for the encoder's output: of its own tokens one vector, of the encoder's two
 * of as many features. */
TEST(cycles_frozen, biases_of_a_decoder_by_their_terms)
{
    const enum model_part part = MODEL_PART_CROSS_QKV;
    struct cycles_layout e;
    struct rig r;
    struct cycles_layout l = open_decoder(&r, true, &e);
    const double with = cycles_part_backward(&l, part, CYCLES_KEEP_ALL).elementwise;
    const double k = l.heads.k, both = cycles_bias_gradient(&e, k, 2);
    r.model->zoo.use_projection_bias_in_attention = false;
    T_NEAR(with - cycles_part_backward(&l, part, CYCLES_KEEP_ALL).elementwise,
           cycles_bias_gradient(&l, k, 1) + both, 1e-3);
    r.model->zoo.use_projection_bias_in_attention = true;
    T_NEAR(saved(l, part, MODEL_CROSS_Q_B, 0).elementwise, cycles_bias_gradient(&l, k, 1), 1e-3);
    T_NEAR(saved(l, part, MODEL_CROSS_K_B, 0).elementwise, both - cycles_bias_gradient(&e, k, 1),
           1e-3);
    T_NEAR(saved(l, part, MODEL_CROSS_V_B, 0).elementwise, both - cycles_bias_gradient(&e, k, 1),
           1e-3);
    T_NEAR(saved(l, MODEL_PART_CROSS_ATTN, MODEL_CROSS_O_B, 0).elementwise,
           cycles_bias_gradient(&l, l.hidden.k, 1), 1e-3);
    model_destroy(&r.model);
}
