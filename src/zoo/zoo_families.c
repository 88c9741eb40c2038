// SPDX-License-Identifier: Apache-2.0
/* What the name of a family implies: defaults that differ from GPT-2's.  Everything else of a
 * family is in the keys of its files.  A new family is a row of the table below and a value of enum
 * zoo_family; docs/FAMILIES.md lists them.  Called by zoo_params.c between the keys of the file and
 * the defaults of the table. */
#include "params_passes.h"
#include "params_values.h"

#include <wsc/check.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Most defaults that a family changes. */
enum { MAX_DEFAULTS = 3 };

/* What a name implies: parallel blocks, and defaults of keys. */
struct family {
    const char *name;
    enum zoo_family family;
    bool parallel;
    struct {
        const char *path, *value;
    } fallback[MAX_DEFAULTS];
};

/* The Model Zoo's class of GPT-J serves three families. */
#define CLASS_OF_GPTJ                                                                              \
    .parallel = true,                                                                              \
    .fallback = {{"model.position_embedding_type", "rotary"}, {"model.use_ffn_bias", "false"}}

/* The first spelling of a family is the one that is written. */
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
    {.name = "bert", .family = ZOO_BERT, .fallback = {{"model.objective", "masked_lm"}}},
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

/* Files of the runconfig style have no name: the folder of the Model Zoo that they lie in is
 * theirs.  Two keys belong to the class of GPT-J alone. */
static enum zoo_family inferred(struct conf_parse *p)
{
    static const char *const of_gptj[] = {"model.use_untied_layer_norm",
                                          "model.residual_dropout_rate"};
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

/* BERT is an encoder, all other families are decoders. */
static void check_objective(struct conf_parse *p, const struct zoo_model *model,
                            const struct family *family)
{
    const bool encoder = model->name == ZOO_BERT, encodes = model->objective != ZOO_CAUSAL_LM;
    const struct conf_node *node = p->given[conf_keys_find(p->table, "model.objective")];
    if (encoder == encodes || !node) return;
    conf_diag_error(p->diag, node->pos, "model.objective", "%s is %s; supported: %s", family->name,
                    encoder ? "an encoder" : "a decoder",
                    encoder ? "masked_lm, classification" : "causal_lm");
}

/* Defaults go through the reader of their key, as if they stood in the file, but for keys that the
 * file has. */
void zoo_family_resolve(struct conf_parse *p, struct zoo_model *model)
{
    if (model->name == ZOO_FAMILY_NONE) {
        model->name = model->objective == ZOO_CAUSAL_LM ? inferred(p) : ZOO_BERT;
        p->seen[conf_keys_find(p->table, "model.name")] = true;
    }
    const struct family *family = row_of(model->name);
    WSC_CHECK(family, "family %d has no row", (int)model->name);
    model->parallel_block = family->parallel;
    for (int i = 0; i < MAX_DEFAULTS && family->fallback[i].path; i++) {
        const int row = conf_keys_find(p->table, family->fallback[i].path);
        const struct conf_node node = {
            .kind = CONF_NODE_SCALAR, .plain = true, .text = family->fallback[i].value};
        if (p->seen[row]) continue;
        conf_key_read(p, row, &node);
        p->given[row] = NULL;
    }
    check_objective(p, model, family);
}
