// SPDX-License-Identifier: Apache-2.0
#include "model_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>

/** Which rule fills a tensor at the start. */
enum init_rule { RULE_ZEROS, RULE_ONES, RULE_EMBEDDING, RULE_MATRIX, RULE_OUTPUT, RULE_LM_HEAD };

/** Which models have the tensor. */
enum presence {
    ALWAYS,
    IF_LEARNED,
    IF_QKV_BIAS,
    IF_O_BIAS,
    IF_FFN_BIAS,
    IF_UNTIED,
    IF_HEAD_BIAS,
    IF_DECODER,
    IF_ENCODER,
    IF_MASKED,
    IF_CLASSES
};

enum place { ONCE, IN_BLOCKS };

/** One kind of tensor.  `shape` is one or two of the letters of <wsc/model.h>, S token types, K
 *  classes. */
struct row {
    const char *name, *alias; /**< after "model." or "model.<stack>.layers.N." */
    const char *shape;
    enum model_tensor_kind kind;
    enum place place;
    enum init_rule rule;
    enum presence presence;
};

/* Names and order of the Model Zoo's GPT-2 family from release 2.1 on: embeddings, final norm,
 * layers (attention, norms, feed-forward), head. */
static const struct row rows[] = {
    {"embedding_layer.word_embeddings.weight", "lm_head.weight", "VC", MODEL_WTE, ONCE,
     RULE_EMBEDDING, ALWAYS},
    {"embedding_layer.position_embeddings.embed.weight", "", "TC", MODEL_WPE, ONCE, RULE_EMBEDDING,
     IF_LEARNED},
    {"embedding_layer.token_type_embeddings.weight", "", "SC", MODEL_WTT, ONCE, RULE_EMBEDDING,
     IF_ENCODER},
    {"embed_ln_f.weight", "", "C", MODEL_NORME_W, ONCE, RULE_ONES, IF_ENCODER},
    {"embed_ln_f.bias", "", "C", MODEL_NORME_B, ONCE, RULE_ZEROS, IF_ENCODER},
    {"transformer_decoder.norm.weight", "ln_f.weight", "C", MODEL_NORMF_W, ONCE, RULE_ONES,
     IF_DECODER},
    {"transformer_decoder.norm.bias", "ln_f.bias", "C", MODEL_NORMF_B, ONCE, RULE_ZEROS,
     IF_DECODER},
    {"self_attn.proj_q_dense_layer.weight", "", "CC", MODEL_Q_W, IN_BLOCKS, RULE_MATRIX, ALWAYS},
    {"self_attn.proj_q_dense_layer.bias", "", "C", MODEL_Q_B, IN_BLOCKS, RULE_ZEROS, IF_QKV_BIAS},
    {"self_attn.proj_k_dense_layer.weight", "", "CC", MODEL_K_W, IN_BLOCKS, RULE_MATRIX, ALWAYS},
    {"self_attn.proj_k_dense_layer.bias", "", "C", MODEL_K_B, IN_BLOCKS, RULE_ZEROS, IF_QKV_BIAS},
    {"self_attn.proj_v_dense_layer.weight", "", "CC", MODEL_V_W, IN_BLOCKS, RULE_MATRIX, ALWAYS},
    {"self_attn.proj_v_dense_layer.bias", "", "C", MODEL_V_B, IN_BLOCKS, RULE_ZEROS, IF_QKV_BIAS},
    {"self_attn.proj_output_dense_layer.weight", "", "CC", MODEL_O_W, IN_BLOCKS, RULE_OUTPUT,
     ALWAYS},
    {"self_attn.proj_output_dense_layer.bias", "", "C", MODEL_O_B, IN_BLOCKS, RULE_ZEROS,
     IF_O_BIAS},
    {"norm1.weight", "", "C", MODEL_NORM1_W, IN_BLOCKS, RULE_ONES, ALWAYS},
    {"norm1.bias", "", "C", MODEL_NORM1_B, IN_BLOCKS, RULE_ZEROS, ALWAYS},
    {"norm3.weight", "", "C", MODEL_NORM3_W, IN_BLOCKS, RULE_ONES, ALWAYS},
    {"norm3.bias", "", "C", MODEL_NORM3_B, IN_BLOCKS, RULE_ZEROS, ALWAYS},
    {"ffn.ffn.0.linear_layer.weight", "", "FC", MODEL_FFN0_W, IN_BLOCKS, RULE_MATRIX, ALWAYS},
    {"ffn.ffn.0.linear_layer.bias", "", "F", MODEL_FFN0_B, IN_BLOCKS, RULE_ZEROS, IF_FFN_BIAS},
    {"ffn.ffn.1.linear_layer.weight", "", "CF", MODEL_FFN1_W, IN_BLOCKS, RULE_OUTPUT, ALWAYS},
    {"ffn.ffn.1.linear_layer.bias", "", "C", MODEL_FFN1_B, IN_BLOCKS, RULE_ZEROS, IF_FFN_BIAS},
    {"head.dense_layer.weight", "", "CC", MODEL_DENSE_W, ONCE, RULE_MATRIX, IF_ENCODER},
    {"head.dense_layer.bias", "", "C", MODEL_DENSE_B, ONCE, RULE_ZEROS, IF_ENCODER},
    {"head.ln.weight", "", "C", MODEL_DENSE_NORM_W, ONCE, RULE_ONES, IF_MASKED},
    {"head.ln.bias", "", "C", MODEL_DENSE_NORM_B, ONCE, RULE_ZEROS, IF_MASKED},
    {"head.classifier.weight", "", "KC", MODEL_CLASS_W, ONCE, RULE_MATRIX, IF_CLASSES},
    {"head.classifier.bias", "", "K", MODEL_CLASS_B, ONCE, RULE_ZEROS, IF_CLASSES},
    {"lm_head.weight", "", "VC", MODEL_LM_HEAD_W, ONCE, RULE_LM_HEAD, IF_UNTIED},
    {"lm_head.bias", "", "V", MODEL_LM_HEAD_B, ONCE, RULE_ZEROS, IF_HEAD_BIAS},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/** Weight decay spares biases and norms, which start from 0 or 1. */
static bool decays(const struct row *row)
{
    return row->rule != RULE_ZEROS && row->rule != RULE_ONES;
}

/** In the muP learning-rate group `*decoder*dense*weight`, `*decoder*linear*weight`. */
static bool is_decoder_kernel(const struct row *row)
{
    return row->place == IN_BLOCKS && decays(row);
}

static bool present(const struct row *row, const struct conf_model *m)
{
    switch (row->presence) {
    case ALWAYS:
        return true;
    case IF_LEARNED:
        return m->position_embedding_type == CONF_POSITION_LEARNED;
    case IF_QKV_BIAS:
        return m->use_projection_bias_in_attention;
    case IF_O_BIAS:
        return m->use_ffn_bias_in_attention;
    case IF_FFN_BIAS:
        return m->use_ffn_bias;
    case IF_UNTIED:
        return !m->share_embedding_weights && m->objective != CONF_CLASSIFICATION;
    case IF_HEAD_BIAS:
        return m->use_bias_in_output && m->objective != CONF_CLASSIFICATION;
    case IF_DECODER:
        return m->objective == CONF_CAUSAL_LM;
    case IF_ENCODER:
        return m->objective != CONF_CAUSAL_LM;
    case IF_MASKED:
        return m->objective == CONF_MASKED_LM;
    case IF_CLASSES:
        return m->objective == CONF_CLASSIFICATION;
    }
    return false;
}

static int64_t size_of_letter(const struct model *model, char letter)
{
    enum { TOKEN_TYPES = 2 };
    switch (letter) {
    case 'V':
        return model->V;
    case 'T':
        return model->T;
    case 'C':
        return model->C;
    case 'F':
        return model->F;
    case 'S':
        return TOKEN_TYPES;
    case 'K':
        return model->head_outputs;
    default:
        return 1;
    }
}

/** Truncated normal cut at two standard deviations, the family's default for matrices. */
static struct conf_init cut_normal(double std)
{
    return (struct conf_init){CONF_INIT_TRUNCATED_NORMAL, 0, std, -2 * std, 2 * std, 0};
}

static struct conf_init explicit_or(const struct conf_init *given, struct conf_init otherwise)
{
    return given->kind == CONF_INIT_DEFAULT ? otherwise : *given;
}

static struct conf_init resolve_init(const struct row *row, const struct conf_model *m)
{
    double sigma = m->initializer_range;
    switch (row->rule) {
    case RULE_ONES:
        return (struct conf_init){.kind = CONF_INIT_ONES};
    case RULE_EMBEDDING:
        return explicit_or(&m->embedding_initializer, cut_normal(sigma));
    case RULE_MATRIX:
        return explicit_or(&m->initializer, cut_normal(sigma));
    case RULE_OUTPUT:
        /* Radford et al. 2019, section 2.3: residual layers scaled by 1/sqrt(their number). */
        return explicit_or(&m->output_layer_initializer,
                           cut_normal(sigma / sqrt(2.0 * (double)m->num_hidden_layers)));
    case RULE_LM_HEAD:
        return (struct conf_init){.kind = CONF_INIT_NORMAL, .std = sigma};
    case RULE_ZEROS:
        break;
    }
    return (struct conf_init){.kind = CONF_INIT_ZEROS};
}

static WSC_CHECKED enum wsc_err check_init(const char *key, const struct conf_init *init)
{
    bool spread = init->kind == CONF_INIT_NORMAL || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == CONF_INIT_UNIFORM || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    if (spread && !(isfinite(init->mean) && isfinite(init->std) && init->std > 0))
        return WSC_RAISE(WSC_CONFIG, "model.%s: std %g with mean %g is no normal distribution", key,
                         init->std, init->mean);
    if (bounded && !(isfinite(init->a) && isfinite(init->b) && init->a < init->b))
        return WSC_RAISE(WSC_CONFIG, "model.%s: bounds a = %g, b = %g are not an interval", key,
                         init->a, init->b);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err check_inits(const struct conf_model *m)
{
    if (!(isfinite(m->initializer_range) && m->initializer_range > 0))
        return WSC_RAISE(WSC_CONFIG, "model.initializer_range: %g is not a positive number",
                         m->initializer_range);
    TRY(check_init("initializer", &m->initializer));
    TRY(check_init("embedding_initializer", &m->embedding_initializer));
    TRY(check_init("output_layer_initializer", &m->output_layer_initializer));
    return WSC_OK;
}

static void set_names(struct model_tensor *t, const struct row *row, const struct model *model)
{
    const char *stack = model->causal ? "transformer_decoder" : "transformer_encoder";
    int n;
    if (t->layer >= 0)
        n = snprintf(t->name, sizeof t->name, "model.%s.layers.%d.%s", stack, t->layer, row->name);
    else
        n = snprintf(t->name, sizeof t->name, "model.%s", row->name);
    WSC_CHECK(n > 0 && n < (int)sizeof t->name, "tensor name of kind %d", (int)row->kind);
    bool aliased = row->alias[0] != '\0' && (row->kind != MODEL_WTE || model->tied);
    if (aliased) (void)snprintf(t->alias, sizeof t->alias, "model.%s", row->alias);
}

/** Append the tensor of @p row in @p layer (-1: outside the blocks). */
static WSC_CHECKED enum wsc_err append(struct model *model, const struct row *row, int layer,
                                       const struct conf_params *params)
{
    struct model_tensor *t = &model->tensor[model->n_tensors++];
    t->kind = row->kind;
    t->layer = layer;
    t->n_dims = row->shape[1] ? 2 : 1;
    t->shape[0] = size_of_letter(model, row->shape[0]);
    t->shape[1] = size_of_letter(model, row->shape[1]);
    t->n_elems = t->shape[0] * t->shape[1];
    t->decay = decays(row);
    t->init = resolve_init(row, &params->model);
    t->lr_scale = is_decoder_kernel(row) ? params->optimizer.adjust_decoder_kernel : 1.0;
    set_names(t, row, model);
    if (__builtin_add_overflow(model->n_params, t->n_elems, &model->n_params))
        return WSC_RAISE(WSC_CONFIG, "the model has more than 2^63 parameters");
    return WSC_OK;
}

static bool in_blocks(const struct row *row, const struct conf_model *m)
{
    return row->place == IN_BLOCKS && present(row, m);
}

/** Append the run of rows of the same place that starts at row @p from. */
static WSC_CHECKED enum wsc_err append_rows(struct model *model, const struct conf_params *params,
                                            enum place place, int layer, int from)
{
    for (int i = from; i < N_ROWS && rows[i].place == place; i++)
        if (present(&rows[i], &params->model)) TRY(append(model, &rows[i], layer, params));
    return WSC_OK;
}

enum wsc_err model_build_tensors(struct model *model, const struct conf_params *params)
{
    double scale = params->optimizer.adjust_decoder_kernel;
    int outside = 0, inside = 0, first_layer_row = 0, head_row = N_ROWS;
    TRY(check_inits(&params->model));
    if (!(isfinite(scale) && scale > 0))
        return WSC_RAISE(WSC_CONFIG,
                         "optimizer.adjust_learning_rate.decoder_kernel: %g is not a positive "
                         "number",
                         scale);
    for (int i = 0; i < N_ROWS; i++) {
        inside += in_blocks(&rows[i], &params->model);
        outside += rows[i].place == ONCE && present(&rows[i], &params->model);
    }
    while (rows[first_layer_row].place == ONCE)
        first_layer_row++;
    while (rows[head_row - 1].place == ONCE)
        head_row--;
    TRY_NEW(model->tensor, WSC_MEM_MODEL, outside + inside * model->L);
    TRY(append_rows(model, params, ONCE, -1, 0));
    for (int layer = 0; layer < (int)model->L; layer++)
        TRY(append_rows(model, params, IN_BLOCKS, layer, first_layer_row));
    TRY(append_rows(model, params, ONCE, -1, head_row));
    return WSC_OK;
}
