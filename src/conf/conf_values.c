// SPDX-License-Identifier: Apache-2.0
/* Values of keys: numbers, quantities with units, booleans, choices and texts are read by the type
 * of their row, checked against its range, and stored at its offset.  Called by the walk of
 * conf_keys.c for files and records; conf_write.c writes the same values. */
#include "conf_values.h"

#include <wsc/err.h>
#include <wsc/mem.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool conf_parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    for (int i = 0; i < 3; i++) {
        *out = !strcasecmp(text, yes[i]);
        if (*out || !strcasecmp(text, no[i])) return true;
    }
    return false;
}

/* "expected a number, got a list". */
static void wrong_form(struct conf_parse *p, const char *path, const struct conf_node *node,
                       const char *expected)
{
    char shown[CONF_QUOTE_BYTES];
    conf_diag_error(p->diag, node->pos, path, "expected %s, got %s", expected,
                    conf_node_describe(node, shown));
}

bool conf_read_double(struct conf_parse *p, const char *path, const struct conf_node *node,
                      double *out)
{
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node)) {
        wrong_form(p, path, node, "a number");
        return false;
    }
    if (wsc_units_double(node->text, out) == WSC_OK) return true;
    conf_diag_error(p->diag, node->pos, path, "%s", wsc_err_message());
    return false;
}

/* A whole number; false after an error about @p path. */
static bool read_whole(struct conf_parse *p, const char *path, const struct conf_node *node,
                       int64_t *out)
{
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node)) {
        wrong_form(p, path, node, "a whole number");
        return false;
    }
    if (wsc_units_int(node->text, out) == WSC_OK) return true;
    conf_diag_error(p->diag, node->pos, path, "%s", wsc_err_message());
    return false;
}

/* The range of the row as a message; quantities are compared and shown in their unit. */
static bool in_range(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     double value)
{
    char shown[CONF_QUOTE_BYTES];
    const char *relation = NULL;
    double bound = key->min;
    if (key->positive && !(value > 0)) {
        relation = "greater than";
        bound = 0;
    } else if (!key->positive && value < key->min) {
        relation = "at least";
    } else if (value > key->max || (key->below_max && value == key->max)) {
        relation = key->below_max ? "less than" : "at most";
        bound = key->max;
    }
    if (!relation) return true;
    char limit[48];
    (void)snprintf(limit, sizeof limit, key->type == CONF_T_INT ? "%.0f" : "%.15g", bound);
    if (key->unit != WSC_UNIT_NONE)
        wsc_units_format_digits(key->unit, bound, CONF_BOUND_DIGITS, limit, sizeof limit);
    conf_diag_error(p->diag, node->pos, key->path, "must be %s %s, got %s", relation, limit,
                    conf_node_describe(node, shown));
    return false;
}

/* Readers by type: each leaves its field untouched after an error. */
static void read_int(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     int64_t *field)
{
    int64_t value;
    if (!read_whole(p, key->path, node, &value)) return;
    if (in_range(p, key, node, (double)value)) *field = value;
}

static void read_double(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, double *field)
{
    double value;
    if (!conf_read_double(p, key->path, node, &value)) return;
    if (in_range(p, key, node, value)) *field = value;
}

/* A number with a unit of the row's kind, to its base unit. */
static void read_quantity(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, int64_t *field)
{
    int64_t value;
    if (node->kind != CONF_NODE_SCALAR) {
        wrong_form(p, key->path, node, "a quantity with its unit");
        return;
    }
    if (wsc_units_quantity(key->unit, node->text, &value) != WSC_OK) {
        conf_diag_error(p->diag, node->pos, key->path, "%s", wsc_err_message());
        return;
    }
    if (in_range(p, key, node, (double)value)) *field = value;
}

static void read_bool(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, bool *field)
{
    bool value;
    if (node->kind == CONF_NODE_SCALAR && conf_parse_bool(node->text, &value))
        *field = value;
    else
        wrong_form(p, key->path, node, "true or false");
}

/* A text that is not empty.  The struct owns it; its module's fini frees it. */
static void read_string(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, char **field)
{
    if (node->kind != CONF_NODE_SCALAR || !*node->text || conf_node_is_null(node)) {
        wrong_form(p, key->path, node, "a text");
        return;
    }
    *field = wsc_strdup(WSC_MEM_CONF, node->text);
    if (!*field) p->diag->no_memory = true;
}

/* True for equal names and for equal numbers: `0.00` and `0` are one. */
static bool same_choice(const char *name, const char *text)
{
    double a, b;
    if (!strcasecmp(name, text)) return true;
    return isdigit((unsigned char)*name) && wsc_units_double(name, &a) == WSC_OK &&
           wsc_units_double(text, &b) == WSC_OK && a == b;
}

/* Booleans match by meaning too: `yes` finds the choice "true". */
int conf_choice_find(const struct conf_choice *choices, const struct conf_node *node)
{
    bool is_bool, truth = false;
    const char *text = "null";
    if (node && !conf_node_is_null(node)) {
        if (node->kind != CONF_NODE_SCALAR) return -1;
        is_bool = conf_parse_bool(node->text, &truth);
        text = !is_bool ? node->text : truth ? "true" : "false";
    }
    for (int i = 0; choices && choices[i].name; i++)
        if (same_choice(choices[i].name, text)) return i;
    return -1;
}

