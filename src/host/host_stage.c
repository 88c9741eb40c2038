// SPDX-License-Identifier: Apache-2.0
/* Runs a stage on the CPU: it binds the weights and calls the parts of the stage in order, in the
 * backward pass in reverse. A caller that has all weights calls host_forward() and
 * host_backward(). A caller that computes while weights arrive calls part after part; a part reads
 * only tensors that it and the parts before it stream. Next: host_block.c, host_attention.c,
 * host_head.c. host_grad.c determines which gradients are final. */
#include "host_arranged.h"
#include "host_attention.h"
#include "host_block.h"
#include "host_buffers.h"
#include "host_cross.h"
#include "host_head.h"
#include "host_operands.h"
#include "host_sparse.h"
#include "host_stacks.h"
#include "host_state.h"

#include <wsc/check.h>

/* ---- weights --------------------------------------------------------------------------------- */

/* The weights of a stage: its dense vector, or what has arrived of each view. */
struct arrived {
    const void *vector;
    const struct model_weights *weights;
};

static const void *view_at(const struct host *k, const struct arrived *a, int view)
{
    if (a->weights) return host_sparse_dense(k, view);
    return host_const_at(k, a->vector, k->stage.plan->view[view].offset);
}

/* Bind the first tensor of a kind to the stage. Experts of a kind follow at a constant distance,
 * which is taken from the second one. */
static void bind_tensor(struct host *k, const struct model_tensor *t, int view, const void *at,
                        const float *vector)
{
    struct host_stage *s = &k->stage;
    if (s->view[t->kind] < 0) {
        s->view[t->kind] = view;
        s->rows[t->kind] = t->shape[0];
        s->cols[t->kind] = t->n_dims == 2 ? t->shape[1] : 1;
        s->weight[t->kind] = at;
        s->vector[t->kind] = vector;
        if (s->weights) s->sparse[t->kind] = host_sparse_matrix(k, t->kind);
    } else if (t->expert == 1) {
        s->next_view[t->kind] = view - s->view[t->kind];
        s->next_expert[t->kind] = vector ? vector - s->vector[t->kind]
                                         : ((const char *)at - (const char *)s->weight[t->kind]) /
                                               num_format_bytes(k->model->format);
    }
}

/* Bind the tensors of the stage to the memory where they arrive; a kind that the stage does not
 * have keeps view -1 and NULL. 16-bit vectors are bound to their widened copies
 * (widen_vectors()). */
static void enter_stage(struct host *k, int stage, const struct arrived *a, float *grads)
{
    const struct model *m = k->model;
    const struct model_stage *plan = &m->stage[stage];
    struct host_stage *s = &k->stage;
    const float *wide = k->buffer[HOST_VECTORS];
    host_use_stack(k, plan->stack);
    *s = (struct host_stage){.plan = plan,
                             .reference = stage < m->first_policy,
                             .layer = plan->layer < 0 ? -1 : plan->layer + plan->stack,
                             .weights = a->weights,
                             .grads = grads};
    for (int i = 0; i < MODEL_N_TENSOR_KINDS; i++)
        s->view[i] = -1;
    for (int i = 0; i < plan->n_views; i++) {
        const struct model_tensor *t = &m->tensor[plan->view[i].tensor];
        const void *at = view_at(k, a, i);
        bind_tensor(k, t, i, at, t->n_dims != 1 ? NULL : k->fp32 ? at : wide);
        if (t->n_dims == 1) wide += t->n_elems;
        k->first_grad[i] = s->n_grads;
        k->grads_left[i] = model_gradient_elems(t, a->weights ? &a->weights[i] : NULL);
        s->n_grads += k->grads_left[i];
    }
}

