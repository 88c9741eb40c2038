// SPDX-License-Identifier: Apache-2.0
/* Loops that exist for several vector units (NUM_CLONES) against the same sources compiled here for
 * the oldest processor, without vectors: equal bits for every length and special number. */
#include "../../../src/host/host_activation.h"
#include "../../../src/host/host_softmax.h"
#include "../../support/test.h"

#include <wsc/host_rows.h>
#include <wsc/num.h>

#include <math.h>
#include <string.h>

/* The sources again, under names of their own. */
void plain_norm_stats(const struct host_row_norm *r, const float *x, float stats[2]);
void plain_norm(const struct host_row_norm *r, const float *x, const float *stats, float *out);
void plain_norm_gradient(const struct host_row_norm *r, const float *x, const float *stats,
                         const float *dy, float *dx);
void plain_shape(const struct host_shape *s, float *row, float nearest, int64_t n);
void plain_cap_slopes(float cap, const float *row, float *slopes, int64_t n);
void plain_softmax_add(struct host_softmax *s, float *row, float scale, int64_t n, float *out,
                       int64_t d);
void plain_softmax_backward(const struct host_softmax_stats *s, float scale, float *row,
                            float *drow, int64_t n);
void plain_shaped_backward(const struct host_softmax_stats *s, const struct host_shape *shape,
                           float *row, float *drow, int64_t n);
void plain_activate(const struct model *m, float *out, const float *pre);
void plain_activate_backward(const struct model *m, float *out, float *dpre, const float *dout,
                             const float *pre);
void plain_function(enum zoo_nonlinearity function, float *out, const float *x, int64_t n);
void plain_function_backward(enum zoo_nonlinearity function, float *out, float *dx,
                             const float *dout, const float *x, int64_t n);
void plain_add(float *restrict y, const float *restrict x, int64_t n);
void plain_sum_of(float *out, const float *x, const float *restrict y, int64_t n);
void plain_scale(float *restrict y, float s, int64_t n);
void plain_scaled(float *restrict out, const float *restrict x, float s, int64_t n);
void plain_add_scaled(float *restrict y, const float *restrict x, float s, int64_t n);
double plain_sum_squares(const float *x, int64_t n);

#define host_row_norm_stats          plain_norm_stats
#define host_row_norm_gradient       plain_norm_gradient
#define host_softmax_shape           plain_shape
#define host_softmax_cap_slopes      plain_cap_slopes
#define host_softmax_add             plain_softmax_add
#define host_softmax_backward        plain_softmax_backward
#define host_softmax_shaped_backward plain_shaped_backward
#define host_activate_backward       plain_activate_backward
#define host_activate                plain_activate
#define host_function_backward       plain_function_backward
#define host_function                plain_function
#define num_add                      plain_add
#define num_sum_of                   plain_sum_of
#define num_scale                    plain_scale
#define num_scaled                   plain_scaled
#define num_add_scaled               plain_add_scaled
#define num_sum_squares              plain_sum_squares
#include "../../../src/host/host_activation.c" // NOLINT(bugprone-suspicious-include)
#include "../../../src/host/host_softmax.c"    // NOLINT(bugprone-suspicious-include)
#include "../../../src/num/num_vector.c"       // NOLINT(bugprone-suspicious-include)
#define host_row_norm(...) plain_norm(__VA_ARGS__)
#include "../../../src/host/host_norm.c" // NOLINT(bugprone-suspicious-include)
#undef host_row_norm
#undef host_row_norm_stats
#undef host_row_norm_gradient
#undef host_softmax_shape
#undef host_softmax_cap_slopes
#undef host_softmax_add
#undef host_softmax_backward
#undef host_softmax_shaped_backward
#undef host_activate_backward
#undef host_activate
#undef host_function_backward
#undef host_function
#undef num_add
#undef num_sum_of
#undef num_scale
#undef num_scaled
#undef num_add_scaled
#undef num_sum_squares

