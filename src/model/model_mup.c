// SPDX-License-Identifier: Apache-2.0
/* Maximal update parametrization by base sizes: factors of initial values and learning rates from
 * the ratio of the model's widths to the base widths (Yang et al. 2022, table 8), as the Model
 * Zoo's classes of GPT-2, BERT and T5 have them.  T5's differ: its projections of attention, whose
 * width does not grow unless the base says so, and its tables scale by the root of the ratio.
 * model_init.c calls. */
#include "model_mup.h"

#include <math.h>

struct model_mup model_mup_of(const struct zoo_model *m)
{
    return (struct model_mup){
        m->mup_base_hidden_size > 0 ? (double)m->hidden_size / m->mup_base_hidden_size : 1,
        m->mup_base_filter_size > 0 ? (double)m->filter_size / m->mup_base_filter_size : 1};
}

/* Residual layers start 2 L times as wide as without muP: the Model Zoo's class of T5 multiplies
 * by the depth of the stack where those of GPT-2 and BERT divide by its root. */
double model_mup_seq2seq_init(const struct zoo_model *m, enum model_init_rule rule, bool decoder)
{
    const double C = (double)m->hidden_size;
    const double inner = (double)m->d_kv * (double)m->num_heads;
    const double depth =
        2 * (double)(decoder ? m->decoder_num_hidden_layers : m->num_hidden_layers);
    if (!(m->mup_base_hidden_size > 0)) return 1;
    switch (rule) {
    case MODEL_RULE_EMBEDDING:
    case MODEL_RULE_LM_HEAD:
        return 1 / sqrt(C);
    case MODEL_RULE_ATTENTION_OUTPUT:
        return m->mup_base_d_kv > 0 ? depth * sqrt(C / inner) : depth;
    case MODEL_RULE_FFN_OUTPUT:
        return depth;
    case MODEL_RULE_PLACE:
    case MODEL_RULE_ZEROS:
    case MODEL_RULE_ONES:
    case MODEL_RULE_ATTENTION:
    case MODEL_RULE_FFN:
    case MODEL_RULE_ROUTER:
    case MODEL_RULE_DENSE:
    case MODEL_RULE_POOLER:
    case MODEL_RULE_CLASSIFIER:
    case MODEL_RULE_RELATIVE:
    case MODEL_RULE_CONDITION:
        break;
    }
    return 1;
}

/* The class of T5 has the groups of both stacks.  With a base width of heads, projections to
 * queries, keys and values are hidden weights of the model's width, and those after attention of
 * the heads' width. */
static struct zoo_lr_scale of_seq2seq(const struct zoo_model *m)
{
    const struct model_mup mup = model_mup_of(m);
    const double root = 1 / sqrt(mup.hidden), base = m->mup_base_d_kv;
    const double qkv = base > 0 ? 1 / mup.hidden : root,
                 output = base > 0 ? base / (double)m->d_kv : root;
    return (struct zoo_lr_scale){.embedding = root,
                                 .lm_head = root,
                                 .decoder_qkv_projection = qkv,
                                 .encoder_qkv_projection = qkv,
                                 .decoder_output_projection = output,
                                 .encoder_output_projection = output,
                                 .decoder_input_ffn = 1 / mup.hidden,
                                 .encoder_input_ffn = 1 / mup.hidden,
                                 .decoder_output_ffn = 1 / mup.filter,
                                 .encoder_output_ffn = 1 / mup.filter};
}

struct zoo_lr_scale model_mup_rates(const struct zoo_model *m)
{
    const struct model_mup mup = model_mup_of(m);
    if (!(m->mup_base_hidden_size > 0)) return (struct zoo_lr_scale){0};
    if (m->objective == ZOO_SEQ2SEQ) return of_seq2seq(m);
    if (m->objective == ZOO_CAUSAL_LM)
        return (struct zoo_lr_scale){.decoder_attention = 1 / mup.hidden,
                                     .decoder_input_ffn = 1 / mup.hidden,
                                     .decoder_output_ffn = 1 / mup.filter};
    return (struct zoo_lr_scale){.encoder_attention = 1 / mup.hidden,
                                 .encoder_input_ffn = 1 / mup.hidden,
                                 .encoder_output_ffn = 1 / mup.filter,
                                 .pooler = 1 / mup.hidden};
}
