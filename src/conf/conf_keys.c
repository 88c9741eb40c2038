// SPDX-License-Identifier: Apache-2.0
/* The walk of a tree through a table of keys: every key finds its row, by its dotted path or, in a
 * record, by its name and other spellings.  Unknown keys are reported with the nearest known one,
 * rows without a key get their default.  A section is a path that rows are below of; there is no
 * list of sections.  conf_values.c reads what a row's key holds. */
#include "conf_names.h"
#include "conf_values.h"

#include <wsc/check.h>

#include <stdio.h>
#include <string.h>

int conf_keys_find(const struct conf_table *table, const char *path)
{
    for (int i = 0; i < table->n; i++)
        if (!strcmp(table->key[i].path, path)) return i;
    return -1;
}

struct conf_pos conf_parse_place(const struct conf_parse *p, const char *path, const char *other)
{
    const char *const paths[] = {path, other};
    for (int i = 0; i < 2; i++) {
        const int row = paths[i] ? conf_keys_find(p->table, paths[i]) : -1;
        if (row >= 0 && p->given[row]) return p->given[row]->pos;
    }
    return (struct conf_pos){0};
}

bool conf_parse_given(const struct conf_parse *p, const char *path)
{
    const int row = conf_keys_find(p->table, path);
    return row >= 0 && !conf_node_is_null(p->given[row]);
}

/* True when @p path lies below @p section, whose length is @p n; everything lies below "". */
static bool is_below(const char *path, const char *section, size_t n)
{
    return !n || (!strncmp(path, section, n) && path[n] == '.');
}

/* The first key of the section @p path; NULL: it is none. */
static const char *first_below(const struct conf_table *table, const char *path)
{
    const size_t n = strlen(path);
    for (int i = 0; i < table->n; i++)
        if (is_below(table->key[i].path, path, n)) return table->key[i].path;
    return NULL;
}

bool conf_keys_is_section(const struct conf_table *table, const char *path)
{
    return first_below(table, path) != NULL;
}

const struct conf_node *conf_node_at(const struct conf_node *root, const char *path)
{
    char key[CONF_MAX_PATH];
    while (root && *path) {
        size_t n = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, path);
        root = conf_node_find(root, key);
        path += n + (path[n] == '.');
    }
    return root;
}

/* The sibling whose name is closest, or a key of the same name in another section. */
static bool nearest(const struct conf_table *table, const char *path, char out[CONF_MAX_PATH])
{
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
    size_t n = dot ? (size_t)(dot - path) : 0, skip = dot ? n + 1 : 0;
    int best = (int)strlen(name) / 3 + 1;
    bool found = false;
    for (int i = 0; i < table->n; i++) {
        const char *known = table->key[i].path;
        if (!is_below(known, path, n)) continue;
        char part[CONF_MAX_PATH];
        int length = (int)strcspn(known + skip, ".");
        (void)snprintf(part, sizeof part, "%.*s", length, known + skip);
        int d = wsc_units_distance(name, part);
        if (d >= best) continue;
        best = d;
        found = true;
        (void)snprintf(out, CONF_MAX_PATH, "%.*s", (int)skip + length, known);
    }
    for (int i = 0; i < table->n && !found; i++) {
        const char *known = table->key[i].path, *last = strrchr(known, '.');
        found = last && !strcmp(last + 1, name);
        if (found) (void)snprintf(out, CONF_MAX_PATH, "%s", known);
    }
    return found;
}

/* The hint of a key that a record does not know: a similar one, else all that fit. */
static void hint_keys(const struct conf_table *table, const char *key, char *out, size_t size)
{
    char near[CONF_MAX_PATH];
    size_t n = 0;
    out[0] = '\0';
    if (nearest(table, key, near)) {
        (void)snprintf(out, size, "; hint: did you mean %s?", near);
        return;
    }
    for (int i = 0; i < table->n && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s",
                              i ? ", " : "; hint: known are: ", table->key[i].path);
}

/* A key that no row of a record knows. */
static void record_unknown(const struct conf_parse *p, const struct conf_entry *entry)
{
    char hint[3 * CONF_MAX_PATH], full[CONF_MAX_PATH];
    hint_keys(p->table, entry->key, hint, sizeof hint);
    conf_diag_error(p->diag, entry->key_pos, conf_key_name(p, entry->key, full), "unknown key%s",
                    hint);
}

