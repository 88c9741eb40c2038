// SPDX-License-Identifier: Apache-2.0
/* Low-rank adapters on the wafer (Hu et al. 2021): y = W x + s B A x.  Their products are laid out
 * as all others: A has r outputs, and the r features of A x lie on the columns of the lane, one on
 * each of the first r.  docs/MODEL.md, "Adapters and frozen weights".  cycles_parts.c calls. */
#include "cycles_adapter.h"

#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_vector.h"

/* A matrix by the sides that it connects, and what lies between the two of its adapter. */
struct adapted {
    enum model_part part;
    enum model_tensor_kind kind;
    struct cycles_side in, out, low;
};

enum { N_MATRICES = 7 };

/* The matrices of @p part that have adapters; the number of them. */
static int adapters_of(const struct cycles_layout *l, enum model_part part,
                       struct adapted out[N_MATRICES])
{
    const struct cycles_side keys = cycles_side_of(l, model_kv_features(l->model));
    const struct adapted list[N_MATRICES] = {
        {.part = MODEL_PART_QKV, .kind = MODEL_Q_W, .in = l->hidden, .out = l->heads},
        {.part = MODEL_PART_QKV, .kind = MODEL_K_W, .in = l->hidden, .out = keys},
        {.part = MODEL_PART_QKV, .kind = MODEL_V_W, .in = l->hidden, .out = keys},
        {.part = MODEL_PART_ATTN, .kind = MODEL_O_W, .in = l->heads, .out = l->hidden},
        {.part = MODEL_PART_FFN0, .kind = MODEL_FFN0_W, .in = l->hidden, .out = l->filter},
        {.part = MODEL_PART_FFN0, .kind = MODEL_GLU_W, .in = l->hidden, .out = l->filter},
        {.part = MODEL_PART_FFN1, .kind = MODEL_FFN1_W, .in = l->filter, .out = l->hidden},
    };
    int n = 0;
    for (int i = 0; i < N_MATRICES; i++) {
        const int64_t r = l->model->adapter[list[i].kind].r;
        if (list[i].part != part || !r) continue;
        out[n] = list[i];
        out[n++].low = cycles_side_of(l, r);
    }
    return n;
}

void cycles_adapters_forward(const struct cycles_layout *l, enum model_part part,
                             struct cycles_breakdown *c)
{
    struct adapted m[N_MATRICES];
    const int n = adapters_of(l, part, m);
    for (int i = 0; i < n; i++) {
        c->products += cycles_product(l, &m[i].in, m[i].low.n, 1) +
                       cycles_product(l, &m[i].low, m[i].out.n, 1);
        c->elementwise += cycles_residual(l, m[i].out.k);
    }
}

void cycles_adapters_backward(const struct cycles_layout *l, enum model_part part,
                              struct cycles_breakdown *c)
{
    struct adapted m[N_MATRICES];
    const int n = adapters_of(l, part, m);
    for (int i = 0; i < n; i++) {
        c->recompute += cycles_product(l, &m[i].in, m[i].low.n, 1);
        c->products += cycles_product(l, &m[i].out, m[i].low.n, 1) +
                       cycles_product(l, &m[i].low, m[i].in.n, 1) +
                       cycles_weight_gradient(l, &m[i].in, &m[i].low, 1) +
                       cycles_weight_gradient(l, &m[i].low, &m[i].out, 1);
        c->elementwise += cycles_residual(l, m[i].in.k);
    }
}
