// SPDX-License-Identifier: Apache-2.0
/* What key tables say, as text: the values of a struct as YAML that parses back to it (the dump of
 * the effective configuration), and the keys themselves as tables in Markdown (docs/CONFIG.md).
 * The counterpart of conf_values.c, which reads the same values. */
#include "conf_values.h"

#include <wsc/check.h>
#include <wsc/conf.h>

#include <stdio.h>
#include <string.h>

/* ---- values as YAML -------------------------------------------------------------------------- */

/* The first name of a value: rows list the preferred spelling first. */
static const char *choice_name(const struct conf_choice *choices, int value)
{
    while (choices && choices->name && choices->value != value)
        choices++;
    WSC_CHECK(choices && choices->name, "no name of the key stands for the value %d", value);
    return choices->name;
}

/* A text in quotes, or null. */
static void write_text(struct wsc_text *out, const char *text)
{
    if (text)
        conf_text_string(out, text);
    else
        wsc_text_add(out, "null");
}

/* A number whose default is null is 0 without one. */
static bool is_null_double(const struct conf_key *key, double value)
{
    return value == 0 && key->fallback && !strcmp(key->fallback, "null");
}

void conf_key_write(struct wsc_text *out, const struct conf_key *key, const void *field,
                    const struct conf_layout *at)
{
    char quantity[48];
    if (key->type == CONF_T_SPECIAL) {
        key->write(out, field, at);
        return;
    }
    wsc_text_add(out, " ");
    switch (key->type) {
    case CONF_T_INT:
        if (*(const int64_t *)field == CONF_NULL)
            wsc_text_add(out, "null");
        else
            wsc_text_add(out, "%lld", (long long)*(const int64_t *)field);
        break;
    case CONF_T_DOUBLE:
        if (is_null_double(key, *(const double *)field))
            wsc_text_add(out, "null");
        else
            conf_text_double(out, *(const double *)field);
        break;
    case CONF_T_BOOL:
        wsc_text_add(out, "%s", *(const bool *)field ? "true" : "false");
        break;
    case CONF_T_CHOICE:
        wsc_text_add(out, "%s", choice_name(key->choices, *(const int *)field));
        break;
    case CONF_T_STRING:
        write_text(out, *(char *const *)field);
        break;
    case CONF_T_QUANTITY:
        wsc_units_format(key->unit, *(const int64_t *)field, quantity, sizeof quantity);
        wsc_text_add(out, "%s", quantity);
        break;
    case CONF_T_SPECIAL:
    case CONF_T_ANY:
        break;
    }
}

/* Open the sections of @p path that the last path was not in; returns the indentation. */
static int open_sections(struct wsc_text *out, const char *path, char last[CONF_MAX_PATH])
{
    int indent = 0;
    size_t start = 0;
    bool same = true;
    for (size_t n = strcspn(path, "."); path[n]; n = start + strcspn(path + start, ".")) {
        same = same && !strncmp(path, last, n + 1);
        if (!same) wsc_text_add(out, "%*s%.*s:\n", indent, "", (int)(n - start), path + start);
        indent += 4;
        start = n + 1;
    }
    (void)snprintf(last, CONF_MAX_PATH, "%s", path);
    return indent;
}

void conf_table_write(struct wsc_text *out, const struct conf_table *table, const void *base,
                      bool (*keep)(const void *base, const char *path))
{
    char last[CONF_MAX_PATH] = "";
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (key->status != CONF_USED || (keep && !keep(base, key->path))) continue;
        int indent = open_sections(out, key->path, last);
        const char *dot = strrchr(key->path, '.');
        wsc_text_add(out, "%*s%s:", indent, "", dot ? dot + 1 : key->path);
        const struct conf_layout at = {.indent = indent + 4};
        conf_key_write(out, key, (const char *)base + key->offset, &at);
        wsc_text_add(out, "\n");
    }
}

/* Keys that a record's dump has: not those without a field, nor whole numbers that are null. */
static bool is_written(const struct conf_key *key, const void *base)
{
    const void *field = (const char *)base + key->offset;
    if (key->status != CONF_USED || key->type == CONF_T_ANY) return false;
    if (key->type == CONF_T_SPECIAL) return key->write != NULL;
    return key->type != CONF_T_INT || *(const int64_t *)field != CONF_NULL;
}

void conf_record_write(struct wsc_text *out, const struct conf_variants *variants, int variant,
                       const void *base, const void *context)
{
    const struct conf_layout at = {.context = context};
    const struct conf_variant *v = &variants->variant[variant];
    wsc_text_add(out, "{%s: %s", variants->selector, v->name);
    for (int i = 0; i < v->n; i++) {
        if (!is_written(&v->key[i], base)) continue;
        wsc_text_add(out, ", %s:", v->key[i].path);
        conf_key_write(out, &v->key[i], (const char *)base + v->key[i].offset, &at);
    }
    wsc_text_add(out, "}");
}

/* ---- keys as Markdown ------------------------------------------------------------------------ */

const char *conf_status_text(enum conf_status status)
{
    static const char *const text[] = {[CONF_USED] = "used",
                                       [CONF_OLD] = "old spelling",
                                       [CONF_ALSO] = "used",
                                       [CONF_NO_EFFECT] = "accepted, without effect",
                                       [CONF_NOISE] = "ignored with a warning",
                                       [CONF_ONLY] = "other values are not supported"};
    return text[status];
}

