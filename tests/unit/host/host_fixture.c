// SPDX-License-Identifier: Apache-2.0
#include "host_fixture.h"

#include "../../support/test.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static void *new_block(size_t n, size_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, n, size);
    WSC_CHECK(block, "no memory for a test");
    return block;
}

static int64_t draw(uint64_t stream, uint64_t i, int64_t below)
{
    return (int64_t)(wsc_rng_u64(11, wsc_rng_stream(WSC_RNG_TEST, stream), i) % (uint64_t)below);
}

static bool is_norm_weight(enum model_tensor_kind kind)
{
    return kind == MODEL_NORM1_W || kind == MODEL_NORM3_W || kind == MODEL_NORMF_W ||
           kind == MODEL_Q_NORM_W || kind == MODEL_K_NORM_W;
}

/* Random weights of tensor @p i: what they multiply keeps its size. */
static void fill_tensor(struct fixture *f, int i)
{
    const struct model_tensor *t = &f->tensor[i];
    const bool matrix = t->n_dims > 1;
    f->weight[i] = new_block((size_t)t->n_elems, sizeof(float));
    test_fill(f->weight[i], t->n_elems, (uint64_t)i + 100);
    const float spread = matrix ? 1.5F / sqrtf((float)t->shape[1]) : 0.3F;
    for (int64_t j = 0; j < t->n_elems; j++)
        f->weight[i][j] = f->weight[i][j] * spread + (is_norm_weight(t->kind) ? 1.0F : 0.0F);
}

static void add_tensor(struct fixture *f, enum model_tensor_kind kind, int layer, int64_t rows,
                       int64_t cols)
{
    int i = f->model.n_tensors++;
    struct model_tensor *t = &f->tensor[i];
    t->kind = kind;
    t->layer = layer;
    t->expert = -1;
    t->n_dims = cols > 0 ? 2 : 1;
    t->shape[0] = rows;
    t->shape[1] = cols;
    t->n_elems = rows * (cols > 0 ? cols : 1);
    fill_tensor(f, i);
    if (f->model.format == NUM_FP32) return;
    uint16_t *rounded = new_block((size_t)t->n_elems, sizeof *rounded);
    num_narrow(f->model.format, rounded, f->weight[i], t->n_elems);
    num_widen(f->model.format, f->weight[i], rounded, t->n_elems);
    wsc_free(rounded);
}

/* Start a stage with one part; tensors are added to the last stage. */
static void add_part(struct fixture *f, enum model_part part, int layer, bool joins)
{
    if (!joins) f->model.n_stages++;
    struct model_stage *s = &f->stage[f->model.n_stages - 1];
    s->layer = layer;
    s->view = f->view[f->model.n_stages - 1];
    s->part[s->n_parts++] = part;
    s->first_view[s->n_parts] = s->n_views;
}

static void add_view(struct fixture *f, int tensor)
{
    struct model_stage *s = &f->stage[f->model.n_stages - 1];
    s->view[s->n_views++] = (struct model_view){.tensor = tensor, .offset = s->n_elems};
    s->n_elems += f->tensor[tensor].n_elems;
    s->first_view[s->n_parts] = s->n_views;
}

static void add(struct fixture *f, enum model_tensor_kind kind, int layer, int64_t rows,
                int64_t cols)
{
    add_tensor(f, kind, layer, rows, cols);
    add_view(f, f->model.n_tensors - 1);
}

/* A matrix (rows, cols), (cols, rows) of a table, and its adapter. */
static void add_matrix(struct fixture *f, const struct fixture_shape *s,
                       enum model_tensor_kind kind, int layer, int64_t rows, int64_t cols)
{
    const bool table = model_is_table(kind);
    add(f, kind, layer, rows, cols);
    if (!s->rank) return;
    f->model.adapter[kind] = (struct model_adapter){
        .r = s->rank + kind % 2, .scale = 0.7, .dropout = table ? 0 : s->dropout};
    const int64_t r = f->model.adapter[kind].r;
    add(f, MODEL_ADAPTER_A + kind, layer, r, table ? rows : cols);
    add(f, MODEL_ADAPTER_B + kind, layer, table ? cols : rows, r);
}

/* A weight (rows, cols) and its bias. */
static void add_linear(struct fixture *f, const struct fixture_shape *s,
                       enum model_tensor_kind kind, int layer, int64_t rows, int64_t cols)
{
    add_matrix(f, s, kind, layer, rows, cols);
    if (!s->no_bias) add(f, kind + 1, layer, rows, 0);
}

