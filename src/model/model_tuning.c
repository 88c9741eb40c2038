// SPDX-License-Identifier: Apache-2.0
/* Fine-tuning as properties of tensors: which matrices have low-rank adapters (Hu et al. 2021),
 * which tensors are frozen, and of which some weights train.  A module is named, as the Model Zoo
 * does, by the classes and the attributes on the way to it.  Everything else follows from the table
 * of tensors: what streams up, what the optimizer updates, where the backward pass ends.
 * model_tensors.c asks for adapters row by row; model.c freezes at the end. */
#include "model_tuning.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- modules --------------------------------------------------------------------------------- */

/* Bytes of a tensor's list of modules. */
enum { WAY = 512 };

/* Classes of the Model Zoo on the way to the tensors whose names match; linear layers come last,
 * because they end the way. */
static const struct {
    const char *names, *classes;
} modules[] = {
    {"*", "GPT2LMHeadModel GPTJModel"},
    {"*.transformer_decoder.*", "TransformerDecoder"},
    {"*.layers.*", "ModuleList TransformerDecoderLayer GPTJDecoderLayer"},
    {"*.self_attn.*", "MultiheadAttention MultiQueryAttention"},
    {"*.ffn.*", "FeedForwardNetwork SingleFeedForwardLayer"},
    {"*.embedding_layer.*", "EmbeddingLayer Embedding"},
    {"*_dense_layer.weight", "Linear"},
    {"*.linear_layer*.weight", "Linear"},
    {"*.gate.weight", "Linear"},
    {"*lm_head.weight", "Linear"},
};

/* The names on the way to the module of tensor @p name, with blanks around each. */
static void modules_of(const char *name, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, " ");
    for (size_t i = 0; i < sizeof modules / sizeof *modules && n < size; i++)
        if (!fnmatch(modules[i].names, name, 0))
            n += (size_t)snprintf(out + n, size - n, "%s ", modules[i].classes);
    if (n < size) (void)snprintf(out + n, size - n, "%s ", name);
    for (size_t i = 0; i < size && out[i]; i++)
        if (out[i] == '.') out[i] = ' ';
}

/* ---- adapters -------------------------------------------------------------------------------- */

/* The linear layers of blocks with one feed-forward network, embeddings of tokens and positions,
 * and the output layer, unless the last two are one matrix. */
static bool may_have_adapter(const struct model *model, const struct model_tensor *t)
{
    switch ((int)t->kind) {
    case MODEL_WTE:
    case MODEL_LM_HEAD_W:
        return !model->tied;
    case MODEL_WPE:
    case MODEL_Q_W:
    case MODEL_K_W:
    case MODEL_V_W:
    case MODEL_O_W:
        return true;
    case MODEL_FFN0_W:
    case MODEL_GLU_W:
    case MODEL_FFN1_W:
        return model->experts == 0;
    default:
        return false;
    }
}

/* Matrices that the Model Zoo gives adapters: linear layers and embeddings. */
static bool is_module(const struct model_tensor *t)
{
    return t->n_dims == 2;
}

enum wsc_err model_take_adapter(struct model *model, const struct zoo_params *params,
                                const struct model_tensor *tensor)
{
    char way[WAY];
    if (!params->model.lora_params.n || !is_module(tensor)) return WSC_OK;
    modules_of(tensor->name, way, sizeof way);
    const struct zoo_lora *lora = zoo_lora_find(&params->model.lora_params, way);
    if (!lora) return WSC_OK;
    if (!may_have_adapter(model, tensor) || !model->causal)
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG,
                      "%s: adapters of %s are not supported; those of the linear layers of dense "
                      "decoder blocks are, and of embeddings and output layers that are not tied",
                      zoo_params_place(params, "model.lora_params"), tensor->name),
            "target_modules: [TransformerDecoderLayer, Linear]");
    model->adapter[tensor->kind] =
        (struct model_adapter){.r = lora->r,
                               .scale = lora->alpha / (double)lora->r,
                               .dropout = model_is_table(tensor->kind) ? 0 : lora->dropout};
    return WSC_OK;
}

static bool has_adapters(const struct model *model)
{
    for (int kind = 0; kind < MODEL_N_KINDS; kind++)
        if (model->adapter[kind].r) return true;
    return false;
}

static enum wsc_err raise_unused(const struct zoo_params *params, int entry)
{
    const char *place = zoo_params_place(params, "model.lora_params"),
               *again = entry ? " that no earlier entry takes" : "";
    char which[32] = "";
    if (params->model.lora_params.n > 1)
        (void)snprintf(which, sizeof which, "entry %d: ", entry + 1);
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: %sno module%s has all target_modules", place, which, again),
        "target_modules: [TransformerDecoderLayer, Linear]");
}

/* Every entry of the list gives a module its adapter. */
static enum wsc_err check_adapters(const struct model *model, const struct zoo_params *params)
{
    const struct zoo_loras *loras = &params->model.lora_params;
    bool used[ZOO_MAX_LORAS] = {false};
    char way[WAY];
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        if (t->kind >= MODEL_N_KINDS || !is_module(t)) continue;
        modules_of(t->name, way, sizeof way);
        const struct zoo_lora *lora = zoo_lora_find(loras, way);
        if (lora) used[lora - loras->entry] = true;
    }
    for (int i = 0; i < loras->n; i++)
        if (!used[i]) return raise_unused(params, i);
    return WSC_OK;
}

/* ---- frozen tensors -------------------------------------------------------------------------- */

