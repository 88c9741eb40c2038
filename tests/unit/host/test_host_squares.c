// SPDX-License-Identifier: Apache-2.0
/* Squares of the gradients of single leaves, against gradients that are computed leaf by leaf. */
#include "../../support/test.h"
#include "host_fixture.h"

#include <wsc/mem.h>

#include <string.h>

enum { MOST_LEAVES = 8 };

static const struct fixture_shape shape[] = {
    {.L = 2, .C = 24, .H = 3, .F = 40, .V = 29, .T = 11, .n_samples = 5, .tied = true},
    {.L = 1, .C = 16, .H = 2, .F = 20, .V = 300, .T = 7, .n_samples = 6, .head_bias = true},
    {.L = 1,
     .C = 16,
     .H = 2,
     .F = 20,
     .V = 50,
     .T = 9,
     .n_samples = 4,
     .tied = true,
     .matrices = true,
     .format = NUM_BF16}};

/* Sums of leaves [first, end), as a wafer that has them measures them. */
static void measure(const struct fixture *f, int64_t first, int64_t end, int64_t leaf_samples,
                    double *out)
{
    const struct data_share share = {.first_leaf = first,
                                     .end_leaf = end,
                                     .n_leaves = fixture_n_leaves(f, leaf_samples),
                                     .leaf_samples = leaf_samples,
                                     .batch_size = f->batch.n};
    const struct host_limits limits = {.vocab_cols = 64, .logits_bytes = 1};
    int64_t last = end * leaf_samples < f->batch.n ? end * leaf_samples : f->batch.n;
    struct data_batch batch = fixture_slice(f, first * leaf_samples, last - first * leaf_samples);
    struct host *k;
    float *grads;
    T_OK(host_create_limited(&k, &f->model, batch.n, true, &limits));
    T_OK(host_measure_leaves(k));
    for (int again = 0; again < 2; again++) { /* a second step starts again */
        host_begin(k, &share, &batch);
        for (int s = 0; s < f->model.n_stages; s++)
            host_forward(k, s, f->stage_weights[s]);
        for (int s = f->model.n_stages - 1; s >= 0; s--) {
            grads = wsc_alloc(WSC_MEM_TEST, (size_t)(f->model.stage[s].n_elems * NUM_MAX_NODES),
                              sizeof *grads);
            host_backward(k, s, f->stage_weights[s], grads);
            wsc_free(grads);
        }
    }
    memcpy(out, host_leaf_squares(k), (size_t)(end - first) * sizeof *out);
    host_destroy(&k);
}

/* The square of the gradient of leaf @p leaf alone, tied tables as one. */
static double square_of(const struct fixture *f, int64_t leaf, int64_t leaf_samples)
{
    const struct fixture_run run = {
        .first_leaf = leaf, .end_leaf = leaf + 1, .leaf_samples = leaf_samples};
    struct fixture_result r = {0};
    double sum = 0;
    fixture_step(f, &run, &r);
    for (int i = 0; i < f->model.n_tensors; i++) {
        float *g = fixture_tensor_grad(f, &r, i);
        for (int64_t k = 0; k < f->tensor[i].n_elems; k++)
            sum += (double)g[k] * (double)g[k];
        wsc_free(g);
    }
    fixture_result_destroy(f, &r);
    return sum;
}

static void check_shape(const struct fixture_shape *s, int64_t leaf_samples)
{
    double all[MOST_LEAVES], some[MOST_LEAVES];
    struct fixture f;
    fixture_create(&f, s);
    const int64_t n = fixture_n_leaves(&f, leaf_samples);
    measure(&f, 0, n, leaf_samples, all);
    for (int64_t i = 0; i < n; i++)
        T_NEAR(all[i] / square_of(&f, i, leaf_samples), 1, 1e-5);
    /* The same bits for whoever computes a leaf, and on several threads. */
    num_init(3);
    measure(&f, 1, n, leaf_samples, some);
    num_init(1);
    CU_ASSERT(!memcmp((const void *)(all + 1), (const void *)some, (size_t)(n - 1) * sizeof *all));
    fixture_destroy(&f);
}

TEST(squares, of_leaves_are_those_of_their_gradients)
{
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        check_shape(&shape[i], 1);
        check_shape(&shape[i], 2);
    }
}
