// SPDX-License-Identifier: Apache-2.0
/* What the Model Zoo's optimizers make of a tensor (release 2.10, common/optim_utils.py). Weight
 * decay spares parameters with "bias" in their name, and those of PyTorch's classes of norms;
 * RMSNorm is a class of the Model Zoo and decays. The order of parameters is that in which the
 * classes of models and layers register them, which PyTorch's optimizer states depend on.
 * model_tensors.c calls, memoryx_groups.c makes the groups. */
#include "model_parameters.h"

#include <wsc/check.h>

#include <string.h>

/** Which class a norm has: that of norm_type, that of attention_qk_norm_layer, or LayerNorm. */
enum norm_class { NO_NORM, MODEL_NORM, QK_NORM, LAYER_NORM };

/** Where a kind of tensor comes among those of a block, or among those of its part outside of the
 *  blocks: in a decoder, and in an encoder. */
struct place {
    signed char decoder, encoder;
    enum norm_class norm;
};

#define BOTH(kind, place)   [kind##_W] = {place, place, NO_NORM}, [kind##_B] = {place, place, NO_NORM}
#define NORM(kind, d, e, c) [kind##_W] = {d, e, c}, [kind##_B] = {d, e, c}

/* Decoders register attention, norms, attention to the encoder, its norm, networks; encoders
 * attention, network, norms. Norms of queries and keys come before the output projection. */
static const struct place places[MODEL_N_KINDS] = {
    /* blocks */
    BOTH(MODEL_Q, 0),
    BOTH(MODEL_K, 0),
    BOTH(MODEL_V, 0),
    NORM(MODEL_Q_NORM, 1, 1, QK_NORM),
    NORM(MODEL_K_NORM, 1, 1, QK_NORM),
    BOTH(MODEL_O, 2),
    NORM(MODEL_NORM1, 3, 11, MODEL_NORM),
    BOTH(MODEL_SCALE1, 3),
    BOTH(MODEL_SHIFT1, 3),
    NORM(MODEL_NORM3, 4, 13, MODEL_NORM),
    BOTH(MODEL_SCALE3, 4),
    BOTH(MODEL_SHIFT3, 4),
    NORM(MODEL_NORM1_POST, 5, 12, MODEL_NORM),
    NORM(MODEL_NORM3_POST, 6, 14, MODEL_NORM),
    BOTH(MODEL_CROSS_Q, 7),
    BOTH(MODEL_CROSS_K, 7),
    BOTH(MODEL_CROSS_V, 7),
    BOTH(MODEL_CROSS_O, 7),
    NORM(MODEL_CROSS_NORM, 8, 8, MODEL_NORM),
    NORM(MODEL_CROSS_POST, 8, 8, MODEL_NORM),
    [MODEL_ROUTER_W] = {9, 9, NO_NORM},
    BOTH(MODEL_FFN0, 9),
    BOTH(MODEL_GLU, 9),
    BOTH(MODEL_FFN1, 9),
    BOTH(MODEL_GATE1, 10),
    BOTH(MODEL_GATE3, 10),
    /* embeddings of a stack */
    [MODEL_WTE] = {0, 0, NO_NORM},
    BOTH(MODEL_PATCH, 0),
    [MODEL_WPE] = {1, 1, NO_NORM},
    [MODEL_RELATIVE_W] = {1, 1, NO_NORM},
    [MODEL_WTT] = {2, 2, NO_NORM},
    BOTH(MODEL_TIME0, 2),
    BOTH(MODEL_TIME1, 2),
    [MODEL_LABEL_W] = {3, 3, NO_NORM},
    NORM(MODEL_NORME, 4, 4, MODEL_NORM),
    /* final norms */
    NORM(MODEL_NORMF, 0, 0, MODEL_NORM),
    NORM(MODEL_MEMORY, 0, 0, MODEL_NORM),
    /* heads */
    BOTH(MODEL_POOL, 0),
    BOTH(MODEL_CLASS, 1),
    BOTH(MODEL_DENSE, 2),
    NORM(MODEL_DENSE_NORM, 2, 2, LAYER_NORM),
    BOTH(MODEL_NOISE, 2),
    BOTH(MODEL_SCALEF, 3),
    BOTH(MODEL_SHIFTF, 3),
    BOTH(MODEL_LM_HEAD, 4),
};

