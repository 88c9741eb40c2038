// SPDX-License-Identifier: Apache-2.0
#include "../../../src/programs/program_state.h"
#include "program_fixture.h"

#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/check.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/programs.h>

#include <math.h>
#include <string.h>

/* A training step whose every kernel runs on the mesh, against the same step on the host: other
 * code, other orders of summation, the same numbers up to rounding. */

/* Gradients that were scaled by a power of two. */
static void unscale(const struct fixture *f, struct fixture_result *r, double scale)
{
    for (int s = 0; s < f->model.n_stages; s++)
        num_scale(r->grads[s], (float)(1 / scale), r->nodes.n * f->stage[s].n_elems);
}

static void check_against_host(const struct fixture_shape *shape, int64_t leaf_samples,
                               const struct program_fabric *fabric)
{
    struct fixture f;
    fixture_create(&f, shape);
    program_check(&f, leaf_samples, fabric);
    fixture_destroy(&f);
}

/* ---- 16-bit formats -------------------------------------------------------------------------- */

/* Half a unit in the last place of 1. */
static double rounding_of(enum num_format format)
{
    return ldexp(1, -1 - num_formats[format].mantissa);
}

#define LARGE 0.5
/* Host and mesh round operands of products alike; the mesh rounds the results of vector operations
 * too (residual stream, norms, biases), which the host keeps in fp32, and adds up in other orders.
 * A gradient of a two-layer model passes some dozens of such roundings, whose errors add up at
 * random: 6 to 16 are seen in these cases.  LARGE: gradients of these models reach 2 to 4; those of
 * queries and keys are ten times smaller, differences of numbers of that size. */
static void check_format(const struct fixture_shape *shape, const struct program_fabric *fabric,
                         double gradient_scale)
{
    enum { LOSS = 4, GRADIENT = 32 };
    const double u = rounding_of(shape->format);
    struct fixture f;
    struct fixture_result host, mesh;
    int64_t cycles;
    fixture_create(&f, shape);
    const struct fixture_run run = {.end_leaf = fixture_n_leaves(&f, 1), .leaf_samples = 1};
    fixture_step(&f, &run, &host);
    program_step(&f, &run, fabric, &(struct program_masked){.scale = gradient_scale}, &mesh,
                 &cycles);
    for (int64_t i = 0; i < run.end_leaf; i++) {
        T_NEAR(mesh.loss[i].loss_sum, host.loss[i].loss_sum,
               LOSS * u * (double)host.loss[i].n_tokens);
        T_EQ(mesh.loss[i].n_tokens, host.loss[i].n_tokens);
    }
    unscale(&f, &mesh, gradient_scale);
    CU_ASSERT(program_difference(&f, &mesh, &host, LARGE) < GRADIENT * u);
    CU_ASSERT(program_difference(&f, &mesh, &host, LARGE) > u / 8); /* the format was in use */
    fixture_result_destroy(&f, &host);
    fixture_result_destroy(&f, &mesh);
    fixture_destroy(&f);
}

TEST(pe_model, a_step_in_16_bits_equals_that_of_the_host)
{
    static const struct program_fabric fabrics[] = {{5, 3, 1, 1}, {1, 1, 2, 1}, {4, 8, 1, 1}};
    for (int i = 0; i < 3 * NUM_N_HALVES; i++) {
        struct fixture_shape shape = {.L = 2,
                                      .C = 12,
                                      .H = 3,
                                      .F = 21,
                                      .V = 19,
                                      .T = 7,
                                      .n_samples = 2,
                                      .format = num_format_of((enum num_half)(i % NUM_N_HALVES)),
                                      .tied = i > 5,
                                      .head_bias = i < 3,
                                      .softmax_16 = i % 2 == 0,
                                      .logits_scale = i < 6 ? 0.7 : 0};
        check_format(&shape, &fabrics[i / NUM_N_HALVES],
                     num_formats[shape.format].loss_scaling ? 64 : 1);
    }
}

