// SPDX-License-Identifier: Apache-2.0
/* What is done to scores and logits beside their softmax: soft caps, slopes of ALiBi, relative
 * positions, by the terms of docs/MODEL.md. */
#include "../../../src/cycles/cycles_cached.h"
#include "../../../src/cycles/cycles_cross.h"
#include "../../../src/cycles/cycles_layout.h"
#include "../../../src/cycles/cycles_rows.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"

#include <math.h>

static const struct model_case small = {256, 2, 4, 512, 128};

static void open_model(struct rig *r, const struct zoo_params *p)
{
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, p, HW_STREAM_BLOCK));
}

/* Rows of scores on a PE, and queries of the longest one. */
static double rows_of(const struct cycles_layout *l, double *q)
{
    const double keys = ceil(l->tokens / l->head_cols);
    *q = l->q_mean + (l->head_cols > 1 ? (l->q - l->q_mean) / keys : 0);
    return l->seqs * keys * l->heads_per_pe;
}

/* Cycles beyond those of a model with neither: forward, backward without the forward again. */
static void check_more(struct cycles_layout l, double forward, double backward)
{
    struct cycles_layout plain = l;
    double q;
    const double rows = rows_of(&l, &q);
    plain.capped = plain.sloped = plain.relative = false;
    T_NEAR(cycles_attention(&l) - cycles_attention(&plain), rows * forward, 1e-6);
    T_NEAR(cycles_attention_gradient(&l, false) - cycles_attention_gradient(&plain, false),
           rows * backward, 1e-6);
    T_NEAR(cycles_attention_gradient(&l, true) - cycles_attention_gradient(&plain, true),
           rows * (forward + backward), 1e-6);
}

TEST(cycles_scores, caps_and_slopes_by_their_terms)
{
    struct zoo_params p = model_case_params(small);
    struct cycles_layout l;
    struct rig r;
    double q;
    p.model.attention_logit_softcapping = 30;
    open_model(&r, &p);
    cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
    CU_ASSERT(l.capped && !l.sloped && !l.relative);
    (void)rows_of(&l, &q);
    const double polynomial = 8, derivative = 4, position = 4;
    const double cap = l.setup_copy + q * (l.exp + l.divide + polynomial) + l.setup_add + q / l.mul;
    const double slope = position + l.setup_add + q / l.add;
    check_more(l, cap, l.setup_copy + q * derivative);
    l.sloped = true;
    check_more(l, cap + slope, l.setup_copy + q * derivative);
    l.capped = false;
    check_more(l, slope, 0);
    l.relative = true;
    check_more(l, slope + l.setup_add + q / l.add, l.setup_add + q / l.add);
    model_destroy(&r.model);
}

/* Slopes that train take the gradient of each score; keys of the encoder have neither; a query in
 * generation pays for the keys that it looks at. */
TEST(cycles_scores, trained_slopes_and_generation)
{
    struct zoo_params p = model_case_params(small);
    struct cycles_layout l, plain;
    const struct cycles_tokens tokens = {.n_new = 1, .n_cached = 100};
    struct rig r;
    double q;
    p.model.position_embedding_type = ZOO_POSITION_ALIBI;
    p.model.alibi_trainable_slopes = true;
    open_model(&r, &p);
    cycles_layout_init(&l, &r.hw, r.model, 1, 64);
    CU_ASSERT(l.sloped && !l.relative);
    (void)rows_of(&l, &q);
    check_more(l, 4 + l.setup_add + q / l.add, 4 + l.setup_add + q / l.add);
    cycles_layout_init_tokens(&l, &r.hw, r.model, 1, 64, &tokens);
    plain = l;
    plain.sloped = false;
    const double held = ceil(101.0 / floor(l.rows / 64)), words = l.heads_per_pe * held;
    const double slopes = l.heads_per_pe * cycles_axpy(&l, held);
    T_NEAR(cycles_cached_attention(&l) - cycles_cached_attention(&plain), slopes, 1e-6);
    l.capped = l.relative = true;
    T_NEAR(cycles_cached_attention(&l) - cycles_cached_attention(&plain),
           slopes + cycles_cap(&l, words) + cycles_sum(&l, words), 1e-6);
    l.stack = 1; /* of a decoder */
    const struct cycles_layout cross = cycles_cross_layout(&l);
    CU_ASSERT(!cross.capped && !cross.sloped && !cross.relative);
    model_destroy(&r.model);
}

/* Logits of the vocabulary: scaled, tanh, times the cap; backward all of it again. */
TEST(cycles_scores, caps_of_logits)
{
    const struct cycles_plan plan = {.lanes = 1, .micro_batch = 64};
    struct zoo_params p = model_case_params(small);
    int64_t head[2][2];
    struct cycles_layout l;
    struct rig r;
    double logits = 0;
    for (int capped = 0; capped < 2; capped++) {
        p.model.final_logit_softcapping = capped ? 30 : 0;
        open_model(&r, &p);
        cycles_layout_init(&l, &r.hw, r.model, 1, 64);
        logits = l.head_t * cycles_side_of(&l, r.model->V).k;
        for (int back = 0; back < 2; back++)
            head[capped][back] =
                cycles_stage(&r.hw, r.model, &plan, r.model->n_stages - 1, back, 64, NULL);
        model_destroy(&r.model);
    }
    const double cap =
        2 * (l.setup_add + ceil(logits / l.mul)) + l.setup_copy + logits * (l.exp + l.divide + 8);
    T_NEAR((double)(head[1][0] - head[0][0]) - cap, 0, 1);
    T_NEAR((double)(head[1][1] - head[0][1]) - (cap + l.setup_copy + 4 * logits), 0, 1);
}

/* A lane has its own sequences, so its keys meet no others: attention takes as long on ten lanes as
 * on a wafer that is one of them, whichever way the gradients of keys are computed. */
TEST(cycles_scores, gradients_of_keys_stay_in_their_lane)
{
    enum { LANES = 10, SEQUENCES = 12 };
    for (int data = 0; data < 2; data++) {
        struct zoo_params p = model_case_params((struct model_case){768, 10, 12, 3072, 2048});
        struct cycles_layout lanes, alone;
        struct rig r;
        open_model(&r, &p);
        r.cluster.wafer.data_triggered = data;
        cycles_layout_init(&lanes, &r.hw, r.model, LANES, (int64_t)LANES * SEQUENCES);
        r.cluster.wafer.pe_cols /= LANES;
        cycles_layout_init(&alone, &r.hw, r.model, 1, SEQUENCES);
        T_NEAR(cycles_attention_gradient(&lanes, false), cycles_attention_gradient(&alone, false),
               0);
        /* The sums of a matrix are added over the lanes. */
        const struct cycles_side *c = &lanes.hidden;
        CU_ASSERT(cycles_weight_gradient(&lanes, c, c, 1) >
                  cycles_weight_gradient(&alone, c, c, 1));
        model_destroy(&r.model);
    }
}
