// SPDX-License-Identifier: Apache-2.0
#include "../../../src/cycles/cycles_fitted.h"
#include "../../../src/cycles/cycles_product.h"
#include "../../../src/cycles/cycles_sparse.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"
#include "sparse_chain.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>

/* ---- the law against the chain --------------------------------------------------------------- */

/* Relative error of the law for what imbalance adds: both without and with it, so that turns of the
 * chain, which the law leaves out, cancel. */
static double law_error(const struct cycles_layout *like, const struct sparse_chain *chain)
{
    struct cycles_layout l = *like;
    l.cols = chain->cols;
    l.accumulators = chain->accumulators;
    l.index = 0;
    const struct cycles_loads loads = {1, chain->k, chain->axpy, chain->share, chain->words, false};
    struct sparse_chain mean = *chain;
    mean.random = 0;
    const double even = fmax(chain->k * chain->density * chain->axpy + chain->share, chain->words);
    const double law = cycles_sparse_item(&l, &loads, chain->density);
    const double simulated = sparse_chain_run(chain, 7) - sparse_chain_run(&mean, 7) + even;
    return law / simulated - 1;
}

/* Other shapes and numbers than those of the fit, which had 24 to 750 columns, 64 to 300 words, k
 * of 2 to 34, accumulators of 2 to 8 and densities of 0.05 to 0.75: median 0.8 %, worst 10 %. */
TEST(cycles_sparse, the_law_follows_the_simulated_chain)
{
    static const int ks[] = {3, 5, 12, 25}, as[] = {2, 3, 6, 12};
    static const double densities[] = {0.8, 0.4, 0.15, 0.07};
    struct rig r;
    struct cycles_layout l;
    double worst = 0, sum = 0;
    int n = 0;
    rig_open(&r, case_2p7b, HW_STREAM_BLOCK);
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int a = 0; a < 4; a++, n++) {
                const double t = i % 2 ? 110 : 220;
                const struct sparse_chain chain = {.cols = a % 2 ? 60 : 150,
                                                   .turns = 6,
                                                   .k = ks[i],
                                                   .accumulators = as[a],
                                                   .axpy = 1.5 + ceil(t / 1.8),
                                                   .share = t / 2 - 0.5,
                                                   .words = t,
                                                   .relay = 6,
                                                   .density = densities[j],
                                                   .random = 1};
                const double error = fabs(law_error(&l, &chain));
                worst = fmax(worst, error);
                sum += error;
            }
    CU_ASSERT(worst < 0.08);
    CU_ASSERT(sum / n < 0.015);
    model_destroy(&r.model);
}

/* ---- what any law has to keep ---------------------------------------------------------------- */

static void check_rising(const struct cycles_layout *l)
{
    double product = 0, gradient = 0;
    for (int d = 1; d <= 40; d++) {
        const double now = cycles_product(l, &l->hidden, 1000, d / 40.0);
        const double grad = cycles_weight_gradient(l, &l->hidden, &l->filter, d / 40.0);
        CU_ASSERT(now >= product && grad >= gradient);
        product = now;
        gradient = grad;
    }
}

TEST(cycles_sparse, fewer_weights_are_never_slower)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, case_2p7b, HW_STREAM_BLOCK);
    for (int accumulators = 2; accumulators <= 64; accumulators *= 2)
        for (int lanes = 1; lanes < 64; lanes += 7)
            for (int64_t n = 1; n < 400; n = n * 3 + 1) {
                r.cluster.wafer.sum_accumulators = accumulators;
                cycles_layout_init(&l, &r.hw, r.model, lanes, n);
                check_rising(&l);
            }
    model_destroy(&r.model);
}

