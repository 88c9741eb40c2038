// SPDX-License-Identifier: Apache-2.0
/* How tensors start: the initializer of the params for the tensor's group, else the default of the
 * Model Zoo's class, scaled by muP.  Variance scaling (Glorot & Bengio 2010, He et al. 2015)
 * becomes the distribution that it is for the tensor's shape: variance = value / fan, where the fan
 * is that of the inputs, of the outputs or their mean.  Called for each row of model_tensors.c;
 * memoryx samples from what comes out. */
#include "model_init.h"

#include <math.h>

/* A normal distribution that is cut at two standard deviations has 0.8796 of the deviation that it
 * was cut from. */
static struct zoo_init of_shape(struct zoo_init init, const int64_t shape[2])
{
    const double cut = 0.87962566103423978, in = (double)shape[1], out = (double)shape[0];
    const double fan[] = {[ZOO_FAN_IN] = in, [ZOO_FAN_OUT] = out, [ZOO_FAN_AVG] = (in + out) / 2};
    if (init.kind != ZOO_INIT_VARIANCE_SCALING) return init;
    const double std = sqrt(init.value / fmax(1, fan[init.fan]));
    struct zoo_init own = {.kind = init.distribution, .std = std};
    if (own.kind == ZOO_INIT_TRUNCATED_NORMAL) own.std = std / cut;
    own.b = own.kind == ZOO_INIT_UNIFORM ? sqrt(3) * std : 2 * own.std;
    own.a = -own.b;
    return own;
}

/** Biases and norms start from 0 or 1 in all classes. */
static bool starts_constant(const struct model_init_place *of)
{
    return of->rule == MODEL_RULE_ZEROS || of->rule == MODEL_RULE_ONES;
}

/** Truncated normal cut at two standard deviations, the family's default for matrices. */
static struct zoo_init cut_normal(double std)
{
    return (struct zoo_init){
        .kind = ZOO_INIT_TRUNCATED_NORMAL, .std = std, .a = -2 * std, .b = 2 * std};
}

/* The initializer of the params, or the rule's when they give none. */
static struct zoo_init explicit_or(const struct zoo_init *given, struct zoo_init otherwise)
{
    return given->kind == ZOO_INIT_DEFAULT ? otherwise : *given;
}

/* A distribution times a factor; the value of variance scaling is a variance. */
static struct zoo_init scaled(struct zoo_init init, double factor)
{
    init.mean *= factor;
    init.std *= factor;
    init.a *= factor;
    init.b *= factor;
    init.value *= init.kind == ZOO_INIT_VARIANCE_SCALING ? factor * factor : factor;
    return init;
}

/* Radford et al. 2019, section 2.3: residual layers scaled by 1/sqrt(their number), but not in the
 * classes of GPT-J and of BERT, nor where the params give an `initializer`, which they take then.
 * muP by base sizes scales initial values by 1/sqrt(width) (Yang et al. 2022, table 8), those of
 * residual layers by their number as well, given or not. */
static struct zoo_init output_init(const struct zoo_model *m, const struct zoo_init *given,
                                   double width)
{
    const double depth = 1 / sqrt(2.0 * (double)m->num_hidden_layers);
    const struct zoo_init standard = cut_normal(m->initializer_range);
    if (m->mup_base_hidden_size > 0)
        return scaled(explicit_or(given, standard), depth / sqrt(width));
    const bool plain = m->parallel_block || m->objective != ZOO_CAUSAL_LM;
    return explicit_or(given,
                       plain ? standard : explicit_or(&m->initializer, scaled(standard, depth)));
}

/* What the first layers of the feed-forward network take by default: `initializer`, but in the
 * class of GPT-J what the output layers take. */
static struct zoo_init ffn_init(const struct zoo_model *m)
{
    const struct zoo_init standard = cut_normal(m->initializer_range);
    return explicit_or(m->parallel_block ? &m->output_layer_initializer : &m->initializer,
                       standard);
}

/* The last layer of the feed-forward network: its own initializer, else that of the outputs of
 * attention, which in the class of GPT-2 muP does not take. */
static struct zoo_init ffn_output_init(const struct zoo_model *m, const struct model_mup *mup)
{
    const struct zoo_init *own = &m->ffn_output_layer_initializer;
    const bool given = own->kind != ZOO_INIT_DEFAULT, by_base = m->mup_base_hidden_size > 0;
    if (!given && (!by_base || m->parallel_block)) own = &m->output_layer_initializer;
    return output_init(m, own, mup->filter);
}