/* Zeros that stream and zeros that do not: the same losses, gradients and fewer cycles; gradients
 * of the zeros take some more where few elements are left: in 16 bits fewer of them, since the
 * others are formed faster.  There each product of a gradient of the non-zeros alone is rounded. */
static void check_masks(const struct fixture_shape *shape, const struct program_fabric *fabric,
                        int every)
{
    const struct program_masked how[] = {{.every = every},
                                         {.every = every, .shown = true},
                                         {.every = every, .shown = true, .dense = true}};
    struct fixture f;
    struct fixture_result r[3];
    int64_t cycles[3];
    const bool half = shape->format != NUM_FP32;
    const double tolerance = half ? 4 * rounding_of(shape->format) : 1e-6;
    fixture_create(&f, shape);
    const struct fixture_run run = {.end_leaf = fixture_n_leaves(&f, 1), .leaf_samples = 1};
    for (int i = 0; i < 3; i++)
        program_step(&f, &run, fabric, &how[i], &r[i], &cycles[i]);
    for (int64_t i = 0; i < run.end_leaf; i++)
        T_NEAR(r[1].loss[i].loss_sum, r[0].loss[i].loss_sum, 0);
    CU_ASSERT(program_difference(&f, &r[1], &r[0], half ? LARGE : 1e-2) < tolerance);
    CU_ASSERT(program_difference(&f, &r[2], &r[0], 1e-2) < 1e-6);
    CU_ASSERT(cycles[1] < cycles[0]);
    CU_ASSERT(every < 40 ? cycles[1] <= cycles[2] : cycles[1] < cycles[2]);
    for (int i = 0; i < 3; i++)
        fixture_result_destroy(&f, &r[i]);
    fixture_destroy(&f);
}

TEST(pe_model, masks_leave_zeros_out)
{
    for (int i = 0; i < NUM_N_FORMATS; i++) {
        const struct fixture_shape shape = {.L = 1,
                                            .C = 24,
                                            .H = 3,
                                            .F = 40,
                                            .V = 19,
                                            .T = 7,
                                            .n_samples = 2,
                                            .format = (enum num_format)i};
        check_masks(&shape, &(struct program_fabric){5, 2, 1, 1}, 9);
        check_masks(&shape, &(struct program_fabric){3, 4, 1, 1}, i ? 120 : 40);
    }
}

static bool same_loss(const struct model_loss *a, const struct model_loss *b)
{
    return a->loss_sum >= b->loss_sum && a->loss_sum <= b->loss_sum && a->n_tokens == b->n_tokens &&
           a->n_correct == b->n_correct;
}

static const struct {
    struct fixture_shape shape;
    int64_t leaf_samples;
    struct program_fabric fabric;
} cases[] = {
    {{.L = 2, .C = 12, .H = 3, .F = 21, .V = 19, .T = 7, .n_samples = 3}, 1, {5, 3, 1, 1}},
    {{.L = 1, .C = 8, .H = 2, .F = 32, .V = 11, .T = 9, .n_samples = 3, .tied = true},
     2,
     {4, 4, 2, 1}},
    {{.L = 2,
      .C = 6,
      .H = 3,
      .F = 10,
      .V = 23,
      .T = 5,
      .n_samples = 2,
      .no_bias = true,
      .head_bias = true,
      .matrices = true,
      .logits_scale = 0.7,
      .embeddings_scale = 3},
     1,
     {1, 1, 1, 1}},
    {{.L = 1,
      .C = 4,
      .H = 1,
      .F = 5,
      .V = 7,
      .T = 3,
      .n_samples = 1,
      .no_positions = true,
      .nonlinearity = ZOO_RELU,
      .scale_by_layer = true},
     1,
     {9, 6, 1, 1}},
    /* Rows of the position table that go straight to their tokens are scaled all the same. */
    {{.L = 1, .C = 8, .H = 2, .F = 9, .V = 13, .T = 6, .n_samples = 1, .embeddings_scale = 3},
     1,
     {4, 3, 1, 1}},
    {{.L = 1,
      .C = 12,
      .H = 3,
      .F = 24,
      .V = 16,
      .T = 8,
      .n_samples = 4,
      .nonlinearity = ZOO_GELU_NEW},
     2,
     {2, 8, 1, 1}},
};

