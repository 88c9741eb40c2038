// SPDX-License-Identifier: Apache-2.0
/* Computes the elements of an operation in general: up to four dimensions, any types, maps, from
 * the descriptors of its operands (memory, fabric, numbers). pe.c calls it for operations that rows
 * do not describe. */
#include "vector.h"
#include "alu.h"
#include "mesh_state.h"

#include <string.h>

/* ---- operands by their descriptors ----------------------------------------------------------- */

/* Byte address of element @p i of an array; the last dimension runs fastest. */
static int64_t address_of(const struct mesh_dsd *d, int64_t i, int bytes)
{
    int64_t offset = 0;
    for (int dim = d->n_dims - 1; dim >= 0; dim--) {
        offset += i % d->len[dim] * d->stride[dim];
        i /= d->len[dim];
    }
    return d->address + offset * bytes;
}

uint32_t mesh_load_operand(const struct mesh_pe *pe, const struct mesh_dsd *d, int64_t i, char type)
{
    uint32_t value = 0;
    if (d->kind == MESH_DSD_SCALAR) return d->scalar;
    if (d->kind != MESH_DSD_MEMORY) return 0;
    int bytes = mesh_type_bytes(type);
    memcpy(&value, pe->memory + address_of(d, i, bytes), (size_t)bytes);
    return value;
}

void mesh_store_operand(struct mesh_pe *pe, const struct mesh_dsd *d, int64_t i, char type,
                        uint32_t value)
{
    int bytes = mesh_type_bytes(type);
    memcpy(pe->memory + address_of(d, i, bytes), &value, (size_t)bytes);
}

/* The number c of a multiply-accumulate as bits: from memory when the operation begins, or from
 * the thread. */
static uint32_t number_c(const struct mesh_pe *pe, const struct mesh_thread *t)
{
    const char type = mesh_code_info[t->code].type[2];
    const struct mesh_dsd in_memory = {.kind = MESH_DSD_MEMORY, .address = (int32_t)t->c};
    return t->flags & MESH_C_IN_MEMORY ? mesh_load_operand(pe, &in_memory, 0, type) : t->c;
}

static uint32_t mapped(enum num_half half, const struct mesh_op *op, const uint32_t v[2])
{
    if (op->code == MESH_MAP)
        return mesh_as_bits(op->map(mesh_as_float(v[0]), mesh_as_float(v[1])));
    const float a = mesh_half_to_float(half, (uint16_t)v[0]);
    const float b = mesh_half_to_float(half, (uint16_t)v[1]);
    return mesh_half_from_double(half, (double)op->map(a, b));
}

