// SPDX-License-Identifier: Apache-2.0
/* Counter-based random numbers: element i of a stream is a function of (seed, stream, i),
 * Philox4x32 with 10 rounds (Salmon et al. 2011), so values do not depend on ranks or order. Normal
 * numbers are the quantile of a uniform one (Wichura 1988, AS 241), so each costs one element and
 * its bits depend on the C library's sqrt and log alone. */
#include <wsc/rng.h>

#include <math.h>
#include <stdbool.h>

enum { PHILOX_ROUNDS = 10, BLOCK = 256 /* numbers at a time */ };

/* The block cipher of Philox: key = seed, counter = (i, stream); 64 of its 128 output bits are
 * used, so that element i needs no other one. */
static inline uint64_t element(uint64_t seed, uint64_t stream, uint64_t i)
{
    /* Salmon et al. 2011, section 4.3: multipliers and Weyl increments of Philox4x32. */
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)i, c1 = (uint32_t)(i >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = 0xD2511F53ULL * c0, p1 = 0xCD9E8D57ULL * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return (uint64_t)c1 << 32 | c0;
}

uint64_t wsc_rng_u64(uint64_t seed, uint64_t stream, uint64_t i)
{
    return element(seed, stream, i);
}

void wsc_rng_words(uint32_t *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        out[j] = (uint32_t)element(seed, stream, first + (uint64_t)j);
}

/* The upper 53 bits, in the middle of their interval of 2^-53: never 0, never 1. */
static inline double uniform(uint64_t bits)
{
    return ((double)(int64_t)(bits >> 11) + 0.5) * 0x1p-53;
}

double wsc_rng_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return uniform(element(seed, stream, i));
}

void wsc_rng_uniforms(double *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = uniform(element(seed, stream, first + (uint64_t)i));
}

/* Horner's rule for a polynomial of degree 7, of[0] first. */
static inline double polynomial(const double of[8], double x)
{
    double sum = of[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * x + of[i];
    return sum;
}

/* Quantile of the standard normal: Wichura 1988, Applied Statistics 37(3), algorithm AS 241
 * (PPND16).  Quotients of polynomials: a / b of q in the middle, c / d and e / f of the root of the
 * logarithm further out. */
static const double as241_a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                  1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                  4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
static const double as241_b[8] = {1.0,
                                  4.2313330701600911252e+1,
                                  6.8718700749205790830e+2,
                                  5.3941960214247511077e+3,
                                  2.1213794301586595867e+4,
                                  3.9307895800092710610e+4,
                                  2.8729085735721942674e+4,
                                  5.2264952788528545610e+3};
static const double as241_c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
static const double as241_d[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
static const double as241_e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                  1.78482653991729133580e0,  2.96560571828504891230e-1,
                                  2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double as241_f[8] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};

/* The quantile of p = q + 0.5, for |q| <= MIDDLE. */
#define MIDDLE 0.425
static inline double middle_quantile(double q)
{
    const double r = 0.180625 - q * q;
    return q * polynomial(as241_a, r) / polynomial(as241_b, r);
}

double wsc_rng_quantile(double p)
{
    const double q = p - 0.5;
    if (fabs(q) <= MIDDLE) return middle_quantile(q);
    const double r = sqrt(-log(q < 0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? polynomial(as241_c, r - 1.6) / polynomial(as241_d, r - 1.6)
                              : polynomial(as241_e, r - 5.0) / polynomial(as241_f, r - 5.0);
    return q < 0 ? -x : x;
}

/* In place.  The middle, 85 % of all, without a branch, so that the loop is one of vectors. */
static void quantiles(double *p, int n)
{
    double middle[BLOCK];
    for (int i = 0; i < n; i++)
        middle[i] = middle_quantile(p[i] - 0.5);
    for (int i = 0; i < n; i++)
        p[i] = fabs(p[i] - 0.5) <= MIDDLE ? middle[i] : wsc_rng_quantile(p[i]);
}

double wsc_rng_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    return wsc_rng_quantile(wsc_rng_uniform(seed, stream, i));
}

/* Distribution function of the standard normal, by erfc, which keeps its relative accuracy far out
 * on the left. */
static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

void wsc_rng_normals(double *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n)
{
    wsc_rng_uniforms(out, seed, stream, first, n);
    for (int64_t i = 0; i < n; i += BLOCK)
        quantiles(out + i, n - i < BLOCK ? (int)(n - i) : BLOCK);
}

/* Rounding may leave the interval by one last place, so the result is cut to it. */
static inline double cut(double x, double lo, double hi)
{
    return x < lo ? lo : x < hi ? x : hi; /* NaN far below the mean, where the probability is 0 */
}

/* Above the mean probabilities end at 1, so that an interval there is drawn from its mirror image.
 */
double wsc_rng_truncated_normal(uint64_t seed, uint64_t stream, uint64_t i, double lo, double hi)
{
    if (lo > 0) return -wsc_rng_truncated_normal(seed, stream, i, -hi, -lo);
    double p_lo = normal_cdf(lo), p_hi = normal_cdf(hi);
    return cut(wsc_rng_quantile(p_lo + (p_hi - p_lo) * wsc_rng_uniform(seed, stream, i)), lo, hi);
}

void wsc_rng_truncated_normals(double *out, uint64_t seed, uint64_t stream, uint64_t first,
                               int64_t n, double lo, double hi)
{
    const bool above = lo > 0;
    const double low = above ? -hi : lo, high = above ? -lo : hi;
    const double p_lo = normal_cdf(low), p_hi = normal_cdf(high);
    wsc_rng_uniforms(out, seed, stream, first, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = p_lo + (p_hi - p_lo) * out[i];
    for (int64_t i = 0; i < n; i += BLOCK)
        quantiles(out + i, n - i < BLOCK ? (int)(n - i) : BLOCK);
    for (int64_t i = 0; i < n; i++)
        out[i] = cut(out[i], low, high);
    for (int64_t i = 0; i < n && above; i++)
        out[i] = -out[i];
}