TEST(cycles_sparse, by_hand_without_imbalance)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){1500, 1, 2, 24, 994}, HW_STREAM_BLOCK);
    cycles_layout_init(&l, &r.hw, r.model, 1, 40);
    const struct cycles_loads loads = {1, 8, 30, 10, 40, false};
    l.cols = 1; /* no other column to wait for */
    T_NEAR(cycles_sparse_item(&l, &loads, 1), 8 * 30 + 10, 0);
    T_NEAR(cycles_sparse_item(&l, &loads, 0.5), 4 * 30 + 10, 0);
    T_NEAR(cycles_sparse_item(&l, &loads, 0.125), 40, 0); /* 30 + 10, the link's 40 */
    T_NEAR(cycles_sparse_item(&l, &loads, 0.01), 40, 0);
    l.index = 5; /* not for dense weights, which need none */
    T_NEAR(cycles_sparse_item(&l, &loads, 1), 8 * 30 + 10, 0);
    T_NEAR(cycles_sparse_item(&l, &loads, 0.5), 4 * 35 + 10, 0);
    l.cols = 750;
    const double many = cycles_sparse_item(&l, &loads, 0.5);
    CU_ASSERT(many > 4 * 35 + 10 && many < 8 * 35 + 10);
    l.accumulators = 2;
    CU_ASSERT(cycles_sparse_item(&l, &loads, 0.5) > many);
    model_destroy(&r.model);
}

TEST(cycles_sparse, gradients_of_non_zeros_or_all_of_them)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, case_13b, HW_STREAM_BLOCK);
    cycles_layout_init(&l, &r.hw, r.model, 1, 90);
    const double dense = cycles_weight_gradient(&l, &l.hidden, &l.filter, 1);
    const double few = cycles_weight_gradient(&l, &l.hidden, &l.filter, 0.1);
    CU_ASSERT(few < dense / 2);
    T_NEAR(cycles_weight_gradient(&l, &l.hidden, &l.filter, 0.99), dense, 0);
    CU_ASSERT(cycles_first_rows(&l, &l.hidden, &l.filter, 0.1) <
              cycles_first_rows(&l, &l.hidden, &l.filter, 1));
    r.cluster.wafer.sparse_gradient = HW_GRADIENT_DENSE;
    cycles_layout_init(&l, &r.hw, r.model, 1, 90);
    T_NEAR(cycles_weight_gradient(&l, &l.hidden, &l.filter, 0.1), dense, 0);
    model_destroy(&r.model);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void fill(struct model_density *d, double weights, double gradients)
{
    for (int kind = 0; kind < MODEL_N_KINDS; kind++) {
        d->weights[kind] = weights;
        d->gradients[kind] = gradients;
        d->trained[kind] = 1;
    }
}

static int64_t block(const struct rig *r, const struct cycles_plan *p, bool backward,
                     const struct model_density *d)
{
    return cycles_stage(&r->hw, r->model, p, 1, backward, 60, d);
}

/* Adds to @p saved what density @p d saves of the @p dense cycles, forward and backward. */
static void add_saved(const struct rig *r, const struct cycles_plan *p,
                      const struct model_density *d, const int64_t *dense, int64_t *saved)
{
    for (int b = 0; b < 2; b++) {
        const int64_t now = block(r, p, b, d);
        CU_ASSERT(now < dense[b]);
        saved[b] += dense[b] - now;
    }
}

TEST(cycles_sparse, each_matrix_has_its_own_density)
{
    struct rig r;
    struct model_density one, all;
    const struct cycles_plan p = {.lanes = 3};
    rig_open(&r, case_2p7b, HW_STREAM_BLOCK);
    static const enum model_tensor_kind kinds[] = {MODEL_Q_W, MODEL_K_W,    MODEL_V_W,
                                                   MODEL_O_W, MODEL_FFN0_W, MODEL_FFN1_W};
    const int64_t dense[2] = {block(&r, &p, false, NULL), block(&r, &p, true, NULL)};
    int64_t saved[2] = {0, 0};
    fill(&one, 1, 1);
    fill(&all, 0.3, 0.3);
    for (int i = 0; i < 6; i++) {
        one.weights[kinds[i]] = one.gradients[kinds[i]] = 0.3;
        add_saved(&r, &p, &one, dense, saved);
        one.weights[kinds[i]] = one.gradients[kinds[i]] = 1;
    }
    for (int b = 0; b < 2; b++) {
        const double sum = (double)(dense[b] - block(&r, &p, b, &all));
        T_NEAR((double)saved[b] / sum - 1, 0, 0.06); /* q, k and v share the binomial of dX */
    }
    fill(&one, 0.3, 1); /* an update by gradients: they alone are dense */
    CU_ASSERT(block(&r, &p, true, &one) > block(&r, &p, true, &all));
    T_EQ(block(&r, &p, false, &one), block(&r, &p, false, &all));
    model_destroy(&r.model);
}

/* ---- density 1 ------------------------------------------------------------------------------- */

