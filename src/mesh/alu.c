// SPDX-License-Identifier: Apache-2.0
/* Implements the arithmetic of a PE: the table of operations (types, elements a cycle, set-up
 * cycles) and the conversions between 32-bit and 16-bit floats, rounded to nearest even. vector.c
 * and pe.c read the table; rates and set-ups have their sources at MESH_OP_MAP in mesh.h. */
#include "alu.h"

#include <math.h>
#include <string.h>

const struct mesh_code_info mesh_code_info[MESH_N_CODES] = {
#define XX(name, text, d, a, b, w2, w3, setup) [MESH_##name] = {text, {d, a, b}, {w2, w3}, setup},
    MESH_OP_MAP(XX)
#undef XX
};

/* ---- 16-bit formats -------------------------------------------------------------------------- */

/* A 16-bit format, with the parameters that rounding needs. */
struct format {
    int digits, min_exponent, max_exponent, bias; /* significand bits with the hidden one */
    uint16_t infinity;
};
static const struct format format[NUM_N_HALVES] = {
#define XX(id, word, name, m, b, ...)                                                              \
    [NUM_HALF_##id] = {m + 1, 1 - b, (1 << (15 - m)) - 2 - b, b, 0x8000 - (1 << m)},
    NUM_HALF_MAP(XX)
#undef XX
};

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^e for normal exponents, exactly. */
static double power_of_2(int e)
{
    const int bias = 1023, digits = 52; /* of a double */
    return double_of((uint64_t)(bias + e) << digits);
}

float mesh_half_to_float(enum num_half half, uint16_t bits)
{
    switch (half) {
#define XX(id, word, ...)                                                                          \
    case NUM_HALF_##id:                                                                            \
        return mesh_##word##_to_float(bits);
        NUM_HALF_MAP(XX)
#undef XX
    case NUM_N_HALVES:
    default:
        return 0; /* mesh_create() refuses other formats */
    }
}

/* Round to nearest even: the value in units of the last place is below 2^11, so nearbyint() is
 * exact on it. Below the smallest normal exponent the unit is constant, which gives denormal
 * numbers; a carry increments the exponent. */
uint16_t mesh_half_from_double(enum num_half half, double value)
{
    const struct format *f = &format[half];
    uint64_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    if (isnan(value)) return (uint16_t)(f->infinity | 1U << (f->digits - 2) | sign);
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    if (exponent > f->max_exponent) return f->infinity | sign;
    if (exponent < f->min_exponent) exponent = f->min_exponent;
    int unit = exponent - (f->digits - 1); /* exponent of the last place */
    int64_t n = (int64_t)nearbyint(fabs(value) * power_of_2(-unit));
    int64_t magnitude =
        ((int64_t)(exponent + f->bias) << (f->digits - 1)) + n - (1LL << (f->digits - 1));
    if (magnitude > f->infinity) magnitude = f->infinity;
    return (uint16_t)((uint64_t)magnitude | sign);
}

/* a + b rounded to odd: a later rounding to few bits is then the rounding of the exact sum
 * (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums"). */
static double add_to_odd(double a, double b)
{
    double sum = a + b;
    double other = sum - a;
    double error = (a - (sum - other)) + (b - other); /* Knuth's exact error */
    uint64_t bits = bits_of(sum);
    if (!isfinite(sum) || error == 0 || bits & 1) return sum;
    return double_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* IEEE 754-2019 maximumNumber: a number rather than NaN, +0 rather than -0. C's fmax may return
 * either zero, so its result would depend on the host. */
static double larger(double a, double b)
{
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* ---- one element ----------------------------------------------------------------------------- */

/* Operations with a 32-bit result in single precision, each rounded once. */
static uint32_t alu_single(int code, float a, float b, float c)
{
    switch (code) {
    case MESH_FADDS:
    case MESH_FADDHS:
        return mesh_as_bits(a + b);
    case MESH_FSUBS:
        return mesh_as_bits(a - b);
    case MESH_FMULS:
        return mesh_as_bits(a * b);
    case MESH_FMAXS:
        return mesh_as_bits((float)larger(a, b));
    case MESH_FMACS:
    case MESH_FMACHS:
        return mesh_as_bits(fmaf(b, c, a));
    default:
        return mesh_as_bits(a);
    }
}

/* Operations with a 16-bit result: exact or rounded to odd in double precision, so that the
 * rounding to 16 bits afterwards is the only one. */
static double alu_half(int code, double a, double b, double c)
{
    switch (code) {
    case MESH_FADDH:
        return add_to_odd(a, b);
    case MESH_FSUBH:
        return add_to_odd(a, -b);
    case MESH_FMULH:
        return a * b; /* at most 22 digits: exact */
    case MESH_FMAXH:
        return larger(a, b);
    case MESH_FMACH:
        return add_to_odd(a, b * c);
    default:
        return a;
    }
}

static float number(enum num_half half, char type, uint32_t bits)
{
    return type == 'h' ? mesh_half_to_float(half, (uint16_t)bits) : mesh_as_float(bits);
}

uint32_t mesh_alu(enum num_half half, int code, const uint32_t v[3])
{
    const struct mesh_code_info *info = &mesh_code_info[code];
    if (code == MESH_FMOVS || code == MESH_FMOVH) return v[0];
    float a = number(half, info->type[1], v[0]);
    float b = info->type[2] == '-' ? 0 : number(half, info->type[2], v[1]);
    float c = info->type[2] == '-' ? 0 : number(half, info->type[2], v[2]);
    if (info->type[0] == 's') return alu_single(code, a, b, c);
    return mesh_half_from_double(half, alu_half(code, a, b, c));
}
