// SPDX-License-Identifier: Apache-2.0
/* The stages of a model: which parts a stage has, and which tensors each part streams in which
 * order.  model_transfer_at() walks them forward and then backward, stream_walk.c for each
 * micro-batch.  A tied head streams the embedding again. */
#include "model_stages.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>

enum { MAX_KINDS = 18, MAX_LAST_KINDS = 4, PARTS_PER_BLOCK = 6 };

/** What one part streams, in order: first the kinds that it has once, then those of each expert,
 *  then what follows them.  Kinds that a model lacks are left out. */
struct part_row {
    const char *name;
    int n_kinds, n_ffn_kinds, n_last_kinds;
    enum model_tensor_kind kind[MAX_KINDS], ffn_kind[MAX_KINDS], last_kind[MAX_LAST_KINDS];
};

static const struct part_row part_rows[MODEL_N_PARTS] = {
    [MODEL_PART_EMBED] = {.name = "embed",
                          .n_kinds = 13,
                          .kind = {MODEL_WTE, MODEL_WPE, MODEL_WTT, MODEL_RELATIVE_W, MODEL_NORME_W,
                                   MODEL_NORME_B, MODEL_PATCH_W, MODEL_PATCH_B, MODEL_TIME0_W,
                                   MODEL_TIME0_B, MODEL_TIME1_W, MODEL_TIME1_B, MODEL_LABEL_W}},
    [MODEL_PART_QKV] = {.name = "qkv",
                        .n_kinds = 16,
                        .kind = {MODEL_NORM1_W, MODEL_NORM1_B, MODEL_SCALE1_W, MODEL_SCALE1_B,
                                 MODEL_SHIFT1_W, MODEL_SHIFT1_B, MODEL_Q_W, MODEL_Q_B, MODEL_K_W,
                                 MODEL_K_B, MODEL_V_W, MODEL_V_B, MODEL_Q_NORM_W, MODEL_Q_NORM_B,
                                 MODEL_K_NORM_W, MODEL_K_NORM_B}},
    [MODEL_PART_ATTN] = {.name = "attn",
                         .n_kinds = 6,
                         .kind = {MODEL_O_W, MODEL_O_B, MODEL_NORM1_POST_W, MODEL_NORM1_POST_B,
                                  MODEL_GATE1_W, MODEL_GATE1_B}},
    [MODEL_PART_CROSS_QKV] = {.name = "cross_qkv",
                              .n_kinds = 8,
                              .kind = {MODEL_CROSS_NORM_W, MODEL_CROSS_NORM_B, MODEL_CROSS_Q_W,
                                       MODEL_CROSS_Q_B, MODEL_CROSS_K_W, MODEL_CROSS_K_B,
                                       MODEL_CROSS_V_W, MODEL_CROSS_V_B}},
    [MODEL_PART_CROSS_ATTN] = {.name = "cross_attn",
                               .n_kinds = 4,
                               .kind = {MODEL_CROSS_O_W, MODEL_CROSS_O_B, MODEL_CROSS_POST_W,
                                        MODEL_CROSS_POST_B}},
    [MODEL_PART_MEMORY] = {.name = "memory",
                           .n_kinds = 2,
                           .kind = {MODEL_MEMORY_W, MODEL_MEMORY_B}},
    [MODEL_PART_FFN0] = {.name = "ffn0",
                         .n_kinds = 7,
                         .kind = {MODEL_NORM3_W, MODEL_NORM3_B, MODEL_SCALE3_W, MODEL_SCALE3_B,
                                  MODEL_SHIFT3_W, MODEL_SHIFT3_B, MODEL_ROUTER_W},
                         .n_ffn_kinds = 4,
                         .ffn_kind = {MODEL_FFN0_W, MODEL_FFN0_B, MODEL_GLU_W, MODEL_GLU_B}},
    [MODEL_PART_FFN1] = {.name = "ffn1",
                         .n_ffn_kinds = 2,
                         .ffn_kind = {MODEL_FFN1_W, MODEL_FFN1_B},
                         .n_last_kinds = 4,
                         .last_kind = {MODEL_NORM3_POST_W, MODEL_NORM3_POST_B, MODEL_GATE3_W,
                                       MODEL_GATE3_B}},
    [MODEL_PART_HEAD] = {.name = "head",
                         .n_kinds = 18,
                         .kind = {MODEL_NORMF_W, MODEL_NORMF_B, MODEL_DENSE_W, MODEL_DENSE_B,
                                  MODEL_DENSE_NORM_W, MODEL_DENSE_NORM_B, MODEL_POOL_W,
                                  MODEL_POOL_B, MODEL_CLASS_W, MODEL_CLASS_B, MODEL_LM_HEAD_W,
                                  MODEL_LM_HEAD_B, MODEL_SCALEF_W, MODEL_SCALEF_B, MODEL_SHIFTF_W,
                                  MODEL_SHIFTF_B, MODEL_NOISE_W, MODEL_NOISE_B}},
};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");

