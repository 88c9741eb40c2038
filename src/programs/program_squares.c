// SPDX-License-Identifier: Apache-2.0
/* Sums the squares of each leaf's gradient, tensor by tensor as the stages come: an order that
 * depends on the model alone. Frozen tensors and elements outside masks do not count; a tied table
 * counts as the sum of its two gradients, of which the head's comes first and is kept. */
#include "program_squares.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/num_sparse.h>

#include <string.h>

/* Number of elements of the longest tensor, or of the longest token table. */
static int64_t longest(const struct model *m, bool tables)
{
    int64_t n = 0;
    for (int i = 0; i < m->n_tensors; i++)
        if ((!tables || m->tensor[i].kind == MODEL_WTE) && m->tensor[i].n_elems > n)
            n = m->tensor[i].n_elems;
    return n;
}

enum wsc_err programs_model_measure_leaves(struct programs_model *k)
{
    struct programs_squares *s = &k->squares;
    const struct model *m = k->model;
    WSC_CHECK(k->training, "gradients of leaves without training");
    if (s->of_leaf) return WSC_OK;
    TRY_NEW(s->of_leaf, WSC_MEM_KERNELS, k->max_samples);
    TRY_NEW(s->one, WSC_MEM_KERNELS, longest(m, false));
    if (m->tied) TRY_NEW(s->tied, WSC_MEM_KERNELS, k->max_samples * longest(m, true));
    return WSC_OK;
}

const double *programs_model_leaf_squares(const struct programs_model *k)
{
    WSC_CHECK(k->squares.of_leaf, "leaves that were not measured");
    return k->squares.of_leaf;
}

void programs_squares_fini(struct programs_model *k)
{
    wsc_free(k->squares.of_leaf);
    wsc_free(k->squares.one);
    wsc_free(k->squares.tied);
}

void programs_squares_begin(struct programs_model *k)
{
    if (k->squares.of_leaf)
        memset(k->squares.of_leaf, 0, (size_t)k->n_leaves * sizeof *k->squares.of_leaf);
}

/* Sum of the squares of the wanted elements of @p gradient. */
static double square_of(const struct programs_model *k, const struct model_tensor *t,
                        const struct model_weights *w, const float *gradient)
{
    const int64_t n = model_gradient_elems(t, w);
    if (n == t->n_elems) return num_sum_squares(gradient, n);
    if (n) num_packed_gather(w->bits, 0, t->n_elems, gradient, k->squares.one);
    return n ? num_sum_squares(k->squares.one, n) : 0;
}

/* True for a tied table in the stage of the head: its gradient is kept until that of the embedding
 * comes. */
static bool waits(const struct programs_model *k, const struct model_tensor *t)
{
    return k->model->tied && t->kind == MODEL_WTE &&
           k->stage->part[k->stage->n_parts - 1] == MODEL_PART_HEAD;
}

/* What the gradient of one view of the stage adds to the sum of leaf @p leaf. */
static double square_of_view(struct programs_model *k, int i, int leaf)
{
    const struct model_view *view = &k->stage->view[i];
    const struct model_tensor *t = &k->model->tensor[view->tensor];
    const struct model_weights *w = k->given ? &k->given[i] : NULL;
    const float *gradient = k->leaf_grads + leaf * k->n_elems + view->offset;
    if (!k->model->tied || t->kind != MODEL_WTE) return square_of(k, t, w, gradient);
    float *tied = k->squares.tied + leaf * t->n_elems;
    if (waits(k, t)) {
        for (int64_t e = 0; e < t->n_elems; e++)
            tied[e] = gradient[e];
        return 0;
    }
    num_add(tied, gradient, t->n_elems);
    return square_of(k, t, w, tied);
}

void programs_squares_add(struct programs_model *k)
{
    for (int leaf = 0; leaf < k->n_leaves && k->squares.of_leaf; leaf++)
        for (int i = 0; i < k->stage->n_views; i++)
            k->squares.of_leaf[leaf] += square_of_view(k, i, leaf);
}
