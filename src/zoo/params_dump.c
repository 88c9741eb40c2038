// SPDX-License-Identifier: Apache-2.0
/* Writes the effective params as a file of the runconfig style for an equal job, and single values
 * of it as text. Keys without effect (params_check.c) and sections that the file did not have are
 * left out. */
#include "params_passes.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/zoo_optimizers.h>

#include <stdio.h>
#include <string.h>

const char *zoo_params_choice(const char *path, int value)
{
    const struct conf_table *table = zoo_params_table();
    const int row = conf_keys_find(table, path);
    const struct conf_choice *choice = row < 0 ? NULL : table->key[row].choices;
    for (int i = 0; choice && choice[i].name; i++)
        if (choice[i].value == value) return choice[i].name;
    return "?";
}

/* False for sections and lists that the file did not have. */
static bool is_present(const void *base, const char *path)
{
    const struct zoo_params *params = base;
    if (!zoo_key_acts(params, path)) return false;
    if (!strncmp(path, "train_input.", 12)) return params->train_input.present;
    if (!strncmp(path, "eval_input.", 11)) return params->eval_input.present;
    if (!strncmp(path, "optimizer.", 10))
        return params->optimizer.learning_rate.n > 0 &&
               zoo_optimizer_takes(&params->optimizer, path);
    return true;
}

enum wsc_err zoo_params_dump(const struct zoo_params *params, char **text)
{
    struct wsc_text out = {0};
    conf_table_write(&out, zoo_params_table(), params, is_present);
    return wsc_text_take(&out, text);
}

enum wsc_err zoo_params_text(const struct zoo_params *params, const char *path, char **text)
{
    const struct conf_table *table = zoo_params_table();
    const int row = conf_keys_find(table, path);
    struct wsc_text out = {0};
    WSC_CHECK(row >= 0, "no key %s", path);
    conf_key_write(&out, &table->key[row], (const char *)params + table->key[row].offset,
                   &(struct conf_layout){.indent = 4});
    return wsc_text_take(&out, text);
}

/* Uses the writer of the dump, so that a value has one spelling. */
bool zoo_params_value(const struct zoo_params *params, const char *path, char *text, size_t size)
{
    const struct conf_table *table = zoo_params_table();
    char *written = NULL;
    int row = conf_keys_find(table, path);
    if (row < 0 || table->key[row].status != CONF_USED) return false;
    if (table->key[row].type == CONF_T_SPECIAL) return false;
    if (zoo_params_text(params, path, &written)) return false;
    int n = snprintf(text, size, "%s", written + 1); /* without the leading blank */
    wsc_free(written);
    return n >= 0 && (size_t)n < size;
}
