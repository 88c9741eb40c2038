// SPDX-License-Identifier: Apache-2.0
/* `wsc params --diff`: the effective values of two params files, of any style, key by key.  A
 * value is compared as the dump of the effective configuration writes it, so that another spelling
 * of the same value is no difference.  Called by cmd_params.c. */
#include "params_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/text.h>
#include <wsc/zoo.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static enum wsc_err load(const char *path, struct zoo_params *params)
{
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = conf_read_file(path, &bytes, &n);
    if (!rc) rc = zoo_params_parse(params, path, bytes, n, NULL, 0);
    wsc_free(bytes);
    if (!rc) zoo_params_log(params);
    return rc;
}

/* Is the section of @p key in the file, does its optimizer take the key, and has it an effect? */
static bool is_there(const struct zoo_params *p, const struct conf_key *key)
{
    if (!zoo_key_acts(p, key->path)) return false;
    if (!strncmp(key->path, "train_input.", 12)) return p->train_input.present;
    if (!strncmp(key->path, "eval_input.", 11)) return p->eval_input.present;
    if (strncmp(key->path, "optimizer.", 10) != 0) return true;
    if (!p->optimizer.learning_rate.n) return false;
    return !key->kinds || key->kinds >> p->optimizer.type & 1;
}

/* The value on one line, or "-"; owned by the caller. */
static enum wsc_err value_of(const struct zoo_params *p, const struct conf_key *key, char **text)
{
    if (!is_there(p, key)) {
        *text = wsc_strdup(WSC_MEM_APP, "-");
        return *text ? WSC_OK : WSC_NOMEM;
    }
    TRY(zoo_params_text(p, key->path, text));
    size_t n = 0;
    for (const char *from = *text; *from; from++) {
        const bool blank = isspace((unsigned char)*from) != 0;
        if (blank && (!n || (*text)[n - 1] == ' ')) continue;
        (*text)[n++] = (char)(blank ? ' ' : *from);
    }
    (*text)[n] = '\0';
    return WSC_OK;
}

/* The differences: a table, and below it the values that would make its columns too wide. */
struct difference {
    struct out_table *table;
    struct wsc_text wide;
    const char *const *file; /* head of the table: "key", and both files */
    int n_rows;
};

static void add_row(struct difference *d, const char *key, char *const value[2])
{
    enum { MOST_CHARACTERS = 56 };
    if (strlen(value[0]) > MOST_CHARACTERS || strlen(value[1]) > MOST_CHARACTERS) {
        wsc_text_add(&d->wide, "\n%s\n  %s: %s\n  %s: %s\n", key, d->file[1], value[0], d->file[2],
                     value[1]);
        return;
    }
    out_table_cell(d->table, "%s", key);
    out_table_cell(d->table, "%s", value[0]);
    out_table_cell(d->table, "%s", value[1]);
    d->n_rows++;
}

/* A row when both have different values. */
static enum wsc_err compare(struct difference *d, const struct zoo_params p[2],
                            const struct conf_key *key)
{
    char *value[2] = {NULL, NULL};
    enum wsc_err rc = value_of(&p[0], key, &value[0]);
    if (!rc) rc = value_of(&p[1], key, &value[1]);
    if (!rc && strcmp(value[0], value[1]) != 0) add_row(d, key->path, value);
    wsc_free(value[0]);
    wsc_free(value[1]);
    return rc;
}

static enum wsc_err compare_all(const char *const head[3], const struct zoo_params p[2])
{
    const struct conf_table *keys = zoo_params_table();
    struct difference d = {.file = head};
    enum wsc_err rc = out_table_new(&d.table, "lll", head);
    for (int i = 0; i < keys->n && !rc; i++)
        if (keys->key[i].status == CONF_USED) rc = compare(&d, p, &keys->key[i]);
    if (!rc) rc = wsc_text_check(&d.wide);
    if (!rc && d.n_rows) rc = out_table_print(d.table, stdout, 0);
    if (!rc && d.wide.n) (void)fputs(d.wide.bytes, stdout);
    if (!rc && !d.n_rows && !d.wide.n) (void)printf("no key differs\n");
    out_table_free(&d.table);
    wsc_text_free(&d.wide);
    return rc;
}

enum wsc_err app_params_diff(const char *a, const char *b)
{
    const char *const head[3] = {"key", a, b};
    struct zoo_params p[2];
    memset(p, 0, sizeof p);
    enum wsc_err rc = load(a, &p[0]);
    if (!rc) rc = load(b, &p[1]);
    if (!rc) rc = compare_all(head, p);
    zoo_params_fini(&p[0]);
    zoo_params_fini(&p[1]);
    return rc;
}
