// SPDX-License-Identifier: Apache-2.0
/* Problems of a file: errors and warnings are collected as `file:line:col: key: what; hint`, the
 * errors raised together at the end.  A key that the user wrote elsewhere (the trainer style, a
 * list of trainers, --set, --fault) is called by the user's own name: conf_diag_origin(). */
#include <wsc/conf.h>

#include <wsc/mem.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* CONF_MAX_ERRORS lines of one report must fit the message buffer of the error trace, 64 KiB. */
enum { LINE_BYTES = 1024 };

void conf_diag_origin(struct conf_diag *d, const char *key, const char *user)
{
    if (d->n_origins == CONF_MAX_ORIGINS) return;
    d->origin[d->n_origins++] = (struct conf_origin){.key = key, .user = user};
}

/* The longest origin that @p key is or is below of, "" when there is none; *n is its length. */
static const char *find_origin(const struct conf_diag *d, const char *key, size_t *n)
{
    const char *user = NULL;
    *n = 0;
    for (int i = 0; i < d->n_origins; i++) {
        size_t length = strlen(d->origin[i].key);
        if (length <= *n || strncmp(key, d->origin[i].key, length) != 0) continue;
        if (key[length] && key[length] != '.' && key[length] != '[') continue;
        *n = length;
        user = d->origin[i].user;
    }
    return user ? user : "";
}

/* Three names of one key: that of the converted tree, that in the trainer style (by the origins),
 * and in a list of trainers `trainer[2].init...` with its index. */
const char *conf_diag_name(const struct conf_diag *d, const char *key, char out[CONF_MAX_PATH])
{
    static const char trainer[] = "trainer.";
    size_t n, skip = sizeof trainer - 2;
    const char *user = find_origin(d, key, &n);
    char index[24] = "";
    if (!d->n_origins && !d->trainer) return key;
    if (!n && strncmp(key, trainer, skip + 1) != 0) return key;
    if (d->trainer) (void)snprintf(index, sizeof index, "[%d]", d->trainer - 1);
    const char *head = n ? user : key, *tail = n ? key + n : "";
    if (strncmp(head, trainer, skip + 1) != 0) {
        skip = 0;
        index[0] = '\0';
    }
    (void)snprintf(out, CONF_MAX_PATH, "%.*s%s%s%s", (int)skip, head, index, head + skip, tail);
    return out;
}

/* A key @p name of the value that an option or --set gives: "--set path: ", "--option: " or
 * "--fault fault: ", and the key only where it is not the path. */
static int place_of_set(const struct conf_set *set, const char *key, const char *name, char *out,
                        size_t size)
{
    const char *const text = set->text, *const option = set->option;
    const char *colon = key ? ": " : "";
    char path[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(text, "="), text);
    const char *cluster = conf_set_cluster_path(path);
    if (cluster && !strcmp(cluster, CONF_FAULTS_ADD)) {
        const char *dot = key ? strrchr(key, '.') : NULL;
        return snprintf(out, size, "--fault %s: %s%s", conf_quote(text + strlen(path) + 1, shown),
                        dot ? dot + 1 : "", dot ? ": " : "");
    }
    const bool same = key && (!strcmp(path, key) || !strcmp(path, name));
    if (same || (key && cluster && !strcmp(cluster, key))) name = colon = "";
    if (option && !*option) return snprintf(out, size, "%s: %s%s", path, name, colon);
    if (option) return snprintf(out, size, "--%s: %s%s", option, name, colon);
    return snprintf(out, size, "--set %s: %s%s", path, name, colon);
}

/* "file:line:col: key: ", or what place_of_set() says. */
static int place(const struct conf_diag *d, struct conf_pos pos, const char *key, char *out,
                 size_t size)
{
    /* A longer path keeps its end, by which files differ. */
    enum { MOST = 640 };
    const char *file = pos.file ? d->base[pos.file - 1] : d->file;
    const size_t length = strlen(file);
    if (length > MOST) file += length - MOST;
    const char *colon = key ? ": " : "", *name = "";
    char user[CONF_MAX_PATH];
    if (key) name = conf_diag_name(d, key, user);
    if (pos.line > 0)
        return snprintf(out, size, "%s:%d:%d: %s%s", file, pos.line, pos.column, name, colon);
    if (pos.line == 0) return snprintf(out, size, "%s: %s%s", file, name, colon);
    return place_of_set(&d->sets[-pos.line - 1], key, name, out, size);
}

char *conf_diag_place(const struct conf_diag *d, struct conf_pos pos, const char *key)
{
    static const char end[] = ": ";
    char text[LINE_BYTES];
    (void)place(d, pos, key, text, sizeof text);
    const size_t n = strlen(text), cut = sizeof end - 1;
    if (n >= cut && !strcmp(text + n - cut, end)) text[n - cut] = '\0';
    return wsc_strdup(WSC_MEM_CONF, text);
}

/* One line of a report, owned by the caller: the position, then the message. */
__attribute__((format(printf, 4, 0))) static char *
line_text(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt, va_list ap)
{
    char line[LINE_BYTES];
    int n = place(d, pos, key, line, sizeof line);
    if (n >= 0 && n < LINE_BYTES) (void)vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
    char *text = wsc_strdup(WSC_MEM_CONF, line);
    d->no_memory = d->no_memory || !text;
    return text;
}

void conf_diag_error(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt,
                     ...)
{
    if (d->n_errors++ >= CONF_MAX_ERRORS) return;
    va_list ap;
    va_start(ap, fmt);
    d->error[d->n_errors - 1] = line_text(d, pos, key, fmt, ap);
    va_end(ap);
}

void conf_diag_warn(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt, ...)
{
    if (!d->warning || *d->n_warnings >= CONF_MAX_WARNINGS) return;
    size_t n = (size_t)*d->n_warnings + 1;
    struct conf_warning *longer =
        wsc_realloc(WSC_MEM_CONF, *d->warning, n, sizeof(struct conf_warning));
    if (!longer) {
        d->no_memory = true;
        return;
    }
    *d->warning = longer;
    va_list ap;
    va_start(ap, fmt);
    longer[n - 1].text = line_text(d, pos, key, fmt, ap);
    va_end(ap);
    *d->n_warnings = (int)n;
}

/* One error with a line for each problem; past CONF_MAX_ERRORS a last line has the number left. */
static enum wsc_err raise_all(const struct conf_diag *d)
{
    struct wsc_text all = {0};
    int shown = d->n_errors < CONF_MAX_ERRORS ? d->n_errors : CONF_MAX_ERRORS;
    for (int i = 0; i < shown; i++)
        wsc_text_add(&all, "%s%s", i ? "\n" : "", d->error[i] ? d->error[i] : "");
    if (d->n_errors > shown) wsc_text_add(&all, "\n%s: %d more", d->file, d->n_errors - shown);
    enum wsc_err rc = wsc_text_check(&all);
    if (!rc) rc = WSC_RAISE(WSC_CONFIG, "%s", all.bytes);
    wsc_text_free(&all);
    return rc;
}

enum wsc_err conf_diag_finish(struct conf_diag *d)
{
    enum wsc_err rc = WSC_OK;
    if (d->no_memory)
        rc = WSC_RAISE(WSC_NOMEM, "%s: not enough memory to read it", d->file);
    else if (d->n_errors)
        rc = raise_all(d);
    for (int i = 0; i < CONF_MAX_ERRORS; i++)
        wsc_free(d->error[i]);
    memset(d->error, 0, sizeof d->error);
    d->n_errors = 0;
    return rc;
}
