// SPDX-License-Identifier: Apache-2.0
/* Computes the pieces of a feed-forward network for n rows, with their gradients: the norm before
 * it, its linear layers, the nonlinearity. host_block.c uses them for the only network of a block,
 * host_experts.c for the experts of a mixture. */
#include "host_ffn.h"
#include "host_activation.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_sparse.h"
#include "host_state.h"

/* Without a norm of its own (norm3) the FFN uses the kept output of norm1. */
const void *host_ffn_normed(const struct host *k, const struct host_span *b, void *scratch,
                            bool again, int thread)
{
    int64_t C = k->model->C, l = k->stage.layer;
    const float *x = host_ffn_input(k, l);
    float *stats = host_norm_stats(k, l, HOST_NORM3);
    if (!k->model->norm3) return host_at(k, host_kept_operands(k, HOST_NORMED, l, C), b->row * C);
    if (k->model->norm_last)
        host_to_operands(k, scratch, x + b->row * C, b->n * C);
    else if (again)
        host_norm_again(k, b, MODEL_NORM3_W, x, stats, scratch, thread);
    else
        host_norm_forward(k, b, MODEL_NORM3_W, x, stats, scratch, thread);
    return scratch;
}

/* In a parallel block with its own norm the result is stored in HOST_DSIDE, because attention
 * still needs HOST_DRES as the gradient of its branch. */
void host_ffn_norm_backward(const struct host *k, const struct host_span *b)
{
    const bool aside = k->buffer[HOST_DSIDE] != NULL;
    if (!k->model->norm3) return;
    if (k->model->norm_last) {
        const int64_t C = k->model->C;
        num_add((float *)k->buffer[HOST_DRES] + b->row * C,
                (const float *)k->buffer[HOST_DXN] + b->row * C, b->n * C);
        return;
    }
    host_norm_backward(k, b, MODEL_NORM3_W, host_ffn_input(k, k->stage.layer),
                       host_norm_stats(k, k->stage.layer, HOST_NORM3),
                       k->buffer[aside ? HOST_DSIDE : HOST_DRES], aside);
}

/* pre (n, F or 2 F): F features of the first layer, then those of the gate. */
void host_ffn_linear(const struct host *k, const void *xn, int64_t n, int64_t expert,
                     const struct host_lines *at, float *pre)
{
    static const enum model_tensor_kind weight[2] = {MODEL_FFN0_W, MODEL_GLU_W};
    static const enum model_tensor_kind bias[2] = {MODEL_FFN0_B, MODEL_GLU_B};
    int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    for (int i = 0; i < (k->model->gated ? 2 : 1); i++) {
        const float *b = host_expert_vector(k, bias[i], expert);
        struct num_product shape = host_linear_shape(n, C, F);
        shape.ldc = width;
        host_linear(k, &shape, xn, weight[i], expert, at, pre + i * F);
        for (int64_t r = 0; b && r < n; r++)
            num_add(pre + r * width + i * F, b, F);
    }
}

/* dxn = dpre0 W0 + dgate Wg; the second product adds to the first (beta 1). */
void host_ffn_linear_back(const struct host *k, const void *dpre, int64_t n, int64_t expert,
                          const struct host_lines *at, float *dxn)
{
    int64_t C = k->model->C, F = k->model->F;
    struct num_product shape = host_linear_back_shape(n, C, F);
    shape.lda = model_ffn_features(k->model);
    host_linear(k, &shape, dpre, MODEL_FFN0_W, expert, at, dxn);
    if (!k->model->gated) return;
    shape.beta = 1;
    host_linear(k, &shape, host_const_at(k, dpre, F), MODEL_GLU_W, expert, at, dxn);
}

int host_ffn_norm_grads(const struct host *k, struct host_grad out[2])
{
    if (!k->model->norm3 || k->model->norm_last) return 0;
    host_norm_grads(k, out, MODEL_NORM3_W, k->buffer[HOST_DXN], host_ffn_input(k, k->stage.layer),
                    host_norm_stats(k, k->stage.layer, HOST_NORM3));
    return 2;
}

/* Apply dropout to a row, whose elements are numbered from position F on in its sample. */
static void drop_row(const struct host *k, int64_t row, float *x, int thread)
{
    const int64_t F = k->model->F;
    host_drop(k, MODEL_DROP_FILTER, row, row % k->T * F, x, F, thread);
}

void host_ffn_activate(const struct host *k, const struct host_span *b, const float *pre, void *act,
                       int thread)
{
    int64_t F = k->model->F, width = model_ffn_features(k->model);
    float *row = host_thread(k, thread, HOST_ROW);
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, act, i * F);
        float *out = k->fp32 ? to : row;
        host_activate(k->model, out, pre + i * width);
        drop_row(k, b->row + i, out, thread);
        if (!k->fp32) host_narrow(k, to, row, F);
    }
}

/* The activation is recomputed for the weight gradient, together with the gradient of its input. */
void host_ffn_activate_backward(const struct host *k, const struct host_span *b, const float *pre,
                                float *dact, void *act, void *dpre, int thread)
{
    int64_t F = k->model->F, width = model_ffn_features(k->model);
    float *act_row = host_thread(k, thread, HOST_ROW),
          *dpre_row = host_thread(k, thread, HOST_ROW2);
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, act, i * F), *dto = host_at(k, dpre, i * width);
        float *out = k->fp32 ? to : act_row;
        drop_row(k, b->row + i, dact + i * F, thread);
        host_activate_backward(k->model, out, k->fp32 ? dto : dpre_row, dact + i * F,
                               pre + i * width);
        drop_row(k, b->row + i, out, thread);
        if (k->fp32) continue;
        host_narrow(k, to, act_row, F);
        host_narrow(k, dto, dpre_row, width);
    }
}

int host_branch_norm_grads(const struct host *k, const struct host_branch *branch,
                           struct host_grad out[2])
{
    const int64_t l = k->stage.layer;
    const bool last = k->model->norm_last;
    if (!k->model->zoo.norm_first_sandwich && !last) return 0;
    host_norm_grads(k, out, branch->norm, k->buffer[last ? HOST_DXN : HOST_DRES],
                    host_branch_kept(k, branch), host_norm_stats(k, l, branch->slot));
    return 2;
}
