// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

#include <math.h>
#include <string.h>

const struct mesh_code_info mesh_code_info[MESH_N_CODES] = {
#define XX(name, text, d, a, b, w2, w3, setup) [MESH_##name] = {text, {d, a, b}, {w2, w3}, setup},
    MESH_OP_MAP(XX)
#undef XX
};

/* ---- 16-bit formats -------------------------------------------------------------------------- */

struct format {
    int digits, min_exponent, bias; /* significand bits with the hidden one */
    uint16_t infinity;
};
static const struct format format[] = {
    [MESH_FP16] = {11, -14, 15, 0x7C00}, [MESH_BF16] = {8, -126, 127, 0x7F80}};

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

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double power_of_2(int e)
{
    const int bias = 1023, digits = 52; /* of a double */
    return double_of((uint64_t)(bias + e) << digits);
}

float mesh_half_to_float(enum mesh_half half, uint16_t bits)
{
    if (half == MESH_BF16) return float_of((uint32_t)bits << 16);
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return digits ? NAN : (float)(sign * INFINITY);
    double magnitude =
        exponent ? (1024 + digits) * power_of_2(exponent - 25) : digits * power_of_2(-24);
    return (float)(sign * magnitude);
}

uint16_t mesh_half_from_double(enum mesh_half half, double value)
{
    const struct format *f = &format[half];
    uint64_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    if (isnan(value)) return f->infinity | 1U << (f->digits - 2) | sign;
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    if (exponent > f->bias) return f->infinity | sign;
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

/* IEEE 754-2019 maximumNumber: a number rather than NaN, +0 rather than -0.  C's fmax leaves the
 * zeros to the host. */
static double larger(double a, double b)
{
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* ---- one element ----------------------------------------------------------------------------- */

static uint32_t alu_single(int code, float a, float b, float c)
{
    switch (code) {
    case MESH_FADDS:
    case MESH_FADDHS:
        return float_bits(a + b);
    case MESH_FSUBS:
        return float_bits(a - b);
    case MESH_FMULS:
        return float_bits(a * b);
    case MESH_FMAXS:
        return float_bits((float)larger(a, b));
    case MESH_FMACS:
    case MESH_FMACHS:
        return float_bits(fmaf(b, c, a));
    default:
        return float_bits(a);
    }
}

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

static float number(enum mesh_half half, char type, uint32_t bits)
{
    return type == 'h' ? mesh_half_to_float(half, (uint16_t)bits) : float_of(bits);
}

uint32_t mesh_alu(enum mesh_half half, int code, const uint32_t v[3])
{
    const struct mesh_code_info *info = &mesh_code_info[code];
    if (code == MESH_FMOVS || code == MESH_FMOVH) return v[0];
    float a = number(half, info->type[1], v[0]);
    float b = info->type[2] == '-' ? 0 : number(half, info->type[2], v[1]);
    float c = info->type[2] == '-' ? 0 : number(half, info->type[2], v[2]);
    if (info->type[0] == 's') return alu_single(code, a, b, c);
    return mesh_half_from_double(half, alu_half(code, a, b, c));
}

/* ---- memory operations ----------------------------------------------------------------------- */

int64_t mesh_dsd_length(const struct mesh_dsd *d)
{
    int64_t n = 1;
    for (int i = 0; i < d->n_dims; i++)
        if (__builtin_mul_overflow(n, (int64_t)d->len[i], &n)) return INT64_MAX;
    return n;
}

int64_t mesh_dsd_address(const struct mesh_dsd *d, int64_t i, int bytes)
{
    int64_t offset = 0;
    if (d->n_dims == 1) return d->address + i * d->stride[0] * bytes;
    for (int dim = d->n_dims - 1; dim >= 0; dim--) {
        offset += i % d->len[dim] * d->stride[dim];
        i /= d->len[dim];
    }
    return d->address + offset * bytes;
}

static uint32_t load_operand(const struct mesh_pe *pe, const struct mesh_dsd *d, int64_t i,
                             char type)
{
    uint32_t value = 0;
    if (d->kind == MESH_DSD_SCALAR) return d->scalar;
    if (d->kind != MESH_DSD_MEMORY) return 0;
    int bytes = mesh_type_bytes(type);
    memcpy(&value, pe->memory + mesh_dsd_address(d, i, bytes), (size_t)bytes);
    return value;
}

static bool is_plain(const struct mesh_dsd *d)
{
    return d->kind == MESH_DSD_MEMORY && d->n_dims == 1 && d->stride[0] == 1;
}

/* acc += b c and acc = a + b on rows of floats: most of what a matrix product does. */
static bool plain_single(struct mesh_pe *pe, const struct mesh_op *op, int64_t n)
{
    bool mac = op->code == MESH_FMACS;
    if ((!mac && op->code != MESH_FADDS) || !is_plain(&op->dst) || !is_plain(&op->a) ||
        !is_plain(&op->b))
        return false;
    uint8_t *dst = pe->memory + op->dst.address;
    const uint8_t *a = pe->memory + op->a.address, *b = pe->memory + op->b.address;
    float c = mac ? float_of(load_operand(pe, &op->c, 0, 's')) : 0;
    for (int64_t i = 0; i < n; i++) {
        float x, y;
        memcpy(&x, a + 4 * i, sizeof x);
        memcpy(&y, b + 4 * i, sizeof y);
        x = mac ? fmaf(y, c, x) : x + y;
        memcpy(dst + 4 * i, &x, sizeof x);
    }
    return true;
}

static void map_vector(struct mesh_pe *pe, const struct mesh_op *op, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float a = float_of(load_operand(pe, &op->a, i, 's'));
        uint32_t value = float_bits(op->map(a, float_of(load_operand(pe, &op->b, i, 's'))));
        memcpy(pe->memory + mesh_dsd_address(&op->dst, i, (int)sizeof value), &value, sizeof value);
    }
}

void mesh_vector(struct mesh_pe *pe, const struct mesh_op *op, int64_t n)
{
    const struct mesh_code_info *info = &mesh_code_info[op->code];
    int bytes = mesh_type_bytes(info->type[0]);
    if (!n) return; /* there may be no memory yet */
    pe->m->stats.elements += n;
    if (plain_single(pe, op, n)) return;
    if (op->code == MESH_MAP) {
        map_vector(pe, op, n);
        return;
    }
    uint32_t c = load_operand(pe, &op->c, 0, info->type[2]);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t v[3] = {load_operand(pe, &op->a, i, info->type[1]),
                               load_operand(pe, &op->b, i, info->type[2]), c};
        uint32_t value = mesh_alu(pe->m->config.half, op->code, v);
        memcpy(pe->memory + mesh_dsd_address(&op->dst, i, bytes), &value, (size_t)bytes);
    }
}