static void check_dense(const struct hw *hw, const struct model *m)
{
    struct model_density ones;
    struct cycles_plan plan, sparse;
    fill(&ones, 1, 1);
    T_OK(cycles_plan_wafer(&plan, hw, m, 24, &(struct cycles_asked){.micro_batch = CONF_AUTO}, true,
                           NULL));
    T_OK(cycles_plan_wafer(&sparse, hw, m, 24, &(struct cycles_asked){.micro_batch = CONF_AUTO},
                           true, &ones));
    CU_ASSERT(plan.lanes == sparse.lanes && plan.micro_batch == sparse.micro_batch &&
              plan.keep == sparse.keep && plan.slices == sparse.slices);
    T_NEAR(sparse.step_cycles, plan.step_cycles, 0);
    const int64_t n = plan.micro_batch;
    for (int s = 0; s < m->n_stages; s++) {
        T_EQ(cycles_first_gradient(hw, m, &plan, s, n, &ones),
             cycles_first_gradient(hw, m, &plan, s, n, NULL));
        for (int b = 0; b < 2; b++)
            T_EQ(cycles_stage(hw, m, &plan, s, b, n, &ones),
                 cycles_stage(hw, m, &plan, s, b, n, NULL));
    }
}

/* Matrices that are not sparse cost what they always did, whatever the machine says of sparse
 * ones. */
TEST(cycles_sparse, density_one_is_dense_in_all_shipped_models)
{
    static const char *const files[] = {
        "bert_base",  "bert_large", "crystalcoder_7b", "default",    "esm2_35m", "flor_6p3b",
        "gpt2_small", "gpt3_111m",  "gpt3_13b",        "gpt3_1p3b",  "gpt3_20b", "gpt3_256m",
        "gpt3_2p7b",  "gpt3_590m",  "gpt3_6p7b",       "genslm_25m", "gptj_6b",  "llama2_7b",
        "tiny",       "mesh",       "gpt3_175b",       "gpt3_1t"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct zoo_params p;
        struct hw_machine machine = model_case_cs2();
        const struct hw hw = {.cluster = &machine};
        struct model *model = NULL;
        char path[64];
        (void)snprintf(path, sizeof path, "configs/params/%s.yaml", files[i]);
        size_t n;
        char *bytes;
        T_OK(conf_read_file(path, &bytes, &n));
        T_OK(zoo_params_parse(&p, path, bytes, n, NULL, 0));
        machine.wafer.sum_accumulators = 64;
        machine.wafer.sparse_index_cycles = 17;
        T_OK(model_create(&model, &p, HW_STREAM_BLOCK));
        check_dense(&hw, model);
        model_destroy(&model);
        zoo_params_fini(&p);
        wsc_free(bytes);
    }
}

/* ---- gradients of the non-zeros alone -------------------------------------------------------- */

/* With all places, of 64 results and 12 features of a column: the sums of a result, one for each
 * feature, or the values that pass; then the way.  A program of the mesh also looks each place up,
 * sets sums to 0, and takes every value twice. */
TEST(cycles_sparse, a_sampled_gradient_of_all_places_by_its_terms)
{
    enum { HELD = 12, SENT = 64 };
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, case_2p7b, HW_STREAM_BLOCK);
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    for (int on_mesh = 0; on_mesh < 2; on_mesh++) {
        l.on_mesh = on_mesh;
        const struct cycles_side sent = {.k = 1, .n = SENT};
        const double values = cycles_lane_words(&l) / l.add;
        const double dot = 2 * l.loop + cycles_mul(&l, l.t) + cycles_sum(&l, l.t);
        const double once =
            on_mesh ? l.t / l.fast / 2 + l.setup_copy + HELD / l.add : cycles_copy(&l, l.t);
        const double one = dot + values + (on_mesh ? cycles_fit.place_tasks : 0);
        const double pass = on_mesh ? 2 * l.t : fmax(l.t, HELD * cycles_lane_words(&l));
        T_NEAR(cycles_sampled_gradient(&l, HELD, &sent, 1),
               SENT * fmax(HELD * one + once, pass) + l.cols * l.hop + 2 * l.ramp +
                   (on_mesh ? pass : 0),
               1e-12);
        CU_ASSERT(HELD * one + once > pass);
    }
    model_destroy(&r.model);
}
