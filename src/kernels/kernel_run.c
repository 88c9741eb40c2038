// SPDX-License-Identifier: Apache-2.0
/* Runs one row of the table: operands from the case's seed, the program on the mesh (or the host
 * column), the reference in double precision, and the largest error. Input i is stream 1000 + i of
 * the test generator, in (-1, 1); ids are stream 1002. */
#include <wsc/kernels.h>

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>

enum { FIRST_STREAM = 1000, IDS_STREAM = 1002, MOST_TOKENS = 1 << 18 };

/* Inputs and results of a case in fp32, and the same numbers in double for the reference. */
struct operands {
    struct kernels_sizes n;
    float *x[PROGRAMS_MAX_INPUTS], *out;      /* owned */
    double *wide[PROGRAMS_MAX_INPUTS], *want; /* owned */
    double *bound, *scratch;                  /* owned; of each result, NULL: none; of reference */
    int32_t *ids;                             /* owned */
};

/* Half the last place of 1, and the smallest number. */
static struct kernels_rounding rounding_of(enum num_format format)
{
    const int m = num_formats[format].mantissa, b = num_formats[format].bias;
    return (struct kernels_rounding){ldexp(1, -1 - m), ldexp(1, 1 - b - m)};
}

/* To numbers of the format, which fp32 has all. */
static enum wsc_err round_to(enum num_format format, float *x, int64_t n)
{
    uint16_t *half;
    if (format == NUM_FP32) return WSC_OK;
    TRY_NEW(half, WSC_MEM_KERNELS, n);
    num_narrow(format, half, x, n);
    num_widen(format, x, half, n);
    wsc_free(half);
    return WSC_OK;
}

/* Uniform in (-1, 1), rounded to the format before both sides take it. */
static enum wsc_err sample_input(struct operands *o, int i, uint64_t seed, enum num_format format)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, FIRST_STREAM + (uint64_t)i);
    TRY_NEW(o->x[i], WSC_MEM_KERNELS, o->n.in[i]);
    TRY_NEW(o->wide[i], WSC_MEM_KERNELS, o->n.in[i]);
    for (int64_t j = 0; j < o->n.in[i]; j++) {
        o->x[i][j] = (float)(2 * wsc_rng_uniform(seed, stream, (uint64_t)j) - 1);
    }
    TRY(round_to(format, o->x[i], o->n.in[i]));
    for (int64_t j = 0; j < o->n.in[i]; j++)
        o->wide[i][j] = (double)o->x[i][j];
    return WSC_OK;
}

/* Zeros in the input that has a mask, in all places but as many as a mask keeps, evenly drawn
 * (Knuth, algorithm S). */
static void draw_mask(struct operands *o, const struct programs_case *c)
{
    enum { MASK_STREAM = 1003 };
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, MASK_STREAM);
    const int i = o->n.masked - 1;
    const int64_t n = o->n.in[i];
    int64_t kept = (int64_t)(c->density * (double)n);
    for (int64_t j = 0; j < n; j++) {
        if ((double)(n - j) * wsc_rng_uniform(c->seed, stream, (uint64_t)j) < (double)kept)
            kept--;
        else
            o->wide[i][j] = o->x[i][j] = 0;
    }
}

/* Whole numbers below the bound of the row. */
static enum wsc_err sample_ids(struct operands *o, uint64_t seed)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, IDS_STREAM);
    TRY_NEW(o->ids, WSC_MEM_KERNELS, o->n.ids);
    for (int64_t j = 0; j < o->n.ids; j++)
        o->ids[j] = (int32_t)(wsc_rng_u64(seed, stream, (uint64_t)j) % (uint64_t)o->n.below);
    return WSC_OK;
}

static enum wsc_err operands_init(struct operands *o, const struct kernels_row *row,
                                  const struct programs_case *c)
{
    const int64_t tokens = c->tokens * c->samples;
    if (tokens > MOST_TOKENS)
        return WSC_RAISE(WSC_USAGE, "--tokens, --samples: %lld tokens in all, expected at most %d",
                         (long long)tokens, MOST_TOKENS);
    o->n = row->sizes(c);
    for (int i = 0; i < PROGRAMS_MAX_INPUTS; i++)
        if (o->n.in[i]) TRY(sample_input(o, i, c->seed, c->format));
    if (o->n.masked && c->density > 0 && c->density < 1) draw_mask(o, c);
    if (o->n.ids) TRY(sample_ids(o, c->seed));
    TRY_NEW(o->out, WSC_MEM_KERNELS, o->n.out);
    TRY_NEW(o->want, WSC_MEM_KERNELS, o->n.out);
    if (o->n.scratch) TRY_NEW(o->scratch, WSC_MEM_KERNELS, o->n.scratch);
    return WSC_OK;
}

