// SPDX-License-Identifier: Apache-2.0
/* Values of operations against exact results that tests/fixtures/make_mesh_numerics.py made, and
 * the 16-bit formats against their definition. */
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- formats --------------------------------------------------------------------------------- */

/* The definition: digits with the hidden one, least exponent, bits of infinity. */
static const struct definition {
    int digits, low;
    unsigned infinity;
} definition[] = {[NUM_HALF_FP16] = {11, -14, 0x7C00},
                  [NUM_HALF_BF16] = {8, -126, 0x7F80},
                  [NUM_HALF_CB16] = {10, -30, 0x7E00}};
_Static_assert(sizeof definition / sizeof *definition == NUM_N_HALVES, "each format has a row");

static double defined(enum num_half half, unsigned bits)
{
    const int digits = definition[half].digits, low = definition[half].low;
    int fraction = (int)(bits & ((1U << (digits - 1)) - 1));
    int exponent = (int)(bits & 0x7FFF) >> (digits - 1);
    if (exponent) fraction |= 1 << (digits - 1);
    double magnitude = ldexp(fraction, (exponent ? exponent : 1) + low - 1 - (digits - 1));
    return bits & 0x8000 ? -magnitude : magnitude;
}

static unsigned infinity_of(enum num_half half)
{
    return definition[half].infinity;
}

static uint32_t float_bits(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

TEST(mesh_numerics, every_number_of_16_bits_is_its_definition)
{
    for (int h = 0; h < NUM_N_HALVES; h++) {
        enum num_half half = (enum num_half)h;
        int wrong = 0;
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            float x = mesh_half_to_float(half, (uint16_t)bits);
            unsigned magnitude = bits & 0x7FFF;
            if (magnitude < infinity_of(half))
                wrong += float_bits(x) != float_bits(defined(half, bits));
            else if (magnitude == infinity_of(half))
                wrong += !isinf(x) || !signbit(x) != !(bits & 0x8000);
            else
                wrong += !isnan(x);
        }
        T_EQ(wrong, 0);
    }
}

/* Between any two neighbours the middle goes to the even one, what lies beside it to the nearer
 * one; after the greatest number comes infinity, half a step away. */