TEST(pe_model, a_step_on_the_mesh_equals_the_host)
{
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        check_against_host(&cases[i].shape, cases[i].leaf_samples, &cases[i].fabric);
}

/* What acts in training alone, each alone and together: the host's masks, element by element. */
TEST(pe_model, dropout_and_smoothed_labels_are_those_of_the_host)
{
    static const double rates[][4] = {/* embeddings, probabilities, branches, labels */
                                      {0.3, 0, 0, 0}, {0, 0.3, 0, 0},       {0, 0, 0.3, 0},
                                      {0, 0, 0, 0.2}, {0.1, 0.2, 0.3, 0.1}, {0, 0, 1, 0}};
    for (int i = 0; i < (int)(sizeof rates / sizeof *rates); i++) {
        struct fixture f;
        fixture_create(&f, &cases[i % 2].shape);
        f.model.zoo.embedding_dropout_rate = rates[i][0];
        f.model.zoo.attention_dropout_rate = rates[i][1];
        f.model.zoo.dropout_rate = rates[i][2];
        f.model.head[0].smoothing = rates[i][3];
        f.model.seed = 7;
        program_check(&f, cases[i % 2].leaf_samples, &cases[i % 2].fabric);
        fixture_destroy(&f);
    }
}

/* Weights by distance, slopes or relative positions: one head on several columns, several heads on
 * one; leaves of two samples, the last one of one; rows without a token; a soft cap, windows and
 * sinks; buckets of one distance and of many, some of none. */
static void check_by_distance(bool slopes, int buckets)
{
    static const struct {
        double cap;
        int H, T, leaf, window;
        struct program_fabric fabric;
    } how[] = {{0, 3, 7, 1, 0, {5, 3, 1, 1}},  {0, 2, 9, 2, 0, {6, 4, 2, 1}},
               {0, 3, 8, 2, 0, {1, 11, 1, 1}}, {1.5, 6, 10, 1, 0, {4, 3, 1, 1}},
               {0, 2, 12, 2, 4, {8, 2, 1, 2}}, {0.7, 1, 5, 1, 3, {12, 1, 1, 1}},
               {0, 4, 21, 1, 0, {4, 8, 1, 1}}};
    for (int i = 0; i < (int)(sizeof how / sizeof *how); i++) {
        struct fixture f;
        fixture_create(&f, &(struct fixture_shape){.L = 1 + i % 2,
                                                   .C = 12,
                                                   .H = how[i].H,
                                                   .F = 10,
                                                   .V = 17,
                                                   .T = how[i].T,
                                                   .n_samples = 3,
                                                   .no_bias = true, /* a key's has no gradient */
                                                   .slopes = slopes,
                                                   .buckets = buckets});
        f.model.zoo.attention_logit_softcapping = how[i].cap;
        f.model.window = how[i].window;
        f.model.sink_tokens = how[i].window ? 1 : 0;
        program_check(&f, how[i].leaf, &how[i].fabric);
        fixture_destroy(&f);
    }
}

TEST(pe_model, slopes_that_train_are_those_of_the_host)
{
    check_by_distance(true, 0);
}

TEST(pe_model, relative_positions_are_those_of_the_host)
{
    check_by_distance(false, 4);
    check_by_distance(false, 32);
}

/* Adapters of all matrices and tables, whose ranks differ, with fewer and with more of them than
 * columns, in leaves of one and two samples; dropout of their inputs. */
