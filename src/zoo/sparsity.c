// SPDX-License-Identifier: Apache-2.0
/* The section `sparsity`: a number, a map or a list of maps, in the spelling of release 2.2 and of
 * those before it (type, param_name_patterns, schedule for the updates). */
#include "zoo_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

static const struct conf_choice algorithms[CONF_MAX_CHOICES] = {{"static", ZOO_SPARSITY_STATIC},
                                                                {"gmp", ZOO_SPARSITY_GMP},
                                                                {"set", ZOO_SPARSITY_SET},
                                                                {"rigl", ZOO_SPARSITY_RIGL}};
static const struct conf_choice inits[CONF_MAX_CHOICES] = {
    {"random", ZOO_SPARSITY_RANDOM},
    {"topk", ZOO_SPARSITY_TOPK},
    {"from_zeros", ZOO_SPARSITY_FROM_ZEROS},
    {"checkerboard", ZOO_SPARSITY_CHECKERBOARD}};
static const struct conf_choice kinds[CONF_MAX_CHOICES] = {
    {"constant", ZOO_SPARSITY_CONSTANT}, {"linear", ZOO_SPARSITY_LINEAR},
    {"exp", ZOO_SPARSITY_EXP},           {"power", ZOO_SPARSITY_POWER},
    {"cosine", ZOO_SPARSITY_COSINE},     {"cycling", ZOO_SPARSITY_CYCLING}};

const char *zoo_sparsity_algorithm_name(enum zoo_sparsity_algorithm algorithm)
{
    return algorithms[algorithm].name;
}

const char *zoo_sparsity_init_name(enum zoo_sparsity_init init)
{
    return inits[init].name;
}

const char *zoo_sparsity_kind_name(enum zoo_sparsity_kind kind)
{
    return kinds[kind].name;
}

/* ---- schedules ------------------------------------------------------------------------------- */

static bool is_fraction(struct conf_parse *p, const char *path, const struct conf_node *node,
                        double value)
{
    if (value >= 0 && value < 1) return true;
    conf_diag_error(p->diag, node->pos, path, "must be at least 0 and less than 1, got %.15g",
                    value);
    return false;
}

static bool read_list(struct conf_parse *p, const char *path, const struct conf_node *node,
                      struct zoo_sparsity_schedule *s)
{
    s->kind = ZOO_SPARSITY_LIST;
    if (!node->n || node->n > ZOO_MAX_UPDATES) {
        conf_diag_error(p->diag, node->pos, path, "expected 1 to %d numbers, got %d",
                        ZOO_MAX_UPDATES, node->n);
        return false;
    }
    for (int i = 0; i < node->n; i++) {
        const struct conf_node *one = node->entry[i].value;
        double *value = &s->value[s->n_values++];
        if (!conf_read_double(p, path, one, value) || !is_fraction(p, path, one, *value))
            return false;
    }
    return true;
}

static bool read_schedule_map(struct conf_parse *p, const char *path, const struct conf_node *node,
                              struct zoo_sparsity_schedule *s)
{
    const struct conf_node *type = conf_node_find(node, "type");
    const int kind = type ? conf_choice_find(kinds, type) : -1;
    if (!type) {
        conf_diag_error(p->diag, node->pos, path, "type is missing");
        return false;
    }
    if (kind < 0) {
        conf_key_unsupported(p, path, type, kinds);
        return false;
    }
    s->kind = (enum zoo_sparsity_kind)kinds[kind].value;
    const struct conf_part parts[] = {
        {"type", NULL, NULL, NULL},          {"init", &s->init, NULL, NULL},
        {"value", &s->init, NULL, NULL},     {"slope", &s->slope, NULL, NULL},
        {"gamma", &s->gamma, NULL, NULL},    {"final", &s->final, NULL, NULL},
        {"beta", &s->beta, NULL, NULL},      {"half_period", &s->half_period, NULL, NULL},
        {"minimum", &s->minimum, NULL, NULL}};
    return conf_read_parts(p, path, node, parts, sizeof parts / sizeof *parts) &&
           is_fraction(p, path, node, s->init);
}

