// SPDX-License-Identifier: Apache-2.0
/* Sparse products against dense ones with zeros, against their own definition bit by bit, and their
 * bits over vector units, blocks of tokens and threads. */
#include "../../../src/num/sparse_kernels.h"
#include "../../support/test.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num_sparse.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

/* A matrix with zeros, in all shapes that a test needs, and operands of its products. */
struct trial {
    int64_t rows, cols, tokens;
    double density;
    enum num_format format;
    int64_t n_kept;
    uint64_t *bits;
    void *packed; /* in the format */
    float *dense; /* (rows, cols), of the format's numbers */
    void *x, *dy; /* operands (tokens, cols) and (tokens, rows) in the format */
    float *wide_x, *wide_dy;
    struct num_sparse *sparse;
};

static void *new_block(int64_t n, int64_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, (size_t)n + 1, (size_t)size);
    WSC_CHECK(block, "no memory for a test");
    return block;
}

/* @p n numbers of the format in @p wide, and as operands in @p x. */
static void fill(const struct trial *t, float *wide, void *x, int64_t n, uint64_t seed)
{
    test_fill(wide, n, seed);
    if (t->format == NUM_FP32) {
        memcpy(x, wide, (size_t)n * sizeof *wide);
        return;
    }
    num_narrow(t->format, x, wide, n);
    num_widen(t->format, wide, x, n);
}

static bool is_kept(const struct trial *t, int64_t i)
{
    return t->bits[i / 64] >> i % 64 & 1;
}

static void choose_weights(struct trial *t)
{
    const int64_t n = t->rows * t->cols, bytes = num_format_bytes(t->format);
    void *all = new_block(n, bytes);
    fill(t, t->dense, all, n, 3);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 1);
        if (wsc_rng_uniform(4, stream, (uint64_t)i) < t->density) {
            t->bits[i / 64] |= UINT64_C(1) << i % 64;
            memcpy((char *)t->packed + t->n_kept++ * bytes, (char *)all + i * bytes, (size_t)bytes);
        } else {
            t->dense[i] = 0;
        }
    }
    wsc_free(all);
}

static void load(struct trial *t)
{
    const struct num_packed packed = {t->rows, t->cols, t->bits, t->packed, t->n_kept};
    T_OK(num_sparse_load(t->sparse, &packed, t->format, true));
}

static void trial_init(struct trial *t)
{
    const int64_t n = t->rows * t->cols, bytes = num_format_bytes(t->format);
    t->bits = new_block(n / 64 + 1, sizeof *t->bits);
    t->packed = new_block(n, bytes);
    t->dense = new_block(n, sizeof *t->dense);
    t->x = new_block(t->tokens * t->cols, bytes);
    t->dy = new_block(t->tokens * t->rows, bytes);
    t->wide_x = new_block(t->tokens * t->cols, sizeof *t->wide_x);
    t->wide_dy = new_block(t->tokens * t->rows, sizeof *t->wide_dy);
    fill(t, t->wide_x, t->x, t->tokens * t->cols, 1);
    fill(t, t->wide_dy, t->dy, t->tokens * t->rows, 2);
    choose_weights(t);
    T_OK(num_sparse_create(&t->sparse));
    load(t);
}

static void trial_fini(struct trial *t)
{
    void *const block[] = {t->bits, t->packed, t->dense, t->x, t->dy, t->wide_x, t->wide_dy};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    num_sparse_destroy(&t->sparse);
    CU_ASSERT_PTR_NULL(t->sparse);
}

static struct num_product shape_of(const struct trial *t, bool forward, float beta)
{
    const int64_t r = t->rows, c = t->cols;
    if (forward)
        return (struct num_product){.trans_b = true,
                                    .m = t->tokens,
                                    .n = r,
                                    .k = c,
                                    .lda = c,
                                    .ldb = c,
                                    .ldc = r + 3,
                                    .beta = beta};
    return (struct num_product){
        .m = t->tokens, .n = c, .k = r, .lda = r, .ldb = c, .ldc = c + 3, .beta = beta};
}

