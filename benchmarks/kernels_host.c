// SPDX-License-Identifier: Apache-2.0
/* Training speed of the host kernels: forward and backward of all stages of one wafer's share.
 *
 *   host [threads [leaf_samples [L C H T B V [bf16]]]]
 *
 * Set up, verify (the gradient against a finite difference of the loss along its own direction;
 * the bits against a run of the same batch in two shares), warm up, time; prints one line. */
#include <wsc/clock.h>
#include <wsc/host.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 96, MAX_TENSORS = 16 * MAX_LAYERS + 8, MAX_STAGES = MAX_LAYERS + 2 };
enum { N_STEPS = 7, N_SHARES = 2 };

struct bench {
    struct model model;
    struct model_tensor tensor[MAX_TENSORS];
    struct model_stage stage[MAX_STAGES];
    float *weight[MAX_STAGES]; /* fp32 masters, one vector per stage */
    uint16_t *narrow[MAX_STAGES];
    float *grad[MAX_STAGES];
    struct data_batch batch;
    int64_t leaf_samples;
};

static void *new_block(size_t n, size_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, n, size);
    if (block) return block;
    (void)fprintf(stderr, "%s\n", wsc_err_message());
    abort();
}

static void add(struct bench *b, enum model_tensor_kind kind, int64_t rows, int64_t cols)
{
    int i = b->model.n_tensors++;
    struct model_stage *s = &b->stage[b->model.n_stages - 1];
    b->tensor[i] = (struct model_tensor){.kind = kind,
                                         .layer = s->layer,
                                         .n_dims = cols > 0 ? 2 : 1,
                                         .shape = {rows, cols},
                                         .n_elems = rows * (cols > 0 ? cols : 1)};
    s->view[s->n_views++] = (struct model_view){.tensor = i, .offset = s->n_elems};
    s->n_elems += b->tensor[i].n_elems;
    b->model.n_params += b->tensor[i].n_elems;
}

static void add_stage(struct bench *b, int layer, enum model_part first, int n_parts)
{
    struct model_stage *s = &b->stage[b->model.n_stages++];
    s->layer = layer;
    for (int i = 0; i < n_parts; i++)
        s->part[s->n_parts++] = first + (enum model_part)i;
}

static void build_model(struct bench *b)
{
    int64_t C = b->model.C, F = b->model.F, V = b->model.V;
    add_stage(b, -1, MODEL_PART_EMBED, 1);
    add(b, MODEL_WTE, V, C);
    add(b, MODEL_WPE, b->model.T, C);
    for (int l = 0; l < b->model.L; l++) {
        add_stage(b, l, MODEL_PART_QKV, 4);
        for (enum model_tensor_kind kind = MODEL_NORM1_W; kind <= MODEL_FFN1_B; kind++) {
            bool is_matrix = kind >= MODEL_Q_W && kind % 2 == 0 && kind != MODEL_NORM3_W;
            int64_t rows = kind == MODEL_FFN0_W || kind == MODEL_FFN0_B ? F : C;
            int64_t cols = kind == MODEL_FFN1_W ? F : C;
            add(b, kind, rows, is_matrix ? cols : 0);
        }
    }
    add_stage(b, -1, MODEL_PART_HEAD, 1);
    add(b, MODEL_NORMF_W, C, 0);
    add(b, MODEL_NORMF_B, C, 0);
    add(b, MODEL_LM_HEAD_W, V, C);
}

static bool is_norm_weight(enum model_tensor_kind kind)
{
    return kind == MODEL_NORM1_W || kind == MODEL_NORM3_W || kind == MODEL_NORMF_W;
}

static void fill_stage(struct bench *b, int s)
{
    const struct model_stage *stage = &b->stage[s];
    b->weight[s] = new_block((size_t)stage->n_elems, sizeof(float));
    b->narrow[s] = new_block((size_t)stage->n_elems, sizeof(uint16_t));
    b->grad[s] = new_block((size_t)stage->n_elems, sizeof(float));
    for (int v = 0; v < stage->n_views; v++) {
        const struct model_tensor *t = &b->tensor[stage->view[v].tensor];
        uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, (uint64_t)stage->view[v].tensor);
        float *w = b->weight[s] + stage->view[v].offset;
        double centre = is_norm_weight(t->kind) ? 1 : 0;
        for (int64_t i = 0; i < t->n_elems; i++)
            w[i] = (float)(centre + 0.04 * (wsc_rng_uniform(1, stream, (uint64_t)i) - 0.5));
    }
    num_narrow(NUM_BF16, b->narrow[s], b->weight[s], stage->n_elems);
}