/* A number, a list with one number per update, or a map with a type. */
static bool read_schedule(struct conf_parse *p, const char *path, const struct conf_node *node,
                          struct zoo_sparsity_schedule *s)
{
    memset(s, 0, sizeof *s);
    if (node->kind == CONF_NODE_LIST) return read_list(p, path, node, s);
    if (node->kind == CONF_NODE_MAP) return read_schedule_map(p, path, node, s);
    return conf_read_double(p, path, node, &s->init) && is_fraction(p, path, node, s->init);
}

/* ---- one entry ------------------------------------------------------------------------------- */

/* Expressions of older releases: only `.*` had a use, which is the `*` of a glob. */
static char *glob_of(const char *pattern)
{
    char *glob = wsc_strdup(WSC_MEM_CONF, pattern);
    size_t n = 0;
    for (size_t i = 0; glob && pattern[i]; i++)
        if (pattern[i] != '.' || pattern[i + 1] != '*') glob[n++] = pattern[i];
    if (glob) glob[n] = '\0';
    return glob;
}

static bool add_filter(struct conf_parse *p, const char *path, const struct conf_node *node,
                       bool expression, struct zoo_sparsity *s)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node) || !*node->text) {
        conf_diag_error(p->diag, node->pos, path, "expected a pattern of names, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (s->n_filters == ZOO_MAX_FILTERS) {
        conf_diag_error(p->diag, node->pos, path, "more than %d patterns", ZOO_MAX_FILTERS);
        return false;
    }
    char *copy = expression ? glob_of(node->text) : wsc_strdup(WSC_MEM_CONF, node->text);
    s->filter[s->n_filters] = copy;
    s->n_filters += copy != NULL;
    p->diag->no_memory = p->diag->no_memory || !copy;
    return copy != NULL;
}

static bool read_filters(struct conf_parse *p, const char *path, const struct conf_node *node,
                         bool expression, struct zoo_sparsity *s)
{
    bool ok = true;
    if (node->kind != CONF_NODE_LIST) return add_filter(p, path, node, expression, s);
    for (int i = 0; i < node->n; i++)
        ok = add_filter(p, path, node->entry[i].value, expression, s) && ok;
    return ok;
}

static bool read_steps(struct conf_parse *p, const char *path, const struct conf_node *list,
                       struct zoo_sparsity *s)
{
    char full[CONF_MAX_PATH];
    (void)snprintf(full, sizeof full, "%.160s.steps", path);
    if (list->kind != CONF_NODE_LIST || !list->n || list->n > ZOO_MAX_UPDATES) {
        conf_diag_error(p->diag, list->pos, full, "expected a list of 1 to %d steps",
                        ZOO_MAX_UPDATES);
        return false;
    }
    for (int i = 0; i < list->n; i++)
        if (!conf_read_int(p, full, list->entry[i].value, &s->update_step[s->n_update_steps++]))
            return false;
    return true;
}

static bool read_update(struct conf_parse *p, const char *path, const struct conf_node *node,
                        struct zoo_sparsity *s)
{
    const struct conf_part parts[] = {{"freq", NULL, &s->update_freq, NULL},
                                      {"start", NULL, &s->update_start, NULL},
                                      {"stop", NULL, &s->update_stop, NULL},
                                      {"steps", NULL, NULL, NULL}};
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with freq or steps, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (!conf_read_parts(p, path, node, parts, 4)) return false;
    const struct conf_node *steps = conf_node_find(node, "steps");
    if (!conf_node_is_null(steps)) return read_steps(p, path, steps, s);
    const bool counts = s->update_freq >= 1 && s->update_start >= 0;
    if (!counts)
        conf_diag_error(p->diag, node->pos, path, "freq must be at least 1, start at least 0");
    return counts;
}

static bool read_word(struct conf_parse *p, const char *path, const struct conf_node *node,
                      const struct conf_choice *words, int *out)
{
    const int i = conf_choice_find(words, node);
    if (i < 0)
        conf_key_unsupported(p, path, node, words);
    else
        *out = words[i].value;
    return i >= 0;
}

