// SPDX-License-Identifier: Apache-2.0
/** Maximal update parametrization by base sizes (Yang et al. 2022): what the ratio of the model's
 *  widths to those that the settings were tuned at does to initial values and learning rates.
 */
#ifndef WSC_MODEL_MUP_H
#define WSC_MODEL_MUP_H
#include <wsc/zoo.h>

/** Which rule fills a tensor at the start; the groups of muP are groups of rules. */
enum model_init_rule {
    MODEL_RULE_ZEROS,
    MODEL_RULE_ONES,
    MODEL_RULE_EMBEDDING,
    MODEL_RULE_PLACE, /* tables that are added to that of tokens: of positions, of token types */
    MODEL_RULE_ATTENTION,
    MODEL_RULE_ATTENTION_OUTPUT,
    MODEL_RULE_FFN,
    MODEL_RULE_FFN_OUTPUT,
    MODEL_RULE_ROUTER,
    MODEL_RULE_DENSE,
    MODEL_RULE_POOLER,
    MODEL_RULE_CLASSIFIER,
    MODEL_RULE_RELATIVE,
    MODEL_RULE_LM_HEAD,
    MODEL_RULE_CONDITION /* weights of scales, shifts and gates, which start from 0 */
};

/** Ratios of the widths; 1 without muP by base sizes. */
struct model_mup {
    double hidden, filter; /**< of the model, of its feed-forward networks */
};

/** The ratios of a model. */
struct model_mup model_mup_of(const struct zoo_model *m);
/** Factor on the initial deviations that the class of T5 has without muP, of a tensor of the
 *  encoder or the @p decoder. */
double model_mup_seq2seq_init(const struct zoo_model *m, enum model_init_rule rule, bool decoder);
/** Factors on the learning rates of the groups that the model's class scales; 0: of another group,
 *  or without muP by base sizes. */
struct zoo_lr_scale model_mup_rates(const struct zoo_model *m);
#endif
