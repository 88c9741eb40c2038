// SPDX-License-Identifier: Apache-2.0
/* Sparse products against the library's dense ones, on one thread, in the same run.
 *
 *   sparse_products [FILE]       FILE: results as JSON
 *
 * The matrices of a block of width 1024 (1024 x 1024, 4096 x 1024, 1024 x 4096) at densities 0.5,
 * 0.25 and 0.1, fp32 and bfloat16: forward and input gradient of 256 tokens, weight gradient of
 * 1024 tokens, and what loading a matrix costs.  Set up, verify every product against the dense one
 * with zeros, warm up, time in turns: the best of several rounds in CPU seconds.  The thresholds of
 * docs/decisions/0026-sparse-products.md come from it. */
#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/num_sparse.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 256, LEAF = 1024, N_ROUNDS = 7, MAX_ROWS = 4096, GRADIENT_ROWS = 512 };
enum kind { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, N_KINDS };
static const char *const name_of[N_KINDS] = {"forward", "input gradient", "weight gradient"};
static const int64_t shapes[][2] = {{1024, 1024}, {4096, 1024}, {1024, 4096}};
static const double densities[] = {0.5, 0.25, 0.1};
enum {
    N_SHAPES = sizeof shapes / sizeof *shapes,
    N_DENSITIES = sizeof densities / sizeof *densities
};

struct bench {
    enum num_format format;
    int64_t rows, cols;
    double density;
    uint64_t *bits;
    float *dense;          /* (rows, cols), zeros between */
    void *narrow, *packed; /* dense and non-zeros in the format */
    int64_t n_kept;
    void *x, *dy; /* (LEAF, cols), (LEAF, rows) in the format */
    float *panel, *out, *expected;
    struct num_sparse *sparse;
};

static void *new_block(int64_t n, int64_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, (size_t)n, (size_t)size);
    if (block) return block;
    (void)fprintf(stderr, "%s\n", wsc_err_message());
    exit(EXIT_FAILURE);
}

static float number(uint64_t stream, int64_t i)
{
    return (float)(wsc_rng_uniform(1, wsc_rng_stream(WSC_RNG_TEST, stream), (uint64_t)i) - 0.5);
}

static void fill(struct bench *b, void *to, int64_t n, uint64_t stream)
{
    float *wide = b->format == NUM_FP32 ? to : new_block(n, 4);
    for (int64_t i = 0; i < n; i++)
        wide[i] = number(stream, i);
    if (b->format == NUM_FP32) return;
    num_narrow(b->format, to, wide, n);
    wsc_free(wide);
}

static void choose_weights(struct bench *b)
{
    const int64_t n = b->rows * b->cols, bytes = num_format_bytes(b->format);
    b->n_kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool kept =
            wsc_rng_uniform(2, wsc_rng_stream(WSC_RNG_TEST, 9), (uint64_t)i) < b->density;
        b->bits[i / 64] |= (uint64_t)kept << i % 64;
        b->dense[i] = kept ? number(3, i) : 0;
    }
    if (b->format == NUM_FP32)
        memcpy(b->narrow, b->dense, (size_t)n * sizeof(float));
    else
        num_narrow(b->format, b->narrow, b->dense, n);
    for (int64_t i = 0; i < n; i++)
        if (b->bits[i / 64] >> i % 64 & 1)
            memcpy((char *)b->packed + b->n_kept++ * bytes, (char *)b->narrow + i * bytes,
                   (size_t)bytes);
}

static void set_up(struct bench *b)
{
    const int64_t n = b->rows * b->cols, bytes = num_format_bytes(b->format);
    b->bits = new_block(n / 64 + 1, sizeof *b->bits);
    b->dense = new_block(n, sizeof *b->dense);
    b->narrow = new_block(n, bytes);
    b->packed = new_block(n, bytes);
    b->x = new_block(LEAF * b->cols, bytes);
    b->dy = new_block(LEAF * b->rows, bytes);
    b->panel = new_block(num_sparse_panel_size(LEAF, b->cols), sizeof *b->panel);
    b->out = new_block((int64_t)LEAF * MAX_ROWS, sizeof *b->out);
    b->expected = new_block((int64_t)LEAF * MAX_ROWS, sizeof *b->expected);
    fill(b, b->x, LEAF * b->cols, 4);
    fill(b, b->dy, LEAF * b->rows, 5);
    choose_weights(b);
}

