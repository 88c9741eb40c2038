// SPDX-License-Identifier: Apache-2.0
#include "host_fixture.h"
#include "host_ref.h"

#include "../../../src/host/host_arranged.h"
#include "../../../src/host/host_buffers.h"

#include "../../support/test.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct fixture_shape plain = {
    .L = 2, .C = 12, .H = 3, .F = 21, .V = 19, .T = 7, .n_samples = 3};

/* ---- the oracle */

struct oracle {
    double *weight[FIXTURE_MAX_TENSORS], *grad[FIXTURE_MAX_TENSORS];
};

static void oracle_create(struct oracle *o, const struct fixture *f)
{
    for (int i = 0; i < f->model.n_tensors; i++) {
        size_t n = (size_t)f->tensor[i].n_elems;
        o->weight[i] = wsc_alloc(WSC_MEM_TEST, n, sizeof(double));
        o->grad[i] = wsc_alloc(WSC_MEM_TEST, n, sizeof(double));
        CU_ASSERT_FATAL(o->weight[i] && o->grad[i]);
        for (size_t j = 0; j < n; j++)
            o->weight[i][j] = (double)f->weight[i][j];
    }
}

static void oracle_destroy(struct oracle *o, const struct fixture *f)
{
    for (int i = 0; i < f->model.n_tensors; i++) {
        wsc_free(o->weight[i]);
        wsc_free(o->grad[i]);
    }
}

static double oracle_loss(const struct oracle *o, const struct fixture *f)
{
    struct ref_result r;
    ref_sample(&f->model, o->weight, &f->batch, 0, NULL, NULL, &r);
    return r.loss_sum;
}

static double loss_slope(const struct oracle *o, const struct fixture *f, double *weight)
{
    double keep = *weight, h = 1e-5;
    *weight = keep + h;
    double above = oracle_loss(o, f);
    *weight = keep - h;
    double below = oracle_loss(o, f);
    *weight = keep;
    return (above - below) / (2 * h);
}

static const struct fixture_shape finite_cases[] = {
    {.L = 2, .C = 6, .H = 2, .F = 9, .V = 7, .T = 5, .n_samples = 1, .head_bias = true},
    {.L = 1,
     .C = 6,
     .H = 1,
     .F = 9,
     .V = 7,
     .T = 5,
     .n_samples = 1,
     .tied = true,
     .nonlinearity = ZOO_GELU_NEW,
     .embeddings_scale = 3,
     .logits_scale = 0.4,
     .scale_by_layer = true},
};

static void check_finite_differences(const struct fixture_shape *shape)
{
    struct fixture f;
    struct oracle o;
    struct ref_result r;
    fixture_create(&f, shape);
    oracle_create(&o, &f);
    ref_sample(&f.model, o.weight, &f.batch, 0, o.grad, NULL, &r);
    for (int i = 0; i < f.model.n_tensors; i++) {
        for (int64_t j = 0; j < f.tensor[i].n_elems; j += 3)
            T_NEAR(o.grad[i][j], loss_slope(&o, &f, &o.weight[i][j]), 1e-7);
    }
    oracle_destroy(&o, &f);
    fixture_destroy(&f);
}

TEST(host, the_reference_agrees_with_finite_differences)
{
    for (size_t i = 0; i < sizeof finite_cases / sizeof *finite_cases; i++)
        check_finite_differences(&finite_cases[i]);
}

/* ---- kernels against the oracle */

static double norm_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Relative error in the 2-norm.  Gradients that vanish by symmetry (key biases; queries and keys
 * of a single token) are measured against the largest gradient of the model. */
static void check_gradient(const struct fixture *f, const struct fixture_result *r,
                           const struct oracle *o, int tensor, double tol)
{
    float *grad = fixture_tensor_grad(f, r, tensor);
    int64_t n = f->tensor[tensor].n_elems;
    double scale = 0, sum = 0;
    for (int i = 0; i < f->model.n_tensors; i++)
        scale = fmax(scale, 0.02 * norm_of(o->grad[i], f->tensor[i].n_elems));
    scale = fmax(scale, norm_of(o->grad[tensor], n));
    for (int64_t j = 0; j < n; j++)
        sum += ((double)grad[j] - o->grad[tensor][j]) * ((double)grad[j] - o->grad[tensor][j]);
    bool ok = sqrt(sum) <= tol * scale; /* false for NaN */
    if (!ok)
        (void)fprintf(stderr, "gradient of tensor kind %d, layer %d is off by %.3g, may be %.3g\n",
                      (int)f->tensor[tensor].kind, f->tensor[tensor].layer, sqrt(sum) / scale, tol);
    CU_ASSERT(ok);
    wsc_free(grad);
}

