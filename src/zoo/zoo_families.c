// SPDX-License-Identifier: Apache-2.0
/* Defaults that the name of a family implies, as far as they differ from those of GPT-2. All other
 * properties of a family are keys of its files. A new family is a row of the table below and a
 * value of enum zoo_family; docs/FAMILIES.md lists the families. zoo_params.c calls after the keys
 * of the file and before the defaults of the table. */
#include "params_passes.h"
#include "params_values.h"

#include <wsc/check.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Most defaults that a family changes. */
enum { MAX_DEFAULTS = 12 };

/* A family: parallel blocks, and defaults of keys. */
struct family {
    const char *name;
    enum zoo_family family;
    bool parallel;
    bool encoder, norm_first;
    /* objective of the name; ZOO_CAUSAL_LM: that of the data loader */
    enum zoo_objective objective;
    struct {
        const char *path, *value;
    } fallback[MAX_DEFAULTS];
};

/* The Model Zoo's class of GPT-J serves three families. */
#define CLASS_OF_GPTJ                                                                              \
    .parallel = true,                                                                              \
    .fallback = {{"model.position_embedding_type", "rotary"}, {"model.use_ffn_bias", "false"}}

/* Encoders of the Model Zoo's class of BERT. */
#define CLASS_OF_BERT                                                                              \
    .encoder = true, .fallback = {{"model.embedding_layer_norm", "true"},                          \
                                  {"model.use_bias_in_output", "true"},                            \
                                  {"model.loss_scaling", "batch_size"}}

/* The Model Zoo's class of T5, which is that of the Transformer too. */
#define CLASS_OF_T5                                                                                \
    .objective = ZOO_SEQ2SEQ, .fallback = {{"model.hidden_size", "512"},                           \
                                           {"model.filter_size", "2048"},                          \
                                           {"model.num_hidden_layers", "6"},                       \
                                           {"model.num_heads", "8"},                               \
                                           {"model.nonlinearity", "relu"},                         \
                                           {"model.norm_type", "rmsnorm"},                         \
                                           {"model.layer_norm_epsilon", "1e-6"},                   \
                                           {"model.use_ffn_bias", "false"},                        \
                                           {"model.use_ffn_bias_in_attention", "false"},           \
                                           {"model.use_projection_bias_in_attention", "false"},    \
                                           {"model.scale_output_logits_by_d", "false"},            \
                                           {"model.position_embedding_type", "relative"}}

/* The Model Zoo's class of diffusion transformers.  It has no vocabulary and as many positions as a
 * latent has patches, which diffusion_values.c sets. */
#define CLASS_OF_DIT                                                                               \
    .objective = ZOO_DIFFUSION, .norm_first = true,                                                \
    .fallback = {{"model.vocab_size", "1"},                                                        \
                 {"model.dropout_rate", "0"},                                                      \
                 {"model.attention_dropout_rate", "0"},                                            \
                 {"model.embedding_dropout_rate", "0.1"}}

/* Defaults of the Model Zoo's classes of fine-tuning that differ from those of pre-training. */
static const struct {
    enum zoo_objective objective;
    const char *path, *value;
} of_objective[] = {{ZOO_TOKEN_CLASSIFICATION, "model.dropout_rate", "0"},
                    {ZOO_TOKEN_CLASSIFICATION, "model.attention_dropout_rate", "0"}};

/* The first spelling of a family is the one that the dump writes. */
static const struct family families[] = {
    {.name = "gpt2", .family = ZOO_GPT2},
    {.name = "gpt3", .family = ZOO_GPT3},
    {.name = "gptj", .family = ZOO_GPTJ, CLASS_OF_GPTJ},
    {.name = "gpt-j", .family = ZOO_GPTJ, CLASS_OF_GPTJ},
    {.name = "gpt-neox", .family = ZOO_GPT_NEOX, CLASS_OF_GPTJ},
    {.name = "gpt_neox", .family = ZOO_GPT_NEOX, CLASS_OF_GPTJ},
    {.name = "falcon", .family = ZOO_FALCON, CLASS_OF_GPTJ},
    {.name = "llama", .family = ZOO_LLAMA},
    {.name = "code-llama", .family = ZOO_LLAMA},
    {.name = "llamaV2", .family = ZOO_LLAMA},
    {.name = "mistral", .family = ZOO_MISTRAL},
    {.name = "mixtral", .family = ZOO_MIXTRAL},
    {.name = "bloom", .family = ZOO_BLOOM},
    {.name = "mpt", .family = ZOO_MPT},
    {.name = "btlm", .family = ZOO_BTLM},
    {.name = "jais", .family = ZOO_JAIS},
    {.name = "starcoder", .family = ZOO_STARCODER},
    {.name = "santacoder", .family = ZOO_SANTACODER},
    {.name = "gemma2", .family = ZOO_GEMMA2},
    {.name = "bert", .family = ZOO_BERT, CLASS_OF_BERT},
    {.name = "bert/classifier", .family = ZOO_BERT, .objective = ZOO_CLASSIFICATION, CLASS_OF_BERT},
    {.name = "bert/token_classifier",
     .family = ZOO_BERT,
     .objective = ZOO_TOKEN_CLASSIFICATION,
     CLASS_OF_BERT},
    {.name = "bert/extractive_summarization",
     .family = ZOO_BERT,
     .objective = ZOO_SUMMARIZATION,
     CLASS_OF_BERT},
    {.name = "esm2", .family = ZOO_ESM2, .norm_first = true, CLASS_OF_BERT},
    {.name = "esm2/classification",
     .family = ZOO_ESM2,
     .norm_first = true,
     .objective = ZOO_CLASSIFICATION,
     CLASS_OF_BERT},
    {.name = "t5", .family = ZOO_T5, CLASS_OF_T5},
    {.name = "transformer", .family = ZOO_T5, CLASS_OF_T5},
    {.name = "dit", .family = ZOO_DIT, CLASS_OF_DIT},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* The row with the written spelling of a family. */
static const struct family *row_of(enum zoo_family family)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (families[i].family == family) return &families[i];
    return NULL;
}

