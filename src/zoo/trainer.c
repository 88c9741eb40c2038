// SPDX-License-Identifier: Apache-2.0
/* Converts params files of the trainer style to the tree of the runconfig style. The rows of
 * trainer_keys.c have the new name of each key, trainer_takes.c converts the few keys with another
 * form, and trainer_tree.c builds the tree. Nodes keep their positions in the file, and the list of
 * origins keeps the user's names. zoo_params.c calls: choose, normalise, --set, normalise again,
 * convert. */
#include "trainer.h"
#include "params_passes.h"
#include "trainer_tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool zoo_trainer_is(const struct conf_node *root)
{
    return conf_node_find(root, "trainer") != NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Convert one key of the trainer style: by its own function, or to its name in the runconfig style.
 */
static void take_row(struct conf_parse *p, int row, const struct conf_node *node)
{
    const struct conf_key *key = &p->table->key[row];
    p->given[row] = node;
    if (key->status == CONF_ONLY) conf_key_check_only(p, key, node);
    if (key->read)
        key->read(p, key, node, p->out);
    else if (key->to)
        zoo_trainer_put_over((struct zoo_trainer *)(void *)p->out, key->to, node, key->path);
    if (key->to) conf_diag_origin(p->diag, key->to, key->path);
}

/* A trainer with schedulers needs one that sets the learning rate of all tensors. After the message
 * a rate keeps the reader of params from reporting that the key is missing. */
static void check_rate(struct zoo_trainer *t, const struct conf_node *trainer)
{
    static const char path[] = "trainer.init.schedulers";
    const struct conf_node *all = conf_node_at(trainer, "init.schedulers");
    if (conf_node_is_null(all) || !all->n || conf_node_at(t->doc->root, "optimizer.learning_rate"))
        return;
    conf_diag_error(t->diag, all->pos, path,
                    "none of them sets the learning rate of all tensors; hint: begin with one "
                    "...LR without param_group_tags");
    zoo_trainer_put_text(t, "optimizer.learning_rate", "0", all->pos);
}

/* Set the keys of the optimizer that depend on the schedulers. */
static void finish_optimizer(struct zoo_trainer *t, const struct conf_node *trainer)
{
    struct conf_node *map = conf_doc_own(t->doc, t->doc->root, "optimizer");
    if (!conf_node_find(map,
                        "optimizer_type")) { /* a section `precision` alone makes no optimizer */
        conf_node_remove(t->doc->root, "optimizer");
        return;
    }
    const struct conf_node *rate = conf_node_find(map, "lr");
    if (conf_node_is_null(rate)) check_rate(t, trainer);
    if (!rate) return;
    conf_node_remove(map, "lr");
    if (!conf_node_find(map, "learning_rate"))
        zoo_trainer_put(t, "optimizer.learning_rate", rate);
    else if (!conf_node_is_null(rate))
        conf_diag_warn(t->diag, rate->pos, "optimizer.lr", "not used: the schedulers say the rate");
}

/* A section `precision` is a callback whose `enabled` is true by default. */
static void finish_precision(struct zoo_trainer *t, const struct conf_node *trainer)
{
    static const char enabled[] = "model.mixed_precision";
    const struct conf_node *precision = conf_node_at(trainer, "init.precision");
    if (conf_node_is_null(precision) || conf_node_at(t->doc->root, enabled)) return;
    zoo_trainer_put_text(t, enabled, "true", precision->pos);
}

/* Determine which inputs the converted file has. Flags such as micro_batch_size alone make none;
 * without training data the job is an evaluation. */
static void finish_data(struct zoo_trainer *t)
{
    if (t->global_micro) {
        zoo_trainer_put_absent(t, "train_input.micro_batch_size", t->global_micro);
        zoo_trainer_put_absent(t, "eval_input.micro_batch_size", t->global_micro);
    }
    if (t->eval)
        zoo_trainer_merge(t, "eval_input", t->eval, t->eval_path);
    else
        conf_node_remove(t->doc->root, "eval_input");
    if (t->trains) return;
    conf_node_remove(t->doc->root, "train_input");
    if (t->eval) zoo_trainer_put_text(t, "runconfig.mode", "eval", t->eval->pos);
}

/* The first checkpoint of a list, or the one in its place; NULL without one. */
static const struct conf_node *first_checkpoint(struct zoo_trainer *t, const char *path)
{
    const struct conf_node *all = t->all_checkpoints;
    if (conf_node_is_null(all) || (all->kind == CONF_NODE_LIST && !all->n)) return NULL;
    if (all->kind != CONF_NODE_LIST) return all;
    if (all->n > 1)
        conf_diag_warn(t->diag, all->pos, path, "%d checkpoints: the first one is evaluated",
                       all->n);
    return all->entry[0].value;
}

/* The checkpoint of `validate` or `validate_all` is for a run that does not train; `fit` may have
 * another one, from which training starts. */
static void finish_checkpoint(struct zoo_trainer *t, const char *mode)
{
    static const char one[] = "trainer.validate.ckpt_path",
                      all[] = "trainer.validate_all.ckpt_paths";
    const bool trains = mode ? !strncmp(mode, "train", 5) : t->trains;
    const bool has_one = !conf_node_is_null(t->val_checkpoint);
    const struct conf_node *given = has_one ? t->val_checkpoint : t->all_checkpoints;
    if (conf_node_is_null(given)) return;
    if (trains) {
        conf_diag_warn(t->diag, given->pos, has_one ? one : all,
                       "not used: the run trains; hint: --mode eval");
        return;
    }
    const struct conf_node *path = has_one ? given : first_checkpoint(t, all);
    if (path) zoo_trainer_put(t, "runconfig.checkpoint_path", path);
}

/* Keep the keys beside `trainer`, which are those of this program. */
static void keep_others(struct zoo_trainer *t, const struct conf_node *root)
{
    for (int i = 0; i < root->n; i++) {
        const struct conf_entry *e = &root->entry[i];
        if (!strcmp(e->key, "trainer")) continue;
        if (conf_keys_find(zoo_params_table(), e->key) < 0)
            conf_diag_error(t->diag, e->key_pos, e->key,
                            "unknown key beside trainer; hint: the sections of the runconfig "
                            "style and trainer exclude each other");
        else if (!conf_doc_append(t->doc, t->doc->root, e))
            t->diag->no_memory = true;
    }
}

/* Convert the keys into a new tree, then set the values that depend on several keys. Origins of all
 * rows are registered, so that a message about a default has the name of the user's key too. */
void zoo_trainer_convert(struct conf_doc *doc, struct conf_diag *d, const char *mode)
{
    const struct conf_node *root = doc->root;
    const struct conf_node only = {
        .kind = CONF_NODE_MAP,
        .n = 1,
        .entry = &(struct conf_entry){.key = "trainer", .value = conf_node_find(root, "trainer")}};
    struct zoo_trainer t = {.doc = doc, .diag = d};
    struct conf_rows rows = {0};
    struct conf_parse p = {.table = zoo_trainer_table(),
                           .diag = d,
                           .out = (char *)&t,
                           .seen = rows.seen,
                           .given = rows.given};
    doc->root = conf_doc_map(doc, (struct conf_pos){0});
    if (!doc->root) {
        d->no_memory = true;
        return;
    }
    conf_keys_read(&p, &only, take_row);
    finish_data(&t);
    finish_checkpoint(&t, mode);
    finish_precision(&t, only.entry[0].value);
    finish_optimizer(&t, only.entry[0].value);
    keep_others(&t, root);
    for (int i = 0; i < p.table->n; i++)
        if (p.table->key[i].to) conf_diag_origin(d, p.table->key[i].to, p.table->key[i].path);
    zoo_params_warn_no_effect(&p);
}

/* ---- before: lists --------------------------------------------------------------------------- */

/* A list of trainers is a list of phases of a training; --set phase=N selects one. */
void zoo_trainer_choose(struct conf_doc *doc, struct conf_diag *d, int64_t phase, int *n_phases)
{
    struct conf_node *list = conf_node_find(doc->root, "trainer");
    *n_phases = 1;
    if (list && list->kind == CONF_NODE_LIST) {
        *n_phases = list->n;
        if (!list->n) zoo_trainer_wrong_form(d, list, "trainer", "at least one trainer");
    }
    if (phase < 1 || (list && phase > *n_phases)) {
        if (*n_phases)
            conf_diag_error(d, (struct conf_pos){0}, "trainer",
                            "there is no phase %lld, the file has %d", (long long)phase, *n_phases);
        return;
    }
    if (!list || list->kind != CONF_NODE_LIST || !list->n) return;
    const struct conf_entry *chosen = &list->entry[phase - 1];
    struct conf_node *inner = conf_node_find(chosen->value, "trainer");
    d->trainer = (int)phase;
    const struct conf_entry entry = {
        .key = "trainer", .key_pos = list->pos, .value = inner ? inner : chosen->value};
    if (inner && chosen->value->n > 1)
        conf_diag_error(d, chosen->value->pos, "trainer",
                        "expected a map with the one key trainer");
    if (!conf_doc_put(doc, doc->root, &entry)) d->no_memory = true;
}

/* The name in the spelling of the table. */
static const char *table_name(const char *section, const char *name)
{
    const struct conf_table *table = zoo_trainer_table();
    const size_t n = strlen(section), length = strlen(name);
    for (int i = 0; i < table->n; i++) {
        const char *path = table->key[i].path;
        if (strncmp(path, section, n) != 0 || path[n] != '.') continue;
        const char *known = path + n + 1;
        if (strcspn(known, ".") == length && !strncasecmp(known, name, length)) return known;
    }
    return name;
}

/* Put the flags below @p path, which may be given with dots or as maps, into nested maps. A flag
 * has three names, csx.debug.x; its own value may be a map. */
static void open_below(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                       const char *path, const struct conf_entry *e)
{
    const char *dot = strchr(path, '.');
    const bool is_flag = dot && strchr(dot + 1, '.');
    char below[CONF_MAX_PATH];
    if (!is_flag && conf_node_is_null(e->value)) return;
    if (is_flag || e->value->kind != CONF_NODE_MAP) {
        if (conf_node_at(map, path))
            conf_diag_warn(d, e->key_pos, path, "given twice; the last one counts");
        conf_doc_set_in(doc, d, map, path, e->value);
        return;
    }
    for (int i = 0; i < e->value->n; i++) {
        const struct conf_entry *inner = &e->value->entry[i];
        (void)snprintf(below, sizeof below, "%.90s.%.90s", path, inner->key);
        open_below(doc, d, map, below, inner);
    }
}

/* Convert `csx.debug.x: 1` to `csx: {debug: {x: 1}}`. */
static struct conf_node *open_flags(struct conf_doc *doc, struct conf_diag *d,
                                    const struct conf_node *flags)
{
    struct conf_node *map = conf_doc_map(doc, flags->pos);
    for (int i = 0; map && i < flags->n; i++) {
        const struct conf_entry *e = &flags->entry[i];
        if (!strncmp(e->key, "csx.", 4) || !strcmp(e->key, "csx"))
            open_below(doc, d, map, e->key, e);
        else if (!conf_doc_put(doc, map, e))
            d->no_memory = true;
    }
    return map;
}

/* Two entries of a list may have one name, but not two keys of a map: warn. */
static void warn_of_twice(struct conf_diag *d, const struct conf_node *map,
                          const struct conf_entry *entry, const char *section)
{
    const int i = conf_node_index(map, entry->key);
    char path[2 * CONF_MAX_PATH];
    if (i < 0) return;
    (void)snprintf(path, sizeof path, "%s.%s", section, entry->key);
    conf_diag_warn(d, entry->key_pos, path, "given twice, first on line %d; the last one counts",
                   map->entry[i].key_pos.line);
}

/* Put one callback or logger into the map, with its name in the spelling of the table and flags as
 * nested maps. */
static void add_named(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                      const struct conf_entry *e, const char *section)
{
    const char *name = table_name(section, e->key);
    struct conf_entry entry = {.key = conf_doc_text(doc, name, strcspn(name, ".")),
                               .key_pos = e->key_pos,
                               .value = e->value};
    if (!strcmp(name, e->key)) entry.key = e->key;
    if (entry.key && strstr(entry.key, "Flags") && e->value->kind == CONF_NODE_MAP)
        entry.value = open_flags(doc, d, e->value);
    if (entry.key) warn_of_twice(d, map, &entry, section);
    if (!entry.key || !entry.value || !conf_doc_put(doc, map, &entry)) d->no_memory = true;
}

/* Convert the list @p name of @p init, whose entries are maps with one key, to one map. */
static void normalise(struct conf_doc *doc, struct conf_diag *d, struct conf_node *init,
                      const char *name)
{
    char section[CONF_MAX_PATH];
    const struct conf_node *list = conf_node_find(init, name);
    (void)snprintf(section, sizeof section, "trainer.init.%s", name);
    if (conf_node_is_null(list) || list->kind == CONF_NODE_SCALAR) return;
    struct conf_node *map = conf_doc_map(doc, list->pos);
    const int n = map ? list->n : 0;
    for (int i = 0; i < n; i++) {
        const struct conf_entry *e = &list->entry[i];
        char path[CONF_MAX_PATH + 16];
        (void)snprintf(path, sizeof path, "%s[%d]", section, i);
        if (list->kind == CONF_NODE_LIST) e = zoo_trainer_single(d, e->value, path);
        if (e) add_named(doc, d, map, e, section);
    }
    const struct conf_entry entry = {.key = name, .key_pos = list->pos, .value = map};
    if (!map || !conf_doc_put(doc, init, &entry)) d->no_memory = true;
}

/* Called twice, because a --set may contain a list. */
void zoo_trainer_normalise(struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_node *trainer = conf_doc_own(doc, doc->root, "trainer");
    struct conf_node *init = trainer ? conf_doc_own(doc, trainer, "init") : NULL;
    if (!init) return;
    normalise(doc, d, init, "callbacks");
    normalise(doc, d, init, "loggers");
}
