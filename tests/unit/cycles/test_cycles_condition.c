// SPDX-License-Identifier: Apache-2.0
/* Time of diffusion transformers: products of one row of each sequence by their terms, starts of
 * kernels, what a block keeps, and that all of it is more than an encoder of the same sizes. */
#include "../../../src/cycles/cycles_condition.h"
#include "../../../src/cycles/cycles_plan.h"
#include "../../support/diffusion_case.h"
#include "cycles_case.h"

enum { TEXTS = 2000 };

static void open_diffusion(struct rig *r)
{
    struct zoo_params p = diffusion_params(768, 12, 12);
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, &p, HW_STREAM_BLOCK));
    zoo_params_fini(&p);
}

/* 2000 sequences are three rows of a PE where they are 516 tokens. */
TEST(cycles_condition, products_are_those_of_one_row_of_each_sequence)
{
    struct rig r;
    struct cycles_layout l, rows;
    open_diffusion(&r);
    cycles_layout_init(&l, &r.hw, r.model, 1, TEXTS);
    rows = l;
    rows.t = 3;
    T_NEAR(l.t, 516, 0);
    static const struct {
        enum model_part part;
        double n;
    } part[] = {{MODEL_PART_QKV, 2},
                {MODEL_PART_ATTN, 1},
                {MODEL_PART_FFN0, 2},
                {MODEL_PART_FFN1, 1},
                {MODEL_PART_HEAD, 2}};
    const double one = cycles_product(&rows, &rows.hidden, 768, 1);
    const double gradient = cycles_weight_gradient(&rows, &rows.hidden, &rows.hidden, 1);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        struct cycles_breakdown forward = {0}, backward = {0};
        cycles_conditions_forward(&l, part[i].part, &forward);
        cycles_conditions_backward(&l, part[i].part, &backward);
        T_NEAR(forward.products, part[i].n * one, 0);
        T_NEAR(backward.products, part[i].n * (one + gradient), 1e-6);
        CU_ASSERT(forward.elementwise > 0 && backward.elementwise > 0);
        CU_ASSERT(forward.attention == 0 && backward.recompute == 0);
    }
    model_destroy(&r.model);
}

TEST(cycles_condition, other_models_have_none)
{
    struct rig r;
    struct cycles_layout l;
    struct cycles_breakdown c = {0};
    rig_open(&r, case_256m, HW_STREAM_BLOCK);
    cycles_layout_init(&l, &r.hw, r.model, 1, 16);
    for (int part = 0; part < MODEL_N_PARTS; part++) {
        cycles_conditions_forward(&l, (enum model_part)part, &c);
        cycles_conditions_backward(&l, (enum model_part)part, &c);
    }
    T_NEAR(c.products + c.attention + c.elementwise + c.recompute, 0, 0);
    model_destroy(&r.model);
}

/* Two norms and two gates of a block, a norm of the output layer, none of the embeddings. */
TEST(cycles_condition, each_module_starts_a_kernel)
{
    struct rig r;
    open_diffusion(&r);
    const int head = r.model->n_stages - 1;
    r.cluster.wafer.stage_latency_ps = 1000;
    r.cluster.wafer.backward_kernels = 2;
    r.cluster.wafer.condition_kernels = 1;
    T_EQ(cycles_latency_ps(&r.cluster, r.model, 0, false), 1000);
    T_EQ(cycles_latency_ps(&r.cluster, r.model, 1, false), 5000);
    T_EQ(cycles_latency_ps(&r.cluster, r.model, 1, true), 10000);
    T_EQ(cycles_latency_ps(&r.cluster, r.model, head, false), 2000);
    r.cluster.wafer.condition_kernels = 0;
    T_EQ(cycles_latency_ps(&r.cluster, r.model, 1, true), 2000);
    model_destroy(&r.model);
}

/* The gradient of a gate needs its branch: kept, or the last product again. */
TEST(cycles_condition, a_branch_is_kept_or_computed_again)
{
    static const double branches[CYCLES_N_KEEPS] = {2, 2, 2, 2, 0, 1};
    struct rig r;
    struct cycles_layout l, alone;
    open_diffusion(&r);
    struct model plain = *r.model;
    plain.patch = 0;
    cycles_layout_init(&l, &r.hw, r.model, 1, 100);
    alone = l;
    alone.model = &plain;
    for (int keep = 0; keep < CYCLES_N_KEEPS; keep++) {
        const enum cycles_keep k = (enum cycles_keep)keep;
        const double with = cycles_plan_bytes_per_pe(&l, k, true, true).kept;
        const double without = cycles_plan_bytes_per_pe(&alone, k, true, true).kept;
        T_NEAR(with - without, l.t * 2 * l.hidden.k * (branches[keep] + 6.0 / 256) * 12, 1e-6);
    }
    struct cycles_plan input = {.lanes = 1, .keep = CYCLES_KEEP_INPUT}, branch = input;
    branch.keep = CYCLES_KEEP_BRANCH;
    const struct cycles_breakdown again =
        cycles_stage_breakdown(&r.hw, r.model, &input, 1, true, 100, NULL);
    const struct cycles_breakdown kept =
        cycles_stage_breakdown(&r.hw, r.model, &branch, 1, true, 100, NULL);
    CU_ASSERT(again.recompute > kept.recompute);
    T_NEAR(again.products, kept.products, 0);
    model_destroy(&r.model);
}

/* Less than a tenth of the cycles of a block, and more than none. */
TEST(cycles_condition, a_block_takes_longer_than_an_encoders)
{
    struct rig r;
    struct cycles_plan p = {.lanes = 1};
    open_diffusion(&r);
    struct model plain = *r.model;
    plain.patch = 0;
    for (int backward = 0; backward < 2; backward++) {
        const double with = (double)cycles_stage(&r.hw, r.model, &p, 1, backward > 0, TEXTS, NULL);
        const double without =
            (double)cycles_stage(&r.hw, &plain, &p, 1, backward > 0, TEXTS, NULL);
        CU_ASSERT(with > without && with < 1.1 * without);
        CU_ASSERT(cycles_first_gradient(&r.hw, r.model, &p, 1, TEXTS, NULL) < (int64_t)with * 2);
    }
    model_destroy(&r.model);
}