/* The type in words, or the list of choices. */
static void write_form(struct wsc_text *out, const struct conf_key *key)
{
    static const char *const names[] = {
        [CONF_T_INT] = "whole number", [CONF_T_DOUBLE] = "number", [CONF_T_QUANTITY] = "quantity",
        [CONF_T_BOOL] = "boolean",     [CONF_T_STRING] = "text",   [CONF_T_CHOICE] = "",
        [CONF_T_SPECIAL] = "",         [CONF_T_ANY] = "any"};
    wsc_text_add(out, "%s", key->form ? key->form : names[key->type]);
    for (int i = 0; key->choices && key->choices[i].name; i++)
        wsc_text_add(out, "%s`%s`", i ? ", " : "", key->choices[i].name);
}

/* One end of a range, with its unit unless it is 0. */
static void write_bound(struct wsc_text *out, const struct conf_key *key, double bound)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.10g", bound);
    if (key->unit != WSC_UNIT_NONE && bound > 0)
        wsc_units_format_digits(key->unit, bound, CONF_BOUND_DIGITS, text, sizeof text);
    wsc_text_add(out, "%s", text);
}

/* The range as in "1 to 64", ">= 0", "> 0, at most 1"; nothing where the row has none. */
static void write_range(struct wsc_text *out, const struct conf_key *key)
{
    const double unbounded = 1e100;
    const bool high = key->max < unbounded && key->min < key->max;
    if (key->positive) {
        wsc_text_add(out, "> 0");
        if (high) wsc_text_add(out, "%s", key->below_max ? ", < " : ", at most ");
        if (high) write_bound(out, key, key->max);
        return;
    }
    if (!(key->min < key->max)) return;
    const bool low = key->min > -unbounded;
    if (low != high) wsc_text_add(out, low ? ">= " : "<= ");
    if (low) write_bound(out, key, key->min);
    if (low && high) wsc_text_add(out, " to ");
    if (high) write_bound(out, key, key->max);
}

/* "required", "as OTHER.KEY", or the default as written. */
static void write_default(struct wsc_text *out, const struct conf_key *key)
{
    if (key->required)
        wsc_text_add(out, "required");
    else if (key->fallback && key->fallback[0] == '=')
        wsc_text_add(out, "as %s", key->fallback + 1);
    else if (key->fallback)
        wsc_text_add(out, "%s", key->fallback);
}

/* From the value's form to the meaning. */
static void write_key(struct wsc_text *out, const struct conf_key *key)
{
    write_form(out, key);
    wsc_text_add(out, " | %s | ", key->measure ? key->measure : wsc_units_base(key->unit));
    write_default(out, key);
    wsc_text_add(out, " | ");
    write_range(out, key);
    wsc_text_add(out, " | %s%s | %s |\n", conf_status_text(key->status),
                 key->no_time ? ", no virtual time" : "", key->doc ? key->doc : "");
}

void conf_table_markdown(struct wsc_text *out, const struct conf_table *table, const char *column,
                         void (*cell)(struct wsc_text *out, const char *path))
{
    wsc_text_add(out,
                 "| key | %s%svalue | unit | default | range | status | meaning |\n"
                 "|---|---|---|---|---|---|---|%s\n",
                 column ? column : "", column ? " | " : "", column ? "---|" : "");
    for (int i = 0; i < table->n; i++) {
        wsc_text_add(out, "| `%s` | ", table->key[i].path);
        if (column) cell(out, table->key[i].path);
        if (column) wsc_text_add(out, " | ");
        write_key(out, &table->key[i]);
    }
}

/* ` (`also`, `old`)` after a key. */
static void write_spellings(struct wsc_text *out, const char *names)
{
    for (const char *at = names; at && *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        wsc_text_add(out, ", `%.*s`", (int)n, at);
        at += n;
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Do both variants list the same keys? */
static bool same_keys(const struct conf_variant *a, const struct conf_variant *b)
{
    bool same = a->n == b->n;
    for (int k = 0; k < a->n && same; k++)
        same = same_text(a->key[k].path, b->key[k].path) && same_text(a->key[k].doc, b->key[k].doc);
    return same;
}

static void write_variant_keys(struct wsc_text *out, const struct conf_variant *v)
{
    const size_t before = out->n;
    for (int k = 0; k < v->n; k++) {
        if (v->key[k].status == CONF_NOISE || !v->key[k].doc) continue;
        wsc_text_add(out, "| | `%s`", v->key[k].path);
        write_spellings(out, v->key[k].also);
        write_spellings(out, v->key[k].old);
        wsc_text_add(out, " | ");
        write_key(out, &v->key[k]);
    }
    if (out->n == before) wsc_text_add(out, "| | none | | | | | | |\n");
}

/* Variants that follow each other with the same keys list them once, after the last. */
void conf_variants_markdown(struct wsc_text *out, const struct conf_variants *variants)
{
    wsc_text_add(out,
                 "| `%s` | key | value | unit | default | range | status | meaning |\n"
                 "|---|---|---|---|---|---|---|---|\n",
                 variants->selector);
    for (int i = 0; i < variants->n; i++) {
        const struct conf_variant *v = &variants->variant[i];
        wsc_text_add(out, "| **`%s`** | | | | | | | %s |\n", v->name, v->doc);
        if (i + 1 == variants->n || !same_keys(v, v + 1)) write_variant_keys(out, v);
    }
}