/* Sizes at and around the blocks of tokens, inputs and outputs. */
static const int64_t sizes[][3] = {{1, 1, 1},      {3, 5, 2},      {70, 130, 65}, {129, 64, 16},
                                   {513, 129, 17}, {40, 300, 130}, {520, 3, 48},  {64, 256, 33}};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void each_trial(void (*body)(struct trial *t))
{
    static const double densities[] = {0, 0.1, 0.5, 1};
    for (enum num_format f = NUM_FP32; f < NUM_N_FORMATS; f++)
        for (int s = 0; s < N_SIZES; s++)
            for (int d = 0; d < 4; d++) {
                struct trial t = {.rows = sizes[s][0],
                                  .cols = sizes[s][1],
                                  .tokens = sizes[s][2],
                                  .density = densities[d],
                                  .format = f};
                trial_init(&t);
                body(&t);
                trial_fini(&t);
            }
}

/* ---- products -------------------------------------------------------------------------------- */

static void check_product(struct trial *t, bool forward, float beta)
{
    const struct num_product p = shape_of(t, forward, beta);
    const int64_t n = p.m * p.ldc;
    float *out = new_block(n, sizeof *out), *expected = new_block(n, sizeof *expected);
    double worst = 0;
    test_fill(out, n, 7);
    memcpy(expected, out, (size_t)n * sizeof *out);
    num_sparse_product(t->format, &p, forward ? t->x : t->dy, t->sparse, out);
    num_gemm_ref(&p, forward ? t->wide_x : t->wide_dy, t->dense, expected);
    for (int64_t i = 0; i < n; i++)
        worst = num_max_error(worst, fabs((double)out[i] - (double)expected[i]));
    CU_ASSERT(worst < 1e-4);
    wsc_free(out);
    wsc_free(expected);
}

static void check_products(struct trial *t)
{
    for (int i = 0; i < 4; i++)
        check_product(t, i / 2, (float)(i % 2));
}

TEST(num_sparse, products_are_those_of_the_dense_matrix)
{
    each_trial(check_products);
}

/* An element is one chain of fused multiply-adds over its non-zeros, in ascending order. */
static void check_chain(struct trial *t)
{
    const struct num_product p = shape_of(t, true, 0);
    float *out = new_block(p.m * p.ldc, sizeof *out);
    int64_t wrong = 0;
    num_sparse_product(t->format, &p, t->x, t->sparse, out);
    for (int64_t i = 0; i < t->tokens; i++)
        for (int64_t o = 0; o < t->rows; o++) {
            float sum = 0;
            for (int64_t c = 0; c < t->cols; c++)
                if (is_kept(t, o * t->cols + c))
                    sum = fmaf(t->dense[o * t->cols + c], t->wide_x[i * t->cols + c], sum);
            wrong += memcmp((const void *)&sum, (const void *)&out[i * p.ldc + o], sizeof sum) != 0;
        }
    CU_ASSERT_EQUAL(wrong, 0);
    wsc_free(out);
}

TEST(num_sparse, a_product_is_one_chain_for_each_element)
{
    each_trial(check_chain);
}

/* A token has the same bits alone, at the place that it has in generation, and in a batch. */
static void check_rows(struct trial *t)
{
    const struct num_product all = shape_of(t, true, 0);
    struct num_product one = all;
    float *out = new_block(all.m * all.ldc, sizeof *out), *row = new_block(all.ldc, sizeof *row);
    one.m = 1;
    num_sparse_product(t->format, &all, t->x, t->sparse, out);
    for (int64_t i = 0; i < t->tokens; i++) {
        const char *x = (const char *)t->x + i * t->cols * num_format_bytes(t->format);
        num_sparse_product(t->format, &one, x, t->sparse, row);
        CU_ASSERT(memcmp(row, out + i * all.ldc, (size_t)t->rows * sizeof *row) == 0);
    }
    wsc_free(out);
    wsc_free(row);
}