static uint32_t operand(struct mesh_pe *pe, const struct mesh_thread *t, const struct mesh_dsd *d,
                        char type)
{
    if (d->kind != MESH_DSD_IN) return load_operand(pe, d, t->done, type);
    struct mesh_queue *q = &pe->in[t->in];
    uint32_t value = (uint32_t)q->entry[q->head];
    bool was_full = q->n == q->depth;
    q->head = (uint8_t)((q->head + 1) % MESH_QUEUE);
    if (!--q->n) pe->in_used &= (uint16_t) ~(1U << t->in);
    if (was_full) mesh_router_wake(pe->m, pe->index);
    return value;
}

enum wsc_err mesh_element(struct mesh_pe *pe, struct mesh_thread *t)
{
    const struct mesh_op *op = &t->op;
    const struct mesh_code_info *info = &mesh_code_info[op->code];
    uint32_t v[3];
    v[0] = operand(pe, t, &op->a, info->type[1]);
    v[1] = operand(pe, t, &op->b, info->type[2]);
    v[2] = load_operand(pe, &op->c, 0, info->type[2]);
    uint32_t value = mesh_alu(pe->m->config.half, op->code, v);
    if (op->dst.kind == MESH_DSD_OUT) {
        struct mesh_queue *q = &pe->out[t->out];
        q->entry[(q->head + q->n) % MESH_QUEUE] =
            mesh_entry(value, pe->m->now + 1, op->dst.control ? MESH_CONTROL_BIT : 0);
        q->n++;
        pe->out_used |= (uint16_t)(1U << t->out);
    } else {
        int bytes = mesh_type_bytes(info->type[0]);
        memcpy(pe->memory + mesh_dsd_address(&op->dst, t->done, bytes), &value, (size_t)bytes);
    }
    pe->m->stats.elements++;
    return WSC_OK;
}