/** Where the tensors of each kind are in a stack: index = first + (layer - first_layer) stride +
 *  expert * expert_stride; -1 = no such tensor. */
struct where {
    const char *prefix; /**< of the names of the stages */
    int first[MODEL_N_TENSOR_KINDS];
    int first_layer, stride, expert_stride;
};

/* The first tensor of each kind of stack @p stack, of the reference model or the other one, and how
 * many tensors a layer and an expert have: tables are regular, so that any tensor follows from
 * these. */
static void find_tensors(const struct model *model, int stack, bool reference, struct where *where)
{
    *where = (struct where){.prefix = reference ? "ref." : "",
                            .first_layer = (int)model->stack[stack].first};
    for (int kind = 0; kind < MODEL_N_TENSOR_KINDS; kind++)
        where->first[kind] = -1;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        if (t->stack != stack || t->reference != reference) continue;
        where->stride += t->layer == where->first_layer;
        where->expert_stride += t->layer == where->first_layer && t->expert == 0;
        if (t->layer <= where->first_layer && t->expert <= 0) where->first[t->kind] = i;
    }
}

/* Both stacks: a table that they share is the first one's, and a tied head takes the last one's. */
static void find_all(const struct model *model, bool reference,
                     struct where where[MODEL_MAX_STACKS])
{
    struct where *last = &where[model->n_stacks - 1];
    for (int i = 0; i < model->n_stacks; i++)
        find_tensors(model, i, reference, &where[i]);
    if (model->shared_tokens) last->first[MODEL_WTE] = where[0].first[MODEL_WTE];
    if (model->tied) last->first[MODEL_LM_HEAD_W] = last->first[MODEL_WTE];
}

/* Append the tensor of @p kind to the stage's vector, if the model has it. */
static void add_view(struct model *model, const struct where *where, struct model_stage *s,
                     int kind, int expert)
{
    int tensor = where->first[kind];
    if (tensor < 0) return;
    if (s->layer >= 0) tensor += (s->layer - where->first_layer) * where->stride;
    tensor += expert * where->expert_stride;
    s->view[s->n_views++] = (struct model_view){tensor, s->n_elems};
    s->n_elems += model->tensor[tensor].n_elems;
}

/* Append those tensors of the given kinds that the model has, each followed by its adapter. */
static void add_views(struct model *model, const struct where *where, struct model_stage *s,
                      const enum model_tensor_kind *kind, int n_kinds, int expert)
{
    for (int i = 0; i < n_kinds; i++) {
        add_view(model, where, s, (int)kind[i], expert);
        add_view(model, where, s, MODEL_ADAPTER_A + (int)kind[i], expert);
        add_view(model, where, s, MODEL_ADAPTER_B + (int)kind[i], expert);
    }
}

/* Append a part: its tensors, those of each expert, and what follows them. */
static void add_part(struct model *model, const struct where *where, struct model_stage *s,
                     enum model_part part)
{
    const struct part_row *row = &part_rows[part];
    s->part[s->n_parts++] = part;
    where += part == MODEL_PART_MEMORY ? 0 : s->stack;
    add_views(model, where, s, row->kind, row->n_kinds, 0);
    for (int e = 0; e < (int)model_n_ffns(model); e++)
        add_views(model, where, s, row->ffn_kind, row->n_ffn_kinds, e);
    add_views(model, where, s, row->last_kind, row->n_last_kinds, 0);
    s->first_view[s->n_parts] = s->n_views;
}

/* The next stage, whose views begin where those of the last one end; its name is that of the stack,
 * where there are two, the block and the part. */
