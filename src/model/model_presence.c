// SPDX-License-Identifier: Apache-2.0
/* Conditions of the table of tensors: what the model, its section of the params file and the stack
 * must be for a tensor to exist.  Biases of norms exist in LayerNorm alone.  model_tensors.c asks
 * for each row and stack. */
#include "model_presence.h"

/* What the conditions are made of. */
struct about {
    const struct model *model;
    const struct zoo_model *m;
    bool norm_bias;           /* norms have biases */
    bool causal, cross, last; /* of the stack; norms after the sums */
};

static void set_embeddings(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    const struct model *model = a->model;
    const bool norm = model->zoo.embedding_layer_norm;
    const bool learned = a->m->position_embedding_type == ZOO_POSITION_LEARNED;
    is[MODEL_ALWAYS] = true;
    is[MODEL_IF_TOKENS] = !model->patch && (!a->cross || !model->shared_tokens);
    is[MODEL_IF_LEARNED] = learned && !model->patch;
    is[MODEL_IF_RELATIVE] = model->buckets > 0 && !model->slopes;
    is[MODEL_IF_SLOPES] = model->slopes;
    is[MODEL_IF_TOKEN_TYPES] = model->token_types > 0;
    is[MODEL_IF_EMBED_NORM] = norm && a->causal;
    is[MODEL_IF_EMBED_NORM_BIAS] = norm && a->causal && a->norm_bias;
    is[MODEL_IF_ENCODER_EMBED_NORM] = norm && !a->causal;
}

/* What diffusion transformers have, and others have not. */
static void set_diffusion(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    const bool on = a->model->patch > 0;
    const bool transposed = a->m->diffusion.use_conv_transpose_unpatchify;
    is[MODEL_IF_DIFFUSION] = on;
    is[MODEL_IF_LEARNED_PATCHES] = on && a->m->position_embedding_type == ZOO_POSITION_LEARNED;
    is[MODEL_IF_TRANSPOSED] = on && transposed;
    is[MODEL_IF_NOT_TRANSPOSED] = on && !transposed;
}

static void set_heads(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    const struct model_head *head = a->model->head;
    const struct model_head *classes = model_head_of(a->model, MODEL_CLASS_W);
    const bool tokens = head->output == MODEL_LM_HEAD_W;
    is[MODEL_IF_UNTIED] = tokens && !a->m->share_embedding_weights;
    is[MODEL_IF_HEAD_BIAS] = tokens && head->bias;
    is[MODEL_IF_MASKED] = head->dense == MODEL_DENSE_W;
    is[MODEL_IF_POOLED] = classes && classes->dense == MODEL_POOL_W;
    is[MODEL_IF_POOLER_BIAS] =
        is[MODEL_IF_POOLED] && (a->m->use_ffn_bias || a->m->name == ZOO_ESM2);
    is[MODEL_IF_CLASSES] = classes != NULL;
    is[MODEL_IF_CLASS_BIAS] = classes && classes->bias;
}

/* Norms of blocks and of stacks; those of diffusion transformers have no tensors of their own. */
static void set_norms(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    const struct model *model = a->model;
    const bool both = model->n_stacks > 1, last = a->last, first = !last && !model->patch;
    is[MODEL_IF_NORM_FIRST] = first;
    is[MODEL_IF_NORM_LAST] = last;
    is[MODEL_IF_NORM2_LAST] = last && !a->cross;
    is[MODEL_IF_NORM3] = first && model->norm3 && a->causal;
    is[MODEL_IF_ENCODER_NORM3] = first && !a->causal;
    is[MODEL_IF_SANDWICH] = model->zoo.norm_first_sandwich;
    is[MODEL_IF_MEMORY] = both && !a->cross;
    is[MODEL_IF_FINAL_NORM] = !both && !a->causal && a->m->use_final_layer_norm;
    is[MODEL_IF_CAUSAL] = a->causal;
    is[MODEL_IF_CROSS_FIRST] = first && a->cross;
    is[MODEL_IF_CROSS_LAST] = last && a->cross;
}

/* Biases of the norms of set_norms(). */
static void set_norm_biases(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    static const enum model_presence pair[][2] = {
        {MODEL_IF_NORM_BIAS, MODEL_IF_NORM_FIRST},
        {MODEL_IF_NORM_LAST_BIAS, MODEL_IF_NORM_LAST},
        {MODEL_IF_NORM2_LAST_BIAS, MODEL_IF_NORM2_LAST},
        {MODEL_IF_NORM3_BIAS, MODEL_IF_NORM3},
        {MODEL_IF_ENCODER_NORM3_BIAS, MODEL_IF_ENCODER_NORM3},
        {MODEL_IF_SANDWICH_BIAS, MODEL_IF_SANDWICH},
        {MODEL_IF_MEMORY_BIAS, MODEL_IF_MEMORY},
        {MODEL_IF_CAUSAL_NORM_BIAS, MODEL_IF_CAUSAL},
        {MODEL_IF_CROSS_FIRST_BIAS, MODEL_IF_CROSS_FIRST},
        {MODEL_IF_CROSS_LAST_BIAS, MODEL_IF_CROSS_LAST},
    };
    for (int i = 0; i < (int)(sizeof pair / sizeof *pair); i++)
        is[pair[i][0]] = is[pair[i][1]] && a->norm_bias;
}

static void set_projections(bool is[static MODEL_N_PRESENCES], const struct about *a)
{
    const struct zoo_model *m = a->m;
    is[MODEL_IF_QKV_BIAS] = m->use_projection_bias_in_attention;
    is[MODEL_IF_O_BIAS] = m->use_ffn_bias_in_attention;
    is[MODEL_IF_QK_NORM] = model_norms_heads(a->model);
    is[MODEL_IF_QK_NORM_BIAS] = m->attention_qk_norm_layer == ZOO_QK_LAYERNORM;
    is[MODEL_IF_CROSS] = a->cross;
    is[MODEL_IF_CROSS_QKV_BIAS] = a->cross && m->use_projection_bias_in_attention;
    is[MODEL_IF_CROSS_O_BIAS] = a->cross && m->use_ffn_bias_in_attention;
    is[MODEL_IF_FFN_BIAS] = m->use_ffn_bias;
    is[MODEL_IF_GATED] = a->model->gated;
    is[MODEL_IF_GATED_BIAS] = a->model->gated && m->use_ffn_bias;
    is[MODEL_IF_ROUTED] = a->model->experts > 0;
}

bool model_is_present(enum model_presence when, const struct model *model,
                      const struct zoo_model *m, const struct model_stack *stack)
{
    const struct about a = {.model = model,
                            .m = m,
                            .norm_bias = m->norm_type == ZOO_LAYERNORM,
                            .causal = stack->causal,
                            .cross = stack->cross,
                            .last = model->norm_last};
    bool is[MODEL_N_PRESENCES] = {false};
    set_embeddings(is, &a);
    set_diffusion(is, &a);
    set_heads(is, &a);
    set_norms(is, &a);
    set_norm_biases(is, &a);
    set_projections(is, &a);
    return is[when];
}