/* A 16-bit vector is widened once for each stage, when the first part that has it is computed. */
static void widen_vectors(struct host *k, const struct arrived *a, int first_view, int end_view)
{
    const struct model_stage *plan = k->stage.plan;
    float *wide = k->buffer[HOST_VECTORS];
    for (int i = 0; i < end_view && !k->fp32; i++) {
        const struct model_tensor *t = &k->model->tensor[plan->view[i].tensor];
        if (t->n_dims != 1) continue;
        if (i >= first_view) num_widen(k->model->format, wide, view_at(k, a, i), t->n_elems);
        wide += t->n_elems;
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Whether a backward pass reads what the forward pass of the part stores in addition to the
 * stream. */
enum keeps { KEEPS_NOTHING, KEEPS_BRANCH, KEEPS };
/* The parts of a stage, one row each; a new part of a model is one more row. */
struct part_row {
    void (*forward)(struct host *k);
    void (*backward)(struct host *k);
    enum keeps keeps; /* KEEPS_BRANCH: only the input of a norm after the branch */
};
static const struct part_row part_rows[] = {
    [MODEL_PART_EMBED] = {host_embed_forward, host_embed_backward, KEEPS_NOTHING},
    [MODEL_PART_QKV] = {host_qkv_forward, host_qkv_backward, KEEPS},
    [MODEL_PART_ATTN] = {host_attn_forward, host_attn_backward, KEEPS},
    [MODEL_PART_CROSS_QKV] = {host_cross_qkv_forward, host_cross_qkv_backward, KEEPS},
    [MODEL_PART_CROSS_ATTN] = {host_cross_attn_forward, host_cross_attn_backward, KEEPS},
    [MODEL_PART_MEMORY] = {host_memory_forward, host_memory_backward, KEEPS_NOTHING},
    [MODEL_PART_FFN0] = {host_ffn0_forward, host_ffn0_backward, KEEPS},
    [MODEL_PART_FFN1] = {host_ffn1_forward, host_ffn1_backward, KEEPS_BRANCH},
    [MODEL_PART_HEAD] = {host_head_forward, host_head_backward, KEEPS_NOTHING},
};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");

static void check_part(const struct host *k, int stage, int i)
{
    WSC_CHECK(stage >= 0 && stage < k->model->n_stages, "stage %d of %d", stage,
              k->model->n_stages);
    WSC_CHECK(i >= 0 && i < k->model->stage[stage].n_parts, "part %d of %d", i,
              k->model->stage[stage].n_parts);
}

static void forward_part(struct host *k, int stage, int i, const struct arrived *a)
{
    const struct model_stage *plan = &k->model->stage[stage];
    check_part(k, stage, i);
    if (!i) enter_stage(k, stage, a, NULL);
    widen_vectors(k, a, plan->first_view[i], plan->first_view[i + 1]);
    host_arrange(k, plan->part[i], false);
    part_rows[plan->part[i]].forward(k);
    if (k->stage.layer >= 0) k->in_copy = k->stage.reference ? -1 : k->stage.layer;
}

/* True when a block has to be recomputed before its backward pass: all but the last one of the
 * forward pass. */
static bool must_recompute(const struct host *k, int stage)
{
    const struct model_stage *plan = &k->model->stage[stage];
    return k->recompute && plan->layer >= 0 && plan->layer + plan->stack != k->in_copy;
}

/* Recompute from its input what a block keeps, with the products of the forward pass in the same
 * order, so that all bits are equal. */
static void recompute_block(struct host *k, int stage, const struct arrived *a)
{
    const struct model_stage *plan = &k->model->stage[stage];
    const bool branches = k->model->zoo.norm_first_sandwich || k->model->norm_last;
    for (int i = 0; i < plan->n_parts; i++) {
        const enum keeps keeps = part_rows[plan->part[i]].keeps;
        if (!i) enter_stage(k, stage, a, NULL);
        widen_vectors(k, a, plan->first_view[i], plan->first_view[i + 1]);
        if (keeps == KEEPS_NOTHING || (keeps == KEEPS_BRANCH && !branches)) continue;
        host_arrange(k, plan->part[i], false);
        part_rows[plan->part[i]].forward(k);
    }
    k->in_copy = k->stage.layer;
}

static void backward_part(struct host *k, int stage, int i, const struct arrived *a, float *grads)
{
    const struct model_stage *plan = &k->model->stage[stage];
    check_part(k, stage, i);
    WSC_CHECK(k->training, "backward of stage %d without buffers for it", stage);
    if (i == plan->n_parts - 1 && !a->weights && must_recompute(k, stage))
        recompute_block(k, stage, a);
    if (i == plan->n_parts - 1) enter_stage(k, stage, a, grads);
    widen_vectors(k, a, plan->first_view[i], plan->first_view[i + 1]);
    host_arrange(k, plan->part[i], true);
    part_rows[plan->part[i]].backward(k);
}

static void forward(struct host *k, int stage, const struct arrived *a)
{
    for (int i = 0; i < k->model->stage[stage].n_parts; i++)
        forward_part(k, stage, i, a);
}

static void backward(struct host *k, int stage, const struct arrived *a, float *grads)
{
    for (int i = k->model->stage[stage].n_parts - 1; i >= 0; i--)
        backward_part(k, stage, i, a, grads);
}

static void check_stage(const struct host *k, int stage)
{
    check_part(k, stage, 0);
}

/* ---- what others call ------------------------------------------------------------------------ */

void host_forward(struct host *k, int stage, const void *weights)
{
    check_stage(k, stage);
    forward(k, stage, &(struct arrived){.vector = weights});
}

void host_backward(struct host *k, int stage, const void *weights, float *grads)
{
    check_stage(k, stage);
    backward(k, stage, &(struct arrived){.vector = weights}, grads);
}

void host_forward_part(struct host *k, int stage, int part, const void *weights)
{
    forward_part(k, stage, part, &(struct arrived){.vector = weights});
}

void host_backward_part(struct host *k, int stage, int part, const void *weights, float *grads)
{
    backward_part(k, stage, part, &(struct arrived){.vector = weights}, grads);
}

int64_t host_final_gradients(const struct host *k)
{
    int64_t first = k->stage.n_grads;
    for (int v = k->stage.plan->n_views - 1; v >= 0 && !k->grads_left[v]; v--)
        first = k->first_grad[v];
    return k->stage.n_grads - first;
}

enum wsc_err host_forward_sparse(struct host *k, int stage, const struct model_weights *weights)
{
    check_stage(k, stage);
    TRY(host_sparse_load(k, stage, weights, false));
    forward(k, stage, &(struct arrived){.weights = weights});
    return WSC_OK;
}

enum wsc_err host_backward_sparse(struct host *k, int stage, const struct model_weights *weights,
                                  float *grads)
{
    check_stage(k, stage);
    if (must_recompute(k, stage)) {
        TRY(host_sparse_load(k, stage, weights, false));
        recompute_block(k, stage, &(struct arrived){.weights = weights});
    }
    TRY(host_sparse_load(k, stage, weights, true));
    backward(k, stage, &(struct arrived){.weights = weights}, grads);
    return WSC_OK;
}