static void old_spelling(struct conf_parse *p, const char *path, const struct conf_entry *e,
                         const char *write)
{
    conf_diag_warn(p->diag, e->key_pos, path, "old spelling: write %s", write);
}

static bool read_named(struct conf_parse *p, const char *path, const struct conf_entry *e,
                       struct zoo_sparsity *s)
{
    const struct conf_node *v = e->value;
    const bool updates = v->kind == CONF_NODE_MAP && !conf_node_find(v, "type");
    int word = 0;
    if (!strcmp(e->key, "type")) old_spelling(p, path, e, "algorithm");
    if (!strcmp(e->key, "algorithm") || !strcmp(e->key, "type")) {
        if (!read_word(p, path, v, algorithms, &word)) return false;
        s->algorithm = (enum zoo_sparsity_algorithm)word;
        return true;
    }
    if (!strcmp(e->key, "init_method")) {
        if (!read_word(p, path, v, inits, &word)) return false;
        s->init_method = (enum zoo_sparsity_init)word;
        return true;
    }
    if (!strcmp(e->key, "schedule") && updates) {
        old_spelling(p, path, e, "update");
        return read_update(p, path, v, s);
    }
    if (!strcmp(e->key, "update")) return read_update(p, path, v, s);
    if (!strcmp(e->key, "drop_fraction")) return read_schedule(p, path, v, &s->drop_fraction);
    if (!strcmp(e->key, "param_filter")) return read_filters(p, path, v, false, s);
    if (strcmp(e->key, "param_name_patterns") != 0)
        return read_schedule(p, path, v, &s->sparsity); /* sparsity or schedule */
    old_spelling(p, path, e, "param_filter");
    return read_filters(p, path, v, true, s);
}

/* Keys with a form of their own; the numbers are among the parts of read_entry(). */
static bool is_named(const char *key)
{
    static const char *const names[] = {"algorithm",     "type",         "init_method",
                                        "update",        "schedule",     "sparsity",
                                        "drop_fraction", "param_filter", "param_name_patterns"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], key)) return true;
    return false;
}

static bool read_summaries(struct conf_parse *p, const char *path, const struct conf_node *map,
                           struct zoo_sparsity *s)
{
    const struct conf_node *node = conf_node_find(map, "add_summaries");
    if (conf_node_is_null(node)) return true;
    if (node->kind == CONF_NODE_SCALAR && conf_parse_bool(node->text, &s->add_summaries))
        return true;
    conf_diag_error(p->diag, node->pos, path, "add_summaries: expected true or false");
    return false;
}

static bool read_keys(struct conf_parse *p, const char *path, const struct conf_node *map,
                      struct zoo_sparsity *s)
{
    const struct conf_part parts[] = {{"balance_in_groups", NULL, &s->balance_in_groups, NULL},
                                      {"balance_out_groups", NULL, &s->balance_out_groups, NULL},
                                      {"add_summaries", NULL, NULL, NULL},
                                      {"algorithm", NULL, NULL, NULL},
                                      {"type", NULL, NULL, NULL},
                                      {"init_method", NULL, NULL, NULL},
                                      {"update", NULL, NULL, NULL},
                                      {"schedule", NULL, NULL, NULL},
                                      {"sparsity", NULL, NULL, NULL},
                                      {"drop_fraction", NULL, NULL, NULL},
                                      {"param_filter", NULL, NULL, NULL},
                                      {"param_name_patterns", NULL, NULL, NULL}};
    bool ok = conf_read_parts(p, path, map, parts, sizeof parts / sizeof *parts);
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        char full[CONF_MAX_PATH];
        (void)snprintf(full, sizeof full, "%.100s.%.80s", path, e->key);
        if (is_named(e->key) && !conf_node_is_null(e->value)) ok = read_named(p, full, e, s) && ok;
    }
    return read_summaries(p, path, map, s) && ok;
}