/** Parts of a model in the order of registration: the embeddings of all stacks, the final norm of a
 *  model that is a decoder, then per stack its blocks and its final norm, then the heads. */
enum part {
    EMBEDDINGS,
    FINAL_NORM = MODEL_MAX_STACKS,
    BLOCKS,
    HEADS = BLOCKS + 2 * MODEL_MAX_STACKS
};

static int part_of(const struct model_tensor *t, const struct model *model)
{
    switch ((int)model_base_kind(t->kind)) {
    case MODEL_NORMF_W:
    case MODEL_NORMF_B:
    case MODEL_MEMORY_W:
    case MODEL_MEMORY_B:
        if (model->causal && model->n_stacks == 1) return FINAL_NORM;
        return BLOCKS + 2 * t->stack + 1;
    case MODEL_WTE:
    case MODEL_WPE:
    case MODEL_WTT:
    case MODEL_RELATIVE_W:
    case MODEL_NORME_W:
    case MODEL_NORME_B:
    case MODEL_PATCH_W:
    case MODEL_PATCH_B:
    case MODEL_TIME0_W:
    case MODEL_TIME0_B:
    case MODEL_TIME1_W:
    case MODEL_TIME1_B:
    case MODEL_LABEL_W:
        return EMBEDDINGS + t->stack;
    default:
        return t->layer < 0 ? HEADS : BLOCKS + 2 * t->stack;
    }
}

/* ESM-2's classifier of proteins registers its output layer before its pooler. */
static int place_of(const struct model_tensor *t, const struct model *model)
{
    const enum model_tensor_kind kind = model_base_kind(t->kind);
    const bool decoder = model->stack[t->stack].causal || model->patch;
    const bool pooler = kind == MODEL_POOL_W || kind == MODEL_POOL_B;
    if (pooler && !strncmp(t->name, "classifier.", strlen("classifier.")))
        return places[MODEL_CLASS_W].decoder + 1;
    return decoder ? places[kind].decoder : places[kind].encoder;
}

/* PyTorch's classes are LayerNorm and, since release 2.4 of the Model Zoo, LayerNorm without its
 * bias. */
static bool is_spared_norm(enum norm_class norm, const struct zoo_model *m)
{
    switch (norm) {
    case MODEL_NORM:
        return m->norm_type != ZOO_RMSNORM;
    case QK_NORM:
        return m->attention_qk_norm_layer != ZOO_QK_RMSNORM;
    case LAYER_NORM:
        return true;
    case NO_NORM:
        break;
    }
    return false;
}

/* Entries with one tag have the bit of the first. */
static unsigned tags_of(const struct zoo_groups *g, const char *name)
{
    unsigned tags = 0;
    for (int i = 0; i < g->n_tags; i++) {
        int first = 0;
        while (strcmp(g->tag[first].tag, g->tag[i].tag) != 0)
            first++;
        if (zoo_tag_matches(&g->tag[i], name)) tags |= 1U << first;
    }
    return tags;
}

void model_set_parameter(struct model_tensor *t, const struct model *model,
                         const struct zoo_optimizer *optimizer)
{
    enum { PLACES = 32, LAYERS = 1 << 20 };
    const int place = place_of(t, model);
    WSC_CHECK(place < PLACES && t->layer + 1 < LAYERS, "%s: place %d of layer %d", t->name, place,
              t->layer);
    t->registered = ((int64_t)part_of(t, model) * LAYERS + t->layer + 1) * PLACES + place;
    t->decay = !strstr(t->name, "bias") &&
               !is_spared_norm(places[model_base_kind(t->kind)].norm, &model->zoo);
    t->tags = tags_of(&optimizer->groups, t->name);
    t->tagged_rate = 1 + zoo_tagged_find(optimizer, t->name, false);
    t->tagged_decay = 1 + zoo_tagged_find(optimizer, t->name, true);
}
