// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include <wsc/num_math.h>

#include <wsc/num.h>

#include <math.h>

enum { N_POINTS = 40000 };

static float point(int i, float lo, float hi)
{
    return lo + (hi - lo) * (float)i / N_POINTS;
}

/* Error in units of the last place of fp32 at the exact value, a normal number. */
static double in_ulp(float got, double exact)
{
    int exponent;
    (void)frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, exponent - 24);
}

/* Over a grid that no power of two divides, twenty times as fine as the others. */
static double worst_ulp(float (*f)(float), double (*exact)(double), float lo, float hi)
{
    double worst = 0;
    for (int i = 0; i <= 20 * N_POINTS; i++) {
        const float x = lo + (hi - lo) * ((float)i / (20.0F * N_POINTS));
        const double y = exact((double)x);
        if (fabs(y) >= 0x1p-126) worst = num_max_error(worst, in_ulp(f(x), y));
    }
    return worst;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

TEST(num_math, errors_in_units_of_the_last_place)
{
    CU_ASSERT(worst_ulp(num_exp, exp, -87.3F, 88.0F) < 1);
    CU_ASSERT(worst_ulp(num_exp, exp, -0.4F, 0.4F) < 1);
    CU_ASSERT(worst_ulp(num_tanh, tanh, -10, 10) < 2);
    CU_ASSERT(worst_ulp(num_tanh, tanh, -0.6F, 0.6F) < 2);
    CU_ASSERT(worst_ulp(num_sigmoid_of, sigmoid, -80, 80) < 2.5);
    CU_ASSERT(worst_ulp(num_sigmoid_of, sigmoid, -2, 2) < 2.5);
}

TEST(num_math, exponential_at_its_ends)
{
    CU_ASSERT(num_exp(0) == 1);
    CU_ASSERT(num_exp(-88) == 0);
    CU_ASSERT(num_exp(-INFINITY) == 0);
    CU_ASSERT(num_exp(1000) == num_exp(88));
    CU_ASSERT(isnan(num_exp(NAN)));
}

TEST(num_math, normal_against_libm)
{
    double worst = 0;
    for (int i = 0; i <= N_POINTS; i++) {
        double x = (double)point(i, -9, 9);
        struct num_normal n = num_normal_at((float)x);
        worst = num_max_error(worst, fabs((double)n.distribution - 0.5 * erfc(-x / sqrt(2))));
        worst = num_max_error(worst, fabs((double)n.density - exp(-x * x / 2) / sqrt(2 * M_PI)));
    }
    CU_ASSERT(worst < 2e-7);
    CU_ASSERT(num_normal_at(0).distribution > 0.4999999F);
    CU_ASSERT(isnan(num_normal_at(NAN).distribution));
}

static double gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2));
}

static double gelu_new(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double slope(double (*f)(double), double x)
{
    return (f(x + 1e-4) - f(x - 1e-4)) / 2e-4;
}

TEST(num_math, nonlinearities_and_their_slopes)
{
    for (int i = 0; i <= N_POINTS; i += 10) {
        float x = point(i, -12, 12);
        T_NEAR(num_gelu(x).value, gelu((double)x), 4e-7);
        T_NEAR(num_gelu(x).slope, slope(gelu, (double)x), 1e-6);
        T_NEAR(num_gelu_new(x).value, gelu_new((double)x), 4e-7);
        T_NEAR(num_gelu_new(x).slope, slope(gelu_new, (double)x), 1e-6);
    }
    CU_ASSERT(num_gelu(-200).value == 0 && num_gelu(200).value == 200);
    CU_ASSERT(fabsf(num_gelu_new(-200).slope) < 1e-30F && num_gelu_new(200).slope == 1);
}

TEST(num_math, sums_of_every_length)
{
    float x[70], y[70];
    test_fill(x, 70, 1);
    test_fill(y, 70, 2);
    for (int n = 0; n < 70; n++) {
        double sum = 0, dot = 0, squares = 0;
        float max = -INFINITY;
        for (int i = 0; i < n; i++) {
            sum += (double)x[i];
            dot += (double)x[i] * (double)y[i];
            squares += ((double)x[i] - 0.5) * ((double)x[i] - 0.5);
            max = fmaxf(max, x[i]);
        }
        T_NEAR(num_sum(x, n), sum, 1e-6);
        T_NEAR(num_dot(x, y, n), dot, 1e-6);
        T_NEAR(num_sum_deviations(x, 0.5F, n), squares, 1e-6);
        CU_ASSERT(num_max(x, n) == max);
    }
}

/* The order of additions by its definition: lane j takes elements j, j + 16, ..., then lanes j and
 * j + 8, j + 4, j + 2, j + 1 are added. */
static float sum_by_definition(const float *x, const float *y, float minus, int n)
{
    float lane[NUM_LANES] = {0};
    for (int i = 0; i < n; i++) {
        const float a = x[i] - minus, b = y ? y[i] : a;
        lane[i % NUM_LANES] += a * b;
    }
    for (int width = NUM_LANES / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; j++)
            lane[j] += lane[j + width];
    }
    return lane[0];
}

/* Numbers of sizes so different that another order gives other bits. */
TEST(num_math, sums_have_one_order_of_additions)
{
    enum { N = 200 };
    float x[N], y[N], ones[N], power[N];
    test_fill(x, N, 3);
    test_fill(y, N, 4);
    for (int i = 0; i < N; i++) {
        x[i] = ldexpf(x[i], i * 7 % 23);
        ones[i] = 1;
    }
    for (int n = 0; n <= N; n++) {
        CU_ASSERT(num_sum(x, n) == sum_by_definition(x, ones, 0, n));
        CU_ASSERT(num_dot(x, y, n) == sum_by_definition(x, y, 0, n));
        CU_ASSERT(num_sum_deviations(x, 0.3F, n) == sum_by_definition(x, NULL, 0.3F, n));
        const float sum = num_exp_row(power, y, 1, n);
        CU_ASSERT(sum == sum_by_definition(power, ones, 0, n));
    }
}

/* The largest of @p n numbers, NaNs among them, of which that at @p at is the larger. */
static float largest_with(int n, int at)
{
    float x[80];
    for (int i = 0; i < n; i++)
        x[i] = i % 5 == 1 ? NAN : -3;
    x[at] = -2;
    return num_max(x, n);
}

TEST(num_math, a_largest_element_wherever_it_stands)
{
    const float none = 0;
    CU_ASSERT(num_max(&none, 0) == -INFINITY);
    for (int n = 1; n < 80; n++) {
        for (int at = 0; at < n; at++)
            CU_ASSERT(largest_with(n, at) == -2);
    }
}