const char *zoo_family_spelling(int i)
{
    return i < N_FAMILIES ? families[i].name : NULL;
}

void zoo_read_family(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field)
{
    struct conf_choice names[CONF_MAX_CHOICES] = {{0}};
    if (conf_node_is_null(node)) return;
    _Static_assert((int)N_FAMILIES < (int)CONF_MAX_CHOICES, "no room for all families");
    for (int i = 0; i < N_FAMILIES; i++)
        names[i] = (struct conf_choice){families[i].name, (int)families[i].family};
    const int i = conf_choice_find(names, node);
    if (i < 0)
        conf_key_unsupported(p, key->path, node, names);
    else
        *(enum zoo_family *)field = families[i].family;
}

void zoo_write_family(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct family *row = row_of(*(const enum zoo_family *)field);
    (void)at;
    wsc_text_add(out, " %s", row ? row->name : "null");
}

/* Objective of the data loaders of a file; ZOO_CAUSAL_LM if none of them is for an encoder. */
static enum zoo_objective objective_of_data(const struct zoo_params *params)
{
    const char *name = params->train_input.data_processor;
    return zoo_processor_objective(name ? name : params->eval_input.data_processor);
}

/* Infer the family of a file of the runconfig style, which has no name because it lies in its
 * folder of the Model Zoo: encoders have their own data loaders, and two keys belong to the class
 * of GPT-J alone. */
static enum zoo_family inferred(struct conf_parse *p, const struct zoo_params *params)
{
    static const char *const of_gptj[] = {"model.use_untied_layer_norm",
                                          "model.residual_dropout_rate"};
    const bool said = p->given[conf_keys_find(p->table, "model.objective")] != NULL;
    const enum zoo_objective objective = said ? params->model.objective : objective_of_data(params);
    if (objective == ZOO_SEQ2SEQ) return ZOO_T5;
    if (objective == ZOO_DIFFUSION) return ZOO_DIT;
    if (objective != ZOO_CAUSAL_LM) return params->model.token_dropout ? ZOO_ESM2 : ZOO_BERT;
    for (int i = 0; i < 2; i++) {
        const struct conf_node *node = p->given[conf_keys_find(p->table, of_gptj[i])];
        if (conf_node_is_null(node)) continue;
        conf_diag_warn(p->diag, node->pos, of_gptj[i],
                       "a key of GPT-J, GPT-NeoX and Falcon: parallel blocks; model.name would say "
                       "it");
        return ZOO_GPTJ;
    }
    return ZOO_GPT2;
}

/* ESM-2's classifier of proteins has the data loader of masked tokens, so it is recognized by its
 * own keys. */
static bool classifies_proteins(const struct conf_parse *p, const struct family *family,
                                const struct zoo_model *m)
{
    static const char *const own[] = {"model.task_dropout", "model.freeze_pretrained_model",
                                      "model.problem_type"};
    bool given = false;
    for (int i = 0; i < 3; i++)
        given = given || p->given[conf_keys_find(p->table, own[i])];
    return given && family->family == ZOO_ESM2 && m->objective == ZOO_MASKED_LM;
}

/* True for objectives of a class of the Model Zoo that has no other objective. */
static bool is_of_class(enum zoo_objective objective)
{
    return objective == ZOO_SEQ2SEQ || objective == ZOO_DIFFUSION;
}

/* Objective of a model other than a decoder: that in the file, else of its name, else of its data
 * loader. */
