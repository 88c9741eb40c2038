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

/* Parameters of a 16-bit format; fp32 has 23 mantissa bits and bias 127. */
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

/* No branch, so that loops vectorise. Normal numbers: the exponent is rebiased and the integer
 * rounded. Subnormal ones: they are rounded by adding a power of two whose last place is that of
 * the format. */
static inline uint16_t narrow_one(float x, struct layout f)
{
    const int shift = 23 - f.mantissa;
    const uint32_t sign = bits_of(x) >> 16 & 0x8000U, magnitude = bits_of(x) & 0x7FFFFFFFU;
    const uint32_t smallest_normal = (uint32_t)(128 - f.bias) << 23;
    const uint32_t adder = (uint32_t)(127 + 24 - f.bias - f.mantissa) << 23;
    const uint32_t rebias = (uint32_t)(127 - f.bias) << 23, infinity = infinity_of(f);
    const uint32_t half = (1U << (shift - 1)) - 1U;
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
    uint32_t finite = bits_of(float_of(bits) * scale);
    uint32_t out = magnitude >= infinity_of(f) ? bits | 0x7F800000U : finite;
    return float_of(out | (uint32_t)(x & 0x8000U) << 16);
}

static const struct layout fp16 = {10, 15}, cb16 = {9, 31};

NUM_CLONES static void fp32_to_fp16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = narrow_one(in[i], fp16);
}

NUM_CLONES static void fp16_to_fp32(float *restrict out, const uint16_t *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = widen_one(in[i], fp16);
}

NUM_CLONES static void fp32_to_cb16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = narrow_one(in[i], cb16);
}

NUM_CLONES static void cb16_to_fp32(float *restrict out, const uint16_t *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = widen_one(in[i], cb16);
}

/* bfloat16 is the upper half of fp32 with the same exponent: nothing is rebiased, and subnormal
 * numbers round like others. A NaN could lose all its mantissa bits, so one is set. */
NUM_CLONES static void round_to_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        uint32_t nearest_even = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
        uint32_t quiet_nan = bits >> 16 | 0x40U;
        out[i] = (uint16_t)((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest_even);
    }
}

/* Use the processor's instruction, if it has one. */
static void fp32_to_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    if (num_has_narrow_bf16())
        num_narrow_bf16(out, in, n);
    else
        round_to_bf16(out, in, n);
}

NUM_CLONES static void bf16_to_fp32(float *restrict out, const uint16_t *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static inline float widen_fp32(float x)
{
    return x;
}

static inline float widen_fp16(uint16_t x)
{
    return widen_one(x, fp16);
}

static inline float widen_cb16(uint16_t x)
{
    return widen_one(x, cb16);
}

static inline float widen_bf16(uint16_t x)
{
    return float_of((uint32_t)x << 16);
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

ADD_ROWS(fp32, float)
ADD_ROWS(bf16, uint16_t)
ADD_ROWS(fp16, uint16_t)
ADD_ROWS(cb16, uint16_t)

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

DOT(bf16)
DOT(fp16)
DOT(cb16)

NUM_CLONES static float dot_fp32(const void *left, const void *right, int64_t n)
{
    return num_dot(left, right, n);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct format_row {
    const char *name, *option;
    void (*narrow)(uint16_t *restrict out, const float *restrict in, int64_t n);
    void (*widen)(float *restrict out, const uint16_t *restrict in, int64_t n);
    void (*add)(float *restrict y, const void *rows_of, int64_t rows, int64_t ld, int64_t n);
    float (*dot)(const void *left, const void *right, int64_t n);
} formats[] = {[NUM_FP32] = {"fp32", "fp32", NULL, NULL, add_fp32, dot_fp32},
               [NUM_BF16] = {"bfloat16", "bf16", fp32_to_bf16, bf16_to_fp32, add_bf16, dot_bf16},
               [NUM_FP16] = {"float16", "fp16", fp32_to_fp16, fp16_to_fp32, add_fp16, dot_fp16},
               [NUM_CB16] = {"cbfloat16", "cb16", fp32_to_cb16, cb16_to_fp32, add_cb16, dot_cb16}};

_Static_assert(sizeof formats / sizeof *formats == NUM_CB16 + 1, "each format has a row");

void num_narrow(enum num_format format, uint16_t *restrict out, const float *restrict in, int64_t n)
{
    WSC_CHECK(formats[format].narrow, "%s has 32 bits", formats[format].name);
    formats[format].narrow(out, in, n);
}

void num_widen(enum num_format format, float *restrict out, const uint16_t *restrict in, int64_t n)
{
    WSC_CHECK(formats[format].widen, "%s has 32 bits", formats[format].name);
    formats[format].widen(out, in, n);
}

const char *num_format_option(enum num_format format)
{
    return formats[format].option;
}

const char *num_format_name(enum num_format format)
{
    return formats[format].name;
}

void num_add_rows(enum num_format format, float *restrict y, const void *x, int64_t rows,
                  int64_t ld, int64_t n)
{
    formats[format].add(y, x, rows, ld, n);
}

float num_dot_of(enum num_format format, const void *x, const void *y, int64_t n)
{
    return formats[format].dot(x, y, n);
}