void conf_key_unsupported(const struct conf_parse *p, const char *path,
                          const struct conf_node *node, const struct conf_choice *choices)
{
    char shown[CONF_QUOTE_BYTES], list[400] = "", hint[64] = "";
    size_t n = 0;
    int best = 3;
    const char *text = node->kind == CONF_NODE_SCALAR ? node->text : "";
    for (int i = 0; choices[i].name; i++) {
        int added = snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", choices[i].name);
        if (added > 0 && n + (size_t)added < sizeof list) n += (size_t)added;
        int d = wsc_units_distance(text, choices[i].name);
        /* A typing error seldom hits the first letter; with one choice the list says it all. */
        bool likely = d < best && (size_t)d * 2 < strlen(choices[i].name) && choices[1].name &&
                      !strncasecmp(text, choices[i].name, 1);
        if (!likely) continue;
        best = d;
        (void)snprintf(hint, sizeof hint, "; hint: did you mean %s?", choices[i].name);
    }
    conf_diag_error(p->diag, node->pos, path,
                    "%s is not supported by this release; supported: %s%s",
                    conf_node_describe(node, shown), n ? list : "none", hint);
}

/* Enumerations are stored as int, which all enums of the tables have as their type. */
static void read_choice(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, int *field)
{
    int i = conf_choice_find(key->choices, node);
    if (i < 0)
        conf_key_unsupported(p, key->path, node, key->choices);
    else
        *field = key->choices[i].value;
}

/* Dispatch by the type of the row; SPECIAL rows bring their own reader. */
static void read_typed(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node)
{
    void *field = p->out + key->offset;
    switch (key->type) {
    case CONF_T_INT:
        read_int(p, key, node, field);
        break;
    case CONF_T_DOUBLE:
        read_double(p, key, node, field);
        break;
    case CONF_T_QUANTITY:
        read_quantity(p, key, node, field);
        break;
    case CONF_T_BOOL:
        read_bool(p, key, node, field);
        break;
    case CONF_T_STRING:
        read_string(p, key, node, field);
        break;
    case CONF_T_CHOICE:
        read_choice(p, key, node, field);
        break;
    case CONF_T_SPECIAL:
        key->read(p, key, node, field);
        break;
    case CONF_T_ANY:
        break;
    }
}

/* null: CONF_NULL or no text where that is the default, otherwise the default. */
static void read_null(struct conf_parse *p, int row)
{
    const struct conf_key *key = &p->table->key[row];
    bool none = key->fallback && !strcmp(key->fallback, "null");
    if (none && key->type == CONF_T_INT)
        *(int64_t *)(void *)(p->out + key->offset) = CONF_NULL;
    else if (!none)
        p->seen[row] = false;
}

void conf_key_default(struct conf_parse *p, int row)
{
    const struct conf_key *key = &p->table->key[row];
    const struct conf_node node = {.kind = CONF_NODE_SCALAR, .plain = true, .text = key->fallback};
    if (key->nullable && conf_node_is_null(&node))
        read_null(p, row);
    else
        read_typed(p, key, &node);
}

void conf_key_check_only(const struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node)
{
    const bool is_null = !key->empty_asks && node->kind != CONF_NODE_SCALAR && !node->n;
    if (conf_choice_find(key->choices, is_null ? NULL : node) >= 0) return;
    if (key->refusal)
        conf_diag_error(p->diag, node->pos, key->path, "%s", key->refusal);
    else
        conf_key_unsupported(p, key->path, node, key->choices);
}

/* The precisions keep the result below CONF_MAX_PATH whatever the file has. */
const char *conf_key_name(const struct conf_parse *p, const char *path, char out[CONF_MAX_PATH])
{
    if (!p->prefix) return path;
    (void)snprintf(out, CONF_MAX_PATH, "%.100s.%.80s", p->prefix, path);
    return out;
}

/* Order of the tests: a refused value (ONLY) is not read at all; NOISE and OLD warn and are read;
 * null is the default where the row allows it. */
void conf_key_read(struct conf_parse *p, int row, const struct conf_node *node)
{
    struct conf_key named = p->table->key[row];
    char path[CONF_MAX_PATH];
    const struct conf_key *key = &named;
    p->seen[row] = true;
    p->given[row] = node;
    named.path = conf_key_name(p, p->spelling ? p->spelling : key->path, path);
    if (key->status == CONF_ONLY) {
        conf_key_check_only(p, key, node);
        return;
    }
    if (key->status == CONF_NOISE)
        conf_diag_warn(p->diag, node->pos, key->path, "ignored: %s", key->doc);
    if (key->status == CONF_OLD && !conf_node_is_null(node))
        conf_diag_warn(p->diag, node->pos, key->path, "old spelling: %s", key->doc);
    if (key->type != CONF_T_ANY && key->nullable && conf_node_is_null(node))
        read_null(p, row);
    else
        read_typed(p, key, node);
}
