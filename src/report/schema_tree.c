// SPDX-License-Identifier: Apache-2.0
/* Writes the JSON Schema of the sections of a file. A table of keys is a tree of dotted paths: a
 * section becomes an object, and a function of the tree writes each row. Old spellings of keys are
 * members too. Called by config_schema.c. */
#include "schema.h"

#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

/* ---- sections -------------------------------------------------------------------------------- */

/* The part of @p path below @p section, or NULL when it is not there; "" is the root. */
static const char *below(const char *path, const char *section)
{
    const size_t n = strlen(section);
    if (!n) return path;
    if (strncmp(path, section, n) != 0 || path[n] != '.') return NULL;
    return path + n + 1;
}

/* Is row @p i the first one of its name in @p section?  The others of a subsection follow. */
static bool is_first(const struct conf_table *table, int i, const char *section)
{
    const char *rest = table->key[i].path + (*section ? strlen(section) + 1 : 0);
    const size_t n = strcspn(rest, ".");
    for (int k = 0; k < i; k++) {
        const char *other = below(table->key[k].path, section);
        if (other && strcspn(other, ".") == n && !strncmp(other, rest, n)) return false;
    }
    return true;
}

/* Old names of keys in @p section, which may be anything. */
static void add_old_names(struct out_json *j, const char *section)
{
    const char *old, *before = "";
    for (int i = 0; (old = zoo_renames_old(i)); i++) {
        const char *name = below(old, section);
        if (!*section || !name || !strcmp(before, old)) continue;
        before = old;
        out_json_open(j, name);
        out_json_str(j, "description", "old spelling");
        out_json_bool(j, "deprecated", true);
        out_json_close(j);
    }
}

/* `{required: [name]}`, an alternative. */
static void add_alternative(struct out_json *j, const char *name)
{
    out_json_open(j, NULL);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, name);
    out_json_close_list(j);
    out_json_close(j);
}

/* A required key of @p section: by its name or an old one; that of a model also within
 * `policy_model`, whose keys a file of preference optimization has instead, and not beside
 * `patch_size` or `vae`: diffusion transformers have no vocabulary. */
static void require_key(struct out_json *j, const char *path, const char *section)
{
    static const char *const instead[] = {"policy_model", "patch_size", "vae"};
    const char *old;
    out_json_open(j, NULL);
    out_json_open_list(j, "anyOf");
    add_alternative(j, below(path, section));
    for (int i = 0; (old = zoo_renames_old(i)); i++) {
        const char *new = zoo_renames_new(i), *name = below(old, section);
        if (new &&name && !strcmp(new, path)) add_alternative(j, name);
    }
    for (size_t i = 0; !strcmp(section, "model") && i < sizeof instead / sizeof *instead; i++)
        add_alternative(j, instead[i]);
    out_json_close_list(j);
    out_json_close(j);
}

/* The member `allOf` with the required keys of @p section, if there are any. */
static void add_required(struct out_json *j, const struct conf_table *table, const char *section)
{
    bool any = false;
    for (int i = 0; i < table->n; i++) {
        const char *name = below(table->key[i].path, section);
        if (!name || strchr(name, '.') || !table->key[i].required) continue;
        if (!any) out_json_open_list(j, "allOf");
        any = true;
        require_key(j, table->key[i].path, section);
    }
    if (any) out_json_close_list(j);
}

/* An object, or null. */
static void add_type(struct out_json *j, bool nullable)
{
    if (!nullable) {
        out_json_str(j, "type", "object");
        return;
    }
    out_json_open_list(j, "type");
    out_json_str(j, NULL, "object");
    out_json_str(j, NULL, "null");
    out_json_close_list(j);
}

/* The key, or the subsection, that @p rest of the path of @p row names. */
static void add_child(struct out_json *j, const struct report_schema_tree *t, // NOLINT
                      const struct conf_key *row, const char *rest)
{
    const int n = (int)strcspn(rest, ".");
    char name[CONF_MAX_PATH], inner[CONF_MAX_PATH];
    (void)snprintf(name, sizeof name, "%.*s", n, rest);
    (void)snprintf(inner, sizeof inner, "%.*s", (int)(rest - row->path) + n, row->path);
    if (!rest[n]) {
        t->leaf(j, name, row);
        return;
    }
    if (t->section && t->section(j, name, inner)) return;
    out_json_open(j, name);
    report_schema_section(j, t, inner);
    out_json_close(j);
}

/* The depth is that of the paths of a table. */
void report_schema_section(struct out_json *j, const struct report_schema_tree *t, // NOLINT
                           const char *section)
{
    bool open = false;
    add_type(j, t->nullable && *section);
    out_json_open(j, "properties");
    for (int i = 0; i < t->table->n; i++) {
        const char *rest = below(t->table->key[i].path, section);
        if (!rest || !is_first(t->table, i, section)) continue;
        if (strcmp(rest, "*") != 0)
            add_child(j, t, &t->table->key[i], rest);
        else
            open = true;
    }
    add_old_names(j, section);
    out_json_close(j);
    if (t->required) add_required(j, t->table, section);
    if (!open) out_json_bool(j, "additionalProperties", false);
}

void report_schema_require_in(struct out_json *j, const struct conf_table *table,
                              const char *section)
{
    int depth = 0;
    out_json_open(j, NULL);
    for (const char *at = section; *at;
         at += at[strcspn(at, ".")] ? strcspn(at, ".") + 1 : strlen(at)) {
        char name[CONF_MAX_PATH];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "."), at);
        out_json_open_list(j, "required");
        out_json_str(j, NULL, name);
        out_json_close_list(j);
        out_json_open(j, "properties");
        out_json_open(j, name);
        depth++;
    }
    add_required(j, table, section);
    for (; depth; depth--) {
        out_json_close(j);
        out_json_close(j);
    }
    out_json_close(j);
}