TEST(mesh_numerics, rounding_goes_to_nearest_and_ties_to_even)
{
    for (int h = 0; h < NUM_N_HALVES; h++) {
        enum num_half half = (enum num_half)h;
        int wrong = 0;
        for (unsigned i = 0; i < infinity_of(half); i++) {
            double low = defined(half, i), step = defined(half, i) - (i ? defined(half, i - 1) : 0);
            double high = i + 1 < infinity_of(half) ? defined(half, i + 1) : low + step;
            double middle = (low + high) / 2; /* exact in a double */
            unsigned even = i % 2 ? i + 1 : i;
            wrong += mesh_half_from_double(half, low) != i;
            wrong += mesh_half_from_double(half, middle) != even;
            wrong += mesh_half_from_double(half, nextafter(middle, 0)) != i;
            wrong += mesh_half_from_double(half, nextafter(middle, INFINITY)) != i + 1;
            wrong += mesh_half_from_double(half, -middle) != (even | 0x8000);
        }
        T_EQ(wrong, 0);
        T_EQ(mesh_half_from_double(half, 1e300), infinity_of(half));
        T_EQ(mesh_half_from_double(half, -INFINITY), infinity_of(half) | 0x8000);
        T_EQ(mesh_half_from_double(half, -0.0), 0x8000);
        T_EQ(mesh_half_from_double(half, 1e-300), 0);
        CU_ASSERT((mesh_half_from_double(half, NAN) & 0x7FFFU) > infinity_of(half));
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

enum { ROWS = 128, A = 0, B = 1024, RESULT = 2048, PLACES = 4 };

struct block {
    int code;
    enum num_half half;
    uint32_t c;
    int n;
    uint32_t a[ROWS], b[ROWS], result[ROWS];
    bool nan[ROWS];
};

static char type_of(int code, int operand)
{
    static const char type[][3] = {
#define XX(name, text, d, a, b, w2, w3, setup) {d, a, b},
        MESH_OP_MAP(XX)
#undef XX
    };
    return type[code][operand];
}

static int code_named(const char *name)
{
    static const char *const text[] = {
#define XX(name, text, d, a, b, w2, w3, setup) text,
        MESH_OP_MAP(XX)
#undef XX
    };
    for (int i = 0; i < MESH_N_CODES; i++)
        if (!strcmp(text[i], name)) return i;
    return -1;
}

static void begin_block(struct block *k, const char *line)
{
    char name[16] = "", half[16] = "", c[16] = "";
    memset(k, 0, sizeof *k);
    T_EQ(sscanf(line, "%15s %15s %15s", name, half, c), 3);
    k->code = code_named(name);
    for (int f = NUM_FP32 + 1; f < NUM_N_FORMATS; f++)
        if (!strcmp(half, num_formats[f].word)) k->half = num_half_of((enum num_format)f);
    k->c = (uint32_t)strtoul(c, NULL, 16);
}

static void add_row(struct block *k, const char *line)
{
    char a[16] = "", b[16] = "", r[16] = "";
    CU_ASSERT_FATAL(k->n < ROWS);
    T_EQ(sscanf(line, "%15s %15s %15s", a, b, r), 3);
    k->a[k->n] = (uint32_t)strtoul(a, NULL, 16);
    k->b[k->n] = (uint32_t)strtoul(b, NULL, 16);
    k->nan[k->n] = !strcmp(r, "nan");
    k->result[k->n++] = (uint32_t)strtoul(r, NULL, 16);
}

/* ---- one block on the fabric ----------------------------------------------------------------- */

static int bytes_of(char type)
{
    return type == 's' ? 4 : 2;
}

/* The same values on both PEs. */
static void put(struct scene *s, int address, char type, const uint32_t *value, int n)
{
    int bytes = bytes_of(type);
    for (int i = 0; i < 2 * n; i++)
        ok(mesh_copy_in(s->m, at(i / n, 0), address + i % n * bytes, &value[i % n], bytes));
}

static bool is_nan(const struct block *k, char type, uint32_t bits)
{
    uint32_t magnitude = bits & (type == 's' ? 0x7FFFFFFFU : 0x7FFFU);
    return magnitude > (type == 's' ? 0x7F800000U : infinity_of(k->half));
}

/* Differences of what lies at RESULT on PE @p x, every @p stride bytes. */
static int differences(struct scene *s, const struct block *k, int x, int stride)
{
    char type = type_of(k->code, 0);
    int wrong = 0;
    for (int i = 0; i < k->n; i++) {
        uint32_t got = 0;
        ok(mesh_copy_out(s->m, at(x, 0), RESULT + i * stride, &got, bytes_of(type)));
        bool right = k->nan[i] ? is_nan(k, type, got) : got == k->result[i];
        if (!right && wrong++ < 3)
            (void)fprintf(stderr, "operation %d, format %d: %x %x %x: %x, expected %x\n", k->code,
                          (int)k->half, k->a[i], k->b[i], k->c, got, k->result[i]);
    }
    return wrong;
}

static struct mesh_op op_of(const struct block *k)
{
    struct mesh_op op = {.code = (uint8_t)k->code,
                         .dst = mesh_mem(RESULT, k->n),
                         .a = mesh_mem(A, k->n),
                         .b = mesh_mem(B, k->n)};
    bool mac = k->code == MESH_FMACS || k->code == MESH_FMACH || k->code == MESH_FMACHS;
    if (type_of(k->code, 2) == '-') op.b = (struct mesh_dsd){0};
    if (mac) op.c = mesh_bits(k->c);
    return op;
}

/* PE x carries out scene.op[x]. */
static enum wsc_err issue_mine(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_issue(pe, &s->op[mesh_x(pe)]);
}

/* The operation in memory, with every second element, into the fabric, out of the fabric. */
static int differences_at(const struct block *k, int place)
{
    struct scene s;
    char td = type_of(k->code, 0), ta = type_of(k->code, 1), tb = type_of(k->code, 2);
    bool both = place >= 2;
    int stride = place == 1 ? 2 : 1;
    memset(&s, 0, sizeof s);
    ok(mesh_create(&s.m, &(struct mesh_config){.w = 2, .h = 1, .half = k->half, .user = &s}));
    put(&s, A, ta, k->a, k->n);
    put(&s, B, tb, k->b, k->n);
    route_row(&s, 1, 2, 2);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(1, 0), 2, 1, NULL);
    s.op[0] = s.op[1] = op_of(k);
    s.op[0].dst.stride[0] = (int16_t)stride;
    if (place == 2) {
        s.op[0].dst = mesh_out(1, k->n);
        s.op[1] = (struct mesh_op){.code = td == 's' ? MESH_FMOVS : MESH_FMOVH,
                                   .dst = mesh_mem(RESULT, k->n),
                                   .a = mesh_in(1, k->n)};
    } else if (place == 3) {
        s.op[0] = (struct mesh_op){.code = ta == 's' ? MESH_FMOVS : MESH_FMOVH,
                                   .dst = mesh_out(1, k->n),
                                   .a = mesh_mem(A, k->n)};
        s.op[1].a = mesh_in(1, k->n);
    }
    starts(&s, both ? row(0, 2) : at(0, 0), issue_mine);
    scene_run(&s);
    int wrong = differences(&s, k, both, stride * bytes_of(td));
    scene_end(&s);
    return wrong;
}

static void check_block(const struct block *k, int seen[MESH_N_CODES])
{
    int wrong = 0;
    if (!k->n) return;
    CU_ASSERT_FATAL(k->code >= 0);
    for (int place = 0; place < PLACES; place++)
        wrong += differences_at(k, place);
    T_EQ(wrong, 0);
    seen[k->code] += k->n;
}

TEST(mesh_numerics, operations_round_exact_results_once)
{
    static struct block k;
    int seen[MESH_N_CODES] = {0};
    char line[80];
    FILE *f = fopen("tests/data/mesh_numerics.txt", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    memset(&k, 0, sizeof k);
    while (fgets(line, sizeof line, f)) {
        if (*line == '@') {
            check_block(&k, seen);
            begin_block(&k, line + 1);
        } else {
            add_row(&k, line);
        }
    }
    check_block(&k, seen);
    (void)fclose(f);
    for (int code = 0; code < MESH_N_CODES; code++) {
        bool has_rows = code != MESH_FMOVS && code != MESH_FMOVH && !mesh_is_map(code);
        EQ(seen[code] >= 70, has_rows);
    }
}
