// SPDX-License-Identifier: Apache-2.0
/* Peak of matrix products: what num_gemm and num_gemm_16 reach on one thread and on all.
 *
 *   sgemm_peak [threads [FILE]]       FILE: results as JSON
 *
 * The shapes of the training benchmark's model, and 1024^3.  Threads work on independent products,
 * as the kernels do.  Set up, verify every shape against the reference, warm up, time: the best and
 * the median of several rounds, rates over all threads together. */
#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, N_ROUNDS = 9, PER_THREAD = 4 };
static const double round_flop = 4e9; /* of one thread: tens of milliseconds */

struct shape {
    const char *name;
    int64_t m, n, k;
    bool trans_a, trans_b;
};
/* 256 rows of width 384, filter 1536; heads of 64 features, 64 queries by up to 256 keys. */
static const struct shape shapes[] = {
    {"square_1024", 1024, 1024, 1024, false, false},
    {"projection", 256, 384, 384, false, true},
    {"ffn0", 256, 1536, 384, false, true},
    {"ffn1", 256, 384, 1536, false, true},
    {"ffn0_input_gradient", 256, 384, 1536, false, false},
    {"ffn0_weight_gradient", 1536, 384, 1024, true, false},
    {"scores", 64, 256, 64, false, true},
    {"mix", 64, 64, 256, false, false},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

struct operands {
    float *a, *b, *c;
    uint16_t *narrow_a, *narrow_b;
};
struct bench {
    struct num_product product;
    bool bf16;
    int64_t repeats;
    struct operands of[MAX_THREADS];
};
struct rates {
    double best, median; /* flop/s */
    double per_cpu_s;    /* flop per CPU second of all threads, best: what others' load spares */
};

static void *new_block(int64_t n, size_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, (size_t)n, size);
    if (block) return block;
    (void)fprintf(stderr, "%s\n", wsc_err_message());
    exit(EXIT_FAILURE);
}

static void fill(float *x, uint16_t *narrow, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(wsc_rng_uniform(1, wsc_rng_stream(WSC_RNG_TEST, stream), (uint64_t)i) - 0.5);
    num_narrow(NUM_BF16, narrow, x, n);
    num_widen(NUM_BF16, x, narrow, n); /* both formats then multiply the same numbers */
}

static void operands_create(struct operands *o, const struct shape *s)
{
    o->a = new_block(s->m * s->k, sizeof *o->a);
    o->b = new_block(s->k * s->n, sizeof *o->b);
    o->c = new_block(s->m * s->n, sizeof *o->c);
    o->narrow_a = new_block(s->m * s->k, sizeof *o->narrow_a);
    o->narrow_b = new_block(s->k * s->n, sizeof *o->narrow_b);
    fill(o->a, o->narrow_a, s->m * s->k, 0);
    fill(o->b, o->narrow_b, s->k * s->n, 1);
}

static void operands_destroy(struct operands *o)
{
    wsc_free(o->a);
    wsc_free(o->b);
    wsc_free(o->c);
    wsc_free(o->narrow_a);
    wsc_free(o->narrow_b);
}

static void multiply(const struct bench *b, const struct operands *o)
{
    if (b->bf16)
        num_gemm_16(NUM_BF16, &b->product, o->narrow_a, o->narrow_b, o->c);
    else
        num_gemm(&b->product, o->a, o->b, o->c);
}

static void multiply_often(void *ctx, int64_t i, int thread)
{
    const struct bench *b = ctx;
    (void)i;
    for (int64_t r = 0; r < b->repeats; r++)
        multiply(b, &b->of[thread]);
}