struct tolerance {
    double loss, grad;
};

static void check_case(const struct fixture_shape *shape, int64_t leaf_samples,
                       const struct host_limits *limits, const struct tolerance *tol)
{
    struct fixture f;
    struct oracle o;
    struct fixture_result r;
    fixture_create(&f, shape);
    oracle_create(&o, &f);
    int64_t n_leaves = fixture_n_leaves(&f, leaf_samples);
    struct fixture_run run = {.end_leaf = n_leaves, .leaf_samples = leaf_samples, .limits = limits};
    fixture_step(&f, &run, &r);
    T_EQ(r.nodes.n, 1);
    for (int64_t leaf = 0; leaf < n_leaves; leaf++) {
        struct model_loss sum = {0};
        int64_t end = (leaf + 1) * leaf_samples;
        for (int64_t i = leaf * leaf_samples; i < end && i < shape->n_samples; i++) {
            struct ref_result one;
            ref_sample(&f.model, o.weight, &f.batch, i, o.grad, NULL, &one);
            sum.loss_sum += one.loss_sum;
            sum.n_tokens += one.n_tokens;
            sum.n_correct += one.n_correct;
        }
        T_NEAR(r.loss[leaf].loss_sum, sum.loss_sum, tol->loss);
        T_EQ(r.loss[leaf].n_tokens, sum.n_tokens);
        CU_ASSERT(shape->format != NUM_FP32 || r.loss[leaf].n_correct == sum.n_correct);
    }
    for (int i = 0; i < f.model.n_tensors; i++)
        check_gradient(&f, &r, &o, i, tol->grad);
    fixture_result_destroy(&f, &r);
    oracle_destroy(&o, &f);
    fixture_destroy(&f);
}

static const struct tolerance fp32 = {.loss = 1e-6, .grad = 5e-6};
static const struct tolerance bf16 = {.loss = 1e-2, .grad = 5e-2};
static const struct tolerance fp16 = {.loss = 2e-3, .grad = 1e-2};

static const struct fixture_shape cases[] = {
    {.L = 2, .C = 12, .H = 3, .F = 21, .V = 19, .T = 7, .n_samples = 3},
    {.L = 1, .C = 20, .H = 1, .F = 33, .V = 5, .T = 1, .n_samples = 5, .tied = true},
    {.L = 3,
     .C = 10,
     .H = 5,
     .F = 7,
     .V = 40,
     .T = 18,
     .n_samples = 2,
     .no_bias = true,
     .nonlinearity = ZOO_GELU_NEW},
    {.L = 2,
     .C = 34,
     .H = 2,
     .F = 50,
     .V = 67,
     .T = 13,
     .n_samples = 4,
     .head_bias = true,
     .nonlinearity = ZOO_RELU,
     .matrices = true,
     .no_positions = true},
    {.L = 2,
     .C = 24,
     .H = 4,
     .F = 40,
     .V = 23,
     .T = 9,
     .n_samples = 3,
     .tied = true,
     .embeddings_scale = 10,
     .logits_scale = 0.25,
     .scale_by_layer = true,
     .matrices = true},
};
enum { N_CASES = sizeof cases / sizeof *cases };

TEST(host, fp32_matches_the_reference)
{
    for (int i = 0; i < N_CASES; i++) {
        for (int64_t leaf_samples = 1; leaf_samples <= 3; leaf_samples++)
            check_case(&cases[i], leaf_samples, NULL, &fp32);
    }
}

TEST(host, bf16_matches_the_reference)
{
    for (int i = 0; i < N_CASES; i++) {
        struct fixture_shape shape = cases[i];
        shape.format = NUM_BF16;
        check_case(&shape, 2, NULL, &bf16);
    }
}

