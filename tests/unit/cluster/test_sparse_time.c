// SPDX-License-Identifier: Apache-2.0
/* Virtual time and bytes of sparse weights follow from counts: less of both, never more time with
 * fewer weights, dense gradients in the steps that need them. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <math.h>

enum { STEPS = 6 };
#define RIGL                                                                                       \
    "sparsity={algorithm: rigl, sparsity: 0.75, drop_fraction: 0.3, update: {freq: 3, stop: 100}}"
#define GMP                                                                                        \
    "sparsity={algorithm: gmp, update: {freq: 2}, "                                                \
    "sparsity: {type: linear, init: 0.2, slope: 0.1}}"

static void run(const char *sparse, const char *set, int num_csx, struct small_result *out)
{
    /* Slow links, so that bytes show. */
    const char *const sets[] = {sparse,
                                "cluster.memoryx.link_rate=1 MB/s",
                                "cluster.wafer.io_rate=10 MB/s",
                                "cluster.memoryx.update_rate=1e6 params/s",
                                "cluster.wafer.stage_latency=0 s",
                                set,
                                NULL};
    struct small_config c;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, STEPS, NULL, out));
    small_config_fini(&c);
    CU_ASSERT_EQUAL_FATAL(out->n, STEPS);
}

TEST(sparse_time, no_zeros_cost_what_dense_weights_cost)
{
    struct small_result dense, none;
    run("sparsity=null", "cluster.wafer.sum_accumulators=64", 3, &dense);
    run("sparsity=0", "cluster.wafer.sum_accumulators=64", 3, &none);
    for (int i = 0; i < STEPS; i++)
        T_EQ(none.batch[i].end.ps, dense.batch[i].end.ps);
    T_EQ(none.bytes_down, dense.bytes_down);
    T_EQ(none.bytes_up, dense.bytes_up);
}

static void check_not_slower(const struct small_result *now, const struct small_result *last)
{
    CU_ASSERT(now->batch[STEPS - 1].end.ps <= last->batch[STEPS - 1].end.ps);
    CU_ASSERT(now->bytes_up <= last->bytes_up);
    CU_ASSERT(now->bytes_down <= last->bytes_down);
}

TEST(sparse_time, more_zeros_are_never_slower)
{
    static const char *const sparse[] = {"sparsity=null", "sparsity=0.3", "sparsity=0.5",
                                         "sparsity=0.75", "sparsity=0.9", "sparsity=0.98"};
    static const char *const gradient[] = {"cluster.wafer.sparse_gradient=dense",
                                           "cluster.wafer.sparse_gradient=sampled"};
    for (int g = 0; g < 2; g++) {
        struct small_result last = {0}, now;
        for (int i = 0; i < 6; i++) {
            run(sparse[i], gradient[g], 3, &now);
            if (i) check_not_slower(&now, &last);
            last = now;
        }
        /* Most of what moves is sparse: at 98 % embeddings and vectors remain. */
        run(sparse[0], gradient[g], 3, &now);
        CU_ASSERT(last.batch[STEPS - 1].end.ps < now.batch[STEPS - 1].end.ps / 2);
    }
}

static void amounts_of(const char *sparse, const char *set, int stage, int64_t updates,
                       struct stream_amounts *out)
{
    const char *const sets[] = {sparse, set, NULL};
    struct small_config c;
    struct model *model = NULL;
    T_OK(small_config_init(&c, 1, sets));
    const struct hw hw = {.cluster = &c.cluster};
    T_OK(model_create(&model, &c.params, c.cluster.stream.granularity));
    stream_amounts_of(&hw, model, stage, updates, out);
    model_destroy(&model);
    small_config_fini(&c);
}

/* A block of 32 features in fp32: 4 matrices of 32 x 32 and two of 32 x 128, biases 3 32 + 32 +
 * 128 + 32, two norms of 64. */
TEST(sparse_time, bytes_by_hand)
{
    const int64_t matrices = 4 * 32 * 32 + 2 * 32 * 128, vectors = 288 + 128;
    struct stream_amounts a;
    amounts_of("sparsity=null", NULL, 1, 0, &a);
    T_EQ(a.weight_bytes, (matrices + vectors) * 4);
    T_EQ(a.grad_bytes, (matrices + vectors) * 4);
    T_EQ(a.updated, matrices + vectors);
    CU_ASSERT(!a.sparse && a.key == 0);
    amounts_of("sparsity=0.75", NULL, 1, 0, &a); /* an index beside 32 bits: 6 bytes */
    T_EQ(a.weight_bytes, matrices / 4 * 6 + vectors * 4);
    T_EQ(a.grad_bytes, matrices / 4 * 4 + vectors * 4);
    T_EQ(a.updated, matrices / 4 + vectors);
    T_EQ(a.selected, 0);
    T_NEAR(a.density.weights[MODEL_FFN0_W], 0.25, 1e-12);
    T_NEAR(a.density.weights[MODEL_NORM1_W], 1, 0);
    amounts_of("sparsity=0.25", NULL, 1, 0, &a); /* dense ones are fewer bytes */
    T_EQ(a.weight_bytes, (matrices + vectors) * 4);
    amounts_of("sparsity=0.75", "cluster.stream.sparse_weight_bytes=3", 1, 0, &a);
    T_EQ(a.weight_bytes, matrices / 4 * 5 + vectors * 4);
}

TEST(sparse_time, steps_of_rigl_have_dense_gradients)
{
    const int64_t matrices = 4 * 32 * 32 + 2 * 32 * 128;
    struct stream_amounts usual, update;
    struct small_result r, fixed;
    amounts_of(RIGL, NULL, 1, 1, &usual);
    amounts_of(RIGL, NULL, 1, 2, &update); /* ends with update number 3 */
    T_EQ(update.weight_bytes, usual.weight_bytes);
    T_EQ(update.grad_bytes - usual.grad_bytes, (matrices - matrices / 4) * 4);
    T_EQ(usual.selected, 0);
    T_EQ(update.selected, matrices);
    T_NEAR(update.density.gradients[MODEL_Q_W], 1, 0);
    CU_ASSERT(update.key != usual.key);
    run(RIGL, NULL, 3, &r);
    run("sparsity=0.75", NULL, 3, &fixed);
    /* What comes late is waited for in the next step. */
    CU_ASSERT(r.batch[2].time_ps + r.batch[3].time_ps > 2 * r.batch[1].time_ps);
    T_EQ(r.batch[1].time_ps, fixed.batch[1].time_ps);
}

TEST(sparse_time, plans_and_windows_are_those_of_the_densest_step)
{
    static const struct {
        const char *sparse;
        double kept;
    } rows[] = {{"sparsity=0.9", 0.1},
                {GMP, 0.8},
                {RIGL, 0.25},
                {"sparsity={algorithm: set, sparsity: 0.9, update: {freq: 5, start: 5}}", 1},
                {"sparsity={algorithm: gmp, update: {freq: 2, stop: 7}, sparsity: {type: linear, "
                 "init: 0.8, slope: -0.1}}",
                 0.8},
                {"sparsity={algorithm: set, update: {freq: 2}, sparsity: {type: cycling, values: "
                 "[0.5, 0.25, 0.75]}}",
                 0.75}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stream_amounts a;
        amounts_of(rows[i].sparse, NULL, 1, MODEL_DENSEST, &a);
        T_NEAR(a.sparse ? a.density.weights[MODEL_FFN0_W] : 1, rows[i].kept, 0.01);
    }
}