/* Defaults of cstorch: static, random, a third dropped. */
static struct zoo_sparsity *new_entry(struct conf_parse *p, struct zoo_sparsity_list *list,
                                      const struct conf_node *node, const char *path)
{
    if (list->n == ZOO_MAX_SPARSITY) {
        conf_diag_error(p->diag, node->pos, path, "more than %d entries", ZOO_MAX_SPARSITY);
        return NULL;
    }
    if (!list->entry) list->entry = wsc_alloc(WSC_MEM_CONF, ZOO_MAX_SPARSITY, sizeof *list->entry);
    if (!list->entry) {
        p->diag->no_memory = true;
        return NULL;
    }
    struct zoo_sparsity *s = &list->entry[list->n++];
    *s = (struct zoo_sparsity){.drop_fraction.init = 0.3,
                               .update_freq = CONF_NULL,
                               .update_stop = CONF_NULL,
                               .balance_in_groups = CONF_NULL,
                               .balance_out_groups = CONF_NULL};
    return s;
}

static void read_entry(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct zoo_sparsity_list *list)
{
    struct zoo_sparsity *s = new_entry(p, list, node, path);
    if (!s) return;
    if (node->kind != CONF_NODE_MAP) {
        (void)read_schedule(p, path, node, &s->sparsity);
        return;
    }
    const bool given = !conf_node_is_null(conf_node_find(node, "sparsity")) ||
                       !conf_node_is_null(conf_node_find(node, "schedule"));
    if (!read_keys(p, path, node, s)) return;
    if (!given) conf_diag_error(p->diag, node->pos, path, "sparsity is missing");
    const bool changes = s->algorithm != ZOO_SPARSITY_STATIC;
    if (changes && s->update_freq == CONF_NULL && !s->n_update_steps)
        conf_diag_error(p->diag, node->pos, path, "update is missing: %s changes the mask",
                        algorithms[s->algorithm].name);
}

/* What stands around the pattern of @p e, with its own keys over it. */
static bool pattern_entry(struct conf_parse *p, const char *path, const struct conf_node *around,
                          const struct conf_node *patterns, const struct conf_entry *e,
                          struct conf_node *name, struct conf_node *out)
{
    const int own = e->value->kind == CONF_NODE_MAP ? e->value->n : 0;
    *name = (struct conf_node){.kind = CONF_NODE_SCALAR, .pos = e->key_pos, .text = e->key};
    if (e->value->kind != CONF_NODE_MAP || own + around->n > out->capacity) {
        conf_diag_error(p->diag, e->value->pos, path,
                        "expected a map of at most %d keys for each pattern", out->capacity);
        return false;
    }
    for (int k = 0; k < own; k++)
        out->entry[out->n++] = e->value->entry[k];
    for (int k = 0; k < around->n; k++) {
        struct conf_entry outer = around->entry[k];
        if (outer.value == patterns) outer.value = name;
        if (conf_node_index(out, outer.key) < 0) out->entry[out->n++] = outer;
    }
    return true;
}

/* Patterns with a configuration each: one entry per pattern, what stands around it in all. */
static bool read_patterns(struct conf_parse *p, const char *path, const struct conf_node *node,
                          struct zoo_sparsity_list *list)
{
    const struct conf_node *map = conf_node_find(node, "param_name_patterns");
    if (!map) map = conf_node_find(node, "param_filter");
    if (!map || map->kind != CONF_NODE_MAP) return false;
    for (int i = 0; i < map->n; i++) {
        struct conf_entry all[32];
        struct conf_node name, one = {.kind = CONF_NODE_MAP,
                                      .pos = map->entry[i].key_pos,
                                      .entry = all,
                                      .capacity = sizeof all / sizeof *all};
        if (pattern_entry(p, path, node, map, &map->entry[i], &name, &one))
            read_entry(p, path, &one, list);
    }
    return true;
}

static bool is_zero(const struct conf_node *node)
{
    double value = 1;
    return conf_node_is_null(node) ||
           (node->kind == CONF_NODE_SCALAR && !wsc_units_double(node->text, &value) && value == 0);
}