TEST(pe_model, adapters_are_those_of_the_host)
{
    static const struct program_fabric fabrics[] = {
        {5, 3, 1, 1}, {3, 4, 2, 1}, {8, 2, 1, 2}, {1, 9, 1, 1}};
    for (int i = 0; i < 8; i++) {
        struct fixture f;
        fixture_create(&f, &(struct fixture_shape){.L = 1 + i % 2,
                                                   .C = 12,
                                                   .H = 3,
                                                   .F = 10,
                                                   .V = 17,
                                                   .T = 7,
                                                   .n_samples = 3,
                                                   .no_bias = true,
                                                   .embeddings_scale = i % 3 ? 0 : 3,
                                                   .rank = 2 + i % 4,
                                                   .dropout = i < 4 ? 0 : 0.3});
        f.model.seed = 5;
        program_check(&f, 1 + i % 2, &fabrics[i % 4]);
        fixture_destroy(&f);
    }
}

/* ---- models of params files ------------------------------------------------------------------ */

static void check_params(const struct zoo_params *p, int64_t leaf_samples,
                         const struct program_fabric *fabric)
{
    struct fixture f;
    fixture_create_of(&f, p, 5);
    program_check(&f, leaf_samples, fabric);
    fixture_destroy(&f);
}

/* Norms of queries and keys with and without a mean and a bias: heads of several columns, several
 * heads of one column, keys that heads share, several turns of leaves. */
TEST(pe_model, norms_by_heads_are_those_of_the_host)
{
    static const enum zoo_qk_norm norms[] = {ZOO_QK_LAYERNORM, ZOO_QK_BIASLESS_LAYERNORM,
                                             ZOO_QK_RMSNORM};
    static const struct {
        int64_t heads, groups, leaf;
        struct program_fabric fabric;
    } how[] = {{3, 0, 1, {5, 3, 1, 1}}, {6, 3, 2, {1, 4, 1, 1}}, {4, 1, 1, {8, 2, 2, 2}}};
    for (int i = 0; i < 9; i++) {
        struct zoo_params p = program_params(how[i / 3].heads, 7);
        p.model.attention_qk_norm_layer = norms[i % 3];
        p.model.norm_type = i % 2 ? ZOO_RMSNORM : ZOO_LAYERNORM;
        p.model.num_kv_groups = how[i / 3].groups;
        check_params(&p, how[i / 3].leaf, &how[i / 3].fabric);
    }
}

/* Two sums for each head of a PE and each of its tokens: what was reserved next lies beyond them.
 */
static void check_room_of_sums(const struct zoo_params *p, bool by_heads)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct programs_room room = {.samples = 2, .leaf_samples = 1};
    struct programs_model *k;
    struct fixture f;
    fixture_create_of(&f, p, 1);
    cluster.wafer.pe_cols = 2;
    cluster.wafer.pe_rows = 3;
    program_ok(programs_model_create(&k, &hw, &f.model, &room, true));
    T_EQ(k->heads.heads_per_pe, 3);
    const int bytes = 4 * 2 * (by_heads ? k->heads.heads_per_pe : 1) * k->grid.pitch;
    CU_ASSERT(k->output[0].rows - k->sums >= bytes && k->output[0].rows - k->sums <= bytes + 8);
    programs_model_destroy(&k);
    fixture_destroy(&f);
}

TEST(pe_model, sums_of_a_norm_by_heads_have_room)
{
    struct zoo_params p = program_params(6, 7);
    check_room_of_sums(&p, false);
    p.model.attention_qk_norm_layer = ZOO_QK_RMSNORM;
    check_room_of_sums(&p, true);
}

/* Biases of keys and values that heads share come once for each head, and their gradients are the
 * sums of those of the heads.  Norms of the keys give their bias a gradient. */
