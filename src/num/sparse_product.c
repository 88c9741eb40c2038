// SPDX-License-Identifier: Apache-2.0
/* Computes products of sparse matrices. Tokens are processed in blocks of 64, whose features are
 * transposed to a panel (feature, token), so that a non-zero multiplies whole vectors of tokens;
 * results are transposed back. sparse.c has sorted the non-zeros by blocks of inputs that fit the
 * L1 cache; sparse_loops.h has the loops over them. Called by the linear layers of src/host. */
#include <wsc/num_sparse.h>

#include "num_impl.h"
#include "sparse_kernels.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- transposing ----------------------------------------------------------------------------- */

enum { TILE = 4, LINE = 16 };

typedef float four __attribute__((vector_size(16)));

static four load_four(const float *x)
{
    four v;
    memcpy(&v, x, sizeof v);
    return v;
}

static void store_four(float *x, four v)
{
    memcpy(x, &v, sizeof v);
}

/* to[j][i] = from[i][j] for 4 x 4 numbers. */
static void transpose_tile(const float *from, int64_t ld_from, float *to, int64_t ld_to)
{
    const four a = load_four(from), b = load_four(from + ld_from),
               c = load_four(from + 2 * ld_from), d = load_four(from + 3 * ld_from);
    const four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_four(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store_four(to + ld_to, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store_four(to + 2 * ld_to, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_four(to + 3 * ld_to, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/* to[j][i] = from[i][j] for @p rows x @p cols numbers, one cache line of @p from at a time. */
static void transpose(const float *from, int64_t ld_from, int64_t rows, int64_t cols, float *to,
                      int64_t ld_to)
{
    const int64_t whole_rows = rows / TILE * TILE, whole_cols = cols / TILE * TILE;
    for (int64_t line = 0; line < whole_cols; line += LINE)
        for (int64_t i = 0; i < whole_rows; i += TILE)
            for (int64_t j = line; j < min64(line + LINE, whole_cols); j += TILE)
                transpose_tile(from + i * ld_from + j, ld_from, to + j * ld_to + i, ld_to);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole_cols : 0; j < cols; j++)
            to[j * ld_to + i] = from[i * ld_from + j];
}

/* Transpose an operand (n, cols at ld) to a panel (cols, width), with zeros after token n. */
static void fill_panel(enum num_format format, const void *x, int64_t ld, int64_t n, int64_t cols,
                       float *panel, int64_t width)
{
    enum { STRIP = 64 };
    float wide[NUM_SPARSE_TOKENS * STRIP];
    for (int64_t c = 0; n < width && c < cols; c++)
        memset(panel + c * width + n, 0, (size_t)(width - n) * sizeof *panel);
    if (format == NUM_FP32) {
        transpose(x, ld, n, cols, panel, width);
        return;
    }
    for (int64_t c = 0; c < cols; c += STRIP) {
        const int64_t strip = min64(STRIP, cols - c);
        for (int64_t t = 0; t < n; t++)
            num_widen(format, wide + t * STRIP, (const uint16_t *)x + t * ld + c, strip);
        transpose(wide, STRIP, n, strip, panel + c * width, width);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static const void *element(enum num_format format, const void *x, int64_t i)
{
    return (const char *)x + i * num_format_bytes(format);
}

/* Number of vectors for @p n tokens of a block. */
static int vectors_of(int64_t n)
{
    const int64_t left = min64(n, NUM_SPARSE_TOKENS);
    return (int)((left + NUM_SPARSE_LANES - 1) / NUM_SPARSE_LANES);
}

/* Compute the sums y (n_out, tokens) of the outputs of one block. */
static void multiply_block(const struct num_sparse *w, const struct num_sparse_order *o,
                           int64_t first_out, int64_t n_out, const float *x, float *y,
                           int n_vectors)
{
    const int64_t width = (int64_t)n_vectors * NUM_SPARSE_LANES;
    memset(y, 0, (size_t)(n_out * width) * sizeof *y);
    for (int64_t b = 0; b < o->n_in_blocks; b++) {
        const struct num_sparse_job job = {.start = o->start + num_sparse_segment(o, first_out, b),
                                           .n_out = n_out,
                                           .input = o->input,
                                           .value = o->value,
                                           .x = x + b * NUM_SPARSE_INPUTS * width,
                                           .y = y};
        w->unit->multiply(&job, n_vectors);
    }
}

/* C (n, n_out) = or += the transpose of y (n_out, width), one cache line of C at a time. */
static void store_block(const float *y, int64_t width, int64_t n, int64_t n_out, float beta,
                        float *c, int64_t ldc)
{
    float tile[NUM_SPARSE_TOKENS * LINE];
    for (int64_t o = 0; o < n_out; o += LINE) {
        const int64_t line = min64(LINE, n_out - o);
        transpose(y + o * width, width, line, n, tile, LINE);
        for (int64_t t = 0; t < n; t++) {
            float *to = c + t * ldc + o;
            const float *from = tile + t * LINE;
            for (int64_t j = 0; j < line; j++)
                to[j] = beta == 0 ? from[j] : to[j] + from[j];
        }
    }
}

static void multiply_tokens(const struct num_sparse *w, const struct num_sparse_order *o,
                            const float *x, float *y, const struct num_product *p, int64_t t,
                            float *c)
{
    const int n_vectors = vectors_of(p->m - t);
    for (int64_t out = 0; out < o->n_out; out += NUM_SPARSE_OUTPUTS) {
        const int64_t n_out = min64(NUM_SPARSE_OUTPUTS, o->n_out - out);
        multiply_block(w, o, out, n_out, x, y, n_vectors);
        store_block(y, (int64_t)n_vectors * NUM_SPARSE_LANES, min64(NUM_SPARSE_TOKENS, p->m - t),
                    n_out, p->beta, c + t * p->ldc + out, p->ldc);
    }
}

static float *new_scratch(int64_t n)
{
    float *x = wsc_alloc_raw(WSC_MEM_NUM, (size_t)n, sizeof *x);
    WSC_CHECK(x, "no memory for a sparse product: %lld numbers", (long long)n);
    return x;
}

void num_sparse_product(enum num_format format, const struct num_product *p, const void *a,
                        const struct num_sparse *w, float *c)
{
    const struct num_sparse_order *o = p->trans_b ? &w->forward : &w->back;
    WSC_CHECK(!p->trans_a && o->start && p->n == o->n_out && p->k == o->n_in,
              "a sparse product (%lld, %lld) with a matrix (%lld, %lld)", (long long)p->n,
              (long long)p->k, (long long)o->n_out, (long long)o->n_in);
    if (!num_product_prepare(p, c)) return;
    const int64_t width = min64(NUM_SPARSE_TOKENS, vectors_of(p->m) * (int64_t)NUM_SPARSE_LANES);
    float *x = new_scratch(width * (o->n_in + min64(NUM_SPARSE_OUTPUTS, o->n_out)));
    for (int64_t t = 0; t < p->m; t += NUM_SPARSE_TOKENS) {
        fill_panel(format, element(format, a, t * p->lda), p->lda,
                   min64(NUM_SPARSE_TOKENS, p->m - t), o->n_in, x,
                   vectors_of(p->m - t) * (int64_t)NUM_SPARSE_LANES);
        multiply_tokens(w, o, x, x + width * o->n_in, p, t, c);
    }
    wsc_free(x);
}

/* ---- gradients of the non-zeros -------------------------------------------------------------- */

void num_sparse_panel(enum num_format format, const void *x, int64_t n_tokens, int64_t cols,
                      int64_t ld, float *panel)
{
    for (int64_t t = 0; t < n_tokens; t += NUM_SPARSE_TOKENS)
        fill_panel(format, element(format, x, t * ld), ld, min64(NUM_SPARSE_TOKENS, n_tokens - t),
                   cols, panel + t * cols, NUM_SPARSE_TOKENS);
}

/* Gradients of the rows of one output block, in the order of the segments, summed over all
 * tokens. */
static void gradient_sums(enum num_format format, const struct num_sparse *w,
                          const struct num_sparse_outer *r, float *dy, float *g)
{
    const struct num_sparse_order *o = &w->forward;
    for (int64_t t = 0; t < r->n_tokens; t += NUM_SPARSE_TOKENS) {
        const float *x = r->x + t * o->n_in;
        float *to = g;
        fill_panel(format, element(format, r->dy, t * r->ld_dy), r->ld_dy,
                   min64(NUM_SPARSE_TOKENS, r->n_tokens - t), r->n_rows, dy, NUM_SPARSE_TOKENS);
        for (int64_t b = 0; b < o->n_in_blocks; b++) {
            const uint32_t *start = o->start + num_sparse_segment(o, r->first_row, b);
            const struct num_sparse_job job = {.start = start,
                                               .n_out = r->n_rows,
                                               .input = o->input,
                                               .x = x + b * NUM_SPARSE_INPUTS * NUM_SPARSE_TOKENS,
                                               .y = dy,
                                               .g = to,
                                               .first = t == 0};
            w->unit->dots(&job);
            to += start[r->n_rows] - start[0];
        }
    }
}

/* Reorder gradients from the order of the segments, by input blocks, to that of the rows. @p done
 * (n_rows): scratch, the number of elements already copied for each row. */
static void gather_rows(const struct num_sparse *w, const struct num_sparse_outer *r,
                        const float *g, int64_t *done, float *out)
{
    const struct num_sparse_order *o = &w->forward;
    const int64_t *first = w->first + r->first_row;
    memset(done, 0, (size_t)r->n_rows * sizeof *done);
    for (int64_t b = 0; b < o->n_in_blocks; b++) {
        const uint32_t *start = o->start + num_sparse_segment(o, r->first_row, b);
        for (int64_t i = 0; i < r->n_rows; i++) {
            const uint32_t n = start[i + 1] - start[i];
            memcpy(out + first[i] - first[0] + done[i], g, n * sizeof *g);
            done[i] += n;
            g += n;
        }
    }
}

void num_sparse_gradient(enum num_format format, const struct num_sparse *w,
                         const struct num_sparse_outer *g, float *out)
{
    WSC_CHECK(g->first_row >= 0 && g->first_row + g->n_rows <= w->rows && g->ld_dy >= g->n_rows,
              "gradient of rows %lld to %lld of %lld", (long long)g->first_row,
              (long long)(g->first_row + g->n_rows), (long long)w->rows);
    const int64_t n_kept = w->first[g->first_row + g->n_rows] - w->first[g->first_row];
    const int64_t n_dy = (int64_t)NUM_SPARSE_OUTPUTS * NUM_SPARSE_TOKENS;
    float *dy = new_scratch(n_dy + n_kept), *sums = dy + n_dy;
    int64_t done[NUM_SPARSE_OUTPUTS], end;
    if (g->n_tokens == 0) memset(out, 0, (size_t)n_kept * sizeof *out);
    for (int64_t row = g->first_row; g->n_tokens > 0 && row < g->first_row + g->n_rows; row = end) {
        struct num_sparse_outer piece = *g;
        end = min64((row / NUM_SPARSE_OUTPUTS + 1) * NUM_SPARSE_OUTPUTS, g->first_row + g->n_rows);
        piece.first_row = row;
        piece.n_rows = end - row;
        piece.dy = element(format, g->dy, row - g->first_row);
        gradient_sums(format, w, &piece, dy, sums);
        gather_rows(w, &piece, sums, done, out + w->first[row] - w->first[g->first_row]);
    }
    wsc_free(dy);
}