static void clear(struct bench *b)
{
    void *const block[] = {b->bits, b->dense, b->narrow, b->packed,  b->x,
                           b->dy,   b->panel, b->out,    b->expected};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    num_sparse_destroy(&b->sparse);
}

/* ---- the two ways ---------------------------------------------------------------------------- */

static struct num_product shape_of(const struct bench *b, enum kind kind)
{
    const int64_t r = b->rows, c = b->cols;
    if (kind == FORWARD)
        return (struct num_product){
            .trans_b = true, .m = TOKENS, .n = r, .k = c, .lda = c, .ldb = c, .ldc = r};
    if (kind == INPUT_GRADIENT)
        return (struct num_product){.m = TOKENS, .n = c, .k = r, .lda = r, .ldb = c, .ldc = c};
    return (struct num_product){
        .trans_a = true, .m = GRADIENT_ROWS, .n = c, .k = LEAF, .lda = r, .ldb = c, .ldc = c};
}

static void multiply(const struct bench *b, const struct num_product *p, const void *x,
                     const void *y, float *out)
{
    if (b->format == NUM_FP32)
        num_gemm(p, x, y, out);
    else
        num_gemm_16(b->format, p, x, y, out);
}

static const void *columns(const struct bench *b, int64_t row)
{
    return (const char *)b->dy + row * num_format_bytes(b->format);
}

/* Blocks of rows of a weight gradient, as src/host cuts them. */
static int64_t rows_at(const struct bench *b, int64_t row)
{
    return b->rows - row < GRADIENT_ROWS ? b->rows - row : GRADIENT_ROWS;
}

static void dense(const struct bench *b, enum kind kind, float *out)
{
    struct num_product p = shape_of(b, kind);
    if (kind != WEIGHT_GRADIENT) {
        multiply(b, &p, kind == FORWARD ? b->x : b->dy, b->narrow, out);
        return;
    }
    for (int64_t row = 0; row < b->rows; row += GRADIENT_ROWS) {
        p.m = rows_at(b, row);
        multiply(b, &p, columns(b, row), b->x, out + row * b->cols);
    }
}

static void sparse(const struct bench *b, enum kind kind, float *out)
{
    const struct num_product p = shape_of(b, kind);
    if (kind != WEIGHT_GRADIENT) {
        num_sparse_product(b->format, &p, kind == FORWARD ? b->x : b->dy, b->sparse, out);
        return;
    }
    num_sparse_panel(b->format, b->x, LEAF, b->cols, b->cols, b->panel);
    for (int64_t row = 0; row < b->rows; row += GRADIENT_ROWS) {
        const struct num_sparse_outer g = {.first_row = row,
                                           .n_rows = rows_at(b, row),
                                           .n_tokens = LEAF,
                                           .dy = columns(b, row),
                                           .ld_dy = b->rows,
                                           .x = b->panel};
        num_sparse_gradient(b->format, b->sparse, &g, out + num_sparse_first(b->sparse, row));
    }
}

static bool load(struct bench *b)
{
    const struct num_packed packed = {b->rows, b->cols, b->bits, b->packed, b->n_kept};
    if (!num_sparse_load(b->sparse, &packed, b->format, true)) return true;
    (void)fprintf(stderr, "%s\n", wsc_err_message());
    return false;
}