TEST(pe_model, shared_keys_and_values_are_those_of_the_host)
{
    static const struct program_fabric fabrics[] = {{5, 3, 1, 1}, {1, 4, 1, 1}, {8, 2, 2, 2}};
    for (int i = 0; i < 3; i++) {
        struct zoo_params p = program_params(6, 7);
        p.model.use_projection_bias_in_attention = true;
        p.model.attention_qk_norm_layer = ZOO_QK_BIASLESS_LAYERNORM;
        p.model.num_kv_groups = 1 + i;
        check_params(&p, 1 + i % 2, &fabrics[i]);
    }
}

/* Every function that chooses experts with every one that weighs them. */
TEST(pe_model, routers_are_those_of_the_host)
{
    static const struct program_fabric fabrics[] = {{5, 3, 1, 1}, {1, 4, 1, 1}, {7, 2, 2, 2}};
    static const enum zoo_router_map maps[] = {ZOO_ROUTER_SOFTMAX, ZOO_ROUTER_SIGMOID,
                                               ZOO_ROUTER_SINKHORN};
    for (int i = 0; i < 9; i++) {
        struct zoo_params p = program_params(3, 8);
        p.model.moe = (struct zoo_moe){.num_experts = 5,
                                       .num_shared_experts = i % 2,
                                       .top_k = 2,
                                       .load_balancing_loss_coef = i % 4 ? 0.3 : 0,
                                       .router_selection_nonlinearity = maps[i % 3],
                                       .expert_weighting_nonlinearity = maps[i / 3],
                                       .expert_weighting_normalization = i % 2,
                                       .sinkhorn_n_iters = 3};
        check_params(&p, 1 + i % 2, &fabrics[i % 3]);
    }
}

enum { ROUTED_SAMPLES = 2 };

/* Cycles of biases in both passes of a step of one leaf: on the mesh, and the analytical model's
 * of all work beside products. */
static void bias_cycles(const struct zoo_params *p, const struct program_fabric *fabric,
                        double simulated[2], double modelled[2])
{
    static const enum model_part parts[] = {MODEL_PART_FFN0, MODEL_PART_FFN1};
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct cycles_layout l;
    struct fixture f;
    struct fixture_result result;
    int64_t cycles;
    fixture_create_of(&f, p, ROUTED_SAMPLES);
    const struct fixture_run run = {.end_leaf = 1, .leaf_samples = ROUTED_SAMPLES};
    program_step(&f, &run, fabric, &(struct program_masked){0}, &result, &cycles);
    simulated[0] = (double)program_rows[PROGRAMS_ROW_POINTWISE].cycles;
    simulated[1] = (double)program_rows[PROGRAMS_ROW_POINTWISE_BACKWARD].cycles;
    cluster.wafer.pe_cols = fabric->w;
    cluster.wafer.pe_rows = fabric->h;
    cycles_layout_init(&l, &hw, &f.model, 1, ROUTED_SAMPLES);
    cycles_layout_round_robin(&l, ROUTED_SAMPLES);
    modelled[0] = modelled[1] = 0;
    for (int i = 0; i < 2; i++) {
        modelled[0] += cycles_part_forward(&l, parts[i]).elementwise;
        modelled[1] += cycles_part_backward(&l, parts[i], CYCLES_KEEP_ALL).elementwise;
    }
    fixture_result_destroy(&f, &result);
    fixture_destroy(&f);
}

/* Each network of a mixture has its own biases, a gated one two before its nonlinearity. */
TEST(pe_model, biases_of_experts_take_their_own_cycles)
{
    static const struct program_fabric fabric = {5, 8, 1, 1};
    for (int gated = 0; gated < 2; gated++) {
        double simulated[2][2], modelled[2][2];
        struct zoo_params p = program_params(3, 8);
        p.model.nonlinearity = gated ? ZOO_SWIGLU : ZOO_GELU;
        p.model.moe = (struct zoo_moe){
            .num_experts = 5, .top_k = 2, .num_shared_experts = 1, .probability_before_ffn = true};
        for (int biased = 0; biased < 2; biased++) {
            p.model.use_ffn_bias = biased;
            bias_cycles(&p, &fabric, simulated[biased], modelled[biased]);
        }
        for (int pass = 0; pass < 2; pass++)
            T_NEAR((simulated[1][pass] - simulated[0][pass]) /
                           (modelled[1][pass] - modelled[0][pass]) -
                       1,
                   0, 0.15);
    }
}