enum { LENGTH = 333 };

/* Numbers of a normal size, then some that are special. */
static void fill(float *x, uint64_t seed, float size)
{
    const float special[] = {0.0F, -0.0F, 1e-40F, -1e-40F, 88.5F, -88.5F, 1e30F, -1e30F};
    test_fill(x, LENGTH, seed);
    for (int i = 0; i < LENGTH; i++)
        x[i] *= size;
    memcpy(x + 40, special, sizeof special);
}

/* The sign of a NaN is the compiler's choice, which operand it is that survives. */
static bool same(const float *x, const float *y, int64_t n)
{
    bool equal = true;
    for (int64_t i = 0; i < n; i++)
        equal = equal && (memcmp((const void *)&x[i], (const void *)&y[i], sizeof x[i]) == 0 ||
                          (isnan(x[i]) && isnan(y[i])));
    return equal;
}

/* The first @p n elements of @p x, the gradient @p dout. */
static void check_function(enum zoo_nonlinearity f, const float *x, const float *dout, int64_t n)
{
    float out[2][LENGTH] = {{0}}, dx[2][LENGTH] = {{0}};
    host_function(f, out[0], x, n);
    plain_function(f, out[1], x, n);
    CU_ASSERT(same(out[0], out[1], LENGTH));
    host_function_backward(f, out[0], dx[0], dout, x, n);
    plain_function_backward(f, out[1], dx[1], dout, x, n);
    CU_ASSERT(same(out[0], out[1], LENGTH) && same(dx[0], dx[1], LENGTH));
}

TEST(host_clones, nonlinearities)
{
    float x[LENGTH], dout[LENGTH];
    fill(x, 1, 12);
    fill(dout, 2, 1);
    x[50] = NAN;
    for (int f = 0; f < ZOO_N_FUNCTIONS; f++)
        for (int64_t n = 0; n <= LENGTH; n += n < 70 ? 1 : 263)
            check_function((enum zoo_nonlinearity)f, x, dout, n);
}

TEST(host_clones, gated_nonlinearities)
{
    const struct model m = {.F = 111, .gated = true, .nonlinearity = ZOO_SILU};
    float pre[LENGTH], dout[LENGTH], out[2][LENGTH] = {{0}}, dpre[2][LENGTH] = {{0}};
    fill(pre, 3, 3);
    fill(dout, 4, 1);
    host_activate(&m, out[0], pre);
    plain_activate(&m, out[1], pre);
    CU_ASSERT(same(out[0], out[1], LENGTH));
    host_activate_backward(&m, out[0], dpre[0], dout, pre);
    plain_activate_backward(&m, out[1], dpre[1], dout, pre);
    CU_ASSERT(same(out[0], out[1], LENGTH) && same(dpre[0], dpre[1], LENGTH));
}

TEST(host_clones, norms)
{
    float x[LENGTH], gain[LENGTH], bias[LENGTH], dy[LENGTH], out[2][LENGTH], dx[2][LENGTH];
    test_fill(x, LENGTH, 5);
    test_fill(gain, LENGTH, 6);
    test_fill(bias, LENGTH, 7);
    test_fill(dy, LENGTH, 8);
    for (int i = 0; i < 4; i++) {
        const struct host_row_norm r = {.n = LENGTH - 3 * i,
                                        .eps = 1e-5F,
                                        .rms = i % 2,
                                        .gain = gain,
                                        .bias = i / 2 ? bias : NULL};
        float stats[2][2];
        memset(out, 0, sizeof out);
        memset(dx, 0, sizeof dx);
        host_row_norm_stats(&r, x, stats[0]);
        plain_norm_stats(&r, x, stats[1]);
        host_row_norm(&r, x, stats[0], out[0]);
        plain_norm(&r, x, stats[1], out[1]);
        host_row_norm_gradient(&r, x, stats[0], dy, dx[0]);
        plain_norm_gradient(&r, x, stats[1], dy, dx[1]);
        CU_ASSERT(same(stats[0], stats[1], 2));
        CU_ASSERT(same(out[0], out[1], LENGTH) && same(dx[0], dx[1], LENGTH));
    }
}

