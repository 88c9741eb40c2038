// SPDX-License-Identifier: Apache-2.0
/* Params files of the trainer style become the tree that the runconfig style would have: the rows
 * of trainer_keys.c say where each key goes, and the few that have another form are taken apart
 * here.  Nodes keep their places in the file, and the list of origins keeps the user's names. */
#include "trainer.h"
#include "params_passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Who says what is evaluated; the later ones win. */
enum eval_rank { EVAL_NONE, EVAL_VALIDATE_ALL, EVAL_VALIDATE, EVAL_FIT };

/* A conversion under way. */
struct zoo_trainer {
    struct conf_doc *doc; /* its root is the tree that is made */
    struct conf_diag *diag;
    const struct conf_node *eval;
    const char *eval_path;
    enum eval_rank eval_rank;
    bool trains;        /* training data are there */
    bool scales_groups; /* a ScalePerParamLR is there */
};

bool zoo_trainer_is(const struct conf_node *root)
{
    return conf_node_find(root, "trainer") != NULL;
}

/* ---- small tools ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static const char *text_of(struct zoo_trainer *t,
                                                                 const char *fmt, ...)
{
    char text[2 * CONF_MAX_PATH];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *copy = conf_doc_text(t->doc, text, strlen(text));
    if (!copy) t->diag->no_memory = true;
    return copy ? copy : "";
}

static void wrong_form(struct conf_diag *d, const struct conf_node *node, const char *path,
                       const char *expected)
{
    char shown[CONF_QUOTE_BYTES];
    conf_diag_error(d, node->pos, path, "expected %s, got %s", expected,
                    conf_node_describe(node, shown));
}

static void put(struct zoo_trainer *t, const char *to, const struct conf_node *node)
{
    struct conf_node *same = conf_doc_share(t->doc, node);
    if (same)
        conf_doc_set(t->doc, t->diag, to, same);
    else
        t->diag->no_memory = true;
}

static void put_absent(struct zoo_trainer *t, const char *to, const struct conf_node *node)
{
    if (!conf_node_at(t->doc->root, to)) put(t, to, node);
}

static void put_text(struct zoo_trainer *t, const char *to, const char *text, struct conf_pos pos)
{
    struct conf_node *node = conf_doc_scalar(t->doc, text, strlen(text), pos);
    if (node)
        conf_doc_set(t->doc, t->diag, to, node);
    else
        t->diag->no_memory = true;
}

/* The map @p section of the tree that is made, there from now on. */
static struct conf_node *section_of(struct zoo_trainer *t, const char *section, struct conf_pos pos)
{
    struct conf_node *map = conf_doc_own(t->doc, t->doc->root, section);
    if (map) return map;
    map = conf_doc_map(t->doc, pos);
    if (map) conf_doc_set(t->doc, t->diag, section, map);
    return map;
}

/* The entries of @p map, known to the user as @p path, go to @p section, except where a key of its
 * own place has said it already. */
static void merge(struct zoo_trainer *t, const char *section, const struct conf_node *map,
                  const char *path)
{
    struct conf_node *into = section_of(t, section, map->pos);
    for (int i = 0; into && i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        conf_diag_origin(t->diag, text_of(t, "%s.%s", section, e->key),
                         text_of(t, "%s.%s", path, e->key));
        if (conf_node_index(into, e->key) >= 0) continue;
        if (!conf_doc_append(t->doc, into, e)) t->diag->no_memory = true;
    }
    t->diag->no_memory = t->diag->no_memory || !into;
}

static bool is_map(struct conf_diag *d, const struct conf_node *node, const char *path)
{
    if (node->kind == CONF_NODE_MAP) return true;
    if (!conf_node_is_null(node)) wrong_form(d, node, path, "a map of keys");
    return false;
}

/* The entry of a map with one key; NULL after an error. */
static const struct conf_entry *single(struct conf_diag *d, const struct conf_node *node,
                                       const char *path)
{
    if (node->kind == CONF_NODE_MAP && node->n == 1) return &node->entry[0];
    if (node->kind == CONF_NODE_MAP)
        conf_diag_error(d, node->pos, path, "expected a map with one key, got %d keys", node->n);
    else
        wrong_form(d, node, path, "a map with one key");
    return NULL;
}

/* ---- model, optimizer, data ------------------------------------------------------------------ */

ZOO_TRAINER_TAKE(model)
{
    if (is_map(p->diag, node, key->path)) merge(trainer, "model", node, key->path);
}