static void fill_batch(struct bench *b, int64_t n)
{
    int64_t n_tokens = n * b->model.T;
    b->batch = (struct data_batch){.n = n, .T = b->model.T};
    b->batch.input_ids = new_block((size_t)n_tokens, sizeof(int32_t));
    b->batch.labels = new_block((size_t)n_tokens, sizeof(int32_t));
    b->batch.mask = new_block((size_t)n_tokens, sizeof(int32_t));
    for (int64_t i = 0; i < n_tokens; i++) {
        uint64_t draw = wsc_rng_u64(2, wsc_rng_stream(WSC_RNG_TEST, 0), (uint64_t)i);
        b->batch.input_ids[i] = (int32_t)(draw % (uint64_t)b->model.V);
        b->batch.labels[i] = (int32_t)((draw >> 32) % (uint64_t)b->model.V);
        b->batch.mask[i] = 1;
    }
}

/* One step over the leaves [first, end); returns the loss per token. */
static double step(struct bench *b, struct host *k, int64_t first, int64_t end, float *const *grad)
{
    const struct model *m = &b->model;
    int64_t n_leaves = (b->batch.n + b->leaf_samples - 1) / b->leaf_samples;
    struct data_share share = {first, end, n_leaves, b->leaf_samples, b->batch.n, 0};
    struct data_batch batch = b->batch;
    int64_t from = first * b->leaf_samples, to = end * b->leaf_samples;
    batch.n = (to < b->batch.n ? to : b->batch.n) - from;
    batch.input_ids += from * m->T;
    batch.labels += from * m->T;
    batch.mask += from * m->T;
    host_begin(k, &share, &batch);
    bool fp32 = m->format == NUM_FP32;
    for (int s = 0; s < m->n_stages; s++)
        host_forward(k, s, fp32 ? (const void *)b->weight[s] : b->narrow[s]);
    for (int s = m->n_stages - 1; grad && s >= 0; s--)
        host_backward(k, s, fp32 ? (const void *)b->weight[s] : b->narrow[s], grad[s]);
    double loss = 0;
    for (int64_t i = 0; i < end - first; i++)
        loss += host_losses(k)[i].loss_sum;
    return loss / (double)(batch.n * m->T);
}

static int64_t count_leaves(const struct bench *b)
{
    return (b->batch.n + b->leaf_samples - 1) / b->leaf_samples;
}

static void move_weights(struct bench *b, float by)
{
    for (int s = 0; s < b->model.n_stages; s++) {
        for (int64_t i = 0; i < b->stage[s].n_elems; i++)
            b->weight[s][i] += by * b->grad[s][i];
        num_narrow(NUM_BF16, b->narrow[s], b->weight[s], b->stage[s].n_elems);
    }
}

/* A step of length h along the gradient g of the mean loss changes it by h |g|^2. */
static bool gradient_is_right(struct bench *b, struct host *k)
{
    double n_tokens = (double)(b->batch.n * b->model.T), squares = 0;
    step(b, k, 0, count_leaves(b), b->grad);
    for (int s = 0; s < b->model.n_stages; s++)
        squares += num_sum_squares(b->grad[s], b->stage[s].n_elems) / (n_tokens * n_tokens);
    float h = (float)(1e-2 / sqrt(squares) / n_tokens);
    move_weights(b, h);
    double above = step(b, k, 0, count_leaves(b), NULL);
    move_weights(b, -2 * h);
    double below = step(b, k, 0, count_leaves(b), NULL);
    move_weights(b, h);
    double expected = 2 * 1e-2 * sqrt(squares), tol = b->model.format == NUM_FP32 ? 0.02 : 0.2;
    return fabs(above - below - expected) < tol * expected;
}

