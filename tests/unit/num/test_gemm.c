// SPDX-License-Identifier: Apache-2.0
#include "../../../src/num/num_impl.h"
#include "../../support/test.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num.h>

#include <math.h>
#include <string.h>

enum { MAX_ELEMS = 64 * 1024, GUARD = 16 };

/* One product with all its operands; `shift` moves them off their alignment. */
struct trial {
    struct num_product shape;
    bool bf16;
    bool rows; /* num_gemm_rows */
    int shift;
};

struct buffers {
    float a[MAX_ELEMS], b[MAX_ELEMS], c[MAX_ELEMS], expected[MAX_ELEMS];
    uint16_t a16[MAX_ELEMS], b16[MAX_ELEMS];
};

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static struct buffers *new_buffers(void)
{
    struct buffers *x = wsc_alloc(WSC_MEM_TEST, 1, sizeof *x);
    WSC_CHECK(x, "no memory for a test");
    return x;
}

/* The operands of every trial, made once: drawing them costs more than multiplying them. */
static const float *pool(int operand)
{
    static float values[3][MAX_ELEMS];
    if (values[operand][0] == 0) test_fill(values[operand], MAX_ELEMS, (uint64_t)operand + 1);
    return values[operand];
}

static void fill(struct buffers *x, const struct trial *t)
{
    int64_t n = MAX_ELEMS - t->shift;
    memcpy(x->a + t->shift, pool(0), (size_t)n * sizeof *x->a);
    memcpy(x->b + t->shift, pool(1), (size_t)n * sizeof *x->b);
    memcpy(x->c + t->shift, pool(2), (size_t)n * sizeof *x->c);
    if (t->bf16) {
        num_narrow(NUM_BF16, x->a16 + t->shift, x->a + t->shift, n);
        num_narrow(NUM_BF16, x->b16 + t->shift, x->b + t->shift, n);
        num_widen(NUM_BF16, x->a + t->shift, x->a16 + t->shift, n);
        num_widen(NUM_BF16, x->b + t->shift, x->b16 + t->shift, n);
    }
}

static void multiply(struct buffers *x, const struct trial *t)
{
    const struct num_product *s = &t->shape;
    int d = t->shift;
    if (t->rows)
        num_gemm_rows(t->bf16 ? NUM_BF16 : NUM_FP32, s,
                      t->bf16 ? (const void *)(x->a16 + d) : x->a + d,
                      t->bf16 ? (const void *)(x->b16 + d) : x->b + d, x->c + d);
    else if (t->bf16)
        num_gemm_16(NUM_BF16, s, x->a16 + d, x->b16 + d, x->c + d);
    else
        num_gemm(s, x->a + d, x->b + d, x->c + d);
}

static struct num_product shape_of(int variant, int64_t m, int64_t n, int64_t k)
{
    bool ta = variant & 1, tb = variant & 2;
    int64_t extra = variant & 8 ? 5 : 0;
    return (struct num_product){.trans_a = ta,
                                .trans_b = tb,
                                .m = m,
                                .n = n,
                                .k = k,
                                .lda = (ta ? m : k) + extra,
                                .ldb = (tb ? k : n) + extra,
                                .ldc = n + extra,
                                .beta = variant & 4 ? 1.0F : 0.0F};
}

/* Every element of C, the untouched gap between rows, and the elements after it. */
static void check_against_reference(struct buffers *x, const struct trial *t)
{
    const struct num_product *s = &t->shape;
    int64_t used = s->m * s->ldc + GUARD;
    fill(x, t);
    memcpy(x->expected, x->c + t->shift, (size_t)used * sizeof *x->c);
    num_gemm_ref(s, x->a + t->shift, x->b + t->shift, x->expected);
    for (int64_t i = 0; s->beta == 0 && i < s->m; i++) {
        for (int64_t j = 0; j < s->n; j++)
            x->c[t->shift + i * s->ldc + j] = NAN; /* must be overwritten, not multiplied by 0 */
    }
    multiply(x, t);
    double tol = 2e-7 * (double)(s->k + 4);
    int64_t bad = 0;
    for (int64_t i = 0; i < used; i++)
        bad += !(fabs((double)x->c[t->shift + i] - (double)x->expected[i]) <= tol);
    T_EQ(bad, 0);
}

/* The variants with a bit of @p without are left out. */
static void check_variants(bool is_bf16, bool rows, int without)
{
    static const int64_t size[][3] = {{1, 1, 1},   {3, 5, 7},    {16, 16, 16}, {17, 33, 65},
                                      {64, 31, 9}, {1, 100, 40}, {40, 1, 100}, {96, 48, 130},
                                      {7, 9, 0},   {0, 4, 4}};
    struct buffers *x = new_buffers();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        for (int variant = 0; variant < 16; variant++) {
            struct trial t = {.shape = shape_of(variant, size[i][0], size[i][1], size[i][2]),
                              .bf16 = is_bf16,
                              .rows = rows,
                              .shift = variant % 3};
            if (!(variant & without)) check_against_reference(x, &t);
        }
    }
    wsc_free(x);
}