/* Matrices in the order of the product library; by themselves they are for larger leaves. */
TEST(host, arranged_matrices_match_the_reference)
{
    const struct host_limits always = {.vocab_cols = 1000, .arranged_rows = 1};
    for (int i = 0; i < N_CASES; i++) {
        struct fixture_shape shape = cases[i];
        check_case(&shape, 2, &always, &fp32);
        shape.format = NUM_BF16;
        check_case(&shape, 2, &always, &bf16);
    }
}

/* Widths whose rows lie in few sets of a cache: inputs and gradients of layers are set apart. */
TEST(host, crowded_matrices_match_the_reference)
{
    enum { WIDTH = 64, WIDER = 2 * WIDTH };
    const struct host_limits always = {.vocab_cols = 1000, .arranged_rows = 1};
    struct fixture_shape shape = {
        .L = 2, .C = WIDTH, .H = 2, .F = WIDER, .V = 23, .T = 9, .n_samples = 2};
    for (int64_t leaf_samples = 1; leaf_samples <= 2; leaf_samples++)
        check_case(&shape, leaf_samples, &always, &fp32);
    struct fixture x;
    fixture_create(&x, &shape);
    const int64_t apart = num_is_crowded(WIDTH) ? num_row_stride(WIDTH) * 4 : 0;
    T_EQ(host_transposed_row_bytes(&x.model), apart);
    CU_ASSERT(host_arranged_row_bytes(&x.model) >= apart);
    fixture_destroy(&x);
    shape.format = NUM_BF16;
    check_case(&shape, 2, &always, &bf16);
}

/* Several blocks of queries, of rows and of gradients, and tiles of keys. */
TEST(host, long_sequences_match_the_reference)
{
    const struct host_limits narrow = {.keys = 48, .vocab_cols = 64};
    struct fixture_shape shape = {
        .L = 1, .C = 16, .H = 2, .F = 130, .V = 110, .T = 150, .n_samples = 3, .head_bias = true};
    check_case(&shape, 2, NULL, &fp32);
    check_case(&shape, 2, &narrow, &fp32);
    shape.format = NUM_BF16;
    check_case(&shape, 3, NULL, &bf16);
    check_case(&shape, 3, &narrow, &bf16);
}

TEST(host, blocks_of_the_vocabulary_match_the_reference)
{
    struct host_limits keep = {.vocab_cols = 17, .logits_bytes = 1 << 20};
    struct host_limits again = {.vocab_cols = 17, .logits_bytes = 0};
    struct fixture_shape shape = cases[3];
    check_case(&shape, 2, &keep, &fp32);
    check_case(&shape, 2, &again, &fp32);
    shape.format = NUM_BF16;
    check_case(&shape, 2, &keep, &bf16);
    check_case(&shape, 2, &again, &bf16);
}

/* ---- bits */

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void check_same(const struct fixture *f, const struct fixture_result *a,
                       const struct fixture_result *b)
{
    T_EQ(a->n_leaves, b->n_leaves);
    T_EQ(a->nodes.n, b->nodes.n);
    for (int64_t i = 0; i < a->n_leaves; i++)
        CU_ASSERT(same_bits(&a->loss[i], &b->loss[i], sizeof a->loss[i]));
    for (int s = 0; s < f->model.n_stages; s++) {
        size_t n = (size_t)(a->nodes.n * f->stage[s].n_elems);
        CU_ASSERT(same_bits(a->grads[s], b->grads[s], n * sizeof(float)));
    }
}

/* The batch in `n_parts` shares of leaves, on as many threads as given, merged left to right. */
static void run_in_parts(const struct fixture *f, const struct fixture_run *whole, int64_t n_parts,
                         struct fixture_result *out)
{
    int64_t n = whole->end_leaf;
    for (int64_t i = 0; i < n_parts; i++) {
        struct fixture_run run = *whole;
        struct fixture_result part;
        run.first_leaf = i * n / n_parts;
        run.end_leaf = (i + 1) * n / n_parts;
        fixture_step(f, &run, i == 0 ? out : &part);
        if (i == 0) continue;
        fixture_merge(f, out, &part, n);
        fixture_result_destroy(f, &part);
    }
}