/* Uniform with a variance of @p scale over the mean of inputs and outputs (Glorot and Bengio 2010
 * with 1). */
static struct zoo_init glorot(double scale)
{
    return (struct zoo_init){.kind = ZOO_INIT_VARIANCE_SCALING,
                             .value = scale,
                             .fan = ZOO_FAN_AVG,
                             .distribution = ZOO_INIT_UNIFORM};
}

/* The Model Zoo's class of T5: deviations of Raffel et al. 2020, or uniform weights as those of the
 * Transformer in tensor2tensor. */
static struct zoo_init seq2seq_init(const struct model_init_place *of, const struct zoo_model *m)
{
    const bool uniform = m->use_transformer_initialization;
    const bool query = of->kind == MODEL_Q_W || of->kind == MODEL_CROSS_Q_W;
    const double d = (double)m->d_kv, C = (double)m->hidden_size, F = (double)m->filter_size;
    struct zoo_init init = {.kind = ZOO_INIT_NORMAL, .std = m->initializer_factor};
    switch (of->rule) {
    case MODEL_RULE_ATTENTION:
    case MODEL_RULE_ATTENTION_OUTPUT:
        init.std /= sqrt(query ? C * d : C);
        return uniform ? glorot(query ? 1 / (9 * d) : 1.0 / 9) : init;
    case MODEL_RULE_FFN:
    case MODEL_RULE_FFN_OUTPUT:
        init.std /= sqrt(of->rule == MODEL_RULE_FFN ? C : F);
        return uniform ? glorot(1) : init;
    case MODEL_RULE_RELATIVE:
        return glorot(1);
    case MODEL_RULE_EMBEDDING:
        return uniform ? cut_normal(1) : init;
    case MODEL_RULE_PLACE: /* the default of its layer of embeddings: the class gives none */
        return (struct zoo_init){.kind = ZOO_INIT_UNIFORM, .a = -0.05, .b = 0.05};
    case MODEL_RULE_CONDITION:
    case MODEL_RULE_LM_HEAD:
    case MODEL_RULE_ROUTER:
    case MODEL_RULE_DENSE:
    case MODEL_RULE_POOLER:
    case MODEL_RULE_CLASSIFIER:
    case MODEL_RULE_ZEROS:
    case MODEL_RULE_ONES:
        break;
    }
    return init;
}

/* The Model Zoo's class of diffusion transformers: Glorot's deviations, normal ones of embeddings,
 * and zeros of all that scales, shifts and gates, so that a block begins as the identity. */
static struct zoo_init diffusion_init(const struct model_init_place *of, const struct zoo_model *m)
{
    if (of->rule == MODEL_RULE_CONDITION) return (struct zoo_init){.kind = ZOO_INIT_ZEROS};
    if (of->rule == MODEL_RULE_PLACE) return cut_normal(m->initializer_range);
    if (of->rule == MODEL_RULE_EMBEDDING)
        return (struct zoo_init){.kind = ZOO_INIT_NORMAL, .std = m->initializer_range};
    return glorot(1);
}

/* The row of padding in the table of tokens of an encoder; 0 in other models. With a row above 0
 * the Model Zoo's layers of embeddings set this row to 0, and the tables of positions and of token
 * types as a whole: the index of padding in those is None, which selects all of their rows. */
static int64_t padding_row(const struct zoo_model *m)
{
    const bool encoder = m->objective != ZOO_CAUSAL_LM && m->objective != ZOO_SEQ2SEQ &&
                         m->objective != ZOO_DIFFUSION;
    return encoder && m->pad_token_id > 0 ? m->pad_token_id : 0;
}

int64_t model_init_zero_row(const struct zoo_model *m, enum model_tensor_kind kind)
{
    return kind == MODEL_WTE ? padding_row(m) : 0;
}

/* The initial distribution of a tensor: the params' initializer of its group, else the
 * family's default, scaled by muP. */
