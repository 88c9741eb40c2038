/** Scalar functions and vector loops in fp32: exponential, nonlinearities, sums in 16 fixed lanes.
 *
 *  The functions are inline and free of branches, so that the compiler vectorises the loops that
 *  use them without reordering additions: a sum is sixteen interleaved partial sums and a fixed
 *  tree over them, for any width of registers. The results therefore have equal bits on every
 *  x86-64 processor and with any number of threads. No function of the mathematics library is
 *  called whose result could differ between C libraries.
 *
 *  The nonlinearities return value and derivative together, since the backward pass needs both and
 *  most share an exponential. The polynomials were fitted for this file by minimax approximation
 *  and are evaluated with fused multiply-adds (fmaf) on every processor, which gives equal bits.
 *  The tests compare each function with the C library in double over its whole range. */
#ifndef WSC_NUM_MATH_H
#define WSC_NUM_MATH_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(WSC_CLONES) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) &&     \
    __GNUC__ >= 12
/** Attribute of a function with vector loops: the compiler makes a version for each of several
 *  vector units, and the loader selects the version for the widest unit of the processor (GNU
 *  function multiversioning; docs/decisions/0040-vector-units.md). The Makefile defines WSC_CLONES
 *  where this is supported. All versions give equal bits: a lane is one element or one of the 16
 *  partial sums for any registers, and the compiler contracts no operations. */
#    define NUM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
/** Empty: with this compiler, system or ARCH a function has one version. */
#    define NUM_CLONES
#endif

/** Number of interleaved partial sums of a reduction: lane j sums elements j, j + 16, j + 32, ...
 */
enum { NUM_LANES = 16 };

/** Bitwise `yes ? a : b`. For a plain conditional on floats, which may trap, the compiler would
 *  make a branch, and a loop with a branch is not vectorised. */
static inline float num_pick(bool yes, float a, float b)
{
    uint32_t a_bits, b_bits, mask = 0U - (uint32_t)yes;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    uint32_t bits = (a_bits & mask) | (b_bits & ~mask);
    float picked;
    memcpy(&picked, &bits, sizeof picked);
    return picked;
}

/** exp(x), error below 1 ulp for -87.3 <= x <= 88; 0 below, exp(88) above, NaN for NaN.
 *  x = n ln2 + r with |r| <= ln2/2; exp(r) by a minimax polynomial fitted for this file. */
static inline float num_exp(float x)
{
    const float lowest = -87.3F, highest = 88.0F, log2_e = 1.44269504F;
    const float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
    const float round_to_integer = 12582912.0F; /* 1.5 * 2^23 */
    float most = num_pick(x > highest, highest, x);
    float shifted = fmaf(most, log2_e, round_to_integer);
    float n = shifted - round_to_integer;
    float r = fmaf(n, -ln2_low, fmaf(n, -ln2_high, most));
    float p = 0.00138145988F;
    p = fmaf(p, r, 0.00836871658F);
    p = fmaf(p, r, 0.0416683890F);
    p = fmaf(p, r, 0.166665211F);
    p = fmaf(p, r, 0.49999994F);
    p = fmaf(p, r, 1.0F);
    p = fmaf(p, r, 1.0F);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127U) << 23; /* the low bits of the shifted number hold n */
    float power;
    memcpy(&power, &bits, sizeof power);
    return num_pick(x < lowest, 0.0F, p * power);
}

/** Standard normal density and distribution function at one point, absolute error below 2e-7. */
struct num_normal {
    float density, distribution;
};
/** Density and distribution at @p x by erfc(z) = exp(-z^2) t P(t), t = 1/(1 + 0.4 z), z =
 *  |x|/sqrt(2): the form of Abramowitz and Stegun 7.1.26 with coefficients fitted for this file
 *  (4e-8 before rounding). */
