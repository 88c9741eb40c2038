// SPDX-License-Identifier: Apache-2.0
/* The tensors of a model, one row for each kind: its name in the Model Zoo, where it stands, its
 * shape, how it starts.  Kinds that a model lacks are left out; the order is that of checkpoints.
 * model_create() calls, model_stages.c cuts the table into stages, model_parameters.c has what the
 * Model Zoo's optimizers make of a tensor.
 */
#include "model_tensors.h"

#include "model_init.h"
#include "model_lr_scale.h"
#include "model_mup.h"
#include "model_parameters.h"
#include "model_presence.h"
#include "model_tuning.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/** Once in a model, in every block, in every feed-forward network of every block. */
enum place { ONCE, IN_BLOCKS, IN_FFNS };

/** One kind of tensor.  `shape` is one or two of the letters of <wsc/model.h>, A query features, G
 *  key features, D those of a head, E experts, S token types, P rows of the position table, K
 *  classes, R buckets of relative positions, U elements of a patch, W frequencies of a time step, N
 *  biases of the output layer of noise, 1 one. */
struct row {
    const char *name, *alias; /**< after "model." or "model.<stack>.layers.N." or the name of
                                  its feed-forward network, see ffn_name() */
    const char *shape;
    enum model_tensor_kind kind;
    enum place place;
    enum model_init_rule rule;
    enum model_presence presence;
};

/* Names and order of the Model Zoo's GPT-2 family from release 2.1 on: embeddings, final norm,
 * layers (attention, norms, feed-forward), head; routers and experts as in release 2.10. */