ZOO_TRAINER_TAKE(optimizer)
{
    struct zoo_trainer *t = trainer;
    if (conf_node_is_null(node)) return;
    const struct conf_entry *type = single(p->diag, node, key->path);
    if (!type) return;
    put_text(t, "optimizer.optimizer_type", type->key, type->key_pos);
    conf_diag_origin(p->diag, "optimizer.optimizer_type", key->path);
    const char *path = text_of(t, "%s.%s", key->path, type->key);
    conf_diag_origin(p->diag, "optimizer", path);
    if (is_map(p->diag, type->value, path)) merge(t, "optimizer", type->value, path);
}

ZOO_TRAINER_TAKE(train)
{
    struct zoo_trainer *t = trainer;
    t->trains = is_map(p->diag, node, key->path);
    if (t->trains) merge(t, "train_input", node, key->path);
}

/* Remember what is evaluated; two that differ are told. */
static void take_eval(struct zoo_trainer *t, const char *path, const struct conf_node *node,
                      enum eval_rank rank)
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

static void take_eval_list(struct zoo_trainer *t, const char *path, const struct conf_node *node,
                           enum eval_rank rank)
{
    if (node->kind != CONF_NODE_LIST || !node->n) {
        if (is_map(t->diag, node, path)) take_eval(t, path, node, rank);
        return;
    }
    const struct conf_node *first = node->entry[0].value;
    const char *name = text_of(t, "%s[0]", path);
    if (node->n > 1)
        conf_diag_warn(t->diag, node->pos, path, "%d sets: the first one is evaluated", node->n);
    if (is_map(t->diag, first, name)) take_eval(t, name, first, rank);
}

ZOO_TRAINER_TAKE(fit_val)
{
    (void)p;
    take_eval_list(trainer, key->path, node, EVAL_FIT);
}

ZOO_TRAINER_TAKE(val)
{
    (void)p;
    take_eval_list(trainer, key->path, node, EVAL_VALIDATE);
}

ZOO_TRAINER_TAKE(val_all)
{
    (void)p;
    take_eval_list(trainer, key->path, node, EVAL_VALIDATE_ALL);
}

ZOO_TRAINER_TAKE(val_checkpoint)
{
    (void)p;
    put_absent(trainer, key->to, node);
}

ZOO_TRAINER_TAKE(global_micro_batch)
{
    (void)p;
    put_absent(trainer, key->to, node);
    put_absent(trainer, "eval_input.micro_batch_size", node);
    conf_diag_origin(p->diag, "eval_input.micro_batch_size", key->path);
}

/* A callback is on when it stands there, and off when it is null. */
ZOO_TRAINER_TAKE(switch)
{
    (void)p;
    put_text(trainer, key->to, conf_node_is_null(node) ? "false" : "true", node->pos);
}

/* ---- schedulers ------------------------------------------------------------------------------ */

static bool ends(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);
    return n >= m && !strcasecmp(text + n - m, tail);
}

/* A scheduler in @p node that takes the factors of adjust_learning_rate, however deep. */
static bool scales_groups(const struct conf_node *node)
{
    for (int i = 0; i < node->n; i++) {
        const struct conf_entry *e = &node->entry[i];
        if (e->key && !strcasecmp(e->key, "ScalePerParamLR")) return true;
        if (scales_groups(e->value)) return true;
    }
    return false;
}

static void take_scheduler(struct zoo_trainer *t, const struct conf_node *node, const char *path,
                           int *n_rates)
{
    const struct conf_entry *type = single(t->diag, node, path);
    if (!type) return;
    t->scales_groups = t->scales_groups || scales_groups(node);
    if (ends(type->key, "WD"))
        put(t, "optimizer.weight_decay", node);
    else if (!(*n_rates)++)
        put(t, "optimizer.learning_rate", node);
    else
        conf_diag_error(t->diag, node->pos, path,
                        "one scheduler of the learning rate is supported by this release; hint: "
                        "put them into a SequentialLR or ChainedScheduler");
}