void zoo_read_sparsity(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *list)
{
    const bool many = node->kind == CONF_NODE_LIST;
    if (is_zero(node)) return;
    for (int i = 0; i < (many ? node->n : 1); i++) {
        const struct conf_node *one = many ? node->entry[i].value : node;
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "%s[%d]", key->path, i);
        if (!many) (void)snprintf(path, sizeof path, "%s", key->path);
        if (one->kind == CONF_NODE_MAP && read_patterns(p, path, one, list)) continue;
        read_entry(p, path, one, list);
    }
}

void zoo_sparsity_fini(struct zoo_sparsity_list *list)
{
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < list->entry[i].n_filters; k++)
            wsc_free(list->entry[i].filter[k]);
    wsc_free(list->entry);
    *list = (struct zoo_sparsity_list){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_schedule(struct conf_text *out, const char *name,
                           const struct zoo_sparsity_schedule *s)
{
    const struct {
        const char *name;
        double value;
    } parts[] = {{"init", s->init},      {"slope", s->slope}, {"gamma", s->gamma},
                 {"final", s->final},    {"beta", s->beta},   {"half_period", s->half_period},
                 {"minimum", s->minimum}};
    conf_text_add(out, ", %s: %s", name, s->kind == ZOO_SPARSITY_LIST ? "[" : "");
    if (s->kind == ZOO_SPARSITY_LIST) {
        for (int i = 0; i < s->n_values; i++) {
            conf_text_add(out, "%s", i ? ", " : "");
            conf_text_double(out, s->value[i]);
        }
        conf_text_add(out, "]");
    } else if (s->kind == ZOO_SPARSITY_CONSTANT) {
        conf_text_double(out, s->init);
    } else {
        conf_text_add(out, "{type: %s", kinds[s->kind].name);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            if (parts[i].value == 0) continue;
            conf_text_add(out, ", %s: ", parts[i].name);
            conf_text_double(out, parts[i].value);
        }
        conf_text_add(out, "}");
    }
}

static void write_update(struct conf_text *out, const struct zoo_sparsity *s)
{
    if (s->n_update_steps) {
        conf_text_add(out, ", update: {steps: [");
        for (int i = 0; i < s->n_update_steps; i++)
            conf_text_add(out, "%s%lld", i ? ", " : "", (long long)s->update_step[i]);
        conf_text_add(out, "]}");
    } else if (s->update_freq != CONF_NULL) {
        conf_text_add(out, ", update: {freq: %lld, start: %lld", (long long)s->update_freq,
                      (long long)s->update_start);
        if (s->update_stop != CONF_NULL)
            conf_text_add(out, ", stop: %lld", (long long)s->update_stop);
        conf_text_add(out, "}");
    }
}

static void write_entry(struct conf_text *out, const struct zoo_sparsity *s)
{
    conf_text_add(out, "{algorithm: %s, init_method: %s", algorithms[s->algorithm].name,
                  inits[s->init_method].name);
    write_schedule(out, "sparsity", &s->sparsity);
    write_schedule(out, "drop_fraction", &s->drop_fraction);
    write_update(out, s);
    if (s->balance_in_groups != CONF_NULL)
        conf_text_add(out, ", balance_in_groups: %lld", (long long)s->balance_in_groups);
    if (s->balance_out_groups != CONF_NULL)
        conf_text_add(out, ", balance_out_groups: %lld", (long long)s->balance_out_groups);
    for (int i = 0; i < s->n_filters; i++) {
        conf_text_add(out, "%s", i ? ", " : ", param_filter: [");
        conf_text_string(out, s->filter[i]);
    }
    conf_text_add(out, "%s%s}", s->n_filters ? "]" : "",
                  s->add_summaries ? ", add_summaries: true" : "");
}

void zoo_write_sparsity(struct conf_text *out, const void *list, int indent)
{
    const struct zoo_sparsity_list *sparsity = list;
    if (!sparsity->n) conf_text_add(out, " null");
    for (int i = 0; i < sparsity->n; i++) {
        conf_text_add(out, "\n%*s- ", indent, "");
        write_entry(out, &sparsity->entry[i]);
    }
}
