// SPDX-License-Identifier: Apache-2.0
#include "zoo_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- params as YAML ---- */

static void write_int(struct conf_text *out, int64_t value)
{
    if (value == CONF_NULL)
        conf_text_add(out, " null");
    else
        conf_text_add(out, " %lld", (long long)value);
}

const char *zoo_params_choice(const char *path, int value)
{
    const struct conf_table *table = zoo_params_table();
    const int row = conf_keys_find(table, path);
    const struct conf_choice *choice = row < 0 ? NULL : table->key[row].choices;
    for (int i = 0; choice && i < CONF_MAX_CHOICES && choice[i].name; i++)
        if (choice[i].value == value) return choice[i].name;
    return "?";
}

static void write_value(struct conf_text *out, const struct conf_key *key, const void *field,
                        int indent)
{
    const char *text;
    switch (key->type) {
    case CONF_T_INT:
        write_int(out, *(const int64_t *)field);
        break;
    case CONF_T_DOUBLE:
        conf_text_add(out, " ");
        conf_text_double(out, *(const double *)field);
        break;
    case CONF_T_BOOL:
        conf_text_add(out, " %s", *(const bool *)field ? "true" : "false");
        break;
    case CONF_T_CHOICE:
        conf_text_add(out, " %s", zoo_params_choice(key->path, *(const int *)field));
        break;
    case CONF_T_STRING:
        text = *(char *const *)field;
        conf_text_add(out, " ");
        if (text)
            conf_text_string(out, text);
        else
            conf_text_add(out, "null");
        break;
    case CONF_T_SPECIAL:
        key->write(out, field, indent);
        break;
    case CONF_T_QUANTITY:
    case CONF_T_ANY:
        break;
    }
}

/* Open the sections of @p path that the last path was not in; returns the indentation. */
static int open_sections(struct conf_text *out, const char *path, char last[CONF_MAX_PATH])
{
    int indent = 0;
    size_t start = 0;
    bool same = true;
    for (size_t n = strcspn(path, "."); path[n]; n = start + strcspn(path + start, ".")) {
        same = same && !strncmp(path, last, n + 1);
        if (!same) conf_text_add(out, "%*s%.*s:\n", indent, "", (int)(n - start), path + start);
        indent += 4;
        start = n + 1;
    }
    (void)snprintf(last, CONF_MAX_PATH, "%s", path);
    return indent;
}

/* Sections and lists that the file did not have stay away. */
static bool is_present(const struct zoo_params *params, const char *path)
{
    if (!zoo_params_acts(params, path)) return false;
    if (!strncmp(path, "train_input.", 12)) return params->train_input.present;
    if (!strncmp(path, "eval_input.", 11)) return params->eval_input.present;
    if (!strncmp(path, "optimizer.", 10))
        return params->optimizer.learning_rate.n > 0 &&
               zoo_optimizer_takes(&params->optimizer, path + 10);
    return true;
}

enum wsc_err zoo_params_dump(const struct zoo_params *params, char **text)
{
    const struct conf_table *table = zoo_params_table();
    struct conf_text out = {0};
    char last[CONF_MAX_PATH] = "";
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (key->status != CONF_USED || !is_present(params, key->path)) continue;
        int indent = open_sections(&out, key->path, last);
        const char *dot = strrchr(key->path, '.');
        conf_text_add(&out, "%*s%s:", indent, "", dot ? dot + 1 : key->path);
        write_value(&out, key, (const char *)params + key->offset, indent + 4);
        conf_text_add(&out, "\n");
    }
    return conf_text_take(&out, text);
}

enum wsc_err zoo_params_text(const struct zoo_params *params, const char *path, char **text)
{
    const struct conf_table *table = zoo_params_table();
    const int row = conf_keys_find(table, path);
    struct conf_text out = {0};
    WSC_CHECK(row >= 0, "no key %s", path);
    write_value(&out, &table->key[row], (const char *)params + table->key[row].offset, 4);
    return conf_text_take(&out, text);
}

bool zoo_params_value(const struct zoo_params *params, const char *path, char *text, size_t size)
{
    const struct conf_table *table = zoo_params_table();
    char *written = NULL;
    int row = conf_keys_find(table, path);
    if (row < 0 || table->key[row].status != CONF_USED) return false;
    if (table->key[row].type == CONF_T_SPECIAL) return false;
    if (zoo_params_text(params, path, &written)) return false;
    int n = snprintf(text, size, "%s", written + 1); /* without the blank before it */
    wsc_free(written);
    return n >= 0 && (size_t)n < size;
}