void conf_keys_unknown(const struct conf_table *table, struct conf_diag *d, struct conf_pos pos,
                       const char *path)
{
    char near[CONF_MAX_PATH], user[CONF_MAX_PATH], shown[CONF_QUOTE_PATH_BYTES];
    const char *prefix = pos.line < 0 && table->sourced ? "cluster." : "";
    const char *below = first_below(table, path);
    if (below) {
        conf_diag_error(d, pos, conf_quote_path(path, shown),
                        "a section; hint: set one of its keys, such as %s%s", prefix, below);
        return;
    }
    /* Past the errors that are shown only their number matters. */
    if (d->n_errors < CONF_MAX_ERRORS && nearest(table, path, near))
        conf_diag_error(d, pos, conf_quote_path(path, shown),
                        "unknown key; hint: did you mean %s%s?", prefix,
                        conf_diag_name(d, near, user));
    else
        conf_diag_error(d, pos, conf_quote_path(path, shown), "unknown key");
}

/* A walk in progress: the pass and what to do with each key. */
struct walk {
    struct conf_parse *p;
    void (*read)(struct conf_parse *p, int row, const struct conf_node *node);
};

static void walk_map(const struct walk *w, const struct conf_node *map, const char *section);

/* The row of @p path, or the one for whatever else stands in its section. */
static int find_row(const struct conf_table *table, const char *path, const char *section)
{
    char rest[CONF_MAX_PATH + 2];
    int row = conf_keys_find(table, path);
    if (row >= 0 || conf_keys_is_section(table, path)) return row;
    (void)snprintf(rest, sizeof rest, "%s.*", section);
    return conf_keys_find(table, rest);
}

/* True when @p key is one of @p names, which are separated by blanks. */
static bool has_name(const char *names, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = names; at && *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, key, n)) return true;
        at += length;
    }
    return false;
}

/* True when @p map has a value under the row's own name, or one of @p names up to @p key. */
static bool is_given_before(const struct conf_node *map, const struct conf_key *row,
                            const char *names, const char *key)
{
    if (!conf_node_is_null(conf_node_find(map, row->path))) return true;
    for (const char *at = names; at && *at; at += strspn(at, " ")) {
        char name[CONF_QUOTE_BYTES];
        const size_t length = strcspn(at, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!strcmp(name, key)) return false;
        if (!conf_node_is_null(conf_node_find(map, name))) return true;
        at += length;
    }
    return false;
}

/* An entry by another spelling of @p key: warns of old and of doubled ones.  False when it is not
 * to be read: null, or given already. */
static bool take_spelling(struct conf_parse *p, const struct conf_node *map,
                          const struct conf_entry *entry, const struct conf_key *key)
{
    char full[CONF_MAX_PATH];
    const bool old = has_name(key->old, entry->key);
    p->spelling = entry->key;
    if (conf_node_is_null(entry->value)) return false;
    const bool twice = is_given_before(map, key, key->also, entry->key) ||
                       (old && is_given_before(map, key, key->old, entry->key));
    if (old || twice)
        conf_diag_warn(p->diag, entry->key_pos, conf_key_name(p, entry->key, full),
                       "%s: write %s%s", old ? "old spelling" : "another spelling", key->path,
                       twice ? "; what is given there counts" : "");
    return !twice;
}

/* An entry of a record: by name, or by another spelling of it. */
static void walk_record(const struct walk *w, const struct conf_node *map,
                        const struct conf_entry *entry)
{
    struct conf_parse *p = w->p;
    int row = conf_keys_find(p->table, entry->key);
    for (int i = 0; row < 0 && i < p->table->n; i++) {
        const struct conf_key *key = &p->table->key[i];
        if (!has_name(key->old, entry->key) && !has_name(key->also, entry->key)) continue;
        row = i;
        if (!take_spelling(p, map, entry, key)) return;
    }
    if (row >= 0)
        w->read(p, row, entry->value);
    else
        record_unknown(p, entry);
}

