// SPDX-License-Identifier: Apache-2.0
#include "../../../src/cycles/cycles_rows.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"

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
    T_EQ(backward[0], block_cycles(softmax, true)); /* the weights are a softmax's */
    CU_ASSERT(block_cycles(sigmoid, false) < block_cycles(softmax, false));
    CU_ASSERT(block_cycles(before, false) > block_cycles(softmax, false));
    CU_ASSERT(block_cycles(before, true) > block_cycles(softmax, true));
}