static void add_norm(struct fixture *f, enum model_tensor_kind kind, int layer)
{
    add(f, kind, layer, f->model.C, 0);
    add(f, kind + 1, layer, f->model.C, 0);
}

static void add_block(struct fixture *f, const struct fixture_shape *s, int l)
{
    add_part(f, MODEL_PART_QKV, l, false);
    add_norm(f, MODEL_NORM1_W, l);
    add_linear(f, s, MODEL_Q_W, l, s->C, s->C);
    add_linear(f, s, MODEL_K_W, l, s->C, s->C);
    add_linear(f, s, MODEL_V_W, l, s->C, s->C);
    add_part(f, MODEL_PART_ATTN, l, !s->matrices);
    add_linear(f, s, MODEL_O_W, l, s->C, s->C);
    add_part(f, MODEL_PART_FFN0, l, !s->matrices);
    add_norm(f, MODEL_NORM3_W, l);
    add_linear(f, s, MODEL_FFN0_W, l, s->F, s->C);
    add_part(f, MODEL_PART_FFN1, l, !s->matrices);
    add_linear(f, s, MODEL_FFN1_W, l, s->C, s->F);
}

static void add_head(struct fixture *f, const struct fixture_shape *s)
{
    add_part(f, MODEL_PART_HEAD, -1, false);
    add_norm(f, MODEL_NORMF_W, -1);
    if (s->tied)
        add_view(f, 0);
    else
        add_matrix(f, s, MODEL_LM_HEAD_W, -1, s->V, s->C);
    if (s->head_bias) add(f, MODEL_LM_HEAD_B, -1, s->V, 0);
}

static enum zoo_position position_of(const struct fixture_shape *s)
{
    if (s->slopes) return ZOO_POSITION_ALIBI;
    if (s->buckets) return ZOO_POSITION_RELATIVE;
    return s->no_positions ? ZOO_POSITION_NONE : ZOO_POSITION_LEARNED;
}

static void build_model(struct fixture *f, const struct fixture_shape *s)
{
    int64_t head_dim = s->C / s->H;
    f->model =
        (struct model){.L = s->L,
                       .C = s->C,
                       .H = s->H,
                       .F = s->F,
                       .V = s->V,
                       .T = s->T,
                       .head_dim = head_dim,
                       .kv_heads = s->H,
                       .causal = true,
                       .zoo.position_embedding_type = position_of(s),
                       .slopes = s->slopes,
                       .buckets = s->slopes ? 1 : s->buckets,
                       .position_scale = s->slopes ? 2 : 1,
                       .norm3 = true,
                       .zoo.use_projection_bias_in_attention = !s->no_bias,
                       .zoo.use_ffn_bias_in_attention = !s->no_bias,
                       .zoo.use_ffn_bias = !s->no_bias,
                       .pad_token = -1,
                       .mask_token = -1,
                       .n_stacks = 1,
                       .stack = {{.T = s->T,
                                  .L = s->L,
                                  .V = s->V,
                                  .table_rows = s->T + 3,
                                  .causal = true,
                                  .qk_scale = 1.0 / sqrt((double)head_dim)}},
                       .n_heads = 1,
                       .head = {{.input_norm = MODEL_NORMF_W,
                                 .output = MODEL_LM_HEAD_W,
                                 .tokens = s->T,
                                 .outputs = s->V,
                                 .bias = s->head_bias,
                                 .weight = 1}},
                       .tied = s->tied,
                       .zoo.layer_norm_epsilon = 1e-5,
                       .zoo.scale_qk_dot_by_layer_idx = s->scale_by_layer,
                       .zoo.embeddings_scale = s->embeddings_scale != 0 ? s->embeddings_scale : 1,
                       .logits_scale = s->logits_scale != 0 ? s->logits_scale : 1,
                       .nonlinearity = s->nonlinearity,
                       .format = s->format,
                       .softmax_16 = s->softmax_16,
                       .tensor = f->tensor,
                       .stage = f->stage};
    add_part(f, MODEL_PART_EMBED, -1, false);
    add_matrix(f, s, MODEL_WTE, -1, s->V, s->C);
    if (position_of(s) == ZOO_POSITION_LEARNED)
        add_matrix(f, s, MODEL_WPE, -1, s->T + 3, s->C); /* more positions than used */
    if (s->slopes) add(f, MODEL_RELATIVE_W, -1, s->H, 1);
    if (s->buckets) add(f, MODEL_RELATIVE_W, -1, s->buckets, s->H);
    for (int l = 0; l < s->L; l++)
        add_block(f, s, l);
    add_head(f, s);
}

