// SPDX-License-Identifier: Apache-2.0
/* First masks of sparse tensors against their definition on whole tensors: a sort of all scores,
 * the weights that are not zero, cstorch's regular pattern.  The same on any number of shards and
 * threads; counts are those that roles without values expect. */
#include "../../support/test.h"
#include "masks_case.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definitions ------------------------------------------------------------------------- */

struct scored {
    uint32_t key;
    int64_t element;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? 1 : -1;
    return (x->element > y->element) - (x->element < y->element);
}

static void keep_highest(struct scored *all, int64_t n, int64_t k, unsigned char *mask)
{
    qsort(all, (size_t)n, sizeof *all, by_score);
    memset(mask, 0, (size_t)n);
    for (int64_t i = 0; i < k; i++)
        mask[all[i].element] = 1;
}

static void expect_random(int tensor, const struct model_tensor *t, const float *w, float s,
                          unsigned char *mask)
{
    static struct scored all[MASKS_MOST];
    (void)w;
    for (int64_t i = 0; i < t->n_elems; i++)
        all[i] = (struct scored){
            (uint32_t)wsc_rng_u64(1, memoryx_mask_stream(tensor, 0), (uint64_t)i), i};
    keep_highest(all, t->n_elems, zoo_sparsity_kept(s, t->n_elems), mask);
}

static void expect_topk(int tensor, const struct model_tensor *t, const float *w, float s,
                        unsigned char *mask)
{
    static struct scored all[MASKS_MOST];
    (void)tensor;
    for (int64_t i = 0; i < t->n_elems; i++) {
        const float size = fabsf(w[i]);
        memcpy(&all[i].key, &size, sizeof size);
        all[i].element = i;
    }
    keep_highest(all, t->n_elems, zoo_sparsity_kept(s, t->n_elems), mask);
}

static void expect_what_is_there(int tensor, const struct model_tensor *t, const float *w, float s,
                                 unsigned char *mask)
{
    (void)tensor, (void)s;
    for (int64_t i = 0; i < t->n_elems; i++)
        mask[i] = w[i] != 0;
}

/* A row of `steps` that change, rolled by a distance from row to row. */
static void expect_checkerboard(int tensor, const struct model_tensor *t, const float *w, float s,
                                unsigned char *mask)
{
    static unsigned char row[MASKS_MOST];
    const double density = 1 - (double)s;
    const int64_t cols = t->shape[1];
    const int64_t n = cols + (int64_t)ceil((double)cols / density + 1e-5) - 1;
    const int64_t distance = (int64_t)floor(1 / density - 1e-5);
    (void)tensor, (void)w;
    CU_ASSERT_FATAL(n < MASKS_MOST);
    for (int64_t j = 0; j < n; j++)
        row[j] = floorf((float)(j + 1) * (float)density + 1e-5F) !=
                 floorf((float)j * (float)density + 1e-5F);
    for (int64_t i = 0; i < t->n_elems; i++)
        mask[i] = row[(i % cols + i / cols * distance) % n];
}

/* Of each column all but the smallest, of these the largest of the tensor; more columns in all than
 * are selected at once. */
static void expect_columns(int tensor, const struct model_tensor *t, const float *w, float s,
                           unsigned char *mask)
{
    static struct scored all[MASKS_MOST];
    static unsigned char column[MASKS_MOST];
    const int64_t rows = t->shape[0], cols = t->shape[1];
    int64_t n = 0;
    (void)tensor;
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t r = 0; r < rows; r++) {
            const float size = fabsf(w[r * cols + c]);
            memcpy(&all[n + r].key, &size, sizeof size);
            all[n + r].element = r;
        }
        keep_highest(all + n, rows, rows - (int64_t)(0.7 * (double)rows), column);
        for (int64_t r = 0; r < rows - (int64_t)(0.7 * (double)rows); r++)
            all[n + r].element = all[n + r].element * cols + c;
        n += rows - (int64_t)(0.7 * (double)rows);
    }
    CU_ASSERT(n > zoo_sparsity_kept(s, t->n_elems));
    qsort(all, (size_t)n, sizeof *all, by_score);
    memset(mask, 0, (size_t)t->n_elems);
    for (int64_t i = 0; i < zoo_sparsity_kept(s, t->n_elems); i++)
        mask[all[i].element] = 1;
}