static struct zoo_init resolve_init(const struct model_init_place *of, const struct zoo_model *m)
{
    const struct zoo_init standard = cut_normal(m->initializer_range);
    const struct zoo_init matrix = explicit_or(&m->initializer, standard);
    const struct model_mup mup = model_mup_of(m);
    if (m->objective == ZOO_SEQ2SEQ && !starts_constant(of))
        return scaled(seq2seq_init(of, m), model_mup_seq2seq_init(m, of->rule, of->decoder));
    if (m->objective == ZOO_DIFFUSION && !starts_constant(of)) return diffusion_init(of, m);
    switch (of->rule) {
    case MODEL_RULE_RELATIVE:
        return glorot(1);
    case MODEL_RULE_ONES:
        return (struct zoo_init){.kind = ZOO_INIT_ONES};
    case MODEL_RULE_PLACE:
        if (padding_row(m) > 0) return (struct zoo_init){.kind = ZOO_INIT_ZEROS};
        return explicit_or(&m->embedding_initializer, standard);
    case MODEL_RULE_EMBEDDING:
        return explicit_or(&m->embedding_initializer, standard);
    case MODEL_RULE_POOLER: /* ESM-2's classifier has one of its own */
        if (m->name == ZOO_ESM2 && m->objective != ZOO_MASKED_LM) return glorot(1);
        return scaled(matrix, 1 / sqrt(mup.hidden));
    case MODEL_RULE_ATTENTION:
        return scaled(matrix, 1 / sqrt(mup.hidden));
    case MODEL_RULE_FFN:
        return scaled(explicit_or(&m->ffn_initializer, ffn_init(m)), 1 / sqrt(mup.hidden));
    case MODEL_RULE_DENSE:
        return matrix;
    case MODEL_RULE_ROUTER:
        return explicit_or(&m->moe.gate_initializer, matrix);
    case MODEL_RULE_ATTENTION_OUTPUT:
        return output_init(m, &m->output_layer_initializer, mup.hidden);
    case MODEL_RULE_FFN_OUTPUT:
        return ffn_output_init(m, &mup);
    case MODEL_RULE_CLASSIFIER: /* of fine-tuning; that of pre-training is as the other matrices */
        if (m->objective == ZOO_MASKED_LM) return standard;
        return (struct zoo_init){.kind = ZOO_INIT_NORMAL, .std = 0.02};
    case MODEL_RULE_LM_HEAD:
        if (m->objective != ZOO_CAUSAL_LM) return standard;
        return (struct zoo_init){.kind = ZOO_INIT_NORMAL, .std = m->initializer_range};
    case MODEL_RULE_CONDITION:
    case MODEL_RULE_ZEROS:
        break;
    }
    return (struct zoo_init){.kind = ZOO_INIT_ZEROS};
}

struct zoo_init model_init_of(const struct zoo_model *m, const struct model_init_place *of,
                              const int64_t shape[2])
{
    return of_shape(resolve_init(of, m), shape);
}

/* Refuse what is no distribution: a deviation that is not positive, an empty interval. */
static WSC_CHECKED enum wsc_err check_init(const char *key, const struct zoo_init *init)
{
    bool spread = init->kind == ZOO_INIT_NORMAL || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == ZOO_INIT_UNIFORM || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    if (spread && !(isfinite(init->mean) && isfinite(init->std) && init->std > 0))
        return WSC_RAISE(WSC_CONFIG, "model.%s: std %g with mean %g is no normal distribution", key,
                         init->std, init->mean);
    if (bounded && !(isfinite(init->a) && isfinite(init->b) && init->a < init->b))
        return WSC_RAISE(WSC_CONFIG, "model.%s: bounds a = %g, b = %g are not an interval", key,
                         init->a, init->b);
    return WSC_OK;
}

enum wsc_err model_init_check(const struct zoo_model *m)
{
    if (!(isfinite(m->initializer_range) && m->initializer_range > 0))
        return WSC_RAISE(WSC_CONFIG, "model.initializer_range: %g is not a positive number",
                         m->initializer_range);
    TRY(check_init("initializer", &m->initializer));
    TRY(check_init("embedding_initializer", &m->embedding_initializer));
    TRY(check_init("output_layer_initializer", &m->output_layer_initializer));
    TRY(check_init("ffn_initializer", &m->ffn_initializer));
    TRY(check_init("ffn_output_layer_initializer", &m->ffn_output_layer_initializer));
    TRY(check_init("moe.gate_initializer", &m->moe.gate_initializer));
    return WSC_OK;
}