/* Sums of up to 1536 products of halves: the order of the additions moves the last bits. */
static bool is_right(const struct bench *b)
{
    const struct operands *o = &b->of[0];
    const struct num_product *p = &b->product;
    float *expected = new_block(p->m * p->n, sizeof *expected);
    bool right = true;
    multiply(b, o);
    num_gemm_ref(p, o->a, o->b, expected);
    for (int64_t i = 0; i < p->m * p->n; i++)
        right = right && fabsf(o->c[i] - expected[i]) < 1e-4F * (1 + fabsf(expected[i]));
    wsc_free(expected);
    return right;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct rates measure(struct bench *b)
{
    const struct num_product *p = &b->product;
    double seconds[N_ROUNDS], cpu[N_ROUNDS], flop = 2.0 * (double)(p->m * p->n) * (double)p->k;
    const int64_t n = (int64_t)num_threads() * PER_THREAD;
    b->repeats = (int64_t)(round_flop / PER_THREAD / flop) + 1;
    num_parallel(n, multiply_often, b);
    for (int i = 0; i < N_ROUNDS; i++) {
        double start = wsc_clock_s(), cpu_start = wsc_clock_cpu_s();
        num_parallel(n, multiply_often, b);
        seconds[i] = wsc_clock_s() - start;
        cpu[i] = wsc_clock_cpu_s() - cpu_start;
    }
    qsort(seconds, N_ROUNDS, sizeof *seconds, by_value);
    qsort(cpu, N_ROUNDS, sizeof *cpu, by_value);
    flop *= (double)(n * b->repeats);
    return (struct rates){flop / seconds[0], flop / seconds[N_ROUNDS / 2], flop / cpu[0]};
}

struct line {
    const char *name, *format;
    struct rates one, all;
    bool right;
};

static void print(const struct line *l, FILE *json)
{
    (void)printf("%-22s %s %12.1f %8.1f %8.1f %12.1f %8.1f   %s\n", l->name, l->format,
                 l->one.median / 1e9, l->one.best / 1e9, l->one.per_cpu_s / 1e9,
                 l->all.median / 1e9, l->all.best / 1e9, l->right ? "" : "WRONG");
    if (!json) return;
    (void)fprintf(json,
                  "{\"shape\": \"%s\", \"format\": \"%s\", \"one_gflop_per_s\": %.3f, "
                  "\"one_best\": %.3f, \"one_gflop_per_cpu_s\": %.3f, \"all_gflop_per_s\": %.3f, "
                  "\"all_best\": %.3f}",
                  l->name, l->format, l->one.median / 1e9, l->one.best / 1e9,
                  l->one.per_cpu_s / 1e9, l->all.median / 1e9, l->all.best / 1e9);
}

/* One shape in one format, on one thread and on all. */
static bool bench_shape(const struct shape *s, bool bf16, int n_threads, FILE *json)
{
    struct bench b = {
        .product = {.trans_a = s->trans_a, .trans_b = s->trans_b, .m = s->m, .n = s->n, .k = s->k},
        .bf16 = bf16};
    b.product.lda = s->trans_a ? s->m : s->k;
    b.product.ldb = s->trans_b ? s->k : s->n;
    b.product.ldc = s->n;
    for (int t = 0; t < n_threads; t++)
        operands_create(&b.of[t], s);
    bool right = is_right(&b);
    num_init(1);
    struct rates one = measure(&b);
    num_init(n_threads);
    struct rates all = n_threads > 1 ? measure(&b) : one;
    for (int t = 0; t < n_threads; t++)
        operands_destroy(&b.of[t]);
    struct line line = {s->name, bf16 ? "bf16" : "fp32", one, all, right};
    print(&line, json);
    return right;
}

static bool bench_all(int n_threads, FILE *json)
{
    bool valid = true;
    (void)printf(
        "GFLOP/s of products, median and best of %d: one thread (and best per CPU second), "
        "%d threads\n",
        N_ROUNDS, n_threads);
    if (json) (void)fprintf(json, "{\"threads\": %d, \"products\": [\n", n_threads);
    for (int i = 0; i < 2 * N_SHAPES; i++) {
        valid = bench_shape(&shapes[i % N_SHAPES], i >= N_SHAPES, n_threads, json) && valid;
        if (json) (void)fprintf(json, "%s\n", i < 2 * N_SHAPES - 1 ? "," : "");
    }
    if (json) (void)fprintf(json, "], \"valid\": %s}\n", valid ? "true" : "false");
    return valid;
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* lines as they come, into a pipe too */
    wsc_mem_tune();
    long n_threads = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
    FILE *json = argc > 2 ? fopen(argv[2], "w") : NULL;
    if (n_threads < 1 || n_threads > MAX_THREADS || (argc > 2 && !json)) {
        (void)fprintf(stderr, "usage: sgemm_peak [threads, 1 to %d [FILE]]\n", MAX_THREADS);
        return EXIT_FAILURE;
    }
    num_init((int)n_threads);
    bool valid = bench_all((int)n_threads, json);
    if (json && fclose(json)) valid = false;
    return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
