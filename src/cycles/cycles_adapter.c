// SPDX-License-Identifier: Apache-2.0
/* Low-rank adapters on the wafer (Hu et al. 2021): y = W x + s B A x.  Their products are laid out
 * as all others: A has r outputs, and the r features of A x lie on the columns of the lane, one on
 * each of the first r.  docs/MODEL.md, "Adapters and frozen weights".  cycles_parts.c calls. */
#include "cycles_adapter.h"

#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_vector.h"

/* A matrix of a part by the sides that it connects. */
struct sides {
    enum model_part part;
    enum model_tensor_kind kind;
    struct cycles_side in, out;
};

enum { N_MATRICES = 7 };

static void list_matrices(const struct cycles_layout *l, struct sides out[N_MATRICES])
{
    const struct cycles_side keys = cycles_side_of(l, model_kv_features(l->model));
    const struct sides list[N_MATRICES] = {
        {MODEL_PART_QKV, MODEL_Q_W, l->hidden, l->heads},
        {MODEL_PART_QKV, MODEL_K_W, l->hidden, keys},
        {MODEL_PART_QKV, MODEL_V_W, l->hidden, keys},
        {MODEL_PART_ATTN, MODEL_O_W, l->heads, l->hidden},
        {MODEL_PART_FFN0, MODEL_FFN0_W, l->hidden, l->filter},
        {MODEL_PART_FFN0, MODEL_GLU_W, l->hidden, l->filter},
        {MODEL_PART_FFN1, MODEL_FFN1_W, l->filter, l->hidden},
    };
    for (int i = 0; i < N_MATRICES; i++)
        out[i] = list[i];
}

void cycles_adapters_forward(const struct cycles_layout *l, enum model_part part,
                             struct cycles_breakdown *c)
{
    struct sides m[N_MATRICES];
    list_matrices(l, m);
    for (int i = 0; i < N_MATRICES; i++) {
        const int64_t r = l->model->adapter[m[i].kind].r;
        if (m[i].part != part || !r) continue;
        const struct cycles_side low = cycles_side_of(l, r);
        c->products +=
            cycles_product(l, &m[i].in, low.n, 1) + cycles_product(l, &low, m[i].out.n, 1);
        c->elementwise += cycles_residual(l, m[i].out.k);
    }
}

void cycles_adapters_backward(const struct cycles_layout *l, enum model_part part,
                              struct cycles_breakdown *c)
{
    struct sides m[N_MATRICES];
    list_matrices(l, m);
    for (int i = 0; i < N_MATRICES; i++) {
        const int64_t r = l->model->adapter[m[i].kind].r;
        if (m[i].part != part || !r) continue;
        const struct cycles_side low = cycles_side_of(l, r);
        c->recompute += cycles_product(l, &m[i].in, low.n, 1);
        c->products += cycles_product(l, &m[i].out, low.n, 1) +
                       cycles_product(l, &low, m[i].in.n, 1) +
                       cycles_weight_gradient(l, &m[i].in, &low, 1) +
                       cycles_weight_gradient(l, &low, &m[i].out, 1);
        c->elementwise += cycles_residual(l, m[i].in.k);
    }
}