static inline struct num_normal num_normal_at(float x)
{
    const float inv_sqrt_2pi = 0.398942280F, inv_sqrt_2 = 0.707106781F;
    float z = fabsf(x) * inv_sqrt_2;
    float e = num_exp(-0.5F * x * x);
    float t = 1.0F / fmaf(0.4F, z, 1.0F);
    float p = -0.197529137F;
    p = fmaf(p, t, 0.698029101F);
    p = fmaf(p, t, -0.352912903F);
    p = fmaf(p, t, 0.453808755F);
    p = fmaf(p, t, 0.167597264F);
    p = fmaf(p, t, 0.231006920F);
    float tail = 0.5F * e * t * p;
    float upper = 1.0F - tail;
    return (struct num_normal){.density = e * inv_sqrt_2pi,
                               .distribution = num_pick(x > 0, upper, tail)};
}

/** Value and derivative of a nonlinearity at one point. */
struct num_activation {
    float value, slope;
};
/** GELU: x Phi(x) (Hendrycks and Gimpel 2016, erf form). */
static inline struct num_activation num_gelu(float x)
{
    struct num_normal n = num_normal_at(x);
    return (struct num_activation){x * n.distribution, fmaf(x, n.density, n.distribution)};
}
/** ReLU: max(x, 0), slope 0 at 0; NaN stays. */
static inline struct num_activation num_relu(float x)
{
    return (struct num_activation){num_pick(x < 0, 0, x), num_pick(x > 0, 1, 0)};
}
/** GELU in tanh form: x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks and Gimpel
 *  2016), written with (1 + tanh(u))/2 = 1/(1 + exp(-2u)). */
static inline struct num_activation num_gelu_new(float x)
{
    const float two_sqrt_2_over_pi = 1.59576912F, cubic = 0.044715F;
    float square = x * x;
    float two_u = two_sqrt_2_over_pi * x * fmaf(cubic, square, 1.0F);
    float slope_of_two_u = two_sqrt_2_over_pi * fmaf(3.0F * cubic, square, 1.0F);
    float s = 1.0F / (1.0F + num_exp(-two_u));
    const float slope = fmaf(x * s * (1.0F - s), slope_of_two_u, s);
    return (struct num_activation){x * s, slope};
}

/** tanh(x), error below 2 ulp: its series near 0, 1 - 2/(1 + exp(2|x|)) elsewhere. */
static inline float num_tanh(float x)
{
    float z = fabsf(x), s = x * x;
    float p = 0.00359212803F;
    p = fmaf(p, s, -0.00886323553F);
    p = fmaf(p, s, 0.0218694885F);
    p = fmaf(p, s, -0.0539682540F);
    p = fmaf(p, s, 0.133333333F);
    p = fmaf(p, s, -0.333333333F);
    float near = fmaf(x * s, p, x);
    float far = copysignf(1.0F - 2.0F / (1.0F + num_exp(2.0F * z)), x);
    return num_pick(z < 0.5F, near, far);
}
/** 1/(1 + exp(-x)), error below 2.5 ulp. */
static inline float num_sigmoid_of(float x)
{
    return 1.0F / (1.0F + num_exp(-x));
}