enum { D = 24, ROOM = LENGTH + 16 };

/* One tile of a row: loops of the processor, plain ones. */
static void check_tile(const struct host_shape *shape, struct host_softmax s[2], float row[2][ROOM],
                       float out[2][D])
{
    host_softmax_shape(shape, row[0], 400, LENGTH);
    plain_shape(shape, row[1], 400, LENGTH);
    float slopes[2][LENGTH];
    host_softmax_cap_slopes(0.7F, row[0], slopes[0], LENGTH);
    plain_cap_slopes(0.7F, row[1], slopes[1], LENGTH);
    CU_ASSERT(same(slopes[0], slopes[1], LENGTH));
    host_softmax_add(&s[0], row[0], 3, LENGTH, out[0], D);
    plain_softmax_add(&s[1], row[1], 3, LENGTH, out[1], D);
    CU_ASSERT(same(row[0], row[1], ROOM) && same(out[0], out[1], D));
    CU_ASSERT(same(&s[0].max, &s[1].max, 1) && same(&s[0].sum, &s[1].sum, 1));
}

/* Two tiles of a row, then back. */
TEST(host_clones, softmax)
{
    const struct host_shape shapes[] = {{0.125F, 0, 0}, {0.5F, 30, 0}, {0.25F, 0, 0.125F}};
    for (int i = 0; i < 3; i++) {
        float row[2][ROOM] = {{0}}, drow[2][ROOM] = {{0}}, out[2][D] = {{1, 2, 3}, {1, 2, 3}};
        struct host_softmax s[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
        const struct host_shape *shape = &shapes[i];
        for (int tile = 0; tile < 2; tile++) {
            test_fill(row[0], LENGTH, (uint64_t)tile + 9);
            test_fill(row[1], LENGTH, (uint64_t)tile + 9);
            check_tile(shape, s, row, out);
        }
        const struct host_softmax_stats stats = {s[0].max, 1 / s[0].sum, 0.25F};
        for (int j = 0; j < 2; j++)
            test_fill(drow[j], LENGTH, 11);
        host_softmax_backward(&stats, 0.5F, row[0], drow[0], LENGTH);
        plain_softmax_backward(&stats, 0.5F, row[1], drow[1], LENGTH);
        host_softmax_shaped_backward(&stats, shape, row[0], drow[0], LENGTH);
        plain_shaped_backward(&stats, shape, row[1], drow[1], LENGTH);
        CU_ASSERT(same(row[0], row[1], ROOM) && same(drow[0], drow[1], ROOM));
    }
}

TEST(host_clones, sums)
{
    float x[LENGTH], y[2][LENGTH], z[2][LENGTH] = {{0}};
    fill(x, 12, 1);
    for (int64_t n = 0; n <= LENGTH; n += n < 70 ? 1 : 263) {
        for (int j = 0; j < 2; j++)
            fill(y[j], 13, 2);
        num_add(y[0], x, n);
        num_scale(y[0], 0.3F, n);
        plain_add(y[1], x, n);
        plain_scale(y[1], 0.3F, n);
        num_add_scaled(y[0], x, 0.7F, n);
        plain_add_scaled(y[1], x, 0.7F, n);
        num_scaled(z[0], y[0], 0.7F, n);
        plain_scaled(z[1], y[1], 0.7F, n);
        const double a = num_sum_squares(y[0], n), b = plain_sum_squares(y[1], n);
        CU_ASSERT(same(y[0], y[1], LENGTH) && same(z[0], z[1], LENGTH) &&
                  memcmp((const void *)&a, (const void *)&b, sizeof a) == 0);
    }
}
