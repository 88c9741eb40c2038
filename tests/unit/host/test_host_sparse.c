// SPDX-License-Identifier: Apache-2.0
/* Stages with masks against the same stages with zeros: losses, gradients of the elements that are
 * kept, and their bits over shares and threads. */
#include "../../support/test.h"
#include "host_fixture.h"

#include <wsc/mem.h>
#include <wsc/num_sparse.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

enum { MAX_VIEWS = FIXTURE_MAX_TENSORS };

/* A fixture whose matrices are packed; `dense_gradient` as at the steps that choose a mask. */
struct sparse {
    struct fixture f;
    struct model_weights weights[FIXTURE_MAX_STAGES][MAX_VIEWS];
    void *owned[FIXTURE_MAX_STAGES][MAX_VIEWS][2];
    int64_t n_grads[FIXTURE_MAX_STAGES];
};

static void *new_block(int64_t n, int64_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, (size_t)n + 1, (size_t)size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    return block;
}

/* Choose a mask for view @p v of stage @p s and set what is outside it to zero in the dense vector.
 */
static void pack(struct sparse *x, int s, int v, double density)
{
    const struct model_view *view = &x->f.stage[s].view[v];
    const struct model_tensor *t = &x->f.tensor[view->tensor];
    const int64_t bytes = num_format_bytes(x->f.model.format);
    char *dense = (char *)x->f.stage_weights[s] + view->offset * bytes;
    uint64_t *bits = new_block(t->n_elems / 64 + 1, sizeof *bits);
    char *values = new_block(t->n_elems, bytes);
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_elems; i++) {
        const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, (uint64_t)view->tensor);
        if (wsc_rng_uniform(5, stream, (uint64_t)i) < density) {
            bits[i / 64] |= UINT64_C(1) << i % 64;
            memcpy(values + n++ * bytes, dense + i * bytes, (size_t)bytes);
        } else {
            memset(dense + i * bytes, 0, (size_t)bytes);
        }
    }
    x->owned[s][v][0] = bits;
    x->owned[s][v][1] = values;
    x->weights[s][v] = (struct model_weights){.values = values, .bits = bits, .n_kept = n};
}

/* Every matrix of the blocks and the untied head at its own density around @p density. */
static void sparse_create(struct sparse *x, const struct fixture_shape *shape, double density,
                          bool dense_gradient)
{
    memset(x, 0, sizeof *x);
    fixture_create(&x->f, shape);
    for (int s = 0; s < x->f.model.n_stages; s++)
        for (int v = 0; v < x->f.stage[s].n_views; v++) {
            const struct model_view *view = &x->f.stage[s].view[v];
            const struct model_tensor *t = &x->f.tensor[view->tensor];
            struct model_weights *w = &x->weights[s][v];
            w->values =
                (char *)x->f.stage_weights[s] + view->offset * num_format_bytes(x->f.model.format);
            if (t->n_dims == 2 && t->kind != MODEL_WTE)
                pack(x, s, v, density * (1 + 0.2 * (v % 3)));
            w->dense_gradient = dense_gradient;
            x->n_grads[s] += model_gradient_elems(w, t->n_elems);
        }
}

static void sparse_destroy(struct sparse *x)
{
    for (int s = 0; s < FIXTURE_MAX_STAGES; s++)
        for (int v = 0; v < MAX_VIEWS; v++) {
            wsc_free(x->owned[s][v][0]);
            wsc_free(x->owned[s][v][1]);
        }
    fixture_destroy(&x->f);
}

/* A step over leaves [first, end) of one sample each, on sparse or on dense stages; gradients that
 * travel packed. */
struct step {
    int64_t first, end;
    bool masks;
    struct num_nodes nodes;
    float *grads[FIXTURE_MAX_STAGES];
    struct model_loss loss[FIXTURE_MAX_NODES];
    double squares[FIXTURE_MAX_NODES];
};

static void run(const struct sparse *x, struct step *r)
{
    const struct fixture *f = &x->f;
    const struct data_share share = {.first_leaf = r->first,
                                     .end_leaf = r->end,
                                     .n_leaves = f->batch.n,
                                     .leaf_samples = 1,
                                     .batch_size = f->batch.n};
    struct data_batch batch = fixture_slice(f, r->first, r->end - r->first);
    struct host *k;
    T_OK(host_create(&k, &f->model, batch.n + 1, true));
    T_OK(host_measure_leaves(k));
    host_begin(k, &share, &batch);
    num_nodes_of_range(&r->nodes, r->first, r->end, share.n_leaves);
    for (int s = 0; s < f->model.n_stages; s++) {
        if (r->masks)
            T_OK(host_forward_sparse(k, s, x->weights[s]));
        else
            host_forward(k, s, f->stage_weights[s]);
    }
    memcpy(r->loss, host_losses(k), (size_t)(r->end - r->first) * sizeof *r->loss);
    for (int s = f->model.n_stages - 1; s >= 0; s--) {
        const int64_t n = r->nodes.n * (r->masks ? x->n_grads[s] : f->stage[s].n_elems);
        r->grads[s] = new_block(n, sizeof(float));
        for (int64_t i = 0; i < n; i++)
            r->grads[s][i] = NAN; /* every element must be written */
        if (r->masks)
            T_OK(host_backward_sparse(k, s, x->weights[s], r->grads[s]));
        else
            host_backward(k, s, f->stage_weights[s], r->grads[s]);
    }
    memcpy(r->squares, host_leaf_squares(k), (size_t)(r->end - r->first) * sizeof *r->squares);
    host_destroy(&k);
}

static void step_fini(struct step *r)
{
    for (int s = 0; s < FIXTURE_MAX_STAGES; s++)
        wsc_free(r->grads[s]);
}

