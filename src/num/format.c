// SPDX-License-Identifier: Apache-2.0
/* Converts between fp32 and the 16-bit formats of the machine: fp16, cb16 with 6 exponent bits,
 * bfloat16. Narrowing rounds to nearest, ties to even (IEEE 754-2019, 4.3.1, roundTiesToEven);
 * widening is exact. A number with m mantissa bits and bias B is (1 + f / 2^m) 2^(e - B), or for
 * e = 0 (subnormal) f 2^(1 - B - m). Rounding adds half a unit of the last place minus one, plus
 * the bit of the last place, and cuts off the lower bits. A carry goes into the exponent, which is
 * correct, and from the largest number to infinity. */
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

#include <string.h>

/* Parameters of a 16-bit format, constants of each function that CONVERT makes; fp32 has 23
 * mantissa bits and bias 127. */
struct layout {
    int mantissa, bias;
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Bits of infinity: all exponent bits set, mantissa 0. */
static inline uint32_t infinity_of(struct layout f)
{
    return 0x8000U - (1U << f.mantissa);
}

/* True for bfloat16, the upper half of fp32: nothing is rebiased, and subnormal numbers round like
 * others. */
static inline bool is_upper_half(struct layout f)
{
    return f.mantissa == 7 && f.bias == 127;
}

/* A NaN could lose all its mantissa bits, so one is set. */
static inline uint16_t narrow_to_upper_half(float x)
{
    const uint32_t bits = bits_of(x);
    uint32_t nearest_even = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    uint32_t quiet_nan = bits >> 16 | 0x40U;
    return (uint16_t)((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest_even);
}

/* No branch at run time, so that loops vectorise. Normal numbers: the exponent is rebiased and the
 * integer rounded. Subnormal ones: they are rounded by adding a power of two whose last place is
 * that of the format. */
static inline uint16_t narrow_one(float x, struct layout f)
{
    const int shift = 23 - f.mantissa;
    const uint32_t sign = bits_of(x) >> 16 & 0x8000U, magnitude = bits_of(x) & 0x7FFFFFFFU;
    const uint32_t smallest_normal = (uint32_t)(128 - f.bias) << 23;
    const uint32_t adder = (uint32_t)(127 + 24 - f.bias - f.mantissa) << 23;
    const uint32_t rebias = (uint32_t)(127 - f.bias) << 23, infinity = infinity_of(f);
    const uint32_t half = (1U << (shift - 1)) - 1U;
    if (is_upper_half(f)) return narrow_to_upper_half(x);
    uint32_t normal = (magnitude - rebias + half + (magnitude >> shift & 1U)) >> shift;
    uint32_t small = bits_of(float_of(magnitude) + float_of(adder)) - adder;
    uint32_t nan =
        infinity | 1U << (f.mantissa - 1) | (magnitude >> shift & ((1U << f.mantissa) - 1U));
    uint32_t out = magnitude < smallest_normal ? small : normal;
    out = out > infinity ? infinity : out;
    return (uint16_t)(sign | (magnitude > 0x7F800000U ? nan : out));
}

/* With the exponent bits moved to those of fp32 the value is 2^(bias - 127) times too small, also
 * for subnormal numbers, so it is multiplied by the inverse. */
static inline float widen_one(uint16_t x, struct layout f)
{
    const uint32_t magnitude = x & 0x7FFFU, bits = magnitude << (23 - f.mantissa);
    const float scale = float_of((uint32_t)(254 - f.bias) << 23);
    if (is_upper_half(f)) return float_of((uint32_t)x << 16);
    uint32_t finite = bits_of(float_of(bits) * scale);
    uint32_t out = magnitude >= infinity_of(f) ? bits | 0x7F800000U : finite;
    return float_of(out | (uint32_t)(x & 0x8000U) << 16);
}

/* Conversions of a row of NUM_HALF_MAP, in which the compiler knows m and b. */
#define CONVERT(word, m, b)                                                                        \
    static inline float widen_##word(uint16_t x)                                                   \
    {                                                                                              \
        return widen_one(x, (struct layout){m, b});                                                \
    }                                                                                              \
    NUM_CLONES static void narrow_##word(uint16_t *restrict out, const float *restrict in,         \
                                         int64_t n)                                                \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = narrow_one(in[i], (struct layout){m, b});                                     \
    }                                                                                              \
    NUM_CLONES static void widen_all_##word(float *restrict out, const uint16_t *restrict in,      \
                                            int64_t n)                                             \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = widen_##word(in[i]);                                                          \
    }

static inline float widen_fp32(float x)
{
    return x;
}