static struct model_stage *next_stage(struct model *model, const struct where *where, int stack,
                                      int layer, const char *part)
{
    static const char *const name[MODEL_MAX_STACKS] = {"encoder.", "decoder."};
    struct model_stage *s = &model->stage[model->n_stages++];
    const struct model_stage *last = model->n_stages > 1 ? s - 1 : NULL;
    const char *of = model->n_stacks > 1 ? name[stack] : where->prefix, *dot = *part ? "." : "";
    s->layer = layer;
    s->stack = stack;
    s->view = last ? last->view + last->n_views : model->view;
    if (layer < 0)
        (void)snprintf(s->name, sizeof s->name, "%s%s", of, part);
    else
        (void)snprintf(s->name, sizeof s->name, "%slayers.%d%s%s", of,
                       layer - (int)model->stack[stack].first, dot, part);
    return s;
}

/* A stage of one part. */
static void add_single(struct model *model, const struct where *where, enum model_part part,
                       int stack, int layer)
{
    add_part(model, where, next_stage(model, where, stack, layer, part_rows[part].name), part);
}

static bool is_in_block(const struct model_stack *stack, enum model_part part)
{
    const bool cross = part == MODEL_PART_CROSS_QKV || part == MODEL_PART_CROSS_ATTN;
    return part >= MODEL_PART_QKV && part <= MODEL_PART_FFN1 && (!cross || stack->cross);
}

/* The parts of a block, in one stage or each in its own. */
static void add_block(struct model *model, const struct where *where, int stack, int layer,
                      bool whole)
{
    struct model_stage *s = whole ? next_stage(model, where, stack, layer, "") : NULL;
    for (int part = 0; part < MODEL_N_PARTS; part++) {
        if (!is_in_block(&model->stack[stack], (enum model_part)part)) continue;
        if (whole)
            add_part(model, where, s, (enum model_part)part);
        else
            add_single(model, where, (enum model_part)part, stack, layer);
    }
}

/* The embedding of a stack; that of a decoder begins with the norm of the encoder's output. */
static void add_embedding(struct model *model, const struct where *where, int stack, bool whole)
{
    struct model_stage *s = NULL;
    if (!model->stack[stack].cross || !whole) {
        if (model->stack[stack].cross) add_single(model, where, MODEL_PART_MEMORY, stack, -1);
        add_single(model, where, MODEL_PART_EMBED, stack, -1);
        return;
    }
    s = next_stage(model, where, stack, -1, part_rows[MODEL_PART_EMBED].name);
    add_part(model, where, s, MODEL_PART_MEMORY);
    add_part(model, where, s, MODEL_PART_EMBED);
}

/* Longest stage, and the first stage of each tensor. */
static void measure(struct model *model)
{
    for (int i = model->n_stages - 1; i >= 0; i--) {
        const struct model_stage *s = &model->stage[i];
        if (s->n_elems > model->n_stage_elems_max) model->n_stage_elems_max = s->n_elems;
        for (int v = 0; v < s->n_views; v++)
            model->tensor[s->view[v].tensor].first_stage = i;
    }
}

/* The stages of the reference model, or of the other one. */
static void add_stages(struct model *model, bool reference, bool whole)
{
    struct where where[MODEL_MAX_STACKS] = {0};
    find_all(model, reference, where);
    for (int stack = 0; stack < model->n_stacks; stack++) {
        const struct model_stack *s = &model->stack[stack];
        add_embedding(model, where, stack, whole);
        for (int layer = 0; layer < (int)s->L; layer++)
            add_block(model, where, stack, (int)s->first + layer, whole);
    }
    add_single(model, where, MODEL_PART_HEAD, model->n_stacks - 1, -1);
    if (model->n_stacks > 1)
        (void)snprintf(model->stage[model->n_stages - 1].name, sizeof model->stage->name, "head");
}

/* The reference model of preference optimization goes first: its probabilities are known when those
 * of the policy are, whose gradients need them. */
enum wsc_err model_build_stages(struct model *model, enum hw_granularity granularity)
{
    enum { OUTSIDE = 4 };
    const bool whole = granularity == HW_STREAM_BLOCK;
    const int64_t n_models = model->n_reference ? 2 : 1;
    TRY_NEW(model->stage, WSC_MEM_MODEL,
            n_models * (OUTSIDE + model->L * (whole ? 1 : PARTS_PER_BLOCK)));
    TRY_NEW(model->view, WSC_MEM_MODEL,
            model->n_tensors + n_models * (model->tied + model->shared_tokens));
    if (model->n_reference) add_stages(model, true, whole);
    model->first_policy = model->n_stages;
    add_stages(model, false, whole);
    measure(model);
    return WSC_OK;
}
