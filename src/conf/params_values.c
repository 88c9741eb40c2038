// SPDX-License-Identifier: Apache-2.0
/* Params keys whose values have a form of their own. */
#include "conf_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- micro_batch_size ---- */

void conf_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                           const struct conf_node *node, void *field)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {
        {"auto", 0}, {"null", 1}, {"a whole number", 2}};
    int64_t *out = field, value;
    int word = conf_choice_find(words, node);
    if (word == 0 || word == 1) {
        *out = word ? CONF_NULL : CONF_AUTO;
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &value) != WSC_OK) {
        conf_key_unsupported(p, key->path, node, words);
    } else if (value < 1) {
        conf_diag_error(p->diag, node->pos, key->path, "must be at least 1, got %lld",
                        (long long)value);
    } else {
        *out = value;
    }
}

void conf_write_micro_batch(struct conf_text *out, const void *field, int indent)
{
    int64_t value = *(const int64_t *)field;
    (void)indent;
    if (value == CONF_NULL || value == CONF_AUTO)
        conf_text_add(out, " %s", value == CONF_NULL ? "null" : "auto");
    else
        conf_text_add(out, " %lld", (long long)value);
}

/* ---- maps with their own keys ---- */

enum { MAX_PARTS = 32 };

static const struct conf_part *find_part(const struct conf_part *parts, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(parts[i].name, key)) return &parts[i];
    return NULL;
}

void conf_part_unknown(struct conf_parse *p, const char *path, const struct conf_entry *entry,
                       const char *const *known, int n)
{
    char full[CONF_MAX_PATH], hint[CONF_MAX_PATH] = "";
    int best = (int)strlen(entry->key) / 3 + 1;
    (void)snprintf(full, sizeof full, "%.100s.%.80s", path, entry->key);
    for (int i = 0; i < n; i++) {
        int d = wsc_units_distance(entry->key, known[i]);
        if (d >= best) continue;
        best = d;
        (void)snprintf(hint, sizeof hint, "; hint: did you mean %s?", known[i]);
    }
    conf_diag_error(p->diag, entry->key_pos, full, "unknown key%s", hint);
}

bool conf_read_parts(struct conf_parse *p, const char *path, const struct conf_node *map,
                     const struct conf_part *parts, int n)
{
    bool ok = true;
    const char *names[MAX_PARTS];
    for (int i = 0; i < n; i++)
        names[i] = parts[i].name;
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        const struct conf_part *part = find_part(parts, n, e->key);
        char full[CONF_MAX_PATH];
        (void)snprintf(full, sizeof full, "%s.%.80s", path, e->key);
        if (!part) {
            conf_part_unknown(p, path, e, names, n);
            ok = false;
        } else if (!conf_node_is_null(e->value)) {
            if (part->given) *part->given = true;
            if (part->real) ok = conf_read_double(p, full, e->value, part->real) && ok;
            if (part->whole) ok = conf_read_int(p, full, e->value, part->whole) && ok;
        }
    }
    return ok;
}

/* ---- data_transforms ---- */

static void read_transform(struct conf_parse *p, const char *path, const struct conf_node *node,
                           struct conf_input *in)
{
    static const struct conf_choice names[CONF_MAX_CHOICES] = {{"add_sink_tokens", 0}};
    const struct conf_node *name = conf_node_find(node, "name");
    const struct conf_part parts[] = {{"name", NULL, NULL, NULL},
                                      {"num_sink_tokens", NULL, &in->sink_tokens, NULL},
                                      {"sink_token_id", NULL, &in->sink_token_id, NULL}};
    char shown[CONF_QUOTE_BYTES];
    if (!name) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with a name, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    if (conf_choice_find(names, name) < 0) {
        conf_key_unsupported(p, path, name, names);
        return;
    }
    if (!conf_read_parts(p, path, node, parts, 3)) return;
    if (in->sink_tokens < 1 || in->sink_tokens > 1 << 20 || in->sink_token_id < 0)
        conf_diag_error(p->diag, node->pos, path,
                        "num_sink_tokens must be at least 1, sink_token_id at least 0");
}