/* y += rows of x, widened, in their order, some rows at a time, as num_add_rows(). */
#define ADD_ROWS(name, type)                                                                       \
    NUM_CLONES static void add_##name(float *restrict y, const void *rows_of, int64_t rows,        \
                                      int64_t ld, int64_t n)                                       \
    {                                                                                              \
        const type *restrict x = rows_of;                                                          \
        int64_t r = 0;                                                                             \
        for (; r + 4 <= rows; r += 4) {                                                            \
            const type *restrict a = x + r * ld, *restrict b = a + ld, *restrict c = b + ld;       \
            const type *restrict d = c + ld;                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = (((y[i] + widen_##name(a[i])) + widen_##name(b[i])) + widen_##name(c[i])) + \
                       widen_##name(d[i]);                                                         \
        }                                                                                          \
        for (; r < rows; r++) {                                                                    \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] += widen_##name(x[r * ld + i]);                                               \
        }                                                                                          \
    }

/* Dot product in the order of num_dot(); some elements at a time are widened to fp32. */
enum { SOME = 128 };
#define DOT(name)                                                                                  \
    NUM_CLONES static float dot_##name(const void *left, const void *right, int64_t n)             \
    {                                                                                              \
        const uint16_t *x = left, *y = right;                                                      \
        num_lanes sum = {0}, at, by;                                                               \
        for (int64_t i = 0; i < n; i += SOME) {                                                    \
            float wide_x[SOME], wide_y[SOME];                                                      \
            const int64_t some = n - i < SOME ? n - i : SOME;                                      \
            for (int64_t j = 0; j < some; j++)                                                     \
                wide_x[j] = widen_##name(x[i + j]);                                                \
            for (int64_t j = 0; j < some; j++)                                                     \
                wide_y[j] = widen_##name(y[i + j]);                                                \
            for (int64_t j = some; j % NUM_LANES; j++)                                             \
                wide_x[j] = wide_y[j] = 0;                                                         \
            for (int64_t j = 0; j < some; j += NUM_LANES) {                                        \
                num_lanes_load(&at, wide_x + j);                                                   \
                num_lanes_load(&by, wide_y + j);                                                   \
                sum += at * by;                                                                    \
            }                                                                                      \
        }                                                                                          \
        return num_lanes_total(&sum);                                                              \
    }

ADD_ROWS(fp32, float)

NUM_CLONES static float dot_fp32(const void *left, const void *right, int64_t n)
{
    return num_dot(left, right, n);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define XX(id, word, name, m, b, ...) CONVERT(word, m, b) ADD_ROWS(word, uint16_t) DOT(word)
NUM_HALF_MAP(XX)
#undef XX

const struct num_format_row num_formats[NUM_N_FORMATS] = {
#define XX(id, word, ...) [NUM_##id] = {#word, __VA_ARGS__},
    NUM_FORMAT_MAP(XX)
#undef XX
};

static const struct {
    void (*narrow)(uint16_t *restrict out, const float *restrict in, int64_t n);
    void (*widen)(float *restrict out, const uint16_t *restrict in, int64_t n);
    void (*add)(float *restrict y, const void *rows_of, int64_t rows, int64_t ld, int64_t n);
    float (*dot)(const void *left, const void *right, int64_t n);
} functions[NUM_N_FORMATS] = {[NUM_FP32] = {NULL, NULL, add_fp32, dot_fp32},
#define XX(id, word, ...) [NUM_##id] = {narrow_##word, widen_all_##word, add_##word, dot_##word},
                              NUM_HALF_MAP(XX)
#undef XX
};

/* For bfloat16 by the processor's instruction, if it has one. */
void num_narrow(enum num_format format, uint16_t *restrict out, const float *restrict in, int64_t n)
{
    WSC_CHECK(functions[format].narrow, "%s has 32 bits", num_formats[format].name);
    if (format == NUM_BF16 && num_has_narrow_bf16())
        num_narrow_bf16(out, in, n);
    else
        functions[format].narrow(out, in, n);
}

void num_widen(enum num_format format, float *restrict out, const uint16_t *restrict in, int64_t n)
{
    WSC_CHECK(functions[format].widen, "%s has 32 bits", num_formats[format].name);
    functions[format].widen(out, in, n);
}

bool num_multiplies_16(enum num_format format)
{
    return format == NUM_BF16;
}

void num_add_rows(enum num_format format, float *restrict y, const void *x, int64_t rows,
                  int64_t ld, int64_t n)
{
    functions[format].add(y, x, rows, ld, n);
}

float num_dot_of(enum num_format format, const void *x, const void *y, int64_t n)
{
    return functions[format].dot(x, y, n);
}