static void check_bits(const struct fixture_shape *shape, int64_t leaf_samples,
                       const struct host_limits *limits)
{
    struct fixture f;
    struct fixture_result whole;
    fixture_create(&f, shape);
    struct fixture_run run = {.end_leaf = fixture_n_leaves(&f, leaf_samples),
                              .leaf_samples = leaf_samples,
                              .limits = limits};
    fixture_step(&f, &run, &whole);
    for (int64_t n_parts = 1; n_parts <= 5; n_parts++) {
        struct fixture_result parts;
        struct fixture_run part_run = run;
        part_run.n_threads = n_parts == 1 || n_parts == 3 ? 2 : 1;
        run_in_parts(&f, &part_run, n_parts, &parts);
        check_same(&f, &whole, &parts);
        fixture_result_destroy(&f, &parts);
    }
    fixture_result_destroy(&f, &whole);
    fixture_destroy(&f);
}

TEST(host, bits_do_not_depend_on_shares_or_threads)
{
    struct fixture_shape shape = plain;
    shape.n_samples = 11;
    for (int64_t leaf_samples = 1; leaf_samples <= 3; leaf_samples++)
        check_bits(&shape, leaf_samples, NULL);
    shape.format = NUM_BF16;
    check_bits(&shape, 2, NULL);
    shape = (struct fixture_shape){
        .L = 1, .C = 32, .H = 2, .F = 100, .V = 120, .T = 70, .n_samples = 7, .tied = true};
    check_bits(&shape, 1, NULL);
    check_bits(&shape, 4, &(struct host_limits){.keys = 24, .vocab_cols = 120});
    check_bits(&shape, 4, NULL); /* leaves with the rows of a whole block */
    shape.format = NUM_BF16;
    check_bits(&shape, 4, NULL);
}

/* By the size of the leaf alone. */
TEST(host, a_leaf_has_work_for_two_threads)
{
    const struct fixture_shape shape = {
        .L = 1, .C = 16, .H = 2, .F = 30, .V = 20, .T = 129, .n_samples = 2};
    static const int64_t expected[][2] = {{0, 0},   {1, 1},   {127, 1}, {128, 2},
                                          {256, 2}, {257, 2}, {512, 2}, {513, 3}};
    for (int i = 0; i < 8; i++)
        T_EQ(host_leaf_blocks(expected[i][0]), expected[i][1]);
    check_case(&shape, 1, NULL, &fp32);
    check_bits(&shape, 1, NULL);
}

/* float16 has three mantissa bits more than bfloat16, cbfloat16 two; the reference keeps fp32. */
TEST(host, other_16_bit_formats_match_the_reference)
{
    static const enum num_format formats[] = {NUM_FP16, NUM_CB16};
    for (int i = 0; i < 2; i++) {
        struct fixture_shape shape = cases[i];
        shape.format = formats[i];
        check_case(&shape, 2, NULL, &fp16);
        shape.softmax_16 = true;
        check_case(&shape, 2, NULL, &bf16);
        check_bits(&shape, 2, NULL);
    }
}

TEST(host, bits_do_not_depend_on_what_is_kept)
{
    struct fixture f;
    struct fixture_result kept, again;
    struct host_limits keep = {.vocab_cols = 17, .logits_bytes = 1 << 20};
    struct host_limits drop = {.vocab_cols = 17, .logits_bytes = 0};
    fixture_create(&f, &cases[3]);
    struct fixture_run run = {.end_leaf = 2, .leaf_samples = 2, .limits = &keep};
    fixture_step(&f, &run, &kept);
    run.limits = &drop;
    fixture_step(&f, &run, &again);
    check_same(&f, &kept, &again);
    fixture_result_destroy(&f, &kept);
    fixture_result_destroy(&f, &again);
    fixture_destroy(&f);
}

/* ---- the rest of the contract */