/** tanh(x); its slope is 1 - tanh(x)^2. */
static inline struct num_activation num_tanh_of(float x)
{
    float t = num_tanh(x);
    return (struct num_activation){t, fmaf(-t, t, 1.0F)};
}
/** s = 1/(1 + exp(-x)); its slope is s (1 - s). */
static inline struct num_activation num_sigmoid(float x)
{
    float s = num_sigmoid_of(x);
    return (struct num_activation){s, s * (1.0F - s)};
}
/** x sigmoid(x), also called swish. */
static inline struct num_activation num_silu(float x)
{
    float s = num_sigmoid_of(x);
    const float slope = fmaf(x * s, 1.0F - s, s);
    return (struct num_activation){x * s, slope};
}
/** Quick GELU: x sigmoid(1.702 x) (Hendrycks and Gimpel 2016, the sigmoid form). */
static inline struct num_activation num_quick_gelu(float x)
{
    float s = num_sigmoid_of(1.702F * x);
    const float slope = fmaf(1.702F * x * s, 1.0F - s, s);
    return (struct num_activation){x * s, slope};
}
/** gelu(x)^2, in the erf form. */
static inline struct num_activation num_squared_gelu(float x)
{
    struct num_activation g = num_gelu(x);
    return (struct num_activation){g.value * g.value, 2.0F * g.value * g.slope};
}
/** max(x, 0)^2 (So et al. 2021). */
static inline struct num_activation num_squared_relu(float x)
{
    float r = num_pick(x < 0, 0, x);
    return (struct num_activation){r * r, 2.0F * r};
}
/** x for x > 0, else 0.01 x (Maas, Hannun, Ng 2013). */
static inline struct num_activation num_leaky_relu(float x)
{
    const float below = 0.01F;
    return (struct num_activation){num_pick(x < 0, below * x, x), num_pick(x > 0, 1, below)};
}
/** min(max(x, 0), 6); its slope at 0 and at 6 is 0. */
static inline struct num_activation num_relu6(float x)
{
    float low = num_pick(x < 0, 0, x);
    return (struct num_activation){num_pick(low > 6, 6, low), num_pick(x > 0 && x < 6, 1, 0)};
}
/** x tanh(log(1 + exp(x))) (Misra 2020): tanh(log(1 + e)) = (e^2 + 2 e)/(e^2 + 2 e + 2). */
static inline struct num_activation num_mish(float x)
{
    float e = num_exp(num_pick(x > 20, 20, x)), n = e * (e + 2.0F);
    float t = n / (n + 2.0F), slope = 4.0F * e * (e + 1.0F) / ((n + 2.0F) * (n + 2.0F));
    slope = fmaf(x, slope, t);
    return (struct num_activation){x * t, slope};
}
/** x itself, with slope 1. */
static inline struct num_activation num_linear(float x)
{
    return (struct num_activation){x, 1};
}

/** The 16 partial sums of a reduction, in registers of the processor. It is a vector type because,
 *  with loops over arrays of 16, a compiler may vectorise the outer loop instead and transpose
 * every element. It is passed by address because passing a vector by value depends on the vector
 * unit. */
typedef float num_lanes __attribute__((vector_size(NUM_LANES * sizeof(float))));
/** Bits of num_lanes. */
typedef int32_t num_lane_bits __attribute__((vector_size(NUM_LANES * sizeof(int32_t))));

/** Sixteen elements from @p x on, which need not be aligned. */
static inline void num_lanes_load(num_lanes *lanes, const float *x)
{
    memcpy(lanes, x, sizeof *lanes);
}

/** The first @p n elements (n < 16) from @p x on, @p fill in the other lanes. */
static inline void num_lanes_load_some(num_lanes *lanes, const float *x, int64_t n, float fill)
{
    float some[NUM_LANES];
    for (int j = 0; j < NUM_LANES; j++)
        some[j] = j < n ? x[j] : fill;
    memcpy(lanes, some, sizeof *lanes);
}

/** Write the lanes to @p x, which need not be aligned. */
static inline void num_lanes_store(float *x, const num_lanes *lanes)
{
    memcpy(x, lanes, sizeof *lanes);
}

/** Write the larger of both numbers to each lane of @p most; NaNs of @p x are ignored. */
static inline void num_lanes_max(num_lanes *most, const num_lanes *x)
{
    const num_lane_bits larger = *x > *most;
    num_lane_bits a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, most, sizeof b);
    a = (a & larger) | (b & ~larger);
    memcpy(most, &a, sizeof a);
}