TEST(num_gemm, fp32_matches_the_reference)
{
    check_variants(false, false, 0);
}

TEST(num_gemm, bf16_matches_the_reference)
{
    check_variants(true, false, 0);
}

TEST(num_gemm, products_of_rows_match_the_reference)
{
    check_variants(false, true, 1);
    check_variants(true, true, 1);
}

/* Row @p first and those after it, @p n of m, give the bits that they have among all. */
static void check_some_rows(struct buffers *x, const struct num_product *all, int64_t first,
                            int64_t n)
{
    struct num_product some = *all;
    some.m = n;
    num_gemm_rows(NUM_FP32, &some, x->a + first * all->lda, x->b, x->expected);
    for (int64_t i = 0; i < n; i++)
        CU_ASSERT(same_bits(x->expected + i * all->ldc, x->c + (first + i) * all->ldc,
                            (size_t)all->n * sizeof *x->c));
}

TEST(num_gemm, a_product_of_rows_does_not_depend_on_their_number)
{
    struct buffers *x = new_buffers();
    for (int variant = 0; variant < 4; variant += 2) {
        for (int64_t k = 1; k <= 100; k += 33) {
            const struct trial t = {.shape = shape_of(variant, 61, 45, k), .rows = true};
            fill(x, &t);
            multiply(x, &t);
            for (int64_t n = 1; n <= 20; n++)
                check_some_rows(x, &t.shape, (n * 7) % (61 - n), n);
        }
    }
    wsc_free(x);
}

/* Weights of keys after a query's own. */
TEST(num_gemm, rows_with_zeros_behind_them_keep_their_bits)
{
    struct buffers *x = new_buffers();
    const struct trial shorter = {.shape = {.m = 5, .n = 9, .k = 40, .lda = 64, .ldb = 9, .ldc = 9},
                                  .rows = true};
    struct trial longer = shorter;
    longer.shape.k = 64;
    fill(x, &shorter);
    for (int i = 0; i < 5; i++)
        memset(x->a + (ptrdiff_t)i * 64 + 40, 0, 24 * sizeof *x->a);
    multiply(x, &shorter);
    memcpy(x->expected, x->c, 45 * sizeof *x->c);
    multiply(x, &longer);
    CU_ASSERT(same_bits(x->c, x->expected, 45 * sizeof *x->c));
    wsc_free(x);
}

TEST(num_gemm, integers_are_exact)
{
    struct buffers *x = new_buffers();
    struct trial t = {.shape = shape_of(6, 60, 70, 80)};
    for (int round = 0; round < 2; round++) {
        t.bf16 = round == 1;
        fill(x, &t);
        for (int i = 0; i < MAX_ELEMS; i++) {
            x->a[i] = (float)(i % 13 - 6);
            x->b[i] = (float)(i % 7 - 3);
            x->c[i] = x->expected[i] = (float)(i % 5);
        }
        num_narrow(NUM_BF16, x->a16, x->a, MAX_ELEMS);
        num_narrow(NUM_BF16, x->b16, x->b, MAX_ELEMS);
        const struct num_product *s = &t.shape;
        num_gemm_ref(s, x->a, x->b, x->expected);
        multiply(x, &t);
        CU_ASSERT(same_bits(x->c, x->expected, sizeof x->c));
    }
    wsc_free(x);
}

/* The contract: bits depend on operands and shape, not on addresses or threads. */
static void check_shifts(struct buffers *x, struct buffers *first, struct trial t)
{
    size_t bytes = (size_t)(t.shape.m * t.shape.n) * sizeof *x->c;
    fill(first, &t);
    multiply(first, &t);
    for (t.shift = 1; t.shift <= 16; t.shift += 5) {
        fill(x, &t);
        multiply(x, &t);
        CU_ASSERT(same_bits(x->c + t.shift, first->c, bytes));
    }
}

static void check_same_bits(bool is_bf16)
{
    static const int64_t size[][3] = {{96, 100, 384}, {33, 64, 70}, {5, 300, 17}, {256, 64, 64}};
    struct buffers *x = new_buffers(), *first = new_buffers();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        for (int variant = 0; variant < 8; variant++)
            check_shifts(x, first,
                         (struct trial){shape_of(variant, size[i][0], size[i][1], size[i][2]),
                                        .bf16 = is_bf16});
    }
    wsc_free(x);
    wsc_free(first);
}

