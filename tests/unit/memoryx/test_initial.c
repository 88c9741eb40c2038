// SPDX-License-Identifier: Apache-2.0
/* Initial weights by each rule against its definition, element by element with the functions of one
 * number, on one shard and on several. */
#include "../../support/test.h"
#include "masks_case.h"

#include <wsc/rng.h>

enum { SEED = 1 };

static double normal(uint64_t stream, int64_t i, int64_t cols)
{
    (void)cols;
    return 0.5 + 0.1 * wsc_rng_normal(SEED, stream, (uint64_t)i);
}

/* Bounds -1 and 2 are 3 deviations below the mean and 3 above. */
static double truncated(uint64_t stream, int64_t i, int64_t cols)
{
    (void)cols;
    return 0.5 + 0.5 * wsc_rng_truncated_normal(SEED, stream, (uint64_t)i, -3, 3);
}

static double uniform(uint64_t stream, int64_t i, int64_t cols)
{
    (void)cols;
    return -0.25 + 0.75 * wsc_rng_uniform(SEED, stream, (uint64_t)i);
}

static double constant(uint64_t stream, int64_t i, int64_t cols)
{
    (void)stream, (void)i, (void)cols;
    return 0.125;
}

static double one(uint64_t stream, int64_t i, int64_t cols)
{
    (void)stream, (void)i, (void)cols;
    return 1;
}

static double zero(uint64_t stream, int64_t i, int64_t cols)
{
    (void)stream, (void)i, (void)cols;
    return 0;
}

static double diagonal(uint64_t stream, int64_t i, int64_t cols)
{
    (void)stream;
    return i / cols == i % cols;
}

static const struct rule {
    const char *set;
    double (*expected)(uint64_t stream, int64_t i, int64_t cols);
} rules[] = {
    {"model.initializer={name: normal, mean: 0.5, std: 0.1}", normal},
    {"model.initializer={name: truncated_normal, mean: 0.5, std: 0.5, a: -1, b: 2}", truncated},
    {"model.initializer={name: uniform, a: -0.25, b: 0.5}", uniform},
    {"model.initializer={name: constant, val: 0.125}", constant},
    {"model.initializer=ones", one},
    {"model.initializer=zeros", zero},
    {"model.initializer=eye", diagonal},
};

static void check_rule(const struct rule *rule, int n_shards)
{
    static float w[MASKS_MOST];
    struct masks_case m;
    int64_t wrong = 0, n = 0;
    masks_make(&m, n_shards, rule->set);
    for (int i = 0; i < m.cluster->model->n_tensors; i++) {
        const struct model_tensor *t = &m.cluster->model->tensor[i];
        const uint64_t stream = wsc_rng_stream(WSC_RNG_INIT, (uint64_t)t->init_stream);
        if (t->kind != MODEL_Q_W) continue;
        CU_ASSERT_FATAL(t->n_elems <= MASKS_MOST);
        masks_gather(&m, i, NULL, w);
        for (int64_t e = 0; e < t->n_elems; e++, n++) {
            const float expected = (float)rule->expected(stream, e, t->shape[1]);
            wrong += !(w[e] >= expected && w[e] <= expected);
        }
    }
    masks_unmake(&m);
    T_EQ(wrong, 0);
    CU_ASSERT(n > 0);
}

TEST(memoryx_initial, weights_are_those_of_their_rule)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        check_rule(&rules[k], 1);
        check_rule(&rules[k], 3);
    }
}

/* The row of padding is 0, all others are as without one; on one shard and on several. */
TEST(memoryx_initial, a_row_of_padding_starts_from_zeros)
{
    enum { ROW = 5 };
    static float before[MASKS_MOST], after[MASKS_MOST];
    for (int n_shards = 1; n_shards < 4; n_shards += 2) {
        struct masks_case m;
        int64_t wrong = 0;
        masks_make(&m, n_shards, "model.initializer=ones");
        int table = 0;
        while (m.cluster->model->tensor[table].kind != MODEL_WTE)
            table++;
        struct model_tensor *t = &m.cluster->model->tensor[table];
        CU_ASSERT_FATAL(t->n_elems <= MASKS_MOST && t->shape[0] > ROW);
        masks_gather(&m, table, NULL, before);
        t->zero_row = ROW;
        for (int k = 0; k < n_shards; k++)
            memoryx_init_weights(m.cluster->memoryx[k]);
        masks_gather(&m, table, NULL, after);
        for (int64_t e = 0; e < t->n_elems; e++) {
            const float expected = e / t->shape[1] == ROW ? 0 : before[e];
            wrong += after[e] < expected || after[e] > expected;
        }
        T_EQ(wrong, 0);
        CU_ASSERT(before[ROW * t->shape[1]] != 0);
        masks_unmake(&m);
    }
}