/* Execute an operation that keeps descriptors: a map, or arrays that rows cannot describe. */
static void by_descriptors(struct mesh_pe *pe, const struct mesh_thread *t)
{
    const struct mesh_op *op = t->op;
    const char *type = mesh_code_info[op->code].type;
    const uint32_t c = number_c(pe, t);
    for (int64_t i = 0; i < t->left; i++) {
        const uint32_t v[3] = {mesh_load_operand(pe, &op->a, i, type[1]),
                               mesh_load_operand(pe, &op->b, i, type[2]), c};
        const uint32_t value = mesh_is_map(op->code)
                                   ? mapped(pe->region->m->config.half, op, v)
                                   : mesh_alu(pe->region->m->config.half, op->code, v);
        mesh_store_operand(pe, &op->dst, i, type[0], value);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Operand @p i (1 is a, 2 is b) of the current element, as bits. */
static uint32_t row_operand(const struct mesh_pe *pe, const struct mesh_thread *t, int i, char type)
{
    uint32_t value = 0;
    unsigned source = t->from >> 2 * (i - 1) & 3;
    if (source == MESH_FROM_NUMBER) return t->number[i - 1];
    if (source == MESH_FROM_MEMORY)
        memcpy(&value, pe->memory + t->at[i], (size_t)mesh_type_bytes(type));
    return value;
}

/* Execute an operation element by element with mesh_alu(); @p t is a copy, which advances along
 * the rows. */
static void by_rows(struct mesh_pe *pe, struct mesh_thread t)
{
    const char *type = mesh_code_info[t.code].type;
    const uint32_t c = number_c(pe, &t);
    for (; t.left; t.left--) {
        const uint32_t v[3] = {row_operand(pe, &t, 1, type[1]), row_operand(pe, &t, 2, type[2]), c};
        uint32_t value = mesh_alu(pe->region->m->config.half, t.code, v);
        memcpy(pe->memory + t.at[0], &value, (size_t)mesh_type_bytes(type[0]));
        mesh_advance(&t);
    }
}

/* ---- consecutive elements: most of what kernels do ------------------------------------------- */

/* Are the elements of operand @p i (0 is the result) consecutive in memory? */
static bool is_plain(const struct mesh_thread *t, int i)
{
    unsigned source = i ? (unsigned)t->from >> 2 * (i - 1) & 3 : MESH_FROM_MEMORY;
    return source == MESH_FROM_MEMORY &&
           t->step[i] == mesh_type_bytes(mesh_code_info[t->code].type[i]);
}

static float float_at(const uint8_t *p, int64_t i)
{
    float value;
    memcpy(&value, p + 4 * i, sizeof value);
    return value;
}

static void put_float(uint8_t *p, int64_t i, float value)
{
    memcpy(p + 4 * i, &value, sizeof value);
}

/* Elements are computed one after the other, as on the machine, since operands may overlap. For
 * operands in place the compiler knows that they do not overlap and uses vector instructions. */
static void copy_floats(uint8_t *dst, const uint8_t *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        put_float(dst, i, float_at(a, i));
}

static void add_floats(uint8_t *dst, const uint8_t *a, const uint8_t *b, int64_t n)
{
    if (dst == a)
        for (int64_t i = 0; i < n; i++)
            put_float(dst, i, float_at(dst, i) + float_at(b, i));
    else
        for (int64_t i = 0; i < n; i++)
            put_float(dst, i, float_at(a, i) + float_at(b, i));
}

static void mac_floats(uint8_t *dst, const uint8_t *a, const uint8_t *b, float c, int64_t n)
{
    if (dst == a)
        for (int64_t i = 0; i < n; i++)
            put_float(dst, i, __builtin_fmaf(float_at(b, i), c, float_at(dst, i)));
    else
        for (int64_t i = 0; i < n; i++)
            put_float(dst, i, __builtin_fmaf(float_at(b, i), c, float_at(a, i)));
}

static uint16_t half_at(const uint8_t *p, int64_t i)
{
    uint16_t bits;
    memcpy(&bits, p + 2 * i, sizeof bits);
    return bits;
}

/* Sums of 32 bits += vector of a 16-bit format x number; in place as above. */
#define MAC(name)                                                                                  \
    static void mac_##name(uint8_t *dst, const uint8_t *a, const uint8_t *b, float c, int64_t n)   \
    {                                                                                              \
        if (dst == a)                                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                put_float(                                                                         \
                    dst, i,                                                                        \
                    __builtin_fmaf(mesh_##name##_to_float(half_at(b, i)), c, float_at(dst, i)));   \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                put_float(                                                                         \
                    dst, i,                                                                        \
                    __builtin_fmaf(mesh_##name##_to_float(half_at(b, i)), c, float_at(a, i)));     \
    }

#define XX(id, word, ...) MAC(word)
NUM_HALF_MAP(XX)
#undef XX

static void (*const macs[NUM_N_HALVES])(uint8_t *dst, const uint8_t *a, const uint8_t *b, float c,
                                        int64_t n) = {
#define XX(id, word, ...) [NUM_HALF_##id] = mac_##word,
    NUM_HALF_MAP(XX)
#undef XX
};

static void fill(uint8_t *dst, int64_t n, uint32_t number)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + 4 * i, &number, sizeof number);
}

/* Execute a frequent operation on plain arrays with vector code; false when it is another
 * operation. */
static bool by_vectors(struct mesh_pe *pe, const struct mesh_thread *t)
{
    const enum num_half half = pe->region->m->config.half;
    uint8_t *dst = pe->memory + t->at[0];
    const uint8_t *a = pe->memory + t->at[1], *b = pe->memory + t->at[2];
    if (t->row || !is_plain(t, 0)) return false;
    if (t->code == MESH_FMOVS && (t->from & 3) == MESH_FROM_NUMBER) {
        fill(dst, t->left, t->number[0]);
        return true;
    }
    if (!is_plain(t, 1)) return false;
    if (t->code == MESH_FMOVS) {
        copy_floats(dst, a, t->left);
        return true;
    }
    if (!is_plain(t, 2)) return false;
    if (t->code == MESH_FADDS)
        add_floats(dst, a, b, t->left);
    else if (t->code == MESH_FMACS)
        mac_floats(dst, a, b, mesh_as_float(number_c(pe, t)), t->left);
    else if (t->code == MESH_FMACHS)
        macs[half](dst, a, b, mesh_half_to_float(half, (uint16_t)number_c(pe, t)), t->left);
    else
        return false;
    return true;
}

/* ---- one multiply-add after the other ---------------------------------------------------------
 */

/* @p sums (n, plain) += @p vector (n, @p step bytes apart) c, or = where @p writes; the two do not
 * overlap. So the compiler
 * uses vectors. */
static inline __attribute__((always_inline)) void mac_apart(uint8_t *restrict sums,
                                                            const uint8_t *restrict vector,
                                                            int step, float c, int n, bool writes)
{
    for (int i = 0; i < n; i++) {
        const float before = writes ? 0 : float_at(sums, i);
        float x;
        memcpy(&x, vector + (ptrdiff_t)i * step, sizeof x);
        put_float(sums, i, __builtin_fmaf(x, c, before));
    }
}

/* True when all multiply-adds are of 32 bits, with plain sums that no vector overlaps. */
static bool is_apart(const struct mesh_macs *m)
{
    const struct mesh_thread *t = m->first;
    const int64_t n = t->left, last = m->n - 1, bytes = 4 * n;
    const int64_t step = (int16_t)t->step[2], far = step * (n - 1);
    if (t->code != MESH_FMACS || t->op || t->row || !is_plain(t, 0) || !is_plain(t, 1))
        return false;
    if (t->from != (MESH_FROM_MEMORY | MESH_FROM_MEMORY << 2) || t->at[0] != t->at[1]) return false;
    const int64_t sums = t->at[0], vectors = t->at[2];
    const int64_t move = m->sums_step * last, turn = m->vectors_step * last;
    const int64_t first_sum = move < 0 ? sums + move : sums;
    const int64_t end_sum = (move < 0 ? sums : sums + move) + bytes;
    const int64_t first_vector = vectors + (turn < 0 ? turn : 0) + (far < 0 ? far : 0);
    const int64_t end_vector = vectors + (turn < 0 ? 0 : turn) + (far < 0 ? 0 : far) + 4;
    return first_sum >= 0 && first_vector >= 0 && end_sum <= MESH_SRAM_BYTES &&
           end_vector <= MESH_SRAM_BYTES && (end_sum <= first_vector || end_vector <= first_sum);
}

bool mesh_vectors(struct mesh_pe *pe, const struct mesh_macs *m)
{
    const struct mesh_thread *t = m->first;
    const int step = (int16_t)t->step[2], n = (int)t->left;
    uint8_t *sums = pe->memory + t->at[0];
    const uint8_t *vector = pe->memory + t->at[2];
    if (!is_apart(m)) return false;
    for (int32_t i = 0; i < m->n; i++, sums += m->sums_step, vector += m->vectors_step) {
        const float c = mesh_as_float(m->word[i]);
        if (m->writes && !i)
            mac_apart(sums, vector, step, c, n, true);
        else if (step == 4)
            mac_apart(sums, vector, 4, c, n, false);
        else
            mac_apart(sums, vector, step, c, n, false);
    }
    return true;
}

void mesh_vector(struct mesh_pe *pe, const struct mesh_thread *t)
{
    pe->region->stats.elements += t->left;
    if (!t->left) return; /* arrays without elements need not have memory */
    if (t->op)
        by_descriptors(pe, t);
    else if (!by_vectors(pe, t))
        by_rows(pe, *t);
}