/* The batch in two shares of whole subtrees gives the bits of the whole batch. */
static bool bits_are_right(struct bench *b, struct host *k)
{
    int64_t n = count_leaves(b);
    float *part[N_SHARES][MAX_STAGES];
    bool same = true;
    if (n < 2 || (n & (n - 1)) != 0) return true; /* the unit tests cover the others */
    for (int s = 0; s < b->model.n_stages; s++) {
        for (int i = 0; i < N_SHARES; i++)
            part[i][s] = new_block((size_t)b->stage[s].n_elems, sizeof(float));
    }
    step(b, k, 0, n, b->grad);
    step(b, k, 0, n / 2, part[0]);
    step(b, k, n / 2, n, part[1]);
    for (int s = 0; s < b->model.n_stages; s++) {
        size_t bytes = (size_t)b->stage[s].n_elems * sizeof(float);
        num_add(part[0][s], part[1][s], b->stage[s].n_elems);
        same = same && memcmp(part[0][s], b->grad[s], bytes) == 0;
        wsc_free(part[0][s]);
        wsc_free(part[1][s]);
    }
    return same;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Speed of one large product on one thread, best of several, flop per CPU second. */
static double product_rate(bool fp32)
{
    enum { N = 1024 };
    float *a = new_block((size_t)N * N, sizeof *a), *c = new_block((size_t)N * N, sizeof *c);
    struct num_product p = {.m = N, .n = N, .k = N, .lda = N, .ldb = N, .ldc = N};
    double best = 1e30;
    for (int i = 0; i < 6; i++) {
        double start = wsc_clock_cpu_s();
        if (fp32)
            num_gemm(&p, a, a, c);
        else
            num_gemm_16(NUM_BF16, &p, (uint16_t *)a, (uint16_t *)a, c);
        double seconds = wsc_clock_cpu_s() - start;
        best = seconds < best ? seconds : best;
    }
    wsc_free(a);
    wsc_free(c);
    return 2.0 * N * N * N / best;
}

static void report(struct bench *b, struct host *k, bool valid)
{
    const struct model *m = &b->model;
    double seconds[N_STEPS], cpu[N_STEPS], tokens = (double)(b->batch.n * m->T);
    for (int i = 0; i < N_STEPS; i++) {
        double start = wsc_clock_s(), cpu_start = wsc_clock_cpu_s();
        step(b, k, 0, count_leaves(b), b->grad);
        seconds[i] = wsc_clock_s() - start;
        cpu[i] = wsc_clock_cpu_s() - cpu_start;
    }
    qsort(seconds, N_STEPS, sizeof *seconds, by_value);
    qsort(cpu, N_STEPS, sizeof *cpu, by_value);
    int64_t matrix_weights = m->L * (4 * m->C * m->C + 2 * m->C * m->F) + m->V * m->C;
    double flop = 6.0 * (double)matrix_weights + 12.0 * (double)(m->L * m->T * m->C);
    double rate = tokens / seconds[N_STEPS / 2], cpu_rate = tokens / cpu[N_STEPS / 2];
    double peak = product_rate(m->format == NUM_FP32);
    (void)printf("threads %d, leaf %lld: %.0f tokens/s (min %.0f, max %.0f, %d steps), "
                 "%.0f per CPU second, %.1f GFLOP/s per CPU second, %.0f %% of one product's %.1f, "
                 "activations %.0f MiB, valid: %s\n",
                 num_threads(), (long long)b->leaf_samples, rate, tokens / seconds[N_STEPS - 1],
                 tokens / seconds[0], N_STEPS, cpu_rate, cpu_rate * flop / 1e9,
                 100 * cpu_rate * flop / peak, peak / 1e9,
                 (double)host_act_bytes(m, b->batch.n, true) / (1 << 20), valid ? "true" : "false");
}

static int64_t argument(int argc, char **argv, int i, int64_t otherwise)
{
    if (argc <= i) return otherwise;
    char *end;
    long value = strtol(argv[i], &end, 10);
    return *end == '\0' && value > 0 ? value : otherwise;
}

static void build(struct bench *b, int argc, char **argv)
{
    struct model *m = &b->model;
    b->leaf_samples = argument(argc, argv, 2, 4);
    m->L = argument(argc, argv, 3, 6);
    m->L = m->L < MAX_LAYERS ? m->L : MAX_LAYERS;
    m->C = argument(argc, argv, 4, 384);
    m->H = argument(argc, argv, 5, 6);
    m->T = argument(argc, argv, 6, 256);
    m->V = argument(argc, argv, 8, 256);
    m->F = 4 * m->C;
    m->head_dim = m->C / m->H;
    m->zoo.layer_norm_epsilon = 1e-5;
    m->stack[0].qk_scale = 1 / sqrt((double)m->head_dim);
    m->zoo.embeddings_scale = m->logits_scale = 1;
    m->nonlinearity = ZOO_GELU;
    m->format = argc > 9 ? NUM_BF16 : NUM_FP32;
    m->tensor = b->tensor;
    m->stage = b->stage;
    build_model(b);
    for (int s = 0; s < m->n_stages; s++)
        fill_stage(b, s);
    fill_batch(b, argument(argc, argv, 7, 8));
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct host *k;
    wsc_mem_tune();
    num_init((int)argument(argc, argv, 1, 1));
    build(&b, argc, argv);
    if (host_create(&k, &b.model, b.batch.n, true)) {
        (void)fprintf(stderr, "%s\n", wsc_err_message());
        return EXIT_FAILURE;
    }
    bool valid = gradient_is_right(&b, k) && bits_are_right(&b, k);
    report(&b, k, valid);
    host_destroy(&k);
    return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