static const struct fixture_shape shapes[] = {
    {.L = 2, .C = 24, .H = 3, .F = 40, .V = 29, .T = 70, .n_samples = 4},
    {.L = 1, .C = 16, .H = 2, .F = 520, .V = 60, .T = 7, .n_samples = 4, .matrices = true},
    {.L = 1, .C = 24, .H = 2, .F = 40, .V = 29, .T = 20, .n_samples = 4, .format = NUM_BF16},
    {.L = 1, .C = 24, .H = 2, .F = 40, .V = 29, .T = 20, .n_samples = 4, .format = NUM_CB16}};
static const double densities[] = {0, 0.1, 0.25, 0.45, 0.8};

static void each_case(void (*body)(const struct sparse *x))
{
    static struct sparse x;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 2 * sizeof densities / sizeof *densities; d++) {
            sparse_create(&x, &shapes[i], densities[d / 2], d % 2);
            body(&x);
            sparse_destroy(&x);
        }
}

/* ---- against dense products ------------------------------------------------------------------ */

/* Gradients of one view: @p packed as it travels, @p dense of all elements. */
static double worst_of_view(const struct model_weights *w, const struct model_tensor *t,
                            const float *packed, const float *dense)
{
    double worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < t->n_elems; i++) {
        if (w->bits && !w->dense_gradient && !(w->bits[i / 64] >> i % 64 & 1)) continue;
        worst = num_max_error(worst, fabs((double)packed[at++] - (double)dense[i]) /
                                         (1 + fabs((double)dense[i])));
    }
    return worst;
}

static void check_stage(const struct sparse *x, int s, const float *packed, const float *dense,
                        double tolerance)
{
    for (int v = 0; v < x->f.stage[s].n_views; v++) {
        const struct model_view *view = &x->f.stage[s].view[v];
        const struct model_tensor *t = &x->f.tensor[view->tensor];
        const struct model_weights *w = &x->weights[s][v];
        CU_ASSERT(worst_of_view(w, t, packed, dense + view->offset) < tolerance);
        packed += model_gradient_elems(w, t->n_elems);
    }
}

static void check_values(const struct sparse *x)
{
    struct step masks = {.end = x->f.batch.n, .masks = true}, zeros = {.end = x->f.batch.n};
    const double tolerance = x->f.model.format == NUM_FP32 ? 2e-5 : 4e-2;
    run(x, &masks);
    run(x, &zeros);
    for (int64_t i = 0; i < x->f.batch.n; i++)
        T_NEAR(masks.loss[i].loss_sum, zeros.loss[i].loss_sum, tolerance);
    for (int s = 0; s < x->f.model.n_stages; s++)
        check_stage(x, s, masks.grads[s], zeros.grads[s], tolerance);
    step_fini(&masks);
    step_fini(&zeros);
}

TEST(host_sparse, masks_give_what_zeros_give)
{
    each_case(check_values);
}

/* Squares of a leaf count the elements of the masks, whether the others travel or not. */
static double squares_of_masks(const struct sparse *x, const struct step *r)
{
    double sum = 0;
    for (int s = 0; s < x->f.model.n_stages; s++) {
        const float *g = r->grads[s];
        for (int v = 0; v < x->f.stage[s].n_views; v++) {
            const struct model_weights *w = &x->weights[s][v];
            const int64_t n = x->f.tensor[x->f.stage[s].view[v].tensor].n_elems;
            for (int64_t e = 0; e < model_gradient_elems(w, n); e++)
                if (!w->bits || !w->dense_gradient || (w->bits[e / 64] >> e % 64 & 1))
                    sum += (double)g[e] * (double)g[e];
            g += model_gradient_elems(w, n);
        }
    }
    return sum;
}

static void check_squares(const struct sparse *x)
{
    struct step all = {.end = x->f.batch.n, .masks = true};
    run(x, &all);
    for (int64_t i = 0; i < x->f.batch.n; i++) {
        struct step one = {.first = i, .end = i + 1, .masks = true};
        run(x, &one);
        T_NEAR(all.squares[i], squares_of_masks(x, &one), 1e-5);
        step_fini(&one);
    }
    step_fini(&all);
}

TEST(host_sparse, squares_of_leaves_are_those_of_the_masks)
{
    each_case(check_squares);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Two halves of the batch, added as a SwarmX node adds them, against the whole on three threads. */
static void check_bits(const struct sparse *x)
{
    const int64_t n = x->f.batch.n;
    struct step left = {.end = n / 2, .masks = true};
    struct step right = {.first = n / 2, .end = n, .masks = true};
    struct step whole = {.end = n, .masks = true};
    run(x, &left);
    run(x, &right);
    num_init(3);
    run(x, &whole);
    num_init(1);
    CU_ASSERT(left.nodes.n == 1 && right.nodes.n == 1 && whole.nodes.n == 1);
    for (int s = 0; s < x->f.model.n_stages; s++) {
        num_add(left.grads[s], right.grads[s], x->n_grads[s]);
        CU_ASSERT(!memcmp(left.grads[s], whole.grads[s], (size_t)x->n_grads[s] * sizeof(float)));
    }
    for (int64_t i = 0; i < n; i++) {
        const struct step *half = i < n / 2 ? &left : &right;
        CU_ASSERT(half->loss[i - half->first].loss_sum == whole.loss[i].loss_sum);
        CU_ASSERT(half->squares[i - half->first] == whole.squares[i]);
    }
    step_fini(&left);
    step_fini(&right);
    step_fini(&whole);
}

TEST(host_sparse, bits_do_not_depend_on_shares_and_threads)
{
    each_case(check_bits);
}
