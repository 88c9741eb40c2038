// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of low-rank adapters on the wafer (Hu et al. 2021): y = W x + s B A x. Their
 * products have the layout of all other products: A has r outputs, and the r features of A x lie on
 * the first r columns of the lane, one on each. For an embedding A is a table whose rows the
 * tokens take. docs/MODEL.md, "Adapters and frozen weights". cycles_parts.c calls. */
#include "cycles_adapter.h"

#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_vector.h"

/* One matrix that can have an adapter: the features on its input and output side, and the r
 * features between the adapter's two matrices. */
struct adapted {
    enum model_part part;
    enum model_tensor_kind kind;
    struct cycles_side in, out, low;
    double rows; /* rows of an embedding's table; 0: a linear layer */
};

enum { N_MATRICES = 10 };

/* List in @p out the matrices of @p part that have adapters; returns their number. */
static int adapters_of(const struct cycles_layout *l, enum model_part part,
                       struct adapted out[N_MATRICES])
{
    const struct model *m = l->model;
    const struct cycles_side keys = cycles_side_of(l, model_kv_features(m));
    const struct cycles_side vocab = cycles_side_of(l, m->V);
    const struct adapted list[N_MATRICES] = {
        {.part = MODEL_PART_QKV, .kind = MODEL_Q_W, .in = l->hidden, .out = l->heads},
        {.part = MODEL_PART_QKV, .kind = MODEL_K_W, .in = l->hidden, .out = keys},
        {.part = MODEL_PART_QKV, .kind = MODEL_V_W, .in = l->hidden, .out = keys},
        {.part = MODEL_PART_ATTN, .kind = MODEL_O_W, .in = l->heads, .out = l->hidden},
        {.part = MODEL_PART_FFN0, .kind = MODEL_FFN0_W, .in = l->hidden, .out = l->filter},
        {.part = MODEL_PART_FFN0, .kind = MODEL_GLU_W, .in = l->hidden, .out = l->filter},
        {.part = MODEL_PART_FFN1, .kind = MODEL_FFN1_W, .in = l->filter, .out = l->hidden},
        {.part = MODEL_PART_EMBED, .kind = MODEL_WTE, .out = l->hidden, .rows = (double)m->V},
        {.part = MODEL_PART_EMBED,
         .kind = MODEL_WPE,
         .out = l->hidden,
         .rows = (double)m->stack[l->stack].table_rows},
        {.part = MODEL_PART_HEAD, .kind = MODEL_LM_HEAD_W, .in = l->hidden, .out = vocab},
    };
    int n = 0;
    for (int i = 0; i < N_MATRICES; i++) {
        const int64_t r = m->adapter[list[i].kind].r;
        if (list[i].part != part || !r) continue;
        out[n] = list[i];
        out[n++].low = cycles_side_of(l, r);
    }
    return n;
}

/* The layout of the tokens that @p part computes: a head may take only some of the tokens. */
static struct cycles_layout layout_of(const struct cycles_layout *all, enum model_part part)
{
    struct cycles_layout l = *all;
    if (part == MODEL_PART_HEAD) l.t = all->head_t;
    return l;
}

/* Cycles to look up rows of r features in an embedding's table A (@p rows: cycles_gather()), or to
 * add up the gradients of these rows (cycles_scatter()). */
static double lookups(const struct cycles_layout *l, const struct adapted *m,
                      double (*rows)(const struct cycles_layout *l, double n))
{
    struct cycles_layout narrow = *l;
    narrow.hidden = m->low;
    return rows(&narrow, m->rows);
}

void cycles_adapters_forward(const struct cycles_layout *all, enum model_part part,
                             struct cycles_breakdown *c)
{
    struct adapted m[N_MATRICES];
    const struct cycles_layout layout = layout_of(all, part), *l = &layout;
    const int n = adapters_of(l, part, m);
    for (int i = 0; i < n; i++) {
        if (m[i].rows > 0)
            c->elementwise += lookups(l, &m[i], cycles_gather);
        else
            c->products += cycles_product(l, &m[i].in, m[i].low.n, 1);
        c->products += cycles_product(l, &m[i].low, m[i].out.n, 1);
        c->elementwise += cycles_residual(l, m[i].out.k);
    }
}

/* The adapter of an embedding: gradients of A and B alone, since tokens have no gradient. */
static void table_backward(const struct cycles_layout *l, const struct adapted *m,
                           struct cycles_breakdown *c)
{
    c->recompute += lookups(l, m, cycles_gather);
    c->products +=
        cycles_product(l, &m->out, m->low.n, 1) + cycles_weight_gradient(l, &m->low, &m->out, 1);
    c->elementwise += lookups(l, m, cycles_scatter);
}

void cycles_adapters_backward(const struct cycles_layout *all, enum model_part part,
                              struct cycles_breakdown *c)
{
    struct adapted m[N_MATRICES];
    const struct cycles_layout layout = layout_of(all, part), *l = &layout;
    const int n = adapters_of(l, part, m);
    for (int i = 0; i < n; i++) {
        if (m[i].rows > 0) {
            table_backward(l, &m[i], c);
            continue;
        }
        c->recompute += cycles_product(l, &m[i].in, m[i].low.n, 1);
        c->products += cycles_product(l, &m[i].out, m[i].low.n, 1) +
                       cycles_product(l, &m[i].low, m[i].in.n, 1) +
                       cycles_weight_gradient(l, &m[i].in, &m[i].low, 1) +
                       cycles_weight_gradient(l, &m[i].low, &m[i].out, 1);
        c->elementwise += cycles_residual(l, m[i].in.k);
    }
}
