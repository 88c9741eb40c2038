// SPDX-License-Identifier: Apache-2.0
/* Converts files of preference optimization to one form: keys of `model` with a section `dpo`,
 * which is the form of a dump. Other forms are `model.name: dpo` with the policy as a map
 * `policy_model` (since release 2.3), and the policy's keys beside `dpo` with its family as
 * `model_name` (release 2.2). zoo_params.c calls before old names are replaced (renames.c); the
 * rows of params_keys.c read the section, params_check_model.c checks it. */
#include "params_passes.h"

#include <string.h>
#include <strings.h>

static bool put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry)
{
    return entry->value && conf_doc_put(doc, map, entry);
}

/* Add the section, which marks a model of preference optimization, with or without keys of its own.
 */
static bool put_section(struct conf_doc *doc, struct conf_node *model, struct conf_pos pos)
{
    const struct conf_entry entry = {.key = "dpo", .key_pos = pos, .value = conf_doc_map(doc, pos)};
    return conf_node_find(model, "dpo") || put(doc, model, &entry);
}

/* `name: dpo` is not a family: it is replaced by the name of the policy. */
static bool drop_name(struct conf_doc *doc, struct conf_node *model)
{
    const struct conf_node *name = conf_node_find(model, "name");
    if (!name || name->kind != CONF_NODE_SCALAR || strcasecmp(name->text, "dpo") != 0) return true;
    const struct conf_pos pos = name->pos;
    conf_node_remove(model, "name");
    return put_section(doc, model, pos);
}

void zoo_policy_unwrap(struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_node *model = doc->root ? conf_doc_own(doc, doc->root, "model") : NULL;
    if (!model) return;
    bool ok = drop_name(doc, model);
    const struct conf_node *policy = conf_node_find(model, "policy_model");
    if (!policy || policy->kind != CONF_NODE_MAP) {
        d->no_memory = d->no_memory || !ok;
        return;
    }
    ok = ok && put_section(doc, model, policy->pos);
    for (int i = 0; ok && i < policy->n; i++)
        ok = put(doc, model, &policy->entry[i]);
    conf_node_remove(model, "policy_model");
    d->no_memory = d->no_memory || !ok;
}
