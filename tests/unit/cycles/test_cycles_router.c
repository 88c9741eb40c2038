// SPDX-License-Identifier: Apache-2.0
#include "../../../src/cycles/cycles_experts.h"
#include "../../../src/cycles/cycles_rows.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"

#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 3 };

static void rig_open_router(struct rig *r, struct zoo_moe moe)
{
    const struct model_case small = {256, 2, 4, 512, 128};
    struct zoo_params p = model_case_params(small);
    p.model.moe = moe;
    p.model.moe.num_experts = 8;
    p.model.moe.top_k = 2;
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, &p, HW_STREAM_BLOCK));
}

/* Forward, or backward, of the first block. */
static int64_t block_cycles(struct zoo_moe moe, bool backward)
{
    const struct cycles_plan plan = {.lanes = 1};
    struct rig r;
    rig_open_router(&r, moe);
    const int64_t cycles = cycles_stage(&r.hw, r.model, &plan, 1, backward, 64, NULL);
    model_destroy(&r.model);
    return cycles;
}

/* One row of PEs down which the tokens of a text spread: by the terms of docs/MODEL.md. */
TEST(cycles_router, sinkhorn_by_its_terms)
{
    struct rig r;
    struct cycles_layout l;
    rig_open_router(&r, (struct zoo_moe){.router_selection_nonlinearity = ZOO_ROUTER_SINKHORN,
                                         .sinkhorn_n_iters = ITERATIONS});
    cycles_layout_init(&l, &r.hw, r.model, 1, 64);
    const double k = 2, n = k * l.t, words = k * l.texts, compare = 8;
    const double tokens = cycles_map(&l, n, compare) + 2 * cycles_row_sum(&l, l.rows, words) +
                          cycles_map(&l, n, l.exp) + cycles_sum(&l, n) +
                          cycles_map(&l, words, l.exp) + cycles_add(&l, n);
    T_NEAR(cycles_router_map(&l, ZOO_ROUTER_SINKHORN, k),
           ITERATIONS * (cycles_softmax(&l, k) + tokens) + cycles_map(&l, n, l.exp), 0);
    T_NEAR(cycles_router_map_gradient(&l, ZOO_ROUTER_SINKHORN, k), 0, 0);
    T_NEAR(cycles_router_map(&l, ZOO_ROUTER_SOFTMAX, k), cycles_softmax(&l, k), 0);
    CU_ASSERT(cycles_router_map(&l, ZOO_ROUTER_SIGMOID, k) < cycles_softmax(&l, k));
    model_destroy(&r.model);
}

/* Another function for the weights is added; a sigmoid goes along no row; each iteration costs as
 * much as the first; no gradient goes through Sinkhorn's normalisation. */
TEST(cycles_router, blocks_cost_what_their_router_does)
{
    const struct zoo_moe softmax = {.sinkhorn_n_iters = 1},
                         sigmoid = {.router_selection_nonlinearity = ZOO_ROUTER_SIGMOID,
                                    .expert_weighting_nonlinearity = ZOO_ROUTER_SIGMOID},
                         before = {.probability_before_ffn = true};
    struct zoo_moe sinkhorn = {.router_selection_nonlinearity = ZOO_ROUTER_SINKHORN};
    int64_t forward[3], backward[3];
    for (int i = 0; i < 3; i++) {
        sinkhorn.sinkhorn_n_iters = i + 1;
        forward[i] = block_cycles(sinkhorn, false);
        backward[i] = block_cycles(sinkhorn, true);
    }
    CU_ASSERT(forward[0] > block_cycles(softmax, false));
    CU_ASSERT(llabs(forward[2] - 2 * forward[1] + forward[0]) <= 2);
    T_EQ(backward[0], backward[2]);
    /* the weights are a softmax's, apart from what chooses: a copy and a sum of logits more */
    CU_ASSERT(backward[0] > block_cycles(softmax, true));
    CU_ASSERT(block_cycles(sigmoid, false) < block_cycles(softmax, false));
    CU_ASSERT(block_cycles(before, false) >= block_cycles(softmax, false));
}

/* Two of eight experts with softmax weights that add up to 1, all on one row of PEs whose columns
 * have a logit each: by the terms of docs/MODEL.md. */
TEST(cycles_router, choice_and_places_by_their_terms)
{
    const struct zoo_moe plain = {.expert_weighting_normalization = true};
    struct rig r;
    struct cycles_layout l;
    rig_open_router(&r, plain);
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    const double t = l.t, s = 2, k = l.hidden.k, f = l.filter.k, look = 20;
    CU_ASSERT(t > 100);
    const double copy = l.setup_copy + ceil(t / l.add), sum = cycles_sum(&l, t),
                 mul = l.setup_add + ceil(t / l.mul), along = cycles_row_sum(&l, l.cols, t);
    const double choice = 3 * copy + 2 * mul + cycles_map(&l, t, 8) + sum + look * t + 2 * along;
    const double route = cycles_softmax(&l, 1) + copy + 2 * choice + copy +
                         cycles_map(&l, t, l.divide) + 2 * 2 * sum;
    T_NEAR(cycles_route(&l, false), route, 1e-6);
    const double collect = t * (1 + s * (look + cycles_copy(&l, k))),
                 back = t * (1 + s * (look + cycles_add_tiles(&l, k)));
    T_NEAR(cycles_dispatch(&l), route + 2 * look * s * t + collect, 1e-6);
    const double weights = look * s * t + cycles_convert(&l, s * t);
    const double weigh[2] = {weights + cycles_mul(&l, k * s * t),
                             weights + cycles_mul(&l, f * s * t)};
    T_NEAR(cycles_combine(&l), weigh[0] + cycles_residual(&l, k) + back, 1e-6);
    struct cycles_layout e = l;
    e.t = ceil(t / 4);
    const double bias = 8 * (cycles_bias(&e, k) + cycles_residual(&e, k)), n = f * s * t;
    const double dots = l.setup_copy + ceil(s * t / l.add) + cycles_mul_tiles(&l, n) +
                        cycles_sum(&l, n) + cycles_row_sum(&l, l.cols, s * t);
    T_NEAR(cycles_combine_gradient(&l), collect + bias + dots + weigh[0] + weigh[1], 1e-6);
    T_NEAR(cycles_dispatch_gradient(&l),
           collect + copy + 2 * s * look * t + copy + 4 * s * sum + cycles_softmax_gradient(&l, 1) +
               back,
           1e-6);
    model_destroy(&r.model);
}

