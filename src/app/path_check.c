// SPDX-License-Identifier: Apache-2.0
/* Refuses outputs that would replace an input or one another, before a command starts.
 *
 * Each option that names a file or a folder becomes an entry: its path without links, what it
 * writes (a row of options.c says it), device and inode.  Then every output is compared with every
 * other entry.  main.c calls it for all commands, cmd_run.c again for the paths of the params. */
#include "path_check.h"
#include "option_parse.h"

#include <wsc/mem.h>

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A path of an option or of the params. */
struct entry {
    const struct app_option *row;
    char label[64];
    const char *given;
    char *path; /* without links; owned */
    bool exists;
    struct stat info;
};
struct entries {
    struct entry *item; /* owned */
    int n, room;
};

/* ---- paths ----------------------------------------------------------------------------------- */

/* Cut the last part of @p path off and put it before @p rest; what remains has no part more when it
 * is "/" or ".". */
static void cut_part(char path[PATH_MAX], char rest[PATH_MAX])
{
    char joined[PATH_MAX];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    char *slash = strrchr(path, '/'), *part = slash ? slash + 1 : path;
    if (strcmp(part, ".") != 0) {
        const int length = snprintf(joined, sizeof joined, "/%s%s", part, rest);
        if (length < PATH_MAX) memcpy(rest, joined, (size_t)length + 1);
    }
    if (slash)
        slash[slash == path] = '\0';
    else
        (void)snprintf(path, PATH_MAX, ".");
}

/* The path without links; of one that does not exist, the folders that do exist. */
static void follow(const char *path, char out[PATH_MAX])
{
    char known[PATH_MAX], rest[PATH_MAX] = "", found[PATH_MAX];
    (void)snprintf(known, sizeof known, "%s", path);
    while (!realpath(known, found)) {
        if (!strcmp(known, ".") || !strcmp(known, "/")) {
            (void)snprintf(found, sizeof found, "%s", known);
            break;
        }
        cut_part(known, rest);
    }
    const char *folder = strcmp(found, "/") != 0 ? found : "";
    if (snprintf(out, PATH_MAX, "%s%s", folder, rest) >= PATH_MAX) out[0] = '\0';
}

/* ---- entries --------------------------------------------------------------------------------- */

/* @p path is copied; @p given, which messages show, is borrowed, NULL: the path without links. */
static enum wsc_err add(struct entries *all, const struct app_option *row, const char *label,
                        const char *path, const char *given)
{
    char followed[PATH_MAX];
    TRY_GROW(all->item, WSC_MEM_APP, all->room, all->n + 1);
    struct entry *e = &all->item[all->n];
    *e = (struct entry){.row = row};
    (void)snprintf(e->label, sizeof e->label, "%s", label);
    e->exists = !stat(path, &e->info);
    follow(path, followed);
    TRY_MEM(e->path, wsc_strdup(WSC_MEM_APP, followed));
    e->given = given ? given : e->path;
    all->n++;
    return WSC_OK;
}

/* A list of files, separated by commas. */
static bool is_list(const struct app_option *o)
{
    return o->arg && !strncmp(o->arg, "FILE[,", 6);
}

static bool names_path(const struct app_option *o)
{
    return o->type == APP_FILE || o->type == APP_FOLDER || o->type == APP_PATHS || is_list(o);
}

static enum wsc_err add_list(struct entries *all, const struct app_option *o, const char *label,
                             const char *list)
{
    for (;; list++) {
        char path[PATH_MAX];
        const size_t n = strcspn(list, ",");
        (void)snprintf(path, sizeof path, "%.*s", (int)n, list);
        TRY(add(all, o, label, path, NULL));
        list += n;
        if (!*list) return WSC_OK;
    }
}