TEST(host, masked_tokens_contribute_nothing)
{
    struct fixture f;
    struct fixture_result r;
    fixture_create(&f, &plain);
    memset(f.batch.mask, 0, (size_t)(f.batch.n * f.batch.T) * sizeof *f.batch.mask);
    struct fixture_run run = {.end_leaf = 3, .leaf_samples = 1};
    fixture_step(&f, &run, &r);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(r.loss[i].loss_sum == 0 && r.loss[i].n_tokens == 0 && r.loss[i].n_correct == 0);
    for (int i = 0; i < f.model.n_tensors; i++) {
        float *grad = fixture_tensor_grad(&f, &r, i);
        for (int64_t j = 0; j < f.tensor[i].n_elems; j++)
            CU_ASSERT(grad[j] == 0);
        wsc_free(grad);
    }
    fixture_result_destroy(&f, &r);
    fixture_destroy(&f);
}

TEST(host, an_empty_share_has_no_nodes_and_no_samples)
{
    struct fixture f;
    struct fixture_result r;
    fixture_create(&f, &plain);
    struct fixture_run run = {.first_leaf = 2, .end_leaf = 2, .leaf_samples = 1};
    fixture_step(&f, &run, &r);
    T_EQ(r.nodes.n, 0);
    fixture_result_destroy(&f, &r);
    fixture_destroy(&f);
}

/* Equal logits: the lowest index counts as the guess. */
TEST(host, ties_go_to_the_lowest_index)
{
    struct fixture f;
    struct fixture_result r;
    struct fixture_shape shape = plain;
    shape.V = 40;
    fixture_create(&f, &shape);
    int head = f.model.n_stages - 1;
    memset(f.stage_weights[head], 0, (size_t)f.stage[head].n_elems * sizeof(float));
    int64_t n_zero = 0, n = f.batch.n * f.batch.T;
    for (int64_t i = 0; i < n; i++) {
        f.batch.mask[i] = 1;
        f.batch.labels[i] = i % 3 == 0 ? 0 : (int32_t)(i % 39) + 1;
        n_zero += i % 3 == 0;
    }
    struct fixture_run run = {.end_leaf = 1, .leaf_samples = 3};
    fixture_step(&f, &run, &r);
    T_EQ(r.loss[0].n_correct, n_zero);
    T_NEAR(r.loss[0].loss_sum, (double)n * log(40), 1e-6);
    fixture_result_destroy(&f, &r);
    fixture_destroy(&f);
}

TEST(host, a_nan_weight_shows_in_the_loss)
{
    struct fixture f;
    struct fixture_result r;
    fixture_create(&f, &plain);
    ((float *)f.stage_weights[1])[20] = NAN;
    struct fixture_run run = {.end_leaf = 3, .leaf_samples = 1};
    fixture_step(&f, &run, &r);
    CU_ASSERT(isnan(r.loss[0].loss_sum));
    fixture_result_destroy(&f, &r);
    fixture_destroy(&f);
}

static void forward_wanting(struct host *k, const struct fixture *f, const int64_t *position)
{
    int64_t n = f->batch.n;
    struct data_share share = {.end_leaf = n, .n_leaves = n, .leaf_samples = 1, .batch_size = n};
    host_begin(k, &share, &f->batch);
    T_OK(host_want_logits(k, position));
    for (int s = 0; s < f->model.n_stages; s++)
        host_forward(k, s, f->stage_weights[s]);
}

static void check_row(const float *x, const double *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        T_NEAR(x[i], expected[i], 2e-6);
}

/* Generation: without training buffers, the logits of one position per sample. */
static void check_logits(const struct fixture_shape *shape, const struct host_limits *limits)
{
    struct fixture f;
    struct oracle o;
    struct host *k;
    struct ref_result r;
    int64_t position[8] = {0}, V = shape->V, n = shape->n_samples;
    fixture_create(&f, shape);
    oracle_create(&o, &f);
    for (int64_t i = 0; i < n; i++)
        position[i] = (5 * i + 3) % shape->T;
    double *expected = wsc_alloc(WSC_MEM_TEST, (size_t)(shape->T * V), sizeof *expected);
    WSC_CHECK(expected, "no memory for a test");
    T_OK(host_create_limited(&k, &f.model, n, false, limits));
    forward_wanting(k, &f, position);
    forward_wanting(k, &f, position); /* buffers are used again */
    for (int64_t i = 0; i < n; i++) {
        ref_sample(&f.model, o.weight, &f.batch, i, NULL, expected, &r);
        T_NEAR(host_losses(k)[i].loss_sum, r.loss_sum, 2e-6);
        check_row(host_logits(k, i), expected + position[i] * V, V);
    }
    host_destroy(&k);
    wsc_free(expected);
    oracle_destroy(&o, &f);
    fixture_destroy(&f);
}