void conf_read_transforms(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input)
{
    char path[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST || node->n > 1) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of one transform, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    (void)snprintf(path, sizeof path, "%s[0]", key->path);
    if (node->n) read_transform(p, path, node->entry[0].value, input);
}

void conf_write_transforms(struct conf_text *out, const void *input, int indent)
{
    const struct conf_input *in = input;
    if (!in->sink_tokens) {
        conf_text_add(out, " null");
        return;
    }
    conf_text_add(out, "\n%*s- {name: add_sink_tokens, num_sink_tokens: %lld, sink_token_id: %lld}",
                  indent, "", (long long)in->sink_tokens, (long long)in->sink_token_id);
}

/* ---- initializers ---- */

static const struct conf_choice init_names[CONF_MAX_CHOICES] = {
    {"constant", CONF_INIT_CONSTANT},
    {"zeros", CONF_INIT_ZEROS},
    {"ones", CONF_INIT_ONES},
    {"normal", CONF_INIT_NORMAL},
    {"truncated_normal", CONF_INIT_TRUNCATED_NORMAL},
    {"uniform", CONF_INIT_UNIFORM}};

static void check_init(struct conf_parse *p, const char *path, const struct conf_node *node,
                       const struct conf_init *init)
{
    bool random = init->kind == CONF_INIT_NORMAL || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == CONF_INIT_UNIFORM || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    if (random && !(init->std > 0))
        conf_diag_error(p->diag, node->pos, path, "std must be greater than 0, got %.15g",
                        init->std);
    else if (bounded && !(init->a < init->b))
        conf_diag_error(p->diag, node->pos, path, "a must be less than b, got %.15g and %.15g",
                        init->a, init->b);
}

/* Defaults of the Model Zoo: mean 0, std 0.05, uniform on (-0.05, 0.05), truncated at two
 * standard deviations; bounds are absolute values. */
void conf_read_initializer(struct conf_parse *p, const struct conf_key *key,
                           const struct conf_node *node, void *field)
{
    struct conf_init init = {.std = 0.05};
    bool has_a = false, has_b = false;
    if (conf_node_is_null(node)) return;
    const struct conf_node *name =
        node->kind == CONF_NODE_MAP ? conf_node_find(node, "name") : node;
    if (!name) {
        conf_diag_error(p->diag, node->pos, key->path, "name is missing");
        return;
    }
    int kind = conf_choice_find(init_names, name);
    if (kind < 0) {
        conf_key_unsupported(p, key->path, name, init_names);
        return;
    }
    init.kind = (enum conf_init_kind)init_names[kind].value;
    const struct conf_part parts[] = {
        {"name", NULL, NULL, NULL},     {"mean", &init.mean, NULL, NULL},
        {"std", &init.std, NULL, NULL}, {"a", &init.a, NULL, &has_a},
        {"b", &init.b, NULL, &has_b},   {"val", &init.value, NULL, NULL}};
    if (node->kind == CONF_NODE_MAP && !conf_read_parts(p, key->path, node, parts, 6)) return;
    double width = init.kind == CONF_INIT_UNIFORM ? 0.05 : 2 * init.std;
    if (!has_a) init.a = -width;
    if (!has_b) init.b = width;
    check_init(p, key->path, node, &init);
    *(struct conf_init *)field = init;
}

void conf_write_initializer(struct conf_text *out, const void *field, int indent)
{
    const struct conf_init *init = field;
    (void)indent;
    if (init->kind == CONF_INIT_DEFAULT) {
        conf_text_add(out, " null");
        return;
    }
    const struct {
        const char *name;
        double value;
    } parts[] = {{"mean", init->mean},
                 {"std", init->std},
                 {"a", init->a},
                 {"b", init->b},
                 {"val", init->value}};
    const char *name = "";
    for (int i = 0; i < CONF_MAX_CHOICES && init_names[i].name; i++)
        if (init_names[i].value == (int)init->kind) name = init_names[i].name;
    conf_text_add(out, " {name: %s", name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        conf_text_add(out, ", %s: ", parts[i].name);
        conf_text_double(out, parts[i].value);
    }
    conf_text_add(out, "}");
}