static const struct {
    const char *sparsity;
    float s;
    bool counted; /* as many as zoo_sparsity_kept() says */
    void (*expect)(int tensor, const struct model_tensor *t, const float *w, float s,
                   unsigned char *mask);
} cases[] = {
    {"sparsity=0.75", 0.75F, true, expect_random},
    {"sparsity={sparsity: 0.9, init_method: random, seed: 1}", 0.9F, true, expect_random},
    {"sparsity={sparsity: 0.3, init_method: topk}", 0.3F, true, expect_topk},
    {"sparsity={sparsity: 0.5, init_method: from_zeros}", 0.5F, false, expect_what_is_there},
    {"sparsity={sparsity: 0.75, init_method: checkerboard}", 0.75F, false, expect_checkerboard},
    {"sparsity={sparsity: 0.7, init_method: balanced-topk}", 0.7F, true, expect_columns},
};

static void check_tensor(const struct masks_case *m, size_t k, int i, const float *before)
{
    static unsigned char mask[MASKS_MOST], expected[MASKS_MOST];
    static float w[MASKS_MOST];
    const struct model_tensor *t = &m->cluster->model->tensor[i];
    int64_t wrong = 0, kept = 0;
    masks_gather(m, i, mask, w);
    cases[k].expect(i, t, before, cases[k].s, expected);
    for (int64_t e = 0; e < t->n_elems; e++) {
        kept += mask[e];
        wrong += mask[e] != expected[e] || w[e] != (mask[e] ? before[e] : 0) ||
                 (!mask[e] && signbit(w[e]));
    }
    T_EQ(wrong, 0);
    if (cases[k].counted) T_EQ(kept, model_kept(m->cluster->model, i, 0));
}

static void check_case(size_t k, int n_shards)
{
    static float before[MASKS_MOST];
    struct masks_case dense, m;
    int n_sparse = 0;
    masks_make(&dense, 1, cases[k].sparsity);
    masks_make(&m, n_shards, cases[k].sparsity);
    T_OK(cluster_make_masks(m.cluster));
    for (int i = 0; i < m.cluster->model->n_tensors; i++) {
        if (!model_sparsity_of(m.cluster->model, i)) continue;
        CU_ASSERT_FATAL(m.cluster->model->tensor[i].n_elems <= MASKS_MOST);
        masks_gather(&dense, i, NULL, before);
        check_tensor(&m, k, i, before);
        n_sparse++;
    }
    T_EQ(n_sparse, 6 * SMALL_LAYERS);
    masks_unmake(&dense);
    masks_unmake(&m);
}

TEST(memoryx_masks, first_masks_are_those_of_whole_tensors)
{
    static const int shards[] = {1, 3, 7};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t n = 0; n < sizeof shards / sizeof *shards; n++)
            check_case(k, shards[n]);
}

static void set_equal_sizes(struct memoryx *mx, int n_tensors)
{
    for (int i = 0; i < n_tensors; i++)
        for (int64_t e = 0; e < mx->part[i].n; e++)
            mx->part[i].w[e] = e % 2 ? -0.5F : 0.5F;
}

/* Equal scores everywhere: the first elements are kept, wherever shards meet. */
static void check_equal_scores(int n_shards)
{
    static unsigned char mask[MASKS_MOST];
    static float w[MASKS_MOST];
    struct masks_case m;
    int64_t wrong = 0;
    masks_make(&m, n_shards, "sparsity={sparsity: 0.4, init_method: topk}");
    for (int s = 0; s < n_shards; s++)
        set_equal_sizes(m.cluster->memoryx[s], m.cluster->model->n_tensors);
    T_OK(cluster_make_masks(m.cluster));
    for (int i = 0; i < m.cluster->model->n_tensors; i++) {
        const int64_t kept = model_kept(m.cluster->model, i, 0);
        if (!model_sparsity_of(m.cluster->model, i)) continue;
        masks_gather(&m, i, mask, w);
        for (int64_t e = 0; e < m.cluster->model->tensor[i].n_elems; e++)
            wrong += mask[e] != (e < kept);
    }
    T_EQ(wrong, 0);
    masks_unmake(&m);
}

TEST(memoryx_masks, of_equal_scores_the_first_are_kept)
{
    check_equal_scores(1);
    check_equal_scores(3);
}