TEST(host, wanted_logits_match_the_reference)
{
    struct host_limits narrow = {.vocab_cols = 17, .logits_bytes = 0};
    for (int i = 0; i < N_CASES; i++) {
        check_logits(&cases[i], &host_default_limits);
        check_logits(&cases[i], &narrow);
    }
}

TEST(host, memory_is_what_is_reported_and_is_returned)
{
    struct fixture f;
    struct host *k;
    fixture_create(&f, &plain);
    int64_t before = wsc_mem_in_use(WSC_MEM_KERNELS);
    int64_t training = host_act_bytes(&f.model, 8, true);
    int64_t evaluation = host_act_bytes(&f.model, 8, false);
    CU_ASSERT(evaluation > 0 && evaluation < training);
    T_OK(host_create(&k, &f.model, 8, true));
    int64_t used = wsc_mem_in_use(WSC_MEM_KERNELS) - before;
    CU_ASSERT(used >= training && used < training + (4 << 20)); /* threads' scratch on top */
    host_destroy(&k);
    CU_ASSERT_PTR_NULL(k);
    host_destroy(&k);
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), before);
    fixture_destroy(&f);
}

static int64_t largest(int64_t a, int64_t b, int64_t c)
{
    const int64_t most = a > b ? a : b;
    return most > c ? most : c;
}

/* Logits, gradients of q, k and v, and those of the FFN: each of them is the largest once. */
TEST(host, what_is_not_needed_at_the_same_time_shares_memory)
{
    enum { N = 6 }; /* rows */
    static const struct fixture_shape shapes[] = {
        {.L = 2, .C = 4, .H = 2, .F = 4, .V = 40, .T = 3, .n_samples = 2},
        {.L = 2, .C = 8, .H = 2, .F = 4, .V = 5, .T = 3, .n_samples = 2},
        {.L = 2, .C = 4, .H = 2, .F = 50, .V = 5, .T = 3, .n_samples = 2},
        {.L = 2, .C = 8, .H = 2, .F = 4, .V = 60, .T = 3, .n_samples = 2, .format = NUM_BF16},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct fixture_shape *s = &shapes[i];
        const int64_t op = s->format == NUM_BF16 ? 2 : 4;
        int64_t bytes[HOST_N_BUFFERS];
        struct fixture f;
        fixture_create(&f, s);
        host_layout(bytes, &f.model, s->n_samples, true, &host_default_limits);
        T_EQ(bytes[HOST_DPRE], N * largest(s->F * op, 3 * s->C * op, s->V * 4));
        T_EQ(bytes[HOST_ACT], N * largest(s->F * op, s->C * op, op == 2 ? s->V * op : 0));
        T_EQ(bytes[HOST_LOGITS] + bytes[HOST_DLOGITS] + bytes[HOST_DQKV] + bytes[HOST_DCTX], 0);
        T_EQ(bytes[HOST_DRES_OP], op == 2 ? N * s->C * op : 0);
        host_layout(bytes, &f.model, s->n_samples, false, &host_default_limits);
        T_EQ(bytes[HOST_DPRE] + bytes[HOST_ACT], 0);
        fixture_destroy(&f);
    }
}

TEST(host, absurd_sizes_fail_cleanly)
{
    struct fixture f;
    struct host *k;
    fixture_create(&f, &plain);
    int64_t before = wsc_mem_in_use(WSC_MEM_KERNELS);
    CU_ASSERT(host_create(&k, &f.model, INT64_MAX / 4, true) == WSC_NOMEM);
    CU_ASSERT_PTR_NULL(k);
    CU_ASSERT(host_create(&k, &f.model, INT64_C(1) << 56, true) == WSC_NOMEM);
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), before);
    CU_ASSERT(host_act_bytes(&f.model, INT64_MAX / 4, true) == INT64_MAX);
    fixture_destroy(&f);
}