TEST(num_gemm, fp32_bits_do_not_depend_on_alignment)
{
    check_same_bits(false);
}

TEST(num_gemm, bf16_bits_do_not_depend_on_alignment)
{
    check_same_bits(true);
}

struct crowd {
    struct buffers *x[6];
    struct trial t;
};

static void multiply_item(void *ctx, int64_t i, int thread)
{
    struct crowd *crowd = ctx;
    (void)thread;
    for (int round = 0; round < 3; round++)
        multiply(crowd->x[i], &crowd->t);
}

static void check_threads(bool is_bf16)
{
    struct crowd crowd = {.t = {.shape = shape_of(1, 96, 130, 300), .bf16 = is_bf16}};
    for (int i = 0; i < 6; i++)
        fill(crowd.x[i] = new_buffers(), &crowd.t);
    num_init(1);
    multiply_item(&crowd, 0, 0);
    num_init(2);
    num_parallel(6, multiply_item, &crowd);
    num_init(1);
    for (int i = 1; i < 6; i++)
        CU_ASSERT(same_bits(crowd.x[i]->c, crowd.x[0]->c, sizeof crowd.x[0]->c));
    for (int i = 0; i < 6; i++)
        wsc_free(crowd.x[i]);
}

TEST(num_gemm, bits_do_not_depend_on_threads)
{
    check_threads(false);
    check_threads(true);
}

TEST(num_gemm, more_shapes_than_the_cache_holds)
{
    struct buffers *x = new_buffers();
    for (int round = 0; round < 2; round++) {
        for (int64_t m = 1; m <= 200; m++) {
            struct trial t = {.shape = shape_of(0, m, 3, 4), .bf16 = true};
            check_against_reference(x, &t);
        }
    }
    wsc_free(x);
}

TEST(num_gemm, widening_replaces_a_missing_bf16_product)
{
    struct buffers *x = new_buffers();
    for (int variant = 0; variant < 16; variant++) {
        struct trial t = {.shape = shape_of(variant, 9, 21, 33), .bf16 = true};
        fill(x, &t);
        memcpy(x->expected, x->c, sizeof x->c);
        num_gemm_widened(NUM_BF16, &t.shape, x->a16, x->b16, x->expected);
        multiply(x, &t);
        for (int64_t i = 0; i < t.shape.m * t.shape.ldc; i++)
            T_NEAR(x->c[i], x->expected[i], 1e-5);
    }
    wsc_free(x);
}

/* Whole and broken blocks of columns and of pairs of rows, B as it is stored in either way. */
static const int64_t arranged_shapes[][3] = {{256, 64, 32}, {256, 128, 96}, {128, 65, 33},
                                             {64, 63, 31},  {37, 130, 70},  {1, 64, 64},
                                             {5, 3, 2},     {16, 16, 1},    {100, 200, 131}};

/* The product with B written in the order of the library, against the definition and against the
 * product that writes it for itself; with one order of additions in the library the bits agree. */
static void check_arranged(struct buffers *x, const struct trial *t)
{
    const struct num_product *s = &t->shape;
    const enum num_format format = t->bf16 ? NUM_BF16 : NUM_FP32;
    const void *a = t->bf16 ? (const void *)x->a16 : x->a, *b = t->bf16 ? (void *)x->b16 : x->b;
    void *out = wsc_alloc_raw(WSC_MEM_TEST, (size_t)num_arranged_bytes(format, s->k, s->n), 1);
    CU_ASSERT_FATAL(out != NULL);
    fill(x, t);
    memcpy(x->expected, x->c, sizeof x->c);
    if (!num_arranges(format, s)) {
        T_EQ(num_gemm_arranged(format, s, a, out, x->c), false);
    } else {
        num_gemm_ref(s, x->a, x->b, x->expected);
        num_arrange(format, s, b, out);
        CU_ASSERT(num_gemm_arranged(format, s, a, out, x->c));
        for (int64_t i = 0; i < (s->m - 1) * s->ldc + s->n; i++)
            T_NEAR(x->c[i], x->expected[i], 1e-5 * (1 + fabs((double)x->expected[i])));
    }
    wsc_free(out);
}

TEST(num_gemm, arranged_operands_give_the_product)
{
    struct buffers *x = new_buffers();
    for (size_t i = 0; i < sizeof arranged_shapes / sizeof *arranged_shapes; i++) {
        for (int variant = 0; variant < 16; variant++) {
            const int64_t *s = arranged_shapes[i];
            struct trial t = {.shape = shape_of(variant, s[0], s[1], s[2]), .bf16 = i % 2};
            check_arranged(x, &t);
            t.bf16 = !t.bf16;
            check_arranged(x, &t);
        }
    }
    wsc_free(x);
}