/** Sum of the 16 lanes along a fixed tree: lane j += lane j + 8, then 4, 2, 1. */
static inline float num_lanes_sum(const float lane[NUM_LANES])
{
    typedef float eight __attribute__((vector_size(NUM_LANES / 2 * sizeof(float))));
    typedef float four __attribute__((vector_size(NUM_LANES / 4 * sizeof(float))));
    eight low8, high8;
    four low4, high4;
    memcpy(&low8, lane, sizeof low8);
    memcpy(&high8, lane + NUM_LANES / 2, sizeof high8);
    low8 += high8;
    memcpy(&low4, &low8, sizeof low4);
    memcpy(&high4, (const char *)&low8 + sizeof low4, sizeof high4);
    low4 += high4;
    return (low4[0] + low4[2]) + (low4[1] + low4[3]);
}

/** Sum of lanes in registers, along the tree of num_lanes_sum(). */
static inline float num_lanes_total(const num_lanes *lanes)
{
    float lane[NUM_LANES];
    num_lanes_store(lane, lanes);
    return num_lanes_sum(lane);
}

/** Largest of the 16 lanes, none of which is NaN. */
static inline float num_lanes_largest(const num_lanes *lanes)
{
    float lane[NUM_LANES];
    num_lanes_store(lane, lanes);
    for (int j = 0; j < NUM_LANES / 2; j++)
        lane[j] = num_pick(lane[j + NUM_LANES / 2] > lane[j], lane[j + NUM_LANES / 2], lane[j]);
    for (int j = 1; j < NUM_LANES / 2; j++)
        lane[0] = num_pick(lane[j] > lane[0], lane[j], lane[0]);
    return lane[0];
}

/* In the last block of a sum, lanes without an element add +0. This changes no sum, since a sum
 * that begins with +0 is never -0. */

/** Sum of @p n elements: lanes first, then their tree. */
static inline float num_sum(const float *x, int64_t n)
{
    num_lanes sum = {0}, at;
    int64_t i = 0;
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        num_lanes_load(&at, x + i);
        sum += at;
    }
    if (i < n) {
        num_lanes_load_some(&at, x + i, n - i, 0);
        sum += at;
    }
    return num_lanes_total(&sum);
}

/** Sum of x[i] y[i] over @p n elements: lanes first, then their tree. */
static inline float num_dot(const float *x, const float *y, int64_t n)
{
    num_lanes sum = {0}, at, by;
    int64_t i = 0;
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        num_lanes_load(&at, x + i);
        num_lanes_load(&by, y + i);
        sum += at * by;
    }
    if (i < n) {
        num_lanes_load_some(&at, x + i, n - i, 0);
        num_lanes_load_some(&by, y + i, n - i, 0);
        sum += at * by;
    }
    return num_lanes_total(&sum);
}

/** Sum of (x - mean)^2 over @p n elements: lanes first, then their tree. */
static inline float num_sum_deviations(const float *x, float mean, int64_t n)
{
    num_lanes sum = {0}, at;
    int64_t i = 0;
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        num_lanes_load(&at, x + i);
        at -= mean;
        sum += at * at;
    }
    if (i < n) {
        num_lanes_load_some(&at, x + i, n - i, mean);
        at -= mean;
        sum += at * at;
    }
    return num_lanes_total(&sum);
}

/** Largest element; -inf for none; NaNs are ignored (they appear in the sum of exponentials). */
static inline float num_max(const float *x, int64_t n)
{
    num_lanes most, at;
    int64_t i = 0;
    num_lanes_load_some(&most, x, 0, -INFINITY);
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        num_lanes_load(&at, x + i);
        num_lanes_max(&most, &at);
    }
    if (i < n) {
        num_lanes_load_some(&at, x + i, n - i, -INFINITY);
        num_lanes_max(&most, &at);
    }
    return num_lanes_largest(&most);
}

/** Numerators and denominator of a softmax: out = exp(x - max) over @p n elements; returns their
 *  sum. @p out may be @p x; @p max is the result of num_max(). */
static inline float num_exp_row(float *out, const float *x, float max, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = num_exp(x[i] - max);
    return num_sum(out, n);
}
#endif
