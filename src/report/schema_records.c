// SPDX-License-Identifier: Apache-2.0
/* Writes the JSON Schema of records: maps whose selector (`scheduler`, `kind`, `name`) decides
 * which keys they have. Every kind is a definition of its own; the map refers to it by `if` and
 * `then`, so that an editor reports errors of the selected kind alone. Called by config_schema.c.
 */
#include "schema.h"

#include <stdio.h>
#include <string.h>

/* Call @p add for each of @p names, which are separated by blanks. */
static void each_name(struct out_json *j, const char *names, const struct conf_key *row,
                      void (*add)(struct out_json *j, const char *name, const struct conf_key *row))
{
    for (const char *at = names; at && *at; at += strspn(at, " ")) {
        char name[CONF_QUOTE_BYTES];
        const size_t n = strcspn(at, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
        add(j, name, row);
        at += n;
    }
}

/* A key under another spelling, where null counts as absent. */
static void add_spelling(struct out_json *j, const char *name, const struct conf_key *row)
{
    struct conf_key other = *row;
    other.nullable = true;
    report_schema_value(j, name, &other);
}

/* `{required: [name]}`, an alternative. */
static void add_required(struct out_json *j, const char *name, const struct conf_key *row)
{
    (void)row;
    out_json_open(j, NULL);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, name);
    out_json_close_list(j);
    out_json_close(j);
}

/* A required key under one of its spellings. */
static void require_any(struct out_json *j, const struct conf_key *row)
{
    out_json_open(j, NULL);
    out_json_open_list(j, "anyOf");
    add_required(j, row->path, row);
    each_name(j, row->also, row, add_required);
    each_name(j, row->old, row, add_required);
    out_json_close_list(j);
    out_json_close(j);
}

/* The keys of one kind, and those of them that are required. */
static void add_kind(struct out_json *j, const struct conf_variant *kind)
{
    int n_required = 0;
    if (kind->doc) out_json_str(j, "description", kind->doc);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    for (int k = 0; k < kind->n; k++) {
        const struct conf_key *row = &kind->key[k];
        n_required += row->required;
        report_schema_value(j, row->path, row);
        each_name(j, row->also, row, add_spelling);
        each_name(j, row->old, row, add_spelling);
    }
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    if (!n_required) return;
    out_json_open_list(j, "allOf");
    for (int k = 0; k < kind->n; k++)
        if (kind->key[k].required) require_any(j, &kind->key[k]);
    out_json_close_list(j);
}

void report_schema_kinds(struct out_json *j, const char *prefix, const struct conf_variants *kinds)
{
    for (int i = 0; i < kinds->n; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "%s.%s", prefix, kinds->variant[i].name);
        out_json_open(j, name);
        add_kind(j, &kinds->variant[i]);
        out_json_close(j);
    }
}

void report_schema_kind(struct wsc_text *pattern, const struct conf_variants *kinds, int i)
{
    wsc_text_add(pattern, "^");
    report_schema_any_case(pattern, kinds->variant[i].name);
    if (kinds->suffixes) {
        wsc_text_add(pattern, "(");
        for (const char *at = kinds->suffixes; *at; at += strspn(at, " ")) {
            char suffix[CONF_QUOTE_BYTES];
            const size_t n = strcspn(at, " ");
            (void)snprintf(suffix, sizeof suffix, "%.*s", (int)n, at);
            report_schema_any_case(pattern, suffix);
            wsc_text_add(pattern, "|");
            at += n;
        }
        wsc_text_add(pattern, ")");
    }
    wsc_text_add(pattern, "$");
}

/* `{properties: {selector: {...}}}` with one alternative for each kind from @p first to @p end. */
static void add_selector(struct out_json *j, const struct conf_variants *kinds, int first, int end)
{
    out_json_open(j, "properties");
    out_json_open(j, kinds->selector);
    out_json_str(j, "type", "string");
    out_json_open_list(j, "anyOf");
    for (int i = first; i < end; i++) {
        struct wsc_text pattern = {0};
        report_schema_kind(&pattern, kinds, i);
        out_json_open(j, NULL);
        out_json_str(j, "const", kinds->variant[i].name);
        out_json_close(j);
        out_json_open(j, NULL);
        report_schema_pattern(j, "pattern", &pattern);
        out_json_close(j);
        wsc_text_free(&pattern);
    }
    out_json_close_list(j);
    out_json_close(j);
    out_json_close(j);
}

void report_schema_record(struct out_json *j, const char *prefix, const struct conf_variants *kinds)
{
    out_json_open(j, prefix);
    out_json_str(j, "type", "object");
    report_schema_select(j, prefix, kinds);
    out_json_close(j);
}

void report_schema_select(struct out_json *j, const char *prefix, const struct conf_variants *kinds)
{
    add_selector(j, kinds, 0, kinds->n);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, kinds->selector);
    out_json_close_list(j);
    out_json_open_list(j, "allOf");
    for (int i = 0; i < kinds->n; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "%s.%s", prefix, kinds->variant[i].name);
        out_json_open(j, NULL);
        out_json_open(j, "if");
        add_selector(j, kinds, i, i + 1);
        out_json_close(j);
        report_schema_ref(j, "then", name);
        out_json_close(j);
    }
    out_json_close_list(j);
}

/* True when an earlier kind has the key. */
static bool is_known(const struct conf_variants *kinds, int n, const char *path)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < kinds->variant[i].n; k++)
            if (!strcmp(kinds->variant[i].key[k].path, path)) return true;
    return false;
}

void report_schema_union(struct out_json *j, const char *name, const struct conf_variants *kinds)
{
    out_json_open(j, name);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    for (int i = 0; i < kinds->n; i++) {
        for (int k = 0; k < kinds->variant[i].n; k++) {
            const struct conf_key *row = &kinds->variant[i].key[k];
            if (is_known(kinds, i, row->path)) continue;
            report_schema_value(j, row->path, row);
            each_name(j, row->also, row, add_spelling);
            each_name(j, row->old, row, add_spelling);
        }
    }
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}