/* ---- squares of the leaves' gradients -------------------------------------------------------- */

/* |gradient|^2 of leaf @p leaf alone, on the host. */
static double host_square(const struct fixture *f, int64_t leaf, int64_t leaf_samples)
{
    const struct fixture_run run = {
        .first_leaf = leaf, .end_leaf = leaf + 1, .leaf_samples = leaf_samples};
    struct fixture_result r;
    double sum = 0;
    fixture_step(f, &run, &r);
    for (int s = 0; s < f->model.n_stages; s++)
        sum += num_sum_squares(r.grads[s], f->model.stage[s].n_elems);
    fixture_result_destroy(f, &r);
    return sum;
}

/* The leaves [first, end) as a micro-batch of a model on the mesh that may have had others. */
static void check_squares(struct programs_model *k, const struct fixture *f, int64_t first,
                          int64_t end)
{
    const struct model *m = &f->model;
    struct data_batch batch = fixture_slice(f, first, end - first);
    struct data_share share = {.first_leaf = first,
                               .end_leaf = end,
                               .n_leaves = f->batch.n,
                               .leaf_samples = 1,
                               .batch_size = f->batch.n};
    struct num_nodes nodes;
    int64_t cycles, to_gradient;
    num_nodes_of_range(&nodes, first, end, share.n_leaves);
    programs_model_begin(k, &share, &batch);
    for (int s = 0; s < m->n_stages; s++)
        program_ok(programs_model_forward(k, s, f->stage_weights[s], &cycles));
    for (int s = m->n_stages - 1; s >= 0; s--) {
        float *gradient = program_floats(nodes.n * m->stage[s].n_elems);
        program_ok(
            programs_model_backward(k, s, f->stage_weights[s], gradient, &cycles, &to_gradient));
        wsc_free(gradient);
    }
    for (int64_t i = first; i < end; i++) {
        const double square = host_square(f, i, 1);
        T_NEAR(programs_model_leaf_squares(k)[i - first], square, 1e-5 * square);
    }
}

/* Each micro-batch begins at zero, whatever the one before it had. */
TEST(pe_model, squares_of_leaves_are_those_of_the_host)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct programs_room room = {.samples = 4, .leaf_samples = 1, .lanes = 1};
    struct programs_model *k;
    struct fixture f;
    const struct fixture_shape shape = {
        .L = 1, .C = 8, .H = 2, .F = 9, .V = 13, .T = 6, .n_samples = 7};
    fixture_create(&f, &shape);
    cluster.wafer.pe_cols = 4;
    cluster.wafer.pe_rows = 3;
    program_ok(programs_model_create(&k, &hw, &f.model, &room, true));
    program_ok(programs_model_measure_leaves(k));
    check_squares(k, &f, 0, 4);
    check_squares(k, &f, 4, 7);
    programs_model_destroy(&k);
    fixture_destroy(&f);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void check_same_values(const struct fixture *f, const struct fixture_result *a,
                              const struct fixture_result *b)
{
    for (int64_t i = 0; i < a->n_leaves; i++)
        CU_ASSERT(same_loss(&a->loss[i], &b->loss[i]));
    for (int s = 0; s < f->model.n_stages; s++) {
        const size_t n = (size_t)(a->nodes.n * f->model.stage[s].n_elems);
        CU_ASSERT(memcmp(a->grads[s], b->grads[s], n * sizeof(float)) == 0);
    }
}