ZOO_TRAINER_TAKE(schedulers)
{
    int n_rates = 0;
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST) take_scheduler(trainer, node, key->path, &n_rates);
    for (int i = 0; node->kind == CONF_NODE_LIST && i < node->n; i++)
        take_scheduler(trainer, node->entry[i].value, text_of(trainer, "%s[%d]", key->path, i),
                       &n_rates);
    (void)p;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void take_row(struct conf_parse *p, int row, const struct conf_node *node)
{
    const struct conf_key *key = &p->table->key[row];
    p->given[row] = node;
    if (key->status == CONF_ONLY && conf_choice_find(key->choices, node) < 0)
        conf_key_unsupported(p, key->path, node, key->choices);
    if (key->read)
        key->read(p, key, node, p->out);
    else if (key->to)
        put((struct zoo_trainer *)(void *)p->out, key->to, node);
    if (key->to) conf_diag_origin(p->diag, key->to, key->path);
}

/* What the schedulers decide about the optimizer's keys. */
static void finish_optimizer(struct zoo_trainer *t)
{
    static const char scale[] = "optimizer.adjust_learning_rate";
    struct conf_node *map = conf_doc_own(t->doc, t->doc->root, "optimizer");
    if (!conf_node_find(map, "optimizer_type")) { /* precision alone makes no optimizer */
        conf_node_remove(t->doc->root, "optimizer");
        return;
    }
    const struct conf_node *groups = conf_node_find(map, "adjust_learning_rate");
    if (!conf_node_is_null(groups) && !t->scales_groups) {
        conf_diag_warn(t->diag, groups->pos, scale,
                       "without effect: no ScalePerParamLR among the schedulers");
        conf_node_remove(map, "adjust_learning_rate");
    }
    const struct conf_node *rate = conf_node_find(map, "lr");
    if (!rate) return;
    conf_node_remove(map, "lr");
    put_absent(t, "optimizer.learning_rate", rate);
}

/* Flags alone make no data; without training data only an evaluation can be meant. */
static void finish_data(struct zoo_trainer *t)
{
    if (t->eval)
        merge(t, "eval_input", t->eval, t->eval_path);
    else
        conf_node_remove(t->doc->root, "eval_input");
    if (t->trains) return;
    conf_node_remove(t->doc->root, "train_input");
    if (t->eval) put_text(t, "runconfig.mode", "eval", t->eval->pos);
}

/* Keys beside `trainer`, which are ours, stay where they are. */
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

void zoo_trainer_convert(struct conf_doc *doc, struct conf_diag *d)
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
    finish_optimizer(&t);
    keep_others(&t, root);
    for (int i = 0; i < p.table->n; i++)
        if (p.table->key[i].to) conf_diag_origin(d, p.table->key[i].to, p.table->key[i].path);
    zoo_params_warn_no_effect(&p);
}

/* ---- before: lists --------------------------------------------------------------------------- */

void zoo_trainer_choose(struct conf_doc *doc, struct conf_diag *d, int64_t phase, int *n_phases)
{
    struct conf_node *list = conf_node_find(doc->root, "trainer");
    *n_phases = 1;
    if (list && list->kind == CONF_NODE_LIST) {
        *n_phases = list->n;
        if (!list->n) wrong_form(d, list, "trainer", "at least one trainer");
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

/* The name as the table writes it. */
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

/* `csx.debug.x: 1` becomes `csx: {debug: {x: 1}}`. */
static struct conf_node *open_flags(struct conf_doc *doc, struct conf_diag *d,
                                    const struct conf_node *flags)
{
    struct conf_node *map = conf_doc_map(doc, flags->pos);
    for (int i = 0; map && i < flags->n; i++) {
        const struct conf_entry *e = &flags->entry[i];
        if (!strncmp(e->key, "csx.", 4))
            conf_doc_set_in(doc, d, map, e->key, e->value);
        else if (!conf_doc_put(doc, map, e))
            d->no_memory = true;
    }
    return map;
}

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
    if (!entry.key || !entry.value || !conf_doc_put(doc, map, &entry)) d->no_memory = true;
}

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
        if (list->kind == CONF_NODE_LIST) e = single(d, e->value, path);
        if (e) add_named(doc, d, map, e, section);
    }
    const struct conf_entry entry = {.key = name, .key_pos = list->pos, .value = map};
    if (!map || !conf_doc_put(doc, init, &entry)) d->no_memory = true;
}

void zoo_trainer_normalise(struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_node *trainer = conf_doc_own(doc, doc->root, "trainer");
    struct conf_node *init = trainer ? conf_doc_own(doc, trainer, "init") : NULL;
    if (!init) return;
    normalise(doc, d, init, "callbacks");
    normalise(doc, d, init, "loggers");
}
