// SPDX-License-Identifier: Apache-2.0
/* `wsc params --template`: a params file that comes with the program, FAMILY_SIZE.yaml, with the
 * meaning of each key beside it and, after each section, the keys that it does not have as comments
 * with their defaults.  Keys, meanings and defaults come from the key table and the parsed file.
 * Called by cmd_params.c. */
#include "params_files.h"
#include "shipped.h"

#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/zoo.h>

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, INDENT = 4, NOTE_COLUMN = 44, LONGEST_NOTE = 120 };

/* ---- files ----------------------------------------------------------------------------------- */

/* A shipped file of a model: FAMILY_SIZE.yaml. */
struct model_file {
    char family[NAME_BYTES], size[NAME_BYTES];
};

/* Take the name of a file apart; false when it is none of a model.  Files of the trainer style
 * (tiny_trainer, tiny_phases) show that style, they are no models. */
static bool take_name(const char *name, struct model_file *m)
{
    const char *bar = strrchr(name, '_'), *dot = strrchr(name, '.');
    if (!bar || !dot || strcmp(dot, ".yaml") != 0 || !strncmp(name, "tiny_", 5)) return false;
    if (bar - name >= NAME_BYTES || dot - bar >= NAME_BYTES || bar > dot) return false;
    (void)snprintf(m->family, NAME_BYTES, "%.*s", (int)(bar - name), name);
    (void)snprintf(m->size, NAME_BYTES, "%.*s", (int)(dot - bar - 1), bar + 1);
    return true;
}

/* `1.3B` is written 1p3b in names of files. */
static void take_size(const char *text, char size[NAME_BYTES])
{
    size_t n = 0;
    for (; text[n] && n + 1 < NAME_BYTES; n++)
        size[n] = (char)(text[n] == '.' ? 'p' : tolower((unsigned char)text[n]));
    size[n] = '\0';
}