static const struct row rows[] = {
    {"embedding_layer.word_embeddings.weight", "lm_head.weight", "VC", MODEL_WTE, ONCE,
     MODEL_RULE_EMBEDDING, MODEL_IF_TOKENS},
    {"embedding_layer.position_embeddings.embed.weight", "", "PC", MODEL_WPE, ONCE,
     MODEL_RULE_PLACE, MODEL_IF_LEARNED},
    {"embedding_layer.segment_embeddings.weight", "", "SC", MODEL_WTT, ONCE, MODEL_RULE_PLACE,
     MODEL_IF_TOKEN_TYPES},
    {"embedding_layer.position_embed_helper.relative_attention_bias.weight", "", "RH",
     MODEL_RELATIVE_W, ONCE, MODEL_RULE_RELATIVE, MODEL_IF_RELATIVE},
    {"embedding_layer.position_embed_helper.slopes", "", "H1", MODEL_RELATIVE_W, ONCE,
     MODEL_RULE_RELATIVE, MODEL_IF_SLOPES},
    {"embed_ln_f.weight", "", "C", MODEL_NORME_W, ONCE, MODEL_RULE_ONES,
     MODEL_IF_ENCODER_EMBED_NORM},
    {"embed_ln_f.bias", "", "C", MODEL_NORME_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_ENCODER_EMBED_NORM},
    {"embedding_ln_f.weight", "", "C", MODEL_NORME_W, ONCE, MODEL_RULE_ONES, MODEL_IF_EMBED_NORM},
    {"embedding_ln_f.bias", "", "C", MODEL_NORME_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_EMBED_NORM_BIAS},
    {"patch_embedding_layer.position_embeddings.weight", "", "PC", MODEL_WPE, ONCE,
     MODEL_RULE_PLACE, MODEL_IF_LEARNED_PATCHES},
    {"patch_embedding_layer.linear_proj.weight", "", "CU", MODEL_PATCH_W, ONCE, MODEL_RULE_DENSE,
     MODEL_IF_DIFFUSION},
    {"patch_embedding_layer.linear_proj.bias", "", "C", MODEL_PATCH_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"timestep_embedding_layer.ffn.ffn.0.linear_layer.weight", "", "CW", MODEL_TIME0_W, ONCE,
     MODEL_RULE_EMBEDDING, MODEL_IF_DIFFUSION},
    {"timestep_embedding_layer.ffn.ffn.0.linear_layer.bias", "", "C", MODEL_TIME0_B, ONCE,
     MODEL_RULE_ZEROS, MODEL_IF_DIFFUSION},
    {"timestep_embedding_layer.ffn.ffn.1.linear_layer.weight", "", "CC", MODEL_TIME1_W, ONCE,
     MODEL_RULE_EMBEDDING, MODEL_IF_DIFFUSION},
    {"timestep_embedding_layer.ffn.ffn.1.linear_layer.bias", "", "C", MODEL_TIME1_B, ONCE,
     MODEL_RULE_ZEROS, MODEL_IF_DIFFUSION},
    {"label_embedding_layer.weight", "", "VC", MODEL_LABEL_W, ONCE, MODEL_RULE_EMBEDDING,
     MODEL_IF_DIFFUSION},
    {"transformer_decoder.norm.weight", "ln_f.weight", "C", MODEL_NORMF_W, ONCE, MODEL_RULE_ONES,
     MODEL_IF_CAUSAL},
    {"transformer_decoder.norm.bias", "ln_f.bias", "C", MODEL_NORMF_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_CAUSAL_NORM_BIAS},
    {"transformer_encoder.norm.weight", "", "C", MODEL_NORMF_W, ONCE, MODEL_RULE_ONES,
     MODEL_IF_FINAL_NORM},
    {"transformer_encoder.norm.bias", "", "C", MODEL_NORMF_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_FINAL_NORM},
    {"transformer_encoder.norm.weight", "", "C", MODEL_MEMORY_W, ONCE, MODEL_RULE_ONES,
     MODEL_IF_MEMORY},
    {"transformer_encoder.norm.bias", "", "C", MODEL_MEMORY_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_MEMORY_BIAS},
    {"self_attn.proj_q_dense_layer.weight", "", "AC", MODEL_Q_W, IN_BLOCKS, MODEL_RULE_ATTENTION,
     MODEL_ALWAYS},
    {"self_attn.proj_q_dense_layer.bias", "", "A", MODEL_Q_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_QKV_BIAS},
    {"self_attn.proj_k_dense_layer.weight", "", "GC", MODEL_K_W, IN_BLOCKS, MODEL_RULE_ATTENTION,
     MODEL_ALWAYS},
    {"self_attn.proj_k_dense_layer.bias", "", "G", MODEL_K_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_QKV_BIAS},
    {"self_attn.proj_v_dense_layer.weight", "", "GC", MODEL_V_W, IN_BLOCKS, MODEL_RULE_ATTENTION,
     MODEL_ALWAYS},
    {"self_attn.proj_v_dense_layer.bias", "", "G", MODEL_V_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_QKV_BIAS},
    {"self_attn.proj_output_dense_layer.weight", "", "CA", MODEL_O_W, IN_BLOCKS,
     MODEL_RULE_ATTENTION_OUTPUT, MODEL_ALWAYS},
    {"self_attn.proj_output_dense_layer.bias", "", "C", MODEL_O_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_O_BIAS},
    {"self_attn.q_norm.weight", "", "D", MODEL_Q_NORM_W, IN_BLOCKS, MODEL_RULE_ONES,
     MODEL_IF_QK_NORM},
    {"self_attn.q_norm.bias", "", "D", MODEL_Q_NORM_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_QK_NORM_BIAS},
    {"self_attn.k_norm.weight", "", "D", MODEL_K_NORM_W, IN_BLOCKS, MODEL_RULE_ONES,
     MODEL_IF_QK_NORM},
    {"self_attn.k_norm.bias", "", "D", MODEL_K_NORM_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_QK_NORM_BIAS},
    {"multihead_attn.proj_q_dense_layer.weight", "", "AC", MODEL_CROSS_Q_W, IN_BLOCKS,
     MODEL_RULE_ATTENTION, MODEL_IF_CROSS},
    {"multihead_attn.proj_q_dense_layer.bias", "", "A", MODEL_CROSS_Q_B, IN_BLOCKS,
     MODEL_RULE_ZEROS, MODEL_IF_CROSS_QKV_BIAS},
    {"multihead_attn.proj_k_dense_layer.weight", "", "GC", MODEL_CROSS_K_W, IN_BLOCKS,
     MODEL_RULE_ATTENTION, MODEL_IF_CROSS},
    {"multihead_attn.proj_k_dense_layer.bias", "", "G", MODEL_CROSS_K_B, IN_BLOCKS,
     MODEL_RULE_ZEROS, MODEL_IF_CROSS_QKV_BIAS},
    {"multihead_attn.proj_v_dense_layer.weight", "", "GC", MODEL_CROSS_V_W, IN_BLOCKS,
     MODEL_RULE_ATTENTION, MODEL_IF_CROSS},
    {"multihead_attn.proj_v_dense_layer.bias", "", "G", MODEL_CROSS_V_B, IN_BLOCKS,
     MODEL_RULE_ZEROS, MODEL_IF_CROSS_QKV_BIAS},
    {"multihead_attn.proj_output_dense_layer.weight", "", "CA", MODEL_CROSS_O_W, IN_BLOCKS,
     MODEL_RULE_ATTENTION_OUTPUT, MODEL_IF_CROSS},
    {"multihead_attn.proj_output_dense_layer.bias", "", "C", MODEL_CROSS_O_B, IN_BLOCKS,
     MODEL_RULE_ZEROS, MODEL_IF_CROSS_O_BIAS},
    {"norm1.weight", "", "C", MODEL_NORM1_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_NORM_FIRST},
    {"norm1.bias", "", "C", MODEL_NORM1_B, IN_BLOCKS, MODEL_RULE_ZEROS, MODEL_IF_NORM_BIAS},
    {"norm1.weight", "", "C", MODEL_NORM1_POST_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_NORM_LAST},
    {"norm1.bias", "", "C", MODEL_NORM1_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_NORM_LAST_BIAS},
    {"norm2.weight", "", "C", MODEL_CROSS_NORM_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_CROSS_FIRST},
    {"norm2.bias", "", "C", MODEL_CROSS_NORM_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_CROSS_FIRST_BIAS},
    {"norm2.weight", "", "C", MODEL_CROSS_POST_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_CROSS_LAST},
    {"norm2.bias", "", "C", MODEL_CROSS_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_CROSS_LAST_BIAS},
    {"norm2.weight", "", "C", MODEL_NORM3_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_ENCODER_NORM3},
    {"norm2.bias", "", "C", MODEL_NORM3_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_ENCODER_NORM3_BIAS},
    {"norm2.weight", "", "C", MODEL_NORM3_POST_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_NORM2_LAST},
    {"norm2.bias", "", "C", MODEL_NORM3_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_NORM2_LAST_BIAS},
    {"norm3.weight", "", "C", MODEL_NORM3_POST_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_CROSS_LAST},
    {"norm3.bias", "", "C", MODEL_NORM3_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_CROSS_LAST_BIAS},
    {"norm3.weight", "", "C", MODEL_NORM3_W, IN_BLOCKS, MODEL_RULE_ONES, MODEL_IF_NORM3},
    {"norm3.bias", "", "C", MODEL_NORM3_B, IN_BLOCKS, MODEL_RULE_ZEROS, MODEL_IF_NORM3_BIAS},
    {"norm1_post.weight", "", "C", MODEL_NORM1_POST_W, IN_BLOCKS, MODEL_RULE_ONES,
     MODEL_IF_SANDWICH},
    {"norm1_post.bias", "", "C", MODEL_NORM1_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_SANDWICH_BIAS},
    {"norm3_post.weight", "", "C", MODEL_NORM3_POST_W, IN_BLOCKS, MODEL_RULE_ONES,
     MODEL_IF_SANDWICH},
    {"norm3_post.bias", "", "C", MODEL_NORM3_POST_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_SANDWICH_BIAS},
    {"norm1.scale_linear.1.weight", "", "CC", MODEL_SCALE1_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"norm1.scale_linear.1.bias", "", "C", MODEL_SCALE1_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"norm1.shift_linear.1.weight", "", "CC", MODEL_SHIFT1_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"norm1.shift_linear.1.bias", "", "C", MODEL_SHIFT1_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"norm3.scale_linear.1.weight", "", "CC", MODEL_SCALE3_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"norm3.scale_linear.1.bias", "", "C", MODEL_SCALE3_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"norm3.shift_linear.1.weight", "", "CC", MODEL_SHIFT3_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"norm3.shift_linear.1.bias", "", "C", MODEL_SHIFT3_B, IN_BLOCKS, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"gate_msa.1.weight", "", "CC", MODEL_GATE1_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"gate_msa.1.bias", "", "C", MODEL_GATE1_B, IN_BLOCKS, MODEL_RULE_ZEROS, MODEL_IF_DIFFUSION},
    {"gate_mlp.1.weight", "", "CC", MODEL_GATE3_W, IN_BLOCKS, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"gate_mlp.1.bias", "", "C", MODEL_GATE3_B, IN_BLOCKS, MODEL_RULE_ZEROS, MODEL_IF_DIFFUSION},
    {"ffn.gate.weight", "", "EC", MODEL_ROUTER_W, IN_BLOCKS, MODEL_RULE_ROUTER, MODEL_IF_ROUTED},
    {"0.linear_layer.weight", "", "FC", MODEL_FFN0_W, IN_FFNS, MODEL_RULE_FFN, MODEL_ALWAYS},
    {"0.linear_layer.bias", "", "F", MODEL_FFN0_B, IN_FFNS, MODEL_RULE_ZEROS, MODEL_IF_FFN_BIAS},
    {"0.linear_layer_for_glu.weight", "", "FC", MODEL_GLU_W, IN_FFNS, MODEL_RULE_FFN,
     MODEL_IF_GATED},
    {"0.linear_layer_for_glu.bias", "", "F", MODEL_GLU_B, IN_FFNS, MODEL_RULE_ZEROS,
     MODEL_IF_GATED_BIAS},
    {"1.linear_layer.weight", "", "CF", MODEL_FFN1_W, IN_FFNS, MODEL_RULE_FFN_OUTPUT, MODEL_ALWAYS},
    {"1.linear_layer.bias", "", "C", MODEL_FFN1_B, IN_FFNS, MODEL_RULE_ZEROS, MODEL_IF_FFN_BIAS},
    {"bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer.weight", "", "CC", MODEL_DENSE_W, ONCE,
     MODEL_RULE_DENSE, MODEL_IF_MASKED},
    {"bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer.bias", "", "C", MODEL_DENSE_B, ONCE,
     MODEL_RULE_ZEROS, MODEL_IF_MASKED},
    {"bert_mlm_head.mlm_transform.ln.weight", "", "C", MODEL_DENSE_NORM_W, ONCE, MODEL_RULE_ONES,
     MODEL_IF_MASKED},
    {"bert_mlm_head.mlm_transform.ln.bias", "", "C", MODEL_DENSE_NORM_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_MASKED},
    {"pooler.pooler.ffn.0.linear_layer.weight", "", "CC", MODEL_POOL_W, ONCE, MODEL_RULE_POOLER,
     MODEL_IF_POOLED},
    {"pooler.pooler.ffn.0.linear_layer.bias", "", "C", MODEL_POOL_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_POOLER_BIAS},
    {"classifier.weight", "", "KC", MODEL_CLASS_W, ONCE, MODEL_RULE_CLASSIFIER, MODEL_IF_CLASSES},
    {"classifier.bias", "", "K", MODEL_CLASS_B, ONCE, MODEL_RULE_ZEROS, MODEL_IF_CLASS_BIAS},
    {"noise_head.conv_transpose.weight", "", "CU", MODEL_NOISE_W, ONCE, MODEL_RULE_CONDITION,
     MODEL_IF_TRANSPOSED},
    {"noise_head.conv_transpose.bias", "", "N", MODEL_NOISE_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_TRANSPOSED},
    {"noise_head.linear.weight", "", "UC", MODEL_NOISE_W, ONCE, MODEL_RULE_CONDITION,
     MODEL_IF_NOT_TRANSPOSED},
    {"noise_head.linear.bias", "", "N", MODEL_NOISE_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_NOT_TRANSPOSED},
    {"final_norm.scale_linear.1.weight", "", "CC", MODEL_SCALEF_W, ONCE, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"final_norm.scale_linear.1.bias", "", "C", MODEL_SCALEF_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"final_norm.shift_linear.1.weight", "", "CC", MODEL_SHIFTF_W, ONCE, MODEL_RULE_CONDITION,
     MODEL_IF_DIFFUSION},
    {"final_norm.shift_linear.1.bias", "", "C", MODEL_SHIFTF_B, ONCE, MODEL_RULE_ZEROS,
     MODEL_IF_DIFFUSION},
    {"lm_head.weight", "", "VC", MODEL_LM_HEAD_W, ONCE, MODEL_RULE_LM_HEAD, MODEL_IF_UNTIED},
    {"lm_head.bias", "", "V", MODEL_LM_HEAD_B, ONCE, MODEL_RULE_ZEROS, MODEL_IF_HEAD_BIAS},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* A dimension of a shape; the missing second one of a vector is 1. */
static int64_t size_of_letter(const struct model *model, const struct model_stack *stack,
                              char letter)
{
    const struct model_head *classes = model_head_of(model, MODEL_CLASS_W);
    switch (letter) {
    case 'V':
        return stack->V;
    case 'P':
        return stack->table_rows;
    case 'R':
        return model->buckets;
    case 'H':
        return model->H;
    case 'C':
        return model->C;
    case 'F':
        return model->F;
    case 'A':
        return model_q_features(model);
    case 'G':
        return model_kv_features(model);
    case 'D':
        return model->head_dim;
    case 'E':
        return model->experts;
    case 'S':
        return model->token_types;
    case 'U':
        return model->patch;
    case 'W':
        return model->frequencies;
    case 'N':
        return model->noise_biases;
    case 'K':
        return classes ? classes->outputs : 1;
    default:
        return 1;
    }
}

/* "ffn.ffn." for the one network, else that of an expert. */
static void ffn_name(char out[48], const struct model *model, int expert)
{
    const int shared = expert - (int)model->experts;
    if (expert < 0)
        (void)snprintf(out, 48, "ffn.ffn.");
    else if (shared < 0)
        (void)snprintf(out, 48, "ffn.experts.experts.%d.", expert);
    else
        (void)snprintf(out, 48, "ffn.experts.shared_experts.%d.ffn.", shared);
}

/* Where the Model Zoo's classes of encoders have a tensor: inside the encoder, whose name depends
 * on the class, or beside it; names of heads differ between pre-training and fine-tuning. */
static const char *encoder_name(const struct row *row, const struct model *model,
                                const char **prefix)
{
    const bool pretrains = model->head[0].output == MODEL_LM_HEAD_W;
    *prefix = pretrains || model->zoo.name == ZOO_ESM2 ? "bert_encoder." : "bert.";
    const struct {
        enum model_tensor_kind kind;
        const char *name;
    } heads[] = {
        {MODEL_DENSE_W, row->name},
        {MODEL_DENSE_B, row->name},
        {MODEL_DENSE_NORM_W, row->name},
        {MODEL_DENSE_NORM_B, row->name},
        {MODEL_CLASS_W,
         pretrains ? "bert_cls_head.classifier.ffn.0.linear_layer.weight" : row->name},
        {MODEL_CLASS_B, pretrains ? "bert_cls_head.classifier.ffn.0.linear_layer.bias" : row->name},
        {MODEL_LM_HEAD_W, "bert_mlm_head.classifier.ffn.0.linear_layer.weight"},
        {MODEL_LM_HEAD_B, "bert_mlm_head.classifier.ffn.0.linear_layer.bias"}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (heads[i].kind != row->kind) continue;
        *prefix = "";
        return heads[i].name;
    }
    return row->name;
}

/* ESM-2's classifier of proteins stands beside the model of pre-training; NULL for other tensors.
 */
static const char *protein_head(const struct row *row, const struct model *model)
{
    const bool tuned = model->zoo.name == ZOO_ESM2 && model->head[0].output == MODEL_CLASS_W;
    if (!tuned || model->head[0].dense != MODEL_POOL_W) return NULL;
    switch ((int)row->kind) {
    case MODEL_POOL_W:
        return "classifier.bert_pooler.pooler.ffn.0.linear_layer.weight";
    case MODEL_POOL_B:
        return "classifier.bert_pooler.pooler.ffn.0.linear_layer.bias";
    case MODEL_CLASS_W:
        return "classifier.classifier.weight";
    case MODEL_CLASS_B:
        return "classifier.classifier.bias";
    default:
        return NULL;
    }
}

/* Where the Model Zoo's class of T5 has a tensor: embeddings and blocks are those of the encoder or
 * the decoder, without the levels of other classes. */
static const char *seq2seq_name(const struct row *row, bool decoder, const char **prefix)
{
    static const char embedding[] = "embedding_layer.", level[] = "transformer_";
    if (!strncmp(row->name, embedding, sizeof embedding - 1)) {
        *prefix = decoder ? "decoder_embeddings." : "encoder_embeddings.";
        return row->name + sizeof embedding - 1;
    }
    return strncmp(row->name, level, sizeof level - 1) ? row->name : row->name + sizeof level - 1;
}

/* A table of tokens has the name of each use. */
static void set_seq2seq_alias(struct model_tensor *t, const struct model *model)
{
    const bool output = model->tied && (model->shared_tokens || t->stack > 0);
    const char *decoder =
        model->shared_tokens ? "model.decoder_embeddings.word_embeddings.weight" : "";
    const char *head = output ? "model.lm_head.weight" : "";
    if (t->kind != MODEL_WTE) return;
    (void)snprintf(t->alias, sizeof t->alias, "%s", *decoder ? decoder : head);
    (void)snprintf(t->also, sizeof t->also, "%s", *decoder ? head : "");
}

/* The second name of a tensor: that of release 2.0, or of the output layer that is tied to it. */
static void set_alias(struct model_tensor *t, const struct row *row, const struct model *model)
{
    const bool table = row->kind == MODEL_WTE;
    const char *tied =
        model->causal ? row->alias : "bert_mlm_head.classifier.ffn.0.linear_layer.weight";
    if (table && !model->tied) return;
    if (table || row->alias[0])
        (void)snprintf(t->alias, sizeof t->alias, "model.%s", table ? tied : row->alias);
}

/* Model Zoo name, and the second name. */
static void set_names(struct model_tensor *t, const struct row *row, const struct model *model)
{
    const bool both = model->n_stacks > 1;
    const bool encoder = !model->causal && !model->patch;
    const char *stack = model->stack[t->stack].causal || model->patch ? "transformer_decoder"
                                                                      : "transformer_encoder";
    const char *prefix = "", *name = row->name, *head = protein_head(row, model);
    char ffn[48] = "";
    int n;
    const int layer = t->layer - (int)model->stack[t->stack].first;
    if (both) stack = t->stack ? "decoder" : "encoder";
    if (both) name = seq2seq_name(row, t->stack > 0, &prefix);
    if (encoder) name = encoder_name(row, model, &prefix);
    if (row->place == IN_FFNS) ffn_name(ffn, model, t->expert);
    if (t->layer >= 0)
        n = snprintf(t->name, sizeof t->name, "model.%s%s.layers.%d.%s%s", prefix, stack, layer,
                     ffn, name);
    else
        n = snprintf(t->name, sizeof t->name, "%s%s%s", head ? "" : "model.", head ? "" : prefix,
                     head ? head : name);
    WSC_CHECK(n > 0 && n < (int)sizeof t->name, "tensor name of kind %d", (int)row->kind);
    if (both)
        set_seq2seq_alias(t, model);
    else
        set_alias(t, row, model);
}

/** Where a tensor is: in stack `stack`, layer `layer` (-1: outside the blocks), expert `expert`
 * (-1: no expert's). */
struct tensor_place {
    int stack, layer, expert;
};

/** Append the tensor of @p row at @p at. */
static WSC_CHECKED enum wsc_err append(struct model *model, const struct row *row,
                                       const struct tensor_place *at,
                                       const struct zoo_params *params)
{
    const struct model_stack *stack = &model->stack[at->stack];
    struct model_tensor *t = &model->tensor[model->n_tensors++];
    struct model_lr lr;
    t->kind = row->kind;
    t->stack = at->stack;
    t->layer = at->layer;
    t->expert = at->expert;
    t->n_dims = row->shape[1] ? 2 : 1;
    t->shape[0] = size_of_letter(model, stack, row->shape[0]);
    t->shape[1] = size_of_letter(model, stack, row->shape[1]);
    t->n_elems = t->shape[0] * t->shape[1];
    t->init = model_init_of(
        &params->model, &(struct model_init_place){row->rule, row->kind, at->stack > 0}, t->shape);
    t->zero_row = model_init_zero_row(&params->model, row->kind);
    set_names(t, row, model);
    TRY(model_lr_of(params, t->name, &lr));
    t->lr_scale = lr.scale;
    t->lr_group = lr.group;
    model_set_parameter(t, model, &params->optimizer);
    if (__builtin_add_overflow(model->n_params, t->n_elems, &model->n_params))
        return WSC_RAISE(WSC_CONFIG, "the model has more than 2^63 parameters");
    return WSC_OK;
}

/** How a matrix of an adapter starts: of a linear layer A as PyTorch's linear layers do (He et al.
 * 2015, with the gain of a slope of sqrt 5) and B from 0; of an embedding A from 0 and B normal. */
static struct zoo_init adapter_init(const struct model_tensor *base, bool b)
{
    const double bound = 1 / sqrt((double)base->shape[1]);
    const bool table = model_is_table(base->kind);
    if (b != table) return (struct zoo_init){.kind = ZOO_INIT_ZEROS};
    if (table) return (struct zoo_init){.kind = ZOO_INIT_NORMAL, .std = 1};
    return (struct zoo_init){.kind = ZOO_INIT_UNIFORM, .a = -bound, .b = bound};
}

/** Append one matrix of the adapter of @p base, A (r, in) or B (out, r). */
static WSC_CHECKED enum wsc_err append_adapter_matrix(struct model *model,
                                                      const struct zoo_params *params,
                                                      const struct model_tensor *base, bool b)
{
    static const char tail[] = ".weight";
    struct model_tensor *t = &model->tensor[model->n_tensors++];
    const bool table = model_is_table(base->kind);
    const int64_t in = base->shape[table ? 0 : 1], out = base->shape[table ? 1 : 0];
    const int stem = (int)(strlen(base->name) - strlen(tail));
    *t = (struct model_tensor){
        .kind = base->kind + (b ? MODEL_ADAPTER_B : MODEL_ADAPTER_A),
        .layer = base->layer,
        .stack = base->stack,
        .expert = -1,
        .n_dims = 2,
        .shape = {b ? out : model->adapter[base->kind].r, b ? model->adapter[base->kind].r : in},
        .lr_scale = 1,
        .lr_group = INT_MAX};
    t->n_elems = t->shape[0] * t->shape[1];
    t->init = adapter_init(base, b);
    (void)snprintf(t->name, sizeof t->name, "%.*s.lora_%c", stem, base->name, b ? 'B' : 'A');
    model_set_parameter(t, model, &params->optimizer);
    if (__builtin_add_overflow(model->n_params, t->n_elems, &model->n_params))
        return WSC_RAISE(WSC_CONFIG, "the model has more than 2^63 parameters");
    return WSC_OK;
}

/** Append the adapter of the newest tensor, if it has one.  The first layer decides for all. */
static WSC_CHECKED enum wsc_err append_adapter(struct model *model, const struct zoo_params *params)
{
    const struct model_tensor *base = &model->tensor[model->n_tensors - 1];
    if (base->layer <= 0) TRY(model_take_adapter(model, params, base));
    if (!model->adapter[base->kind].r) return WSC_OK;
    TRY(append_adapter_matrix(model, params, base, false));
    return append_adapter_matrix(model, params, base, true);
}

/* Random initial values do not depend on adapters: these have numbers of their own. */
static void number_init_streams(struct model *model)
{
    int64_t next = 0, adapter = INT64_C(1) << 32;
    for (int i = 0; i < model->n_tensors; i++) {
        struct model_tensor *t = &model->tensor[i];
        t->init_stream = t->kind < MODEL_N_KINDS ? next++ : adapter++;
    }
}

enum { NAME_BYTES = sizeof((struct model_tensor *)0)->name };

/* Put the name of a model before that of its tensor; "" stays. */
static void put_below(char name[NAME_BYTES], const char *model)
{
    char text[2 * NAME_BYTES];
    if (!name[0]) return;
    const int n = snprintf(text, sizeof text, "%s.%s", model, name);
    WSC_CHECK(n > 0 && n < NAME_BYTES, "tensor name %s", text);
    memcpy(name, text, (size_t)n + 1);
}

/** Preference optimization: the tensors are those of the policy model, and a frozen copy of each,
 *  initial values too, is one of the reference model, which begins as the policy does. */
static void append_reference(struct model *model)
{
    const int n = model->n_tensors;
    for (int i = 0; i < n; i++) {
        struct model_tensor *policy = &model->tensor[i], *copy = &model->tensor[n + i];
        if (!model->zoo.dpo.reference_free) {
            *copy = *policy;
            copy->reference = true;
            put_below(copy->name, "ref_model");
            put_below(copy->alias, "ref_model");
        }
        put_below(policy->name, "policy_model");
        put_below(policy->alias, "policy_model");
    }
    if (model->zoo.dpo.reference_free) return;
    model->n_tensors = 2 * n;
    model->n_reference = model->n_params;
}

/** Append the run of rows of the same place that starts at row @p from; returns its end. */
static WSC_CHECKED enum wsc_err append_rows(struct model *model, const struct zoo_params *params,
                                            int from, const struct tensor_place *at)
{
    for (int i = from; i < N_ROWS && rows[i].place == rows[from].place; i++)
        if (model_is_present(rows[i].presence, model, &params->model, &model->stack[at->stack])) {
            TRY(append(model, &rows[i], at, params));
            TRY(append_adapter(model, params));
        }
    return WSC_OK;
}

/* End of the run of rows of one place that starts at @p from. */
static int end_of_run(int from)
{
    int i = from;
    while (i < N_ROWS && rows[i].place == rows[from].place)
        i++;
    return i;
}

/* Tensors of one block of a stack, or of one network of a block, or outside. */
static int64_t count(const struct model *model, const struct zoo_model *m,
                     const struct model_stack *stack, enum place place)
{
    int64_t n = 0;
    for (int i = 0; i < N_ROWS; i++)
        n += rows[i].place == place && model_is_present(rows[i].presence, model, m, stack);
    return n;
}

/* Room for the tensors of all stacks, each with its adapter. */
static int64_t count_all(const struct model *model, const struct zoo_model *m)
{
    enum { ADAPTED = 3 };
    int64_t n = 0;
    for (int i = 0; i < model->n_stacks; i++) {
        const struct model_stack *s = &model->stack[i];
        n += count(model, m, s, ONCE) + s->L * (count(model, m, s, IN_BLOCKS) +
                                                model_n_ffns(model) * count(model, m, s, IN_FFNS));
    }
    return n * (m->lora_params.n ? ADAPTED : 1);
}

/* The tensors of one block, its experts one after the other. */
static WSC_CHECKED enum wsc_err append_block(struct model *model, const struct zoo_params *params,
                                             int first_row, struct tensor_place at)
{
    const int ffn_row = end_of_run(first_row);
    TRY(append_rows(model, params, first_row, &at));
    if (!model->experts) return append_rows(model, params, ffn_row, &at);
    for (int e = 0; e < (int)model_n_ffns(model); e++) {
        at.expert = e;
        TRY(append_rows(model, params, ffn_row, &at));
    }
    return WSC_OK;
}

enum wsc_err model_build_tensors(struct model *model, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    enum { WITH_REFERENCE = 2 };
    const int block_row = end_of_run(0), head_row = end_of_run(end_of_run(block_row));
    TRY(model_init_check(m));
    TRY_NEW(model->tensor, WSC_MEM_MODEL, count_all(model, m) * (m->dpo.on ? WITH_REFERENCE : 1));
    struct tensor_place at = {.layer = -1, .expert = -1};
    for (; at.stack < model->n_stacks; at.stack++) {
        const struct model_stack *s = &model->stack[at.stack];
        TRY(append_rows(model, params, 0, &at));
        for (int layer = 0; layer < (int)s->L; layer++)
            TRY(append_block(model, params, block_row,
                             (struct tensor_place){at.stack, (int)s->first + layer, -1}));
    }
    at.stack = model->n_stacks - 1;
    TRY(append_rows(model, params, head_row, &at));
    number_init_streams(model);
    if (m->dpo.on) append_reference(model);
    return WSC_OK;
}
