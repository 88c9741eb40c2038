// SPDX-License-Identifier: Apache-2.0
#include "conf_impl.h"

#include <wsc/mem.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* All lines of one report must fit the message buffer of the error trace, 64 KiB. */
enum { LINE_BYTES = 1024 };

const char *conf_quote(const char *text, char out[CONF_QUOTE_BYTES])
{
    static const char dots[] = "...";
    const size_t most = CONF_QUOTE_BYTES - sizeof dots - 2; /* room for quotes */
    size_t n = strnlen(text, most + 1);
    bool cut = n > most;
    if (cut) n = most;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(iscntrl((unsigned char)text[i]) ? '?' : text[i]);
    memcpy(out + n, cut ? dots : "", cut ? sizeof dots : 1);
    return out;
}

/* "file:line:col: key: ", or "--set path: " and the key only where it is not the path. */
static int place(const struct conf_diag *d, struct conf_pos pos, const char *key, char *out,
                 size_t size)
{
    /* A longer path keeps its end, which tells files apart. */
    enum { MOST = 640 };
    const char *file = pos.file ? d->base[pos.file - 1] : d->file;
    const size_t length = strlen(file);
    if (length > MOST) file += length - MOST;
    const char *colon = key ? ": " : "";
    key = key ? key : "";
    if (pos.line > 0)
        return snprintf(out, size, "%s:%d:%d: %s%s", file, pos.line, pos.column, key, colon);
    if (pos.line == 0) return snprintf(out, size, "%s: %s%s", file, key, colon);
    const char *text = d->sets[-pos.line - 1].text;
    char path[CONF_QUOTE_BYTES];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(text, "="), text);
    const char *cluster = conf_set_cluster_path(path);
    if (!strcmp(path, key) || (cluster && !strcmp(cluster, key))) key = colon = "";
    return snprintf(out, size, "--set %s: %s%s", path, key, colon);
}

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

static enum wsc_err raise_all(const struct conf_diag *d)
{
    struct conf_text all = {0};
    int shown = d->n_errors < CONF_MAX_ERRORS ? d->n_errors : CONF_MAX_ERRORS;
    for (int i = 0; i < shown; i++)
        conf_text_add(&all, "%s%s", i ? "\n" : "", d->error[i] ? d->error[i] : "");
    if (d->n_errors > shown) conf_text_add(&all, "\n%s: %d more", d->file, d->n_errors - shown);
    if (all.failed) return WSC_NOMEM;
    enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "%s", all.text);
    wsc_free(all.text);
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