/* An entry of a section: a key of the table, a section, or unknown. */
static void walk_entry(const struct walk *w, const struct conf_entry *entry, const char *section)
{
    const struct conf_table *table = w->p->table;
    char path[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    (void)snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", entry->key);
    int row = find_row(table, path, section);
    /* A dot inside a key is part of its name, never a way down. */
    if (strchr(entry->key, '.')) {
        conf_diag_error(w->p->diag, entry->key_pos, conf_quote(path, shown),
                        "unknown key; hint: a dot is part of a name here, write nested maps");
    } else if (row >= 0) {
        w->read(w->p, row, entry->value);
    } else if (!conf_keys_is_section(table, path)) {
        conf_keys_unknown(table, w->p->diag, entry->key_pos, path);
    } else if (entry->value->kind == CONF_NODE_MAP) {
        walk_map(w, entry->value, path);
    } else if (!conf_node_is_null(entry->value)) {
        conf_diag_error(w->p->diag, entry->value->pos, path, "expected a map of keys, got %s",
                        conf_node_describe(entry->value, shown));
    }
}

static void walk_map(const struct walk *w, const struct conf_node *map, const char *section)
{
    for (int i = 0; i < map->n; i++) {
        if (w->p->prefix)
            walk_record(w, map, &map->entry[i]);
        else
            walk_entry(w, &map->entry[i], section);
        w->p->spelling = NULL;
    }
}

/* Entry to the walk; @p read is conf_key_read(), or a module's own reader around it (machine
 * files). */
void conf_keys_read(struct conf_parse *p, const struct conf_node *root,
                    void (*read)(struct conf_parse *p, int row, const struct conf_node *node))
{
    const struct walk w = {.p = p, .read = read};
    WSC_CHECK(p->table->n <= CONF_MAX_KEYS, "%d keys", p->table->n);
    if (root) walk_map(&w, root, "");
}

/* Bytes of a field whose default is copied from another row. */
static size_t field_size(enum conf_type type)
{
    switch (type) {
    case CONF_T_INT:
    case CONF_T_QUANTITY:
        return sizeof(int64_t);
    case CONF_T_DOUBLE:
        return sizeof(double);
    case CONF_T_BOOL:
        return sizeof(bool);
    case CONF_T_CHOICE:
        return sizeof(int);
    case CONF_T_STRING:
    case CONF_T_SPECIAL:
    case CONF_T_ANY:
        break;
    }
    return 0;
}

/* Read the default as if it stood in the file, or copy it from the row that it names. */
static void apply_default(struct conf_parse *p, int row)
{
    const struct conf_key *key = &p->table->key[row];
    if (!key->fallback || key->status == CONF_ONLY) return;
    if (key->fallback[0] == '=') {
        int from = conf_keys_find(p->table, key->fallback + 1);
        WSC_CHECK(from >= 0 && from < row, "%s has no earlier default", key->path);
        memcpy(p->out + key->offset, p->out + p->table->key[from].offset, field_size(key->type));
        return;
    }
    conf_key_default(p, row);
}

void conf_keys_no_section(struct conf_parse *p, const char *section)
{
    enum { MOST_KEYS = 4 };
    const size_t n = strlen(section);
    char keys[4 * CONF_MAX_PATH] = "", more[32] = "", user[CONF_MAX_PATH];
    /* The trainer style has other keys in a section. */
    const bool own = strcmp(conf_diag_name(p->diag, section, user), section) != 0;
    int n_keys = 0;
    for (int i = 0; !own && i < p->table->n; i++) {
        const struct conf_key *key = &p->table->key[i];
        const size_t used = strlen(keys);
        if (!key->required || !is_below(key->path, section, n) || n_keys++ >= MOST_KEYS) continue;
        (void)snprintf(keys + used, sizeof keys - used, "%s%s", used ? ", " : "; hint: it needs ",
                       key->path + n + 1);
    }
    if (n_keys > MOST_KEYS) (void)snprintf(more, sizeof more, " and %d more", n_keys - MOST_KEYS);
    conf_diag_error(p->diag, (struct conf_pos){0}, section, "required section is missing%s%s", keys,
                    more);
}

/* A required key is missed only where its section is in the file; machine files (sourced) need
 * every section, and an absent one is reported once: @p reported is the last. */
static void report_missing(struct conf_parse *p, const struct conf_node *root, const char *path,
                           char reported[CONF_MAX_PATH])
{
    char section[CONF_MAX_PATH] = "", full[CONF_MAX_PATH];
    const char *dot = strrchr(path, '.');
    if (p->prefix) {
        conf_diag_error(p->diag, root->pos, conf_key_name(p, path, full),
                        "required key is missing");
        return;
    }
    if (dot) (void)snprintf(section, sizeof section, "%.*s", (int)(dot - path), path);
    const struct conf_node *node = conf_node_at(root, section);
    const struct conf_pos file = {0};
    /* A value in the place of a section was reported by the walk. */
    if (*section && node && node->kind != CONF_NODE_MAP && !conf_node_is_null(node)) return;
    if (!*section || (node && (!conf_node_is_null(node) || p->table->sourced))) {
        conf_diag_error(p->diag, *section ? node->pos : file, path, "required key is missing");
    } else if (p->table->sourced && strcmp(section, reported) != 0) {
        conf_keys_no_section(p, section);
        (void)snprintf(reported, CONF_MAX_PATH, "%s", section);
    }
}

void conf_keys_defaults(struct conf_parse *p, const struct conf_node *root)
{
    char reported[CONF_MAX_PATH] = "";
    for (int i = 0; i < p->table->n; i++) {
        if (p->seen[i]) continue;
        if (p->table->key[i].required)
            report_missing(p, root, p->table->key[i].path, reported);
        else
            apply_default(p, i);
    }
}