static void operands_fini(struct operands *o)
{
    for (int i = 0; i < PROGRAMS_MAX_INPUTS; i++) {
        wsc_free(o->x[i]);
        wsc_free(o->wide[i]);
    }
    wsc_free(o->ids);
    wsc_free(o->out);
    wsc_free(o->want);
    wsc_free(o->bound);
    wsc_free(o->scratch);
}

static struct programs_operands view_of(const struct operands *o)
{
    return (struct programs_operands){
        .x = {o->x[0], o->x[1], o->x[2], o->x[3]}, .ids = o->ids, .out = o->out};
}

static struct kernels_reference reference_of(const struct operands *o)
{
    return (struct kernels_reference){.x = {o->wide[0], o->wide[1], o->wide[2], o->wide[3]},
                                      .ids = o->ids,
                                      .scratch = o->scratch};
}

static enum wsc_err set_bound(struct operands *o, const struct kernels_row *row,
                              const struct programs_case *c)
{
    const struct kernels_reference in = reference_of(o);
    const struct kernels_rounding by = rounding_of(c->format);
    if (!row->bound) return WSC_OK;
    TRY_NEW(o->bound, WSC_MEM_KERNELS, o->n.out);
    row->bound(c, &in, &by, o->bound);
    return WSC_OK;
}

/* Largest |difference| / (1 + |expected|): relative for large values, absolute for small ones. A
 * difference up to its bound is at most the tolerance. */
static double largest_error(const struct operands *o, const struct kernels_row *row,
                            const struct programs_case *c)
{
    const struct kernels_reference in = reference_of(o);
    const double tolerance = kernels_row_tolerance(row, c);
    double max = 0;
    WSC_CHECK(o->out && o->want, "%s has no results", row->name);
    row->reference(c, &in, o->want);
    for (int64_t i = 0; i < o->n.out; i++) {
        double unit = 1 + fabs(o->want[i]);
        if (o->bound) unit = fmax(unit, o->bound[i] / tolerance);
        max = num_max_error(max, fabs((double)o->out[i] - o->want[i]) / unit);
    }
    return max;
}

double kernels_row_cycles(const struct kernels_row *row, const struct programs_case *c)
{
    struct programs_layout lay;
    if (row->expected) return row->expected(c);
    if (!row->cycles) return -1;
    programs_layout_init(&lay, c);
    return row->cycles(&lay.layout, c);
}

/* Operands, program, formula, reference. */
static enum wsc_err run_program(const struct kernels_row *row, const struct programs_case *c,
                                struct operands *o, struct programs_result *r)
{
    TRY(operands_init(o, row, c));
    const struct programs_operands view = view_of(o);
    TRY(programs_operate(c, row->program, &view, r));
    r->analytical = kernels_row_cycles(row, c);
    TRY(set_bound(o, row, c));
    r->max_error = largest_error(o, row, c);
    return WSC_OK;
}

double kernels_row_tolerance(const struct kernels_row *row, const struct programs_case *c)
{
    const bool each = row->rounds_products && c->density > 0 && c->density < 1;
    const double roundings = each ? fmax(4, 0.75 * sqrt((double)(c->tokens * c->samples))) : 4;
    if (c->format == NUM_FP32) return row->tolerance;
    return row->tolerance + roundings * rounding_of(c->format).roundoff;
}

/* The formulas of collectives are published for the hops and ramps of WSE-2: beside the cycles of
 * another generation they would compare nothing. */
enum wsc_err kernels_row_run(const struct kernels_row *row, const struct programs_case *c,
                             struct programs_result *r)
{
    struct operands o = {.out = NULL};
    if (row->collective) {
        TRY(row->collective(c, r));
        if (row->expected && c->arch != MESH_WSE2) r->analytical = r->built = -1;
        return WSC_OK;
    }
    enum wsc_err rc = run_program(row, c, &o, r);
    operands_fini(&o);
    return rc;
}

enum wsc_err kernels_row_run_host(const struct kernels_row *row, const struct programs_case *c,
                                  double *max_error)
{
    struct operands o = {.out = NULL};
    if (!row->host)
        return WSC_RAISE(WSC_USAGE, "%s: the host has no operation of its own for it", row->name);
    enum wsc_err rc = operands_init(&o, row, c);
    if (!rc) {
        const struct programs_operands view = view_of(&o);
        row->host(c, &view);
        *max_error = largest_error(&o, row, c);
    }
    operands_fini(&o);
    return rc;
}
