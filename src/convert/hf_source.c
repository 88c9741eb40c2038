// SPDX-License-Identifier: Apache-2.0
/* config.json as a document: the position of a key, and errors with this position. jansson does not
 * keep positions, so the key is searched in the text. The user never sees the params that are made
 * from config.json, so errors of these params are changed to its keys and positions.
 * hf_special_keys.c and hf_config.c read the values; from_hf.c calls first. */
#include "hf_source.h"
#include "hf_family.h"
#include "hf_key.h"
#include "json_file.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/text.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_BYTES = CONVERT_PATH_BYTES + 48, MESSAGE_BYTES = 4096 };

/* The text is kept besides the parsed object, because only the text has positions. */
enum wsc_err convert_source_parse(struct convert_source *s, const char *path, const char *bytes,
                                  size_t n)
{
    *s = (struct convert_source){.path = path, .n = n};
    TRY(convert_json_parse(&s->json, path, bytes, n));
    TRY_NEW(s->text, WSC_MEM_CONVERT, n + 1);
    memcpy(s->text, bytes, n);
    return WSC_OK;
}

enum wsc_err convert_source_read(struct convert_source *s, const char *path)
{
    char *bytes = NULL;
    size_t n = 0;
    TRY(convert_json_bytes(path, &bytes, &n));
    enum wsc_err rc = convert_source_parse(s, path, bytes, n);
    wsc_free(bytes);
    return rc;
}

/* NULL members are allowed, as after a failed read. */
void convert_source_fini(struct convert_source *s)
{
    wsc_free(s->text);
    json_decref(s->json);
    *s = (struct convert_source){0};
}

const char *convert_source_class(const struct convert_source *s)
{
    const json_t *value = json_object_get(s->json, "architectures");
    return json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Bytes of the JSON string at @p text with both quotes; the document was parsed before, so it is
 * valid. */
static size_t string_length(const char *text)
{
    size_t n = 1;
    while (text[n] && text[n] != '"')
        n += text[n] == '\\' && text[n + 1] ? 2 : 1;
    return n + 1;
}

/* The first character of top-level key @p key, or NULL; one with escapes is not found. */
static const char *find_key(const struct convert_source *s, const char *key)
{
    const size_t length = strlen(key);
    int depth = 0;
    bool is_key = true; /* the next string at the top level is a key */
    for (const char *at = s->text; at < s->text + s->n && *at; at++) {
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        if (*at == ',' || *at == ':') is_key = *at == ',';
        if (*at != '"') continue;
        const size_t n = string_length(at);
        if (depth == 1 && is_key && n == length + 2 && !strncmp(at + 1, key, length)) return at;
        at += n - 1;
    }
    return NULL;
}

/* Write "path:line:column: key", or without line and column if the key does not exist; columns
 * count bytes. */
static void write_place(const struct convert_source *s, const char *key, char place[PLACE_BYTES])
{
    const char *found = s->text ? find_key(s, key) : NULL;
    int line = 1, column = 1;
    for (const char *at = s->text; found && at < found; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    if (found)
        (void)snprintf(place, PLACE_BYTES, "%s:%d:%d: %s", s->path, line, column, key);
    else
        (void)snprintf(place, PLACE_BYTES, "%s: %s", s->path, key);
}

/* "path:line:column: key: text". */
static void write_line(const struct convert_source *s, const char *key, const char *fmt, va_list ap,
                       char line[PLACE_BYTES + MESSAGE_BYTES])
    __attribute__((format(printf, 3, 0)));

static void write_line(const struct convert_source *s, const char *key, const char *fmt, va_list ap,
                       char line[PLACE_BYTES + MESSAGE_BYTES])
{
    write_place(s, key, line);
    const size_t n = strlen(line);
    (void)snprintf(line + n, 3, ": ");
    (void)vsnprintf(line + n + 2, MESSAGE_BYTES - 2, fmt, ap);
}

enum wsc_err convert_source_raise(const struct convert_source *s, enum wsc_err code,
                                  const char *key, const char *fmt, ...)
{
    char line[PLACE_BYTES + MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    write_line(s, key, fmt, ap, line);
    va_end(ap);
    return WSC_RAISE(code, "%s", line);
}

void convert_source_warn(const struct convert_source *s, const char *key, const char *fmt, ...)
{
    char line[PLACE_BYTES + MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    write_line(s, key, fmt, ap, line);
    va_end(ap);
    WSC_WARNING("%s", line);
}

/* ---- errors of the params -------------------------------------------------------------------- */

/* The key of config.json from which the params' key @p cs (of n characters) was made, or NULL. */
static const char *origin_of(const struct convert_source *s, const struct convert_family *family,
                             const char *cs, size_t n)
{
    for (int i = 0; i < family->n_keys; i++) {
        const struct convert_key *k = &family->key[i];
        const size_t length = k->cs ? strlen(k->cs) : 0;
        if (!length || length > n || strncmp(k->cs, cs, length) != 0) continue;
        if (length < n && cs[length] != '.') continue;
        const char *hf = k->hf ? k->hf : k->reads[0];
        return hf && k->old_hf && !json_object_get(s->json, hf) ? k->old_hf : hf;
    }
    return NULL;
}

/* Translate one line of a report, "file:line:col: model.key: text", whose position refers to params
 * that the user does not have. */
static void translate(const struct convert_source *s, const struct convert_family *family,
                      const char *line, int n, struct wsc_text *out)
{
    static const char model[] = "model.";
    char place[PLACE_BYTES];
    const size_t head = strlen(s->path);
    const bool here = (size_t)n > head && !strncmp(line, s->path, head) && line[head] == ':';
    const char *rest = here ? line + head + strspn(line + head, ":0123456789 ") : line;
    const char *hf = NULL;
    if (here && !strncmp(rest, model, sizeof model - 1)) {
        const char *cs = rest + sizeof model - 1;
        const size_t length = strcspn(cs, ": \n");
        hf = origin_of(s, family, cs, length);
        if (hf) {
            write_place(s, hf, place);
            rest = cs + length + strspn(cs + length, ": ");
        }
    }
    n -= (int)(rest - line);
    if (!here)
        wsc_text_bytes(out, rest, (size_t)n);
    else
        wsc_text_add(out, "%s: %.*s", hf ? place : s->path, n, rest);
}

/* The message may have several lines, one for each error; each line is translated. */
enum wsc_err convert_source_blame(const struct convert_source *s,
                                  const struct convert_family *family, enum wsc_err rc)
{
    struct wsc_text text = {0};
    char *said = NULL;
    for (const char *line = wsc_err_message(); *line;) {
        const int length = (int)strcspn(line, "\n");
        translate(s, family, line, length, &text);
        line += length;
        if (*line) wsc_text_bytes(&text, line++, 1);
    }
    TRY(wsc_text_take(&text, &said));
    rc = WSC_RAISE(rc, "%s", said);
    wsc_free(said);
    return rc;
}