/* Is @p wanted the family of a file, with or without the number of its version? */
static bool is_family(const struct model_file *m, const char *wanted)
{
    const size_t n = strlen(wanted);
    const size_t plain = strcspn(m->family, "0123456789");
    return !strcmp(m->family, wanted) || (plain == n && !strncmp(m->family, wanted, n));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names of the files in @p folder, sorted; free each and the list. */
static enum wsc_err list_folder(char folder[PATH_MAX], struct dirent ***list, int *n)
{
    if (!app_find_folder(APP_PARAMS, folder, PATH_MAX))
        return WSC_RAISE(WSC_CONFIG, "the folder of params files is not %s", app_find_place());
    *n = scandir(folder, list, NULL, by_name);
    return *n < 0 ? WSC_RAISE(WSC_IO, "%s cannot be listed", folder) : WSC_OK;
}

static void free_list(struct dirent **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A template being written. */
struct template
{
    struct wsc_text *out;
    const struct zoo_params *params;
    const struct conf_node *root; /* of the file */
};

/* The line so far is @p used columns wide: fill it up and add what a key means. */
static void add_note(struct wsc_text *out, int used, const char *note)
{
    if (!note || strlen(note) > LONGEST_NOTE) note = NULL;
    if (note) wsc_text_add(out, "%*s# %s", used < NOTE_COLUMN ? NOTE_COLUMN - used : 1, "", note);
    wsc_text_add(out, "\n");
}

/* True for a key that a template shows as a comment: one that is used, that the file does not have,
 * and that the optimizer at hand takes. */
static bool is_offered(const struct template *t, const struct conf_key *key, const char *section)
{
    const size_t n = strlen(section);
    char map[CONF_MAX_PATH];
    const char *last = strrchr(key->path, '.');
    if (key->status != CONF_USED || strncmp(key->path, section, n) != 0 || key->path[n] != '.')
        return false;
    if (key->kinds && !(key->kinds >> t->params->optimizer.type & 1)) return false;
    (void)snprintf(map, sizeof map, "%.*s", (int)(last - key->path), key->path);
    if (strcmp(map, section) != 0 && conf_node_at(t->root, map)) return false;
    return !conf_node_at(t->root, key->path);
}

/* `# key: value   # meaning`, on one line. */
static enum wsc_err add_offer(const struct template *t, const struct conf_key *key, int indent)
{
    char *value = NULL;
    char line[256];
    TRY(zoo_params_text(t->params, key->path, &value));
    if (!strchr(value, '\n')) {
        const int n = snprintf(line, sizeof line, "%*s# %*s%s:%s", INDENT, "", indent - INDENT, "",
                               strrchr(key->path, '.') + 1, value);
        wsc_text_add(t->out, "%s", line);
        add_note(t->out, n, key->doc);
    }
    wsc_free(value);
    return WSC_OK;
}

/* The keys of @p section that the file does not have. */
static enum wsc_err add_offers(const struct template *t, const char *section)
{
    const struct conf_table *table = zoo_params_table();
    char inner[CONF_MAX_PATH] = "";
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (!is_offered(t, key, section)) continue;
        const char *rest = key->path + strlen(section) + 1, *dot = strchr(rest, '.');
        const int n = dot ? (int)(dot - rest) : 0;
        if (n && (strncmp(inner, rest, (size_t)n) != 0 || inner[n]))
            wsc_text_add(t->out, "%*s# %.*s:\n", INDENT, "", n, rest);
        (void)snprintf(inner, sizeof inner, "%.*s", n, rest);
        TRY(add_offer(t, key, n ? 2 * INDENT : INDENT));
    }
    return WSC_OK;
}

/* The meaning of key @p name, @p n bytes, of @p section; NULL: it is not in the table. */
static const char *doc_of(const char *section, const char *name, int n)
{
    const struct conf_table *table = zoo_params_table();
    char path[CONF_MAX_PATH];
    const bool fits = snprintf(path, sizeof path, "%s.%.*s", section, n, name) < CONF_MAX_PATH;
    const int row = fits ? conf_keys_find(table, path) : -1;
    return row < 0 ? NULL : table->key[row].doc;
}

/* A line of the file: as it is, with the meaning of its key where it has no comment. */
static void add_line(const struct template *t, const char *line, int n, const char *section)
{
    const char *colon = memchr(line, ':', (size_t)n);
    const bool is_key = *section && colon && n > INDENT && !strncmp(line, "    ", INDENT) &&
                        isalpha((unsigned char)line[INDENT]) && !memchr(line, '#', (size_t)n);
    wsc_text_add(t->out, "%.*s", n, line);
    add_note(t->out, n,
             is_key ? doc_of(section, line + INDENT, (int)(colon - line) - INDENT) : NULL);
}

/* The lines of the file.  A section ends with a blank line, the next section or the file. */
static enum wsc_err add_lines(const struct template *t, const char *bytes)
{
    char section[CONF_MAX_PATH] = "";
    for (const char *line = bytes; *line;) {
        const int n = (int)strcspn(line, "\n");
        const bool begins = isalpha((unsigned char)*line);
        if (*section && (!n || begins)) TRY(add_offers(t, section));
        if (!n || begins) section[0] = '\0';
        if (begins) (void)snprintf(section, sizeof section, "%.*s", (int)strcspn(line, ":"), line);
        add_line(t, line, n, section);
        line += n + (line[n] == '\n');
    }
    return *section ? add_offers(t, section) : WSC_OK;
}

/* ---- templates ------------------------------------------------------------------------------- */

static enum wsc_err make_template(const char *path, const struct zoo_params *params,
                                  const char *bytes, size_t n, char **text)
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = path};
    struct wsc_text out = {0};
    struct template t = {.out = &out, .params = params};
    const bool good = conf_doc_parse(&doc, &d, bytes, n, CONF_LAST_WINS);
    enum wsc_err rc = conf_diag_finish(&d);
    t.root = doc.root;
    wsc_text_add(&out, "# Keys after a # have the value that holds without them.\n"
                       "# An editor checks this file by the output of wsc params --schema:\n"
                       "# yaml-language-server: $schema=params.schema.json\n#\n");
    if (good && !rc) rc = add_lines(&t, bytes);
    conf_doc_fini(&doc);
    if (!rc) return wsc_text_take(&out, text);
    wsc_text_free(&out);
    return rc;
}

/* The template of the file at @p path. */
static enum wsc_err read_template(const char *path, char **text)
{
    struct zoo_params params = {0};
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = conf_read_file(path, &bytes, &n);
    if (!rc) rc = zoo_params_parse(&params, path, bytes, n, NULL, 0);
    if (!rc) rc = make_template(path, &params, bytes, n, text);
    zoo_params_fini(&params);
    wsc_free(bytes);
    return rc;
}

/* The families and sizes, a line each. */
static enum wsc_err list_models(struct dirent **list, int n, char **text)
{
    struct wsc_text out = {0};
    struct model_file m;
    for (int i = 0; i < n; i++)
        if (take_name(list[i]->d_name, &m)) wsc_text_add(&out, "%s %s\n", m.family, m.size);
    return wsc_text_take(&out, text);
}

enum wsc_err app_params_template(const char *family, const char *size, char **text)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2] = "", wanted[NAME_BYTES];
    struct dirent **list = NULL;
    int n = 0;
    *text = NULL;
    TRY(list_folder(folder, &list, &n));
    take_size(size ? size : "", wanted);
    for (int i = 0; i < n && !*path; i++) {
        struct model_file m;
        if (take_name(list[i]->d_name, &m) && is_family(&m, family) && !strcmp(m.size, wanted))
            (void)snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
    }
    enum wsc_err rc = WSC_OK;
    if (!strcmp(family, "list"))
        rc = list_models(list, n, text);
    else if (*path)
        rc = read_template(path, text);
    else
        rc = wsc_err_hint(WSC_RAISE(WSC_USAGE, "--template %s%s%s: no params file of that model",
                                    family, size ? " " : "", size ? size : ""),
                          "wsc params --template list lists the families and sizes");
    free_list(list, n);
    return rc;
}
