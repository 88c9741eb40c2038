// SPDX-License-Identifier: Apache-2.0
/* Files of preference optimization in their three forms: `model.name: dpo` with the policy as a map
 * `policy_model` (from release 2.3 on), the policy's keys beside `dpo` with its family as
 * `model_name` (release 2.2), and what a dump has.  All become the last one, keys of `model` with a
 * section `dpo`.  Called by zoo_params.c before the old names are replaced (renames.c); the section
 * is read by the rows of params_keys.c and checked in params_check_model.c. */
#include "params_passes.h"

#include <string.h>
#include <strings.h>

static bool put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry)
{
    return entry->value && conf_doc_put(doc, map, entry);
}

/* The section says that a model is one of preferences, with or without keys of its own. */
static bool put_section(struct conf_doc *doc, struct conf_node *model, struct conf_pos pos)
{
    const struct conf_entry entry = {.key = "dpo", .key_pos = pos, .value = conf_doc_map(doc, pos)};
    return conf_node_find(model, "dpo") || put(doc, model, &entry);
}

/* `name: dpo` names no family; the policy's name takes its place. */
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