static enum wsc_err add_option(struct entries *all, const struct app_call *call,
                               const struct app_option *o)
{
    const char *value = call->given[o - call->table];
    char label[64];
    if (!value || !names_path(o)) return WSC_OK;
    (void)snprintf(label, sizeof label, "%s%s", o->name ? "--" : "", o->name ? o->name : o->arg);
    if (is_list(o)) return add_list(all, o, label, value);
    if (o->type != APP_PATHS) return add(all, o, label, value, value);
    const struct app_texts *texts = (const void *)((const char *)call->request + o->at);
    for (int i = 0; i < texts->n; i++)
        TRY(add(all, o, label, texts->item[i], texts->item[i]));
    return WSC_OK;
}

static const struct app_option *row_of(const struct app_call *call, const char *name)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o)))
        if (o->name && !strcmp(o->name, name)) break;
    return o;
}

static enum wsc_err collect(struct entries *all, const struct app_call *call,
                            const struct app_path *more, int n)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o)))
        TRY(add_option(all, call, o));
    for (int i = 0; i < n; i++)
        if (more[i].path)
            TRY(add(all, row_of(call, more[i].like), more[i].label, more[i].path, more[i].path));
    return WSC_OK;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool is_folder(const struct entry *e)
{
    return e->row->type == APP_FOLDER;
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    if (a->exists && b->exists)
        return a->info.st_dev == b->info.st_dev && a->info.st_ino == b->info.st_ino;
    return !strcmp(a->path, b->path);
}

/* True when the command writes the file of @p e into the folder @p out. */
static bool writes_into(const struct entry *out, const struct entry *e)
{
    static const char separators[] = ", ";
    const char *name = strrchr(e->path, '/');
    const size_t n = name ? (size_t)(name - e->path) : 0;
    if (!name || strncmp(out->path, e->path, n) != 0 || out->path[n]) return false;
    for (const char *at = out->row->writes; *at; at += strspn(at, separators)) {
        char pattern[64];
        const size_t length = strcspn(at, separators);
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)length, at);
        if (!fnmatch(pattern, name + 1, FNM_PERIOD)) return true;
        at += length;
    }
    return false;
}

/* Compare the output @p out with another entry. */
static enum wsc_err compare(const struct entry *out, const struct entry *e)
{
    const char *renewed = e->row->renewed_by;
    if (renewed && out->row->name && !strcmp(renewed, out->row->name)) return WSC_OK;
    if (is_folder(e) && (is_folder(out) || !e->row->writes)) return WSC_OK;
    if (is_folder(out)) {
        if (!writes_into(out, e)) return WSC_OK;
        if (e->row->writes)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                          "%s: %s is a result of the command in the folder of %s",
                                          e->label, e->given, out->label),
                                "another name for %s", e->label);
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: would replace %s, the file of %s", out->label,
                                      e->given, e->label),
                            "another folder for %s", out->label);
    }
    if (!is_same(out, e)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: %s is the %s of %s", out->label, out->given,
                                  is_folder(e) ? "folder" : "file", e->label),
                        "another name for %s", out->label);
}

/* Output @p i is compared with all inputs, and with the outputs before it; a folder with all. */
static enum wsc_err compare_output(const struct entries *all, int i)
{
    const struct entry *out = &all->item[i];
    for (int k = 0; k < all->n; k++) {
        const bool later = k > i && all->item[k].row->writes && !is_folder(out);
        if (k != i && !later) TRY(compare(out, &all->item[k]));
    }
    return WSC_OK;
}

static enum wsc_err compare_all(const struct entries *all)
{
    for (int i = 0; i < all->n; i++)
        if (all->item[i].row->writes) TRY(compare_output(all, i));
    return WSC_OK;
}

enum wsc_err app_check_paths(const struct app_call *call, const struct app_path *more, int n)
{
    struct entries all = {0};
    enum wsc_err rc = collect(&all, call, more, n);
    if (!rc) rc = compare_all(&all);
    for (int i = 0; i < all.n; i++)
        wsc_free(all.item[i].path);
    wsc_free(all.item);
    return rc;
}