/* Lanes of the columns that one lane has, on a fabric with columns to spare: the same bits, in
 * fewer cycles where there is more than one leaf. */
static void check_lanes(const struct fixture_shape *shape, int64_t leaf_samples,
                        const struct program_fabric *fabric, const struct program_masked *masked)
{
    enum { MOST = 4 };
    struct fixture f;
    struct fixture_result one, lanes;
    int64_t cycles, fewer;
    fixture_create(&f, shape);
    const int64_t n = fixture_n_leaves(&f, leaf_samples);
    const struct fixture_run run = {.end_leaf = n, .leaf_samples = leaf_samples};
    program_step(&f, &run, fabric, masked, &one, &cycles);
    for (int i = 2; i <= MOST; i++) {
        struct program_fabric wide = *fabric;
        wide.w = i * fabric->w + (fabric->w > 1 ? i - 1 : 0);
        wide.lanes = i;
        program_step(&f, &run, &wide, masked, &lanes, &fewer);
        check_same_values(&f, &one, &lanes);
        CU_ASSERT(n > 1 ? fewer < cycles : fewer == cycles);
        fixture_result_destroy(&f, &lanes);
    }
    fixture_result_destroy(&f, &one);
    fixture_destroy(&f);
}

TEST(pe_model, lanes_have_the_bits_of_one)
{
    const struct fixture_shape slopes = {
        .L = 2, .C = 12, .H = 3, .F = 7, .V = 9, .T = 7, .n_samples = 5, .slopes = true};
    struct fixture_shape relative = slopes;
    relative.slopes = false;
    relative.buckets = 6;
    check_lanes(&slopes, 2, &(struct program_fabric){5, 3, 1, 1}, &(struct program_masked){0});
    check_lanes(&relative, 2, &(struct program_fabric){5, 3, 1, 1}, &(struct program_masked){0});
    const struct fixture_shape adapted = {
        .L = 1, .C = 12, .H = 3, .F = 7, .V = 9, .T = 5, .n_samples = 5, .rank = 2, .dropout = 0.2};
    check_lanes(&adapted, 2, &(struct program_fabric){4, 3, 1, 1}, &(struct program_masked){0});
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        check_lanes(&cases[i].shape, cases[i].leaf_samples, &cases[i].fabric,
                    &(struct program_masked){0});
}

TEST(pe_model, lanes_have_the_bits_of_one_in_16_bits_and_with_zeros)
{
    struct fixture_shape shape = {
        .L = 1, .C = 24, .H = 3, .F = 40, .V = 19, .T = 7, .n_samples = 5};
    const struct program_fabric fabric = {5, 2, 2, 1};
    check_lanes(&shape, 2, &fabric, &(struct program_masked){.every = 9, .shown = true});
    check_lanes(&shape, 1, &(struct program_fabric){3, 4, 1, 1},
                &(struct program_masked){.every = 40, .shown = true});
    shape.format = NUM_BF16;
    check_lanes(&shape, 1, &fabric, &(struct program_masked){.scale = 64});
    check_lanes(&shape, 1, &fabric,
                &(struct program_masked){.every = 9, .shown = true, .scale = 64});
}

/* Every kernel takes as long as on the slowest of the lanes, but for the losses, which share the
 * west edge: samples that are alike take as long as one of them. */