static enum wsc_err check_patterns(const struct model *model, const struct zoo_params *params)
{
    const struct zoo_patterns *freeze = &params->model.freeze;
    for (int k = 0; k < freeze->n; k++) {
        bool found = false;
        for (int i = 0; i < model->n_tensors && !found; i++)
            found = zoo_patterns_match(freeze, k, model->tensor[i].name);
        if (!found)
            return WSC_RAISE(WSC_CONFIG, "%s: %s occurs in the name of no tensor",
                             zoo_params_place(params, "model.freeze"), freeze->pattern[k]);
    }
    return WSC_OK;
}

/* Globs of whole names; without one all matrices but embeddings and the output layer. */
static enum wsc_err take_selected(struct model *model, const struct zoo_params *params)
{
    const struct zoo_selective *s = &params->model.selective_grad;
    const char *place = zoo_params_place(params, "model.selective_grad");
    int n = 0;
    for (int i = 0; i < model->n_tensors; i++) {
        struct model_tensor *t = &model->tensor[i];
        t->selected = !t->frozen && zoo_selective_takes(s, t->name, t->n_dims);
        n += t->selected;
        if (t->selected && model_sparsity_of(model, i))
            return WSC_RAISE(WSC_CONFIG, "%s: %s is sparse; not together", place, t->name);
    }
    for (int k = 0; k < s->names.n; k++) {
        bool found = false, trains = false;
        for (int i = 0; i < model->n_tensors && !trains; i++)
            if (zoo_patterns_match(&s->names, k, model->tensor[i].name)) {
                found = true;
                trains = !model->tensor[i].frozen;
            }
        if (!trains)
            return WSC_RAISE(WSC_CONFIG, "%s: %s matches the name of no tensor%s", place,
                             s->names.pattern[k], found ? " that trains" : "");
    }
    if (s->on && !n)
        return WSC_RAISE(WSC_CONFIG, "%s: all tensors that it names are frozen", place);
    return WSC_OK;
}

/* A tag without tensors that train is an error, as it is in the Model Zoo. */
static enum wsc_err check_tags(const struct model *model, const struct zoo_params *params)
{
    const struct zoo_groups *groups = &params->optimizer.groups;
    const char *place = zoo_params_place(params, "optimizer.params");
    for (int k = 0; k < groups->n_tags; k++) {
        const struct zoo_tag *tag = &groups->tag[k];
        bool found = false, trains = false;
        for (int i = 0; i < model->n_tensors && !trains; i++)
            if (zoo_tag_matches(tag, model->tensor[i].name)) {
                found = true;
                trains = !model->tensor[i].frozen;
            }
        if (found && !trains)
            return WSC_RAISE(WSC_CONFIG, "%s: all tensors with the tag %s are frozen", place,
                             tag->tag);
        if (!found)
            return WSC_RAISE(WSC_CONFIG,
                             "%s: the name of no tensor ends as the globs of tag %s say, the first "
                             "of them %s",
                             place, tag->tag, tag->names.pattern[0]);
    }
    return WSC_OK;
}

/* Adapters and masks change weights in ways that are not defined together. */
static enum wsc_err check_sparsity(const struct model *model, const struct zoo_params *params)
{
    for (int i = 0; i < model->n_tensors; i++)
        if (model->tensor[i].frozen && model_sparsity_of(model, i))
            return WSC_RAISE(WSC_CONFIG, "%s: %s is frozen; not together in this release",
                             zoo_params_place(params, "sparsity"), model->tensor[i].name);
    return WSC_OK;
}

/* Elements of the gradients of each stage, and the lowest stage that has some. */
static void count_gradients(struct model *model)
{
    model->first_trained = model->n_stages - 1;
    for (int s = model->n_stages - 1; s >= 0; s--) {
        struct model_stage *st = &model->stage[s];
        st->n_grads = 0;
        for (int v = 0; v < st->n_views; v++)
            st->n_grads += model_gradient_elems(&model->tensor[st->view[v].tensor], NULL);
        if (st->n_grads) model->first_trained = s;
    }
    for (int i = 0; i < model->n_tensors; i++)
        model->tensor[i].backward = false;
    for (int s = model->first_trained; s < model->n_stages; s++)
        for (int v = 0; v < model->stage[s].n_views; v++)
            model->tensor[model->stage[s].view[v].tensor].backward = true;
}

int model_idle_blocks(const struct model *model, int stack)
{
    int n = 0;
    for (int s = model->first_policy; s < model->first_trained; s++) {
        const struct model_stage *st = &model->stage[s];
        if (st->layer >= 0 && st->stack == stack && model->stage[s + 1].layer != st->layer) n++;
    }
    return n;
}

enum wsc_err model_take_frozen(struct model *model, const struct zoo_params *params)
{
    const struct zoo_patterns *freeze = &params->model.freeze;
    const bool adapters = has_adapters(model);
    TRY(check_adapters(model, params));
    TRY(check_patterns(model, params));
    model->n_trained = 0;
    for (int i = 0; i < model->n_tensors; i++) {
        struct model_tensor *t = &model->tensor[i];
        t->frozen = t->reference || (adapters && t->kind < MODEL_N_KINDS) ||
                    zoo_patterns_find(freeze, t->name) >= 0;
        model->n_trained += t->frozen ? 0 : t->n_elems;
    }
    if (!model->n_trained)
        return WSC_RAISE(WSC_CONFIG, "%s: no tensor is left that trains",
                         zoo_params_place(params, "model.freeze"));
    TRY(check_tags(model, params));
    TRY(take_selected(model, params));
    count_gradients(model);
    return check_sparsity(model, params);
}