static void build_stage_weights(struct fixture *f)
{
    bool fp32 = f->model.format == NUM_FP32;
    for (int s = 0; s < f->model.n_stages; s++) {
        const struct model_stage *stage = &f->stage[s];
        f->stage_weights[s] = new_block((size_t)stage->n_elems, fp32 ? 4 : 2);
        for (int i = 0; i < stage->n_views; i++) {
            int t = stage->view[i].tensor;
            int64_t at = stage->view[i].offset, n = f->tensor[t].n_elems;
            if (fp32)
                memcpy((float *)f->stage_weights[s] + at, f->weight[t], (size_t)n * 4);
            else
                num_narrow(f->model.format, (uint16_t *)f->stage_weights[s] + at, f->weight[t], n);
        }
    }
}

/* Every fifth token is outside the loss, with a label that must not be looked at. */
static void build_batch(struct fixture *f, int64_t n_samples)
{
    const int64_t n = n_samples * f->model.T, V = f->model.V;
    f->batch = (struct data_batch){.n = n_samples, .T = f->model.T};
    f->batch.input_ids = new_block((size_t)n, sizeof(int32_t));
    f->batch.labels = new_block((size_t)n, sizeof(int32_t));
    f->batch.mask = new_block((size_t)n, sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        f->batch.mask[i] = draw(3, (uint64_t)i, 5) != 0;
        f->batch.input_ids[i] = (int32_t)draw(1, (uint64_t)i, V);
        f->batch.labels[i] = f->batch.mask[i] ? (int32_t)draw(2, (uint64_t)i, V) : -100;
    }
}

void fixture_create(struct fixture *f, const struct fixture_shape *shape)
{
    memset(f, 0, sizeof *f);
    build_model(f, shape);
    CU_ASSERT_FATAL(f->model.n_tensors <= FIXTURE_MAX_TENSORS);
    CU_ASSERT_FATAL(f->model.n_stages <= FIXTURE_MAX_STAGES);
    build_stage_weights(f);
    build_batch(f, shape->n_samples);
}

void fixture_create_of(struct fixture *f, const struct zoo_params *params, int64_t n_samples)
{
    memset(f, 0, sizeof *f);
    T_OK(model_create(&f->made, params, HW_STREAM_BLOCK));
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->made);
    f->model = *f->made;
    CU_ASSERT_FATAL(f->model.n_tensors <= FIXTURE_MAX_TENSORS && f->model.format == NUM_FP32);
    CU_ASSERT_FATAL(f->model.n_stages <= FIXTURE_MAX_STAGES);
    memcpy(f->tensor, f->made->tensor, (size_t)f->model.n_tensors * sizeof *f->tensor);
    memcpy(f->stage, f->made->stage, (size_t)f->model.n_stages * sizeof *f->stage);
    f->model.tensor = f->tensor;
    f->model.stage = f->stage;
    for (int i = 0; i < f->model.n_tensors; i++)
        fill_tensor(f, i);
    build_stage_weights(f);
    build_batch(f, n_samples);
}

void fixture_destroy(struct fixture *f)
{
    for (int i = 0; i < f->model.n_tensors; i++)
        wsc_free(f->weight[i]);
    for (int s = 0; s < f->model.n_stages; s++)
        wsc_free(f->stage_weights[s]);
    wsc_free(f->batch.input_ids);
    wsc_free(f->batch.labels);
    wsc_free(f->batch.mask);
    model_destroy(&f->made);
}

/* From element @p at on; rows that the batch does not have stay away. */
static int32_t *from(int32_t *row, int64_t at)
{
    return row ? row + at : NULL;
}

struct data_batch fixture_slice(const struct fixture *f, int64_t first, int64_t n)
{
    int64_t at = first * f->batch.T;
    return (struct data_batch){.n = n,
                               .T = f->batch.T,
                               .input_ids = f->batch.input_ids + at,
                               .labels = f->batch.labels + at,
                               .mask = f->batch.mask + at,
                               .attention_span = from(f->batch.attention_span, at),
                               .position_ids = from(f->batch.position_ids, at),
                               .attends = from(f->batch.attends, at),
                               .token_types = from(f->batch.token_types, at),
                               .targets = f->batch.targets ? f->batch.targets + first : NULL};
}