TEST(pe_model, lanes_wait_for_each_other_at_the_shared_edge_alone)
{
    enum { SAMPLES = 3, T = 6, COLUMNS = 4, ROWS = 3 };
    struct fixture f;
    struct fixture_result one, all;
    int64_t cycles, shared;
    fixture_create(&f, &(struct fixture_shape){
                           .L = 1, .C = 8, .H = 2, .F = 12, .V = 11, .T = T, .n_samples = SAMPLES});
    for (int i = T; i < SAMPLES * T; i++) {
        f.batch.input_ids[i] = f.batch.input_ids[i % T];
        f.batch.labels[i] = f.batch.labels[i % T];
    }
    program_step(&f, &(struct fixture_run){.end_leaf = 1, .leaf_samples = 1},
                 &(struct program_fabric){COLUMNS, ROWS, 1, 1}, &(struct program_masked){0}, &one,
                 &cycles);
    program_step(&f, &(struct fixture_run){.end_leaf = SAMPLES, .leaf_samples = 1},
                 &(struct program_fabric){SAMPLES * COLUMNS, ROWS, 1, SAMPLES},
                 &(struct program_masked){0}, &all, &shared);
    /* Two words of each token of a row pass after those of the lanes to the west, and the last ones
     * go through the columns of a lane, with a switch and a ramp for each. */
    const int words = (SAMPLES - 1) * 2 * (T / ROWS), way = (SAMPLES - 1) * (COLUMNS + 4);
    CU_ASSERT(shared >= cycles + words - way);
    CU_ASSERT(shared <= cycles + words + way);
    CU_ASSERT(shared > cycles);
    fixture_result_destroy(&f, &one);
    fixture_result_destroy(&f, &all);
    fixture_destroy(&f);
}

/* The contract of values: shares of one wafer or of two merge to the same bits. */
TEST(pe_model, gradients_do_not_depend_on_the_share)
{
    const struct program_fabric fabric = {4, 3, 1, 1};
    struct fixture f;
    struct fixture_result all, left, right;
    int64_t cycles[3];
    fixture_create(&f, &(struct fixture_shape){
                           .L = 1, .C = 8, .H = 2, .F = 12, .V = 11, .T = 6, .n_samples = 5});
    const int64_t n = fixture_n_leaves(&f, 1);
    program_step(&f, &(struct fixture_run){.end_leaf = n, .leaf_samples = 1}, &fabric,
                 &(struct program_masked){0}, &all, &cycles[0]);
    program_step(&f, &(struct fixture_run){.end_leaf = 3, .leaf_samples = 1}, &fabric,
                 &(struct program_masked){0}, &left, &cycles[1]);
    program_step(&f, &(struct fixture_run){.first_leaf = 3, .end_leaf = n, .leaf_samples = 1},
                 &fabric, &(struct program_masked){0}, &right, &cycles[2]);
    fixture_merge(&f, &left, &right, n);
    for (int64_t i = 0; i < n; i++)
        CU_ASSERT(same_loss(&all.loss[i], &left.loss[i]));
    for (int s = 0; s < f.model.n_stages; s++)
        CU_ASSERT(memcmp(all.grads[s], left.grads[s], (size_t)f.stage[s].n_elems * sizeof(float)) ==
                  0);
    CU_ASSERT(cycles[1] < cycles[0]);
    fixture_result_destroy(&f, &all);
    fixture_result_destroy(&f, &left);
    fixture_result_destroy(&f, &right);
    fixture_destroy(&f);
}

TEST(pe_model, memory_that_does_not_fit_is_told_with_the_tensor)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct programs_room one = {.samples = 1, .leaf_samples = 1};
    struct programs_model *k;
    struct fixture f;
    fixture_create(&f, &(struct fixture_shape){
                           .L = 1, .C = 64, .H = 2, .F = 256, .V = 19, .T = 64, .n_samples = 1});
    cluster.wafer.pe_cols = cluster.wafer.pe_rows = 1;
    T_EQ(programs_model_create(&k, &hw, &f.model, &one, true), WSC_CAPACITY);
    CU_ASSERT(strstr(wsc_err_message(), "PE (0, 0): ") != NULL);
    CU_ASSERT(strstr(wsc_err_message(), "bytes") != NULL);
    cluster.wafer.pe_cols = 4096;
    T_EQ(programs_model_create(&k, &hw, &f.model, &one, true), WSC_CONFIG);
    fixture_destroy(&f);
}