/* Weights of their own are picked, a loss that balances goes down the rows, shared networks have
 * places, hash routing chooses nothing, and a model without experts pays for nothing. */
TEST(cycles_router, what_a_router_has_is_what_it_costs)
{
    struct zoo_moe moe = {.expert_weighting_nonlinearity = ZOO_ROUTER_SIGMOID};
    struct rig r;
    struct cycles_layout l;
    double cycles[4];
    rig_open_router(&r, moe);
    cycles_layout_init(&l, &r.hw, r.model, 1, 64);
    cycles[0] = cycles_dispatch(&l) - cycles_router_map(&l, ZOO_ROUTER_SIGMOID, 1);
    r.model->zoo.moe.expert_weighting_nonlinearity = ZOO_ROUTER_SOFTMAX;
    cycles[1] = cycles_dispatch(&l);
    const double row = cycles_row_sum(&l, l.cols, l.t);
    T_NEAR(cycles[0] - cycles[1], 2 * row + l.setup_copy + ceil(l.t / l.add), 1e-6);
    cycles[2] = cycles_dispatch_gradient(&l);
    r.model->load_balance = 0.01;
    CU_ASSERT(cycles_dispatch(&l) > cycles[1] && cycles_dispatch_gradient(&l) > cycles[2]);
    r.model->load_balance = 0;
    cycles[3] = cycles_combine(&l);
    r.model->shared_experts = 2;
    CU_ASSERT(cycles_combine(&l) > 1.5 * cycles[3]);
    r.model->shared_experts = 0;
    r.model->zoo.moe.routing_algorithm = ZOO_ROUTING_HASH;
    CU_ASSERT(cycles_dispatch_gradient(&l) < cycles[2]);
    CU_ASSERT(cycles_router_product(&l) == 0 && cycles_router_product_gradient(&l) == 0);
    r.model->zoo.moe.routing_algorithm = ZOO_ROUTING_LEARNED;
    CU_ASSERT(cycles_router_product(&l) > 0 && cycles_router_product_gradient(&l) > 0);
    r.model->zoo.moe.routing_algorithm = ZOO_ROUTING_HASH;
    T_NEAR(cycles_router_product_gradient(&l), 0, 0);
    r.model->experts = 0;
    T_NEAR(cycles_dispatch(&l) + cycles_dispatch_gradient(&l) + cycles_combine(&l) +
               cycles_combine_gradient(&l) + cycles_router_product(&l) +
               cycles_router_product_gradient(&l),
           0, 0);
    model_destroy(&r.model);
}

/* Cycles of a part beside its products that biases of the feed-forward networks add. */
static double biases(struct rig *r, const struct cycles_layout *l, enum model_part part,
                     bool backward)
{
    double cycles[2];
    for (int i = 0; i < 2; i++) {
        r->model->zoo.use_ffn_bias = i;
        cycles[i] = (backward ? cycles_part_backward(l, part, CYCLES_KEEP_ALL)
                              : cycles_part_forward(l, part))
                        .elementwise;
    }
    return cycles[1] - cycles[0];
}

/* Eight experts and a shared network, each with two vectors before its nonlinearity and one after
 * its last product. */
TEST(cycles_router, each_network_has_its_biases)
{
    struct rig r;
    struct cycles_layout l;
    rig_open_router(&r, (struct zoo_moe){.num_shared_experts = 1, .probability_before_ffn = true});
    r.model->gated = true;
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    struct cycles_layout e = l;
    e.t = ceil(l.t / 4);
    const double h = l.hidden.k, f = l.filter.k;
    T_NEAR(biases(&r, &l, MODEL_PART_FFN0, false),
           8 * 2 * cycles_bias(&e, f) + 2 * cycles_bias(&l, f), 1e-4);
    T_NEAR(biases(&r, &l, MODEL_PART_FFN1, false), 8 * cycles_bias(&e, h) + cycles_bias(&l, h),
           1e-4);
    T_NEAR(biases(&r, &l, MODEL_PART_FFN0, true),
           8 * cycles_bias_gradient(&e, f, 2) + cycles_bias_gradient(&l, f, 2), 1e-4);
    T_NEAR(biases(&r, &l, MODEL_PART_FFN1, true),
           8 * cycles_bias_gradient(&e, h, 1) + cycles_bias_gradient(&l, h, 1), 1e-4);
    model_destroy(&r.model);
}