/* Up to 4096 products of halves: the order of the additions moves the last bits. */
static bool is_right(const struct bench *b, enum kind kind)
{
    const struct num_product p = shape_of(b, kind);
    const int64_t n = kind == WEIGHT_GRADIENT ? b->n_kept : p.m * p.n;
    double worst = 0;
    dense(b, kind, b->expected);
    sparse(b, kind, b->out);
    if (kind == WEIGHT_GRADIENT) {
        float *gathered = new_block(n, sizeof *gathered);
        num_packed_gather(b->bits, 0, b->rows * b->cols, b->expected, gathered);
        memcpy(b->expected, gathered, (size_t)n * sizeof *gathered);
        wsc_free(gathered);
    }
    for (int64_t i = 0; i < n; i++)
        worst = num_max_error(worst, fabs((double)b->out[i] - (double)b->expected[i]));
    if (worst < 2e-4) return true;
    (void)fprintf(stderr, "%s of %lld x %lld at density %g is off by %g\n", name_of[kind],
                  (long long)b->rows, (long long)b->cols, b->density, worst);
    return false;
}

/* ---- times ----------------------------------------------------------------------------------- */

static double seconds_of(const struct bench *b, enum kind kind, bool is_sparse)
{
    const double start = wsc_clock_cpu_s();
    (is_sparse ? sparse : dense)(b, kind, b->out);
    return wsc_clock_cpu_s() - start;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static void measure(const struct bench *b, enum kind kind, FILE *json)
{
    double dense_s = 1e30, sparse_s = 1e30;
    for (int i = 0; i < N_ROUNDS; i++) {
        dense_s = smaller(dense_s, seconds_of(b, kind, false));
        sparse_s = smaller(sparse_s, seconds_of(b, kind, true));
    }
    const double tokens = kind == WEIGHT_GRADIENT ? LEAF : TOKENS;
    const double flop = 2 * tokens * (double)b->n_kept;
    const char *format = b->format == NUM_FP32 ? "fp32" : "bf16";
    (void)printf("%s %4lld x %4lld, density %.2f, %-15s  dense %7.3f ms, sparse %7.3f ms "
                 "(%5.1f GFLOP/s of non-zeros): %.2f times\n",
                 format, (long long)b->rows, (long long)b->cols, b->density, name_of[kind],
                 dense_s * 1e3, sparse_s * 1e3, flop / sparse_s / 1e9, dense_s / sparse_s);
    if (json)
        (void)fprintf(json,
                      " {\"format\": \"%s\", \"rows\": %lld, \"cols\": %lld, \"density\": %g, "
                      "\"product\": \"%s\", \"dense_s\": %.6g, \"sparse_s\": %.6g},\n",
                      format, (long long)b->rows, (long long)b->cols, b->density, name_of[kind],
                      dense_s, sparse_s);
}

static bool measure_load(struct bench *b)
{
    double best = 1e30;
    for (int i = 0; i < N_ROUNDS; i++) {
        const double start = wsc_clock_cpu_s();
        if (!load(b)) return false;
        best = smaller(best, wsc_clock_cpu_s() - start);
    }
    (void)printf("     loading it: %.3f ms\n", best * 1e3);
    return true;
}

static bool run(struct bench *b, FILE *json)
{
    set_up(b);
    bool valid = !num_sparse_create(&b->sparse) && load(b);
    for (enum kind kind = 0; valid && kind < N_KINDS; kind++)
        valid = is_right(b, kind);
    for (enum kind kind = 0; valid && kind < N_KINDS; kind++)
        measure(b, kind, json);
    valid = valid && measure_load(b);
    clear(b);
    return valid;
}

int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    bool valid = argc < 2 || json;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    wsc_mem_tune();
    num_init(1);
    if (json) (void)fprintf(json, "{\"products\": [\n");
    for (int f = 0; f < 2; f++)
        for (int s = 0; s < N_SHAPES; s++)
            for (int d = 0; valid && d < N_DENSITIES; d++) {
                struct bench b = {.format = f ? NUM_BF16 : NUM_FP32,
                                  .rows = shapes[s][0],
                                  .cols = shapes[s][1],
                                  .density = densities[d]};
                valid = run(&b, json);
            }
    if (json) {
        (void)fprintf(json, " null],\n\"valid\": %s}\n", valid ? "true" : "false");
        valid = !fclose(json) && valid;
    }
    return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
