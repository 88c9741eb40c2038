// SPDX-License-Identifier: Apache-2.0
#include "model_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>

enum { MAX_KINDS = 10, N_PARTS = 6, PARTS_PER_BLOCK = 4 };

/** What one part streams, in order.  Kinds that a model lacks are left out. */
struct part_row {
    const char *name;
    int n_kinds;
    enum model_tensor_kind kind[MAX_KINDS];
};

static const struct part_row part_rows[N_PARTS] = {
    [MODEL_PART_EMBED] = {"embed",
                          5,
                          {MODEL_WTE, MODEL_WPE, MODEL_WTT, MODEL_NORME_W, MODEL_NORME_B}},
    [MODEL_PART_QKV] = {"qkv",
                        8,
                        {MODEL_NORM1_W, MODEL_NORM1_B, MODEL_Q_W, MODEL_Q_B, MODEL_K_W, MODEL_K_B,
                         MODEL_V_W, MODEL_V_B}},
    [MODEL_PART_ATTN] = {"attn", 2, {MODEL_O_W, MODEL_O_B}},
    [MODEL_PART_FFN0] = {"ffn0", 4, {MODEL_NORM3_W, MODEL_NORM3_B, MODEL_FFN0_W, MODEL_FFN0_B}},
    [MODEL_PART_FFN1] = {"ffn1", 2, {MODEL_FFN1_W, MODEL_FFN1_B}},
    [MODEL_PART_HEAD] = {"head",
                         10,
                         {MODEL_NORMF_W, MODEL_NORMF_B, MODEL_DENSE_W, MODEL_DENSE_B,
                          MODEL_DENSE_NORM_W, MODEL_DENSE_NORM_B, MODEL_CLASS_W, MODEL_CLASS_B,
                          MODEL_LM_HEAD_W, MODEL_LM_HEAD_B}},
};

/** Where the tensors of each kind are: index = first + layer * stride; -1 = no such tensor. */
struct where {
    int first[MODEL_N_TENSOR_KINDS];
    int stride;
};

static void find_tensors(const struct model *model, struct where *where)
{
    *where = (struct where){.stride = 0};
    for (int kind = 0; kind < MODEL_N_TENSOR_KINDS; kind++)
        where->first[kind] = -1;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        where->stride += t->layer == 0;
        if (t->layer <= 0) where->first[t->kind] = i;
    }
    if (model->tied) where->first[MODEL_LM_HEAD_W] = where->first[MODEL_WTE];
}

static void add_part(const struct model *model, const struct where *where, struct model_stage *s,
                     enum model_part part)
{
    const struct part_row *row = &part_rows[part];
    s->part[s->n_parts++] = part;
    for (int i = 0; i < row->n_kinds; i++) {
        int tensor = where->first[row->kind[i]];
        if (tensor < 0) continue;
        if (s->layer > 0) tensor += s->layer * where->stride;
        WSC_CHECK(s->n_views < MODEL_MAX_VIEWS, "views of %s", s->name);
        s->view[s->n_views++] = (struct model_view){tensor, s->n_elems};
        s->n_elems += model->tensor[tensor].n_elems;
    }
}

static struct model_stage *next_stage(struct model *model, int layer)
{
    struct model_stage *s = &model->stage[model->n_stages++];
    s->layer = layer;
    return s;
}

static void add_single(struct model *model, const struct where *where, enum model_part part,
                       int layer)
{
    struct model_stage *s = next_stage(model, layer);
    if (layer < 0)
        (void)snprintf(s->name, sizeof s->name, "%s", part_rows[part].name);
    else
        (void)snprintf(s->name, sizeof s->name, "layers.%d.%s", layer, part_rows[part].name);
    add_part(model, where, s, part);
}

static void add_block(struct model *model, const struct where *where, int layer)
{
    struct model_stage *s = next_stage(model, layer);
    (void)snprintf(s->name, sizeof s->name, "layers.%d", layer);
    for (int part = MODEL_PART_QKV; part <= MODEL_PART_FFN1; part++)
        add_part(model, where, s, (enum model_part)part);
}

enum wsc_err model_build_stages(struct model *model, enum conf_granularity granularity)
{
    struct where where;
    bool whole = granularity == CONF_STREAM_BLOCK;
    find_tensors(model, &where);
    TRY_NEW(model->stage, WSC_MEM_MODEL, 2 + model->L * (whole ? 1 : PARTS_PER_BLOCK));
    add_single(model, &where, MODEL_PART_EMBED, -1);
    for (int layer = 0; layer < (int)model->L; layer++) {
        if (whole) add_block(model, &where, layer);
        for (int part = MODEL_PART_QKV; part <= MODEL_PART_FFN1 && !whole; part++)
            add_single(model, &where, (enum model_part)part, layer);
    }
    add_single(model, &where, MODEL_PART_HEAD, -1);
    for (int i = 0; i < model->n_stages; i++)
        if (model->stage[i].n_elems > model->n_stage_elems_max)
            model->n_stage_elems_max = model->stage[i].n_elems;
    return WSC_OK;
}

int model_stage_find(const struct model *model, const struct model_stage *stage,
                     enum model_tensor_kind kind)
{
    for (int i = 0; i < stage->n_views; i++)
        if (model->tensor[stage->view[i].tensor].kind == kind) return i;
    return -1;
}