int64_t fixture_n_leaves(const struct fixture *f, int64_t leaf_samples)
{
    return (f->batch.n + leaf_samples - 1) / leaf_samples;
}

void fixture_step(const struct fixture *f, const struct fixture_run *run,
                  struct fixture_result *out)
{
    const struct model *m = &f->model;
    int64_t first = run->first_leaf * run->leaf_samples, end = run->end_leaf * run->leaf_samples;
    if (end > f->batch.n) end = f->batch.n;
    struct data_batch batch = fixture_slice(f, first, end > first ? end - first : 0);
    struct data_share share = {.first_leaf = run->first_leaf,
                               .end_leaf = run->end_leaf,
                               .n_leaves = fixture_n_leaves(f, run->leaf_samples),
                               .leaf_samples = run->leaf_samples,
                               .batch_size = f->batch.n};
    struct host *k;
    num_init(run->n_threads > 0 ? run->n_threads : 1);
    /* room for more samples than come, so that strides differ between shares */
    T_OK(host_create_limited(&k, m, batch.n + 1, true,
                             run->limits ? run->limits : &host_default_limits));
    host_begin(k, &share, &batch);
    num_nodes_of_range(&out->nodes, run->first_leaf, run->end_leaf, share.n_leaves);
    for (int s = 0; s < m->n_stages; s++)
        host_forward(k, s, f->stage_weights[s]);
    out->n_leaves = run->end_leaf - run->first_leaf;
    for (int64_t i = 0; i < out->n_leaves && i < FIXTURE_MAX_NODES; i++)
        out->loss[i] = host_losses(k)[i];
    for (int s = m->n_stages - 1; s >= 0; s--) {
        int64_t n = out->nodes.n * m->stage[s].n_elems;
        out->grads[s] = new_block((size_t)n, sizeof(float));
        for (int64_t i = 0; i < n; i++)
            out->grads[s][i] = NAN; /* every element must be written */
        host_backward(k, s, f->stage_weights[s], out->grads[s]);
    }
    host_destroy(&k);
    num_init(1);
}

void fixture_result_destroy(const struct fixture *f, struct fixture_result *r)
{
    for (int s = 0; s < f->model.n_stages; s++)
        wsc_free(r->grads[s]);
}

static float *merged_stage(const struct num_merge *plan, const struct fixture_result *left,
                           const struct fixture_result *right, int s, int64_t n)
{
    float *slots = new_block((size_t)((left->nodes.n + right->nodes.n) * n), sizeof *slots);
    float *out = new_block((size_t)(plan->result.n * n), sizeof *out);
    memcpy(slots, left->grads[s], (size_t)(left->nodes.n * n) * sizeof *slots);
    memcpy(slots + left->nodes.n * n, right->grads[s],
           (size_t)(right->nodes.n * n) * sizeof *slots);
    for (int i = 0; i < plan->n_steps; i++)
        num_add(slots + plan->step[i].into * n, slots + plan->step[i].from * n, n);
    for (int i = 0; i < plan->result.n; i++)
        memcpy(out + i * n, slots + plan->slot[i] * n, (size_t)n * sizeof *out);
    wsc_free(slots);
    return out;
}

void fixture_merge(const struct fixture *f, struct fixture_result *left,
                   const struct fixture_result *right, int64_t n_leaves)
{
    struct num_merge plan;
    num_merge_plan(&plan, &left->nodes, &right->nodes, n_leaves);
    for (int s = 0; s < f->model.n_stages; s++) {
        float *merged = merged_stage(&plan, left, right, s, f->stage[s].n_elems);
        wsc_free(left->grads[s]);
        left->grads[s] = merged;
    }
    left->nodes = plan.result;
    for (int64_t i = 0; i < right->n_leaves; i++)
        left->loss[left->n_leaves++] = right->loss[i];
}

float *fixture_tensor_grad(const struct fixture *f, const struct fixture_result *r, int i)
{
    float *grad = new_block((size_t)f->tensor[i].n_elems, sizeof *grad);
    for (int s = 0; s < f->model.n_stages; s++) {
        const struct model_stage *stage = &f->stage[s];
        for (int v = 0; v < stage->n_views; v++) {
            if (stage->view[v].tensor == i)
                num_add(grad, r->grads[s] + stage->view[v].offset, f->tensor[i].n_elems);
        }
    }
    return grad;
}
