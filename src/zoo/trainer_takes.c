// SPDX-License-Identifier: Apache-2.0
/* Converts the keys of the trainer style that have another form in the runconfig style: the
 * optimizer and schedulers by the name of their type, data sets, callbacks that are switches. Each
 * function converts one key and puts the results into the new tree; trainer.c finds the functions
 * in the rows of trainer_keys.c. */
#include "trainer_takes.h"
#include "params_values.h"
#include "trainer_tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- model, optimizer, data ------------------------------------------------------------------ */

/* True for a map; any other value except null is an error about @p path. */
static bool is_map(struct conf_diag *d, const struct conf_node *node, const char *path)
{
    if (node->kind == CONF_NODE_MAP) return true;
    if (!conf_node_is_null(node)) zoo_trainer_wrong_form(d, node, path, "a map of keys");
    return false;
}

ZOO_TRAINER_TAKE(model)
{
    if (is_map(p->diag, node, key->path)) zoo_trainer_merge(trainer, "model", node, key->path);
}

ZOO_TRAINER_TAKE(optimizer)
{
    struct zoo_trainer *t = trainer;
    if (conf_node_is_null(node)) return;
    const struct conf_entry *type = zoo_trainer_single(p->diag, node, key->path);
    if (!type) return;
    zoo_trainer_put_text(t, "optimizer.optimizer_type", type->key, type->key_pos);
    conf_diag_origin(p->diag, "optimizer.optimizer_type", key->path);
    const char *path = zoo_trainer_text(t, "%s.%s", key->path, type->key);
    conf_diag_origin(p->diag, "optimizer", path);
    if (is_map(p->diag, type->value, path)) zoo_trainer_merge(t, "optimizer", type->value, path);
}

ZOO_TRAINER_TAKE(train)
{
    struct zoo_trainer *t = trainer;
    t->trains = is_map(p->diag, node, key->path);
    if (t->trains) zoo_trainer_merge(t, "train_input", node, key->path);
}

/* Store the data set that is evaluated; warn if two keys name different ones. */
static void take_eval(struct zoo_trainer *t, const char *path, const struct conf_node *node,
                      enum zoo_eval_rank rank)
{
    if (conf_node_is_null(node)) return;
    const bool wins = rank > t->eval_rank;
    if (t->eval && t->eval->entry != node->entry) {
        const char *left = wins ? t->eval_path : path, *taken = wins ? path : t->eval_path;
        conf_diag_warn(t->diag, wins ? t->eval->pos : node->pos, left,
                       "not used: one set is evaluated, %s", taken);
    }
    if (!wins) return;
    t->eval = node;
    t->eval_path = path;
    t->eval_rank = rank;
}

/* Take a data set, or a list of data sets, of which the first one is evaluated. */
static void take_eval_list(struct zoo_trainer *t, const char *path, const struct conf_node *node,
                           enum zoo_eval_rank rank)
{
    if (node->kind != CONF_NODE_LIST || !node->n) {
        if (is_map(t->diag, node, path)) take_eval(t, path, node, rank);
        return;
    }
    const struct conf_node *first = node->entry[0].value;
    const char *name = zoo_trainer_text(t, "%s[0]", path);
    if (node->n > 1)
        conf_diag_warn(t->diag, node->pos, path, "%d sets: the first one is evaluated", node->n);
    if (is_map(t->diag, first, name)) take_eval(t, name, first, rank);
}

ZOO_TRAINER_TAKE(fit_val)
{
    (void)p;
    take_eval_list(trainer, key->path, node, ZOO_EVAL_FIT);
}

ZOO_TRAINER_TAKE(val)
{
    (void)p;
    take_eval_list(trainer, key->path, node, ZOO_EVAL_VALIDATE);
}

ZOO_TRAINER_TAKE(val_all)
{
    (void)p;
    take_eval_list(trainer, key->path, node, ZOO_EVAL_VALIDATE_ALL);
}

ZOO_TRAINER_TAKE(val_checkpoint)
{
    (void)p;
    (void)key;
    ((struct zoo_trainer *)trainer)->val_checkpoint = node;
}

ZOO_TRAINER_TAKE(all_checkpoints)
{
    (void)p;
    (void)key;
    ((struct zoo_trainer *)trainer)->all_checkpoints = node;
}

/* What a scope says of its own comes before it, wherever it stands. */
ZOO_TRAINER_TAKE(global_micro_batch)
{
    (void)key;
    ((struct zoo_trainer *)trainer)->global_micro = node;
    conf_diag_origin(p->diag, "eval_input.micro_batch_size", key->path);
}

/* The keys of a callback that is a map: each needs a row below that of the callback, and has no
 * effect. */
static void take_callback_keys(struct conf_parse *p, const struct conf_key *key,
                               const struct conf_node *map)
{
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "%.90s.%.90s", key->path, e->key);
        const int row = conf_keys_find(p->table, path);
        if (row < 0)
            conf_keys_unknown(p->table, p->diag, e->key_pos, path);
        else if (!conf_node_is_null(e->value))
            conf_diag_warn(p->diag, e->value->pos, path, "not used: %s", p->table->key[row].doc);
    }
}