static void resolve_objective(struct conf_parse *p, struct zoo_params *params,
                              const struct family *family)
{
    const int row = conf_keys_find(p->table, "model.objective");
    const struct conf_node *type = p->given[conf_keys_find(p->table, "model.problem_type")];
    struct zoo_model *m = &params->model;
    if ((family->encoder || is_of_class(family->objective)) && !p->seen[row]) {
        p->seen[row] = true;
        m->objective = family->objective;
        if (m->objective == ZOO_CAUSAL_LM) m->objective = objective_of_data(params);
        if (m->objective == ZOO_CAUSAL_LM) m->objective = ZOO_MASKED_LM;
        if (classifies_proteins(p, family, m)) m->objective = ZOO_CLASSIFICATION;
    }
    if (m->objective == ZOO_CLASSIFICATION && type && type->kind == CONF_NODE_SCALAR &&
        !strcmp(type->text, "regression"))
        m->objective = ZOO_REGRESSION;
}

static bool trains_for(const struct family *family, enum zoo_objective objective)
{
    if (is_of_class(family->objective) || is_of_class(objective))
        return family->objective == objective;
    return family->encoder == (objective != ZOO_CAUSAL_LM);
}

/* A family is an encoder, a decoder, both, or a diffusion transformer: check that the objective is
 * one of it. */
static void check_objective(struct conf_parse *p, const struct zoo_model *model,
                            const struct family *family)
{
    enum { DECODER, ENCODER, BOTH, DIFFUSION };
    static const struct {
        const char *what, *objectives;
    } kinds[] = {[DECODER] = {"a decoder", "causal_lm"},
                 [ENCODER] = {"an encoder", "masked_lm, classification, regression, "
                                            "token_classification, summarization, span"},
                 [BOTH] = {"an encoder and a decoder", "seq2seq"},
                 [DIFFUSION] = {"a diffusion transformer", "diffusion"}};
    const int kind = family->objective == ZOO_SEQ2SEQ     ? BOTH
                     : family->objective == ZOO_DIFFUSION ? DIFFUSION
                     : family->encoder                    ? ENCODER
                                                          : DECODER;
    const struct conf_node *node = p->given[conf_keys_find(p->table, "model.objective")];
    if (trains_for(family, model->objective) || !node) return;
    conf_diag_error(p->diag, node->pos, "model.objective", "%s is %s; supported: %s", family->name,
                    kinds[kind].what, kinds[kind].objectives);
}

/* The row with the spelling in the file, which may be more specific than the family. */
static const struct family *named(struct conf_parse *p, enum zoo_family family)
{
    const struct conf_node *node = p->given[conf_keys_find(p->table, "model.name")];
    for (int i = 0; node && node->kind == CONF_NODE_SCALAR && i < N_FAMILIES; i++)
        if (!strcasecmp(families[i].name, node->text)) return &families[i];
    return row_of(family);
}

/* Set a default with the reader of its key, as if it were in the file, unless the file has the key.
 */
static void set_default(struct conf_parse *p, const char *path, const char *value)
{
    const int row = conf_keys_find(p->table, path);
    const struct conf_node node = {.kind = CONF_NODE_SCALAR, .plain = true, .text = value};
    if (p->seen[row]) return;
    conf_key_read(p, row, &node);
    p->given[row] = NULL;
}

void zoo_family_resolve(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *model = &params->model;
    if (model->name == ZOO_FAMILY_NONE) {
        model->name = inferred(p, params);
        p->seen[conf_keys_find(p->table, "model.name")] = true;
    }
    const struct family *family = named(p, model->name);
    WSC_CHECK(family, "family %d has no row", (int)model->name);
    model->parallel_block = family->parallel;
    model->norm_first = family->norm_first;
    for (int i = 0; i < MAX_DEFAULTS && family->fallback[i].path; i++)
        set_default(p, family->fallback[i].path, family->fallback[i].value);
    resolve_objective(p, params, family);
    for (size_t i = 0; i < sizeof of_objective / sizeof *of_objective; i++)
        if (of_objective[i].objective == model->objective)
            set_default(p, of_objective[i].path, of_objective[i].value);
    if (family->family == ZOO_ESM2 && model->objective != ZOO_MASKED_LM)
        set_default(p, "model.task_dropout", "0"); /* there null means no dropout */
    check_objective(p, model, family);
}

enum num_format zoo_number_format(const struct zoo_model *model)
{
    return model->mixed_precision ? num_format_of(model->fp16_type) : NUM_FP32;
}

bool zoo_moe_has_sinkhorn(const struct zoo_moe *moe)
{
    return moe->num_experts && moe->routing_algorithm == ZOO_ROUTING_LEARNED &&
           (moe->router_selection_nonlinearity == ZOO_ROUTER_SINKHORN ||
            moe->expert_weighting_nonlinearity == ZOO_ROUTER_SINKHORN);
}

bool zoo_moe_weighs_apart(const struct zoo_moe *moe)
{
    return moe->num_experts && moe->routing_algorithm == ZOO_ROUTING_LEARNED &&
           moe->expert_weighting_nonlinearity != moe->router_selection_nonlinearity;
}