TEST(num_sparse, a_token_alone_has_the_bits_that_it_has_in_a_batch)
{
    each_trial(check_rows);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* The gradients of rows [first, end) at their place in @p out. */
static void gradient(const struct trial *t, int64_t first, int64_t end, float *out)
{
    float *panel = new_block(num_sparse_panel_size(t->tokens, t->cols), sizeof *panel);
    num_sparse_panel(t->format, t->x, t->tokens, t->cols, t->cols, panel);
    const struct num_sparse_outer g = {.first_row = first,
                                       .n_rows = end - first,
                                       .n_tokens = t->tokens,
                                       .dy = (const char *)t->dy +
                                             first * num_format_bytes(t->format),
                                       .ld_dy = t->rows,
                                       .x = panel};
    num_sparse_gradient(t->format, t->sparse, &g, out + num_sparse_first(t->sparse, first));
    wsc_free(panel);
}

/* Token t of a block of 64 adds to lane t mod 16; lanes j and j + 8, j + 4, j + 2, j + 1 are added;
 * then the blocks, in order. */
static float defined_gradient(const struct trial *t, int64_t row, int64_t col)
{
    float sum = 0;
    for (int64_t first = 0; first < t->tokens; first += NUM_SPARSE_TOKENS) {
        float lane[16] = {0};
        for (int64_t i = first; i < first + NUM_SPARSE_TOKENS && i < t->tokens; i++)
            lane[i % 16] =
                fmaf(t->wide_dy[i * t->rows + row], t->wide_x[i * t->cols + col], lane[i % 16]);
        for (int width = 8; width > 0; width /= 2)
            for (int j = 0; j < width; j++)
                lane[j] += lane[j + width];
        sum = first ? sum + lane[0] : lane[0];
    }
    return sum;
}

static void check_gradient(struct trial *t)
{
    float *whole = new_block(t->n_kept, sizeof *whole),
          *parts = new_block(t->n_kept, sizeof *parts);
    int64_t at = 0, wrong = 0;
    gradient(t, 0, t->rows, whole);
    for (int64_t i = 0; i < t->rows * t->cols; i++) {
        if (!is_kept(t, i)) continue;
        wrong += whole[at++] != defined_gradient(t, i / t->cols, i % t->cols);
    }
    CU_ASSERT_EQUAL(at, t->n_kept);
    CU_ASSERT_EQUAL(wrong, 0);
    for (int64_t row = 0; row < t->rows; row += 100)
        gradient(t, row, row + 100 < t->rows ? row + 100 : t->rows, parts);
    CU_ASSERT(memcmp(whole, parts, (size_t)t->n_kept * sizeof *whole) == 0);
    wsc_free(whole);
    wsc_free(parts);
}

TEST(num_sparse, gradients_are_what_their_definition_says_in_any_blocks_of_rows)
{
    each_trial(check_gradient);
}

TEST(num_sparse, gradients_over_no_tokens_are_zero)
{
    struct trial t = {.rows = 9, .cols = 33, .density = 0.5};
    trial_init(&t);
    float *g = new_block(t.n_kept, sizeof *g);
    test_fill(g, t.n_kept, 8);
    gradient(&t, 0, t.rows, g);
    for (int64_t i = 0; i < t.n_kept; i++)
        CU_ASSERT(g[i] == 0);
    wsc_free(g);
    trial_fini(&t);
}

/* ---- bits ------------------------------------------------------------------------------------ */

struct results {
    float *forward, *back, *gradient;
};

static void results_of(struct trial *t, struct results *r)
{
    const struct num_product forward = shape_of(t, true, 0), back = shape_of(t, false, 0);
    *r = (struct results){.forward = new_block(forward.m * forward.ldc, sizeof(float)),
                          .back = new_block(back.m * back.ldc, sizeof(float)),
                          .gradient = new_block(t->n_kept, sizeof(float))};
    num_sparse_product(t->format, &forward, t->x, t->sparse, r->forward);
    num_sparse_product(t->format, &back, t->dy, t->sparse, r->back);
    gradient(t, 0, t->rows, r->gradient);
}

static void check_same(const struct trial *t, const struct results *a, const struct results *b)
{
    const size_t one = sizeof(float);
    CU_ASSERT(!memcmp(a->forward, b->forward, (size_t)(t->tokens * (t->rows + 3)) * one));
    CU_ASSERT(!memcmp(a->back, b->back, (size_t)(t->tokens * (t->cols + 3)) * one));
    CU_ASSERT(!memcmp(a->gradient, b->gradient, (size_t)t->n_kept * one));
}

static void results_fini(struct results *r)
{
    wsc_free(r->forward);
    wsc_free(r->back);
    wsc_free(r->gradient);
}

static void check_units(struct trial *t)
{
    const struct num_sparse_unit *const unit[] = {&num_sparse_avx2, &num_sparse_avx512};
    struct results portable, other;
    t->sparse->unit = &num_sparse_portable;
    results_of(t, &portable);
    for (int i = 0; i < 2; i++) {
        if (!unit[i]->here()) continue;
        t->sparse->unit = unit[i];
        results_of(t, &other);
        check_same(t, &portable, &other);
        results_fini(&other);
    }
    results_fini(&portable);
}

TEST(num_sparse, bits_do_not_depend_on_the_vector_unit)
{
    each_trial(check_units);
}

TEST(num_sparse, bits_do_not_depend_on_threads)
{
    struct trial t = {.rows = 700, .cols = 300, .tokens = 80, .density = 0.2};
    struct results one, many;
    trial_init(&t);
    results_of(&t, &one);
    num_init(3);
    load(&t);
    num_init(1);
    results_of(&t, &many);
    check_same(&t, &one, &many);
    results_fini(&one);
    results_fini(&many);
    trial_fini(&t);
}

/* ---- packed non-zeros ------------------------------------------------------------------------ */

static void check_packed(struct trial *t)
{
    const int64_t n = t->rows * t->cols, bytes = num_format_bytes(t->format);
    const struct num_packed packed = {t->rows, t->cols, t->bits, t->packed, t->n_kept};
    void *all = new_block(n, bytes);
    float *wide = new_block(n, sizeof *wide), *kept = new_block(n, sizeof *kept);
    CU_ASSERT_EQUAL(num_packed_count(t->bits, 0, n), t->n_kept);
    CU_ASSERT_EQUAL(num_packed_count(t->bits, n / 3, n / 2),
                    num_packed_count(t->bits, 0, n / 3 + n / 2) -
                        num_packed_count(t->bits, 0, n / 3));
    num_packed_expand(t->format, &packed, all);
    if (t->format == NUM_FP32)
        memcpy(wide, all, (size_t)n * sizeof *wide);
    else
        num_widen(t->format, wide, all, n);
    CU_ASSERT(!memcmp(wide, t->dense, (size_t)n * sizeof *wide));
    num_packed_gather(t->bits, 0, n, t->dense, kept);
    for (int64_t i = 0, at = 0; i < n; i++)
        if (is_kept(t, i)) CU_ASSERT(kept[at++] == t->dense[i]);
    num_packed_gather(t->bits, n / 3, n / 2, t->dense + n / 3, kept);
    for (int64_t i = n / 3, at = 0; i < n / 3 + n / 2; i++)
        if (is_kept(t, i)) CU_ASSERT(kept[at++] == t->dense[i]);
    wsc_free(all);
    wsc_free(wide);
    wsc_free(kept);
}

TEST(num_sparse, a_packed_matrix_expands_and_gathers)
{
    each_trial(check_packed);
}