/* null or false: off; true or a map: on. */
ZOO_TRAINER_TAKE(switch)
{
    char shown[CONF_QUOTE_BYTES];
    bool on = false;
    if (node->kind == CONF_NODE_MAP) {
        take_callback_keys(p, key, node);
        on = true;
    } else if (!conf_node_is_null(node) &&
               (node->kind != CONF_NODE_SCALAR || !conf_parse_bool(node->text, &on))) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected a map, true, false or null, got %s; hint: {} switches it on",
                        conf_node_describe(node, shown));
        return;
    }
    zoo_trainer_put_text(trainer, key->to, on ? "true" : "false", node->pos);
}

/* ---- schedulers ------------------------------------------------------------------------------ */

/* True when @p text ends with @p tail, in any case. */
static bool ends(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);
    return n >= m && !strcasecmp(text + n - m, tail);
}

/* Put a scheduler of tagged tensors into optimizer.tagged_schedules, with its tags separately. */
static bool put_tagged(struct zoo_trainer *t, const struct conf_entry *type, const char *kind,
                       const struct conf_node *tags)
{
    static const char to[] = "optimizer.tagged_schedules", key[] = "param_group_tags";
    struct conf_node *list = (struct conf_node *)conf_node_at(t->doc->root, to);
    struct conf_node *all = list ? list : conf_doc_list(t->doc, type->key_pos);
    struct conf_node *args = conf_doc_map(t->doc, type->value->pos);
    struct conf_node *name = conf_doc_map(t->doc, type->key_pos);
    struct conf_node *map = conf_doc_map(t->doc, type->key_pos);
    bool ok = all && args && name && map;
    for (int i = 0; ok && i < type->value->n; i++)
        if (strcmp(type->value->entry[i].key, key) != 0)
            ok = conf_doc_append(t->doc, args, &type->value->entry[i]);
    const struct conf_entry entries[] = {{type->key, type->key_pos, args},
                                         {key, tags->pos, (struct conf_node *)tags},
                                         {kind, type->key_pos, name},
                                         {NULL, type->key_pos, map}};
    ok = ok && conf_doc_append(t->doc, name, &entries[0]) &&
         conf_doc_append(t->doc, map, &entries[1]) && conf_doc_append(t->doc, map, &entries[2]) &&
         conf_doc_append(t->doc, all, &entries[3]);
    if (ok && !list) conf_doc_set(t->doc, t->diag, to, all);
    return ok;
}

/* What a scheduler without tags sets, and how many there were. */
struct scheduled {
    const char *to, *value, *wrappers;
    int n;
};

/* Take a scheduler without tags, the only one of its value. */
static void take_untagged(struct conf_parse *p, struct zoo_trainer *t, const struct conf_node *node,
                          const char *path, struct scheduled *scheduled)
{
    const struct conf_entry *type = &node->entry[0];
    const struct conf_node name = {
        .kind = CONF_NODE_SCALAR, .text = type->key, .pos = type->key_pos};
    if (!scheduled->n++)
        zoo_trainer_put_over(t, scheduled->to, node, path);
    else if (zoo_scheduler_is_known(p, path, &name))
        conf_diag_error(t->diag, node->pos, path,
                        "one scheduler of the %s is supported by this release; hint: put them "
                        "into a %s",
                        scheduled->value, scheduled->wrappers);
}

/* A scheduler `...WD` sets the weight decay, any other one the learning rate; @p both has the
 * learning rate first. */
static void take_scheduler(struct conf_parse *p, struct zoo_trainer *t,
                           const struct conf_node *node, const char *path, struct scheduled *both)
{
    const struct conf_entry *type = zoo_trainer_single(t->diag, node, path);
    if (!type) return;
    const bool decays = ends(type->key, "WD");
    const struct conf_node *tags = conf_node_find(type->value, "param_group_tags");
    if (!conf_node_is_null(tags)) {
        if (!put_tagged(t, type, decays ? "weight_decay" : "learning_rate", tags))
            t->diag->no_memory = true;
        return;
    }
    if (conf_node_at(t->doc->root, "optimizer.tagged_schedules"))
        conf_diag_error(t->diag, node->pos, path,
                        "stands after schedulers with param_group_tags and would take their "
                        "tensors; hint: put it before them");
    take_untagged(p, t, node, path, &both[decays]);
}

ZOO_TRAINER_TAKE(schedulers)
{
    struct scheduled both[] = {
        {"optimizer.learning_rate", "learning rate", "SequentialLR or ChainedScheduler", 0},
        {"optimizer.weight_decay", "weight decay", "SequentialWD or ChainedWD", 0}};
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST) take_scheduler(p, trainer, node, key->path, both);
    for (int i = 0; node->kind == CONF_NODE_LIST && i < node->n; i++)
        take_scheduler(p, trainer, node->entry[i].value,
                       zoo_trainer_text(trainer, "%s[%d]", key->path, i), both);
}