/* A tile is a part of larger matrices, at addresses that are not aligned; what is beside it stays.
 */
static void check_turn(num_transpose_fn turn)
{
    enum { TILE = NUM_TRANSPOSE_TILE, WIDE = TILE + 3, LEFT = 7 };
    const int64_t ld = WIDE * (int64_t)sizeof(uint32_t);
    uint32_t in[TILE * WIDE + 1], out[(TILE + 1) * WIDE];
    for (uint32_t i = 0; i < TILE * WIDE + 1; i++)
        in[i] = i;
    for (int i = 0; i < (TILE + 1) * WIDE; i++)
        out[i] = LEFT;
    turn((char *)(out + 1), ld, (const char *)in + 2, ld);
    for (int r = 0; r < TILE + 1; r++) {
        for (int c = 0; c < WIDE; c++) {
            uint32_t expected = LEFT;
            if (r < TILE && c > 0 && c <= TILE)
                memcpy(&expected, (const char *)in + 2 + (c - 1) * ld + r * (int64_t)4,
                       sizeof expected);
            T_EQ(out[r * WIDE + c], expected);
        }
    }
}

TEST(num_gemm, tiles_are_transposed_by_each_kind_of_processor)
{
    const num_transpose_fn turn[] = {num_transpose_avx512(), num_transpose_avx2()};
    for (size_t i = 0; i < sizeof turn / sizeof *turn; i++)
        if (turn[i]) check_turn(turn[i]);
    CU_ASSERT(!turn[0] || turn[1]); /* a processor with AVX-512 has AVX2 */
}

/* oneDNN turns a stored transpose for each product: this processor's reason to do it once. */
TEST(num_gemm, a_linear_layer_takes_an_arranged_matrix)
{
    const struct num_product p = {
        .trans_b = true, .m = 256, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64};
    T_EQ(num_arranges(NUM_FP32, &p), strncmp(num_library(), "oneDNN", 6) == 0);
    T_EQ(num_arranges(NUM_FP16, &p), false);
    T_EQ(num_arranged_bytes(NUM_FP32, 64, 64), 64 * num_row_stride(64) * 4);
    T_EQ(num_arranged_bytes(NUM_BF16, 33, 65), 64 * 128 * 2);
    T_EQ(num_arranged_bytes(NUM_CB16, 33, 65), 0);
}

/* Rows that begin in few sets of a cache of 64 lines and 64 sets: copied, also from a transposed A.
 */
TEST(num_gemm, crowded_rows_are_set_apart)
{
    static const int64_t widths[][2] = {{1, 16}, {16, 16}, {17, 48}, {384, 400}, {1536, 1552}};
    const bool minds = num_is_crowded(1536);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        T_EQ(num_row_stride(widths[i][0]), minds ? widths[i][1] : widths[i][0]);
    T_EQ(num_is_crowded(1552), false);
    T_EQ(num_is_crowded(64), minds);
    T_EQ(num_is_crowded(48), false);
    struct buffers *x = new_buffers();
    for (int i = 0; i < 8; i++) {
        struct trial t = {.shape = {.trans_a = i % 2,
                                    .m = 40,
                                    .n = 100 + i,
                                    .k = 33 + 30 * (i / 4),
                                    .lda = 80,
                                    .ldb = 128,
                                    .ldc = 112,
                                    .beta = (float)(i / 2 % 2)}};
        T_EQ(num_arranges(NUM_FP32, &t.shape), minds);
        check_arranged(x, &t);
    }
    wsc_free(x);
    const float in[2][3] = {{1, 2, 3}, {4, 5, 6}};
    float out[32] = {0};
    const float *const second = out + num_row_stride(2);
    num_set_apart(out, in[0], 3, 2, 2);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(out[i] == in[0][i] && second[i] == in[1][i]);
    T_EQ(second[2], 0);
}

/* Whole tiles, edges, an odd last column. */
TEST(num_gemm, sixteen_bits_are_turned)
{
    static const int64_t shapes[][2] = {{1, 1}, {16, 32}, {300, 96}, {257, 33}, {40, 7}};
    enum { LD = 100, LD_OUT = 310 };
    static uint16_t in[310 * LD], out[100 * LD_OUT];
    for (int i = 0; i < 310 * LD; i++)
        in[i] = (uint16_t)((unsigned)i * 40503U >> 3);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t rows = shapes[i][0], cols = shapes[i][1];
        memset(out, 0, sizeof out);
        num_transpose_16(out, LD_OUT, in, LD, rows, cols);
        for (int64_t c = 0; c < 100; c++)
            for (int64_t r = 0; r < LD_OUT; r++)
                T_EQ(out[c * LD_OUT + r], c < cols && r < rows ? in[r * LD + c] : 0);
    }
}
