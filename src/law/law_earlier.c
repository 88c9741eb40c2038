// SPDX-License-Identifier: Apache-2.0
/* Compares the params of a size with those with which its training began.
 *
 * A ladder does not train a complete size again, and resumes an incomplete one.  Either is correct
 * only when the earlier training had the same params: a loss with another optimizer or of another
 * --tokens is no point of this ladder.  Every training writes its params to
 * train/params_train.yaml, so both texts are compared line by line, without the keys that change
 * no loss.  Called by law_ladder.c. */
#include "law_earlier.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <string.h>
#include <unistd.h>

/* A position in a text of params. */
struct place {
    const char *at; /* beginning of a line, or the end of the text */
    int line;       /* its number, from 1 */
};

static bool has_key(const char *line, const char *key)
{
    return !strncmp(line + strspn(line, " "), key, strlen(key));
}

static void next_line(struct place *p)
{
    p->at += strcspn(p->at, "\n");
    if (*p->at) p->at++;
    p->line++;
}

/* Go to the line after the list of values of the key at @p p; the number of bytes before it. */
static size_t next_key(struct place *p)
{
    const char *from = p->at;
    do
        next_line(p);
    while (has_key(p->at, "- \""));
    return (size_t)(p->at - from);
}

static void skip_free(struct place *p)
{
    while (zoo_changes_no_values(p->at))
        next_line(p);
}

/* Length of the value at @p text, up to the comma or the end of its map or line. */
static int length_of_value(const char *text)
{
    enum { MOST = 60 };
    const size_t n = strcspn(text, ",}\n");
    return (int)(n < MOST ? n : MOST);
}

/* The error that names the first value in which the line @p then differs from @p now. */
static enum wsc_err differs(const char *path, const struct place *then, const struct place *now)
{
    const size_t margin = strspn(now->at, " ");
    size_t from = 0;
    while (then->at[from] == now->at[from] && now->at[from] != '\n' && now->at[from])
        from++;
    while (from > 0 && !strchr("{,\n", now->at[from - 1]))
        from--;
    const char *was = then->at + from, *is = now->at + from;
    was += strspn(was, " ");
    is += strspn(is, " ");
    const int key = from > 0 ? (int)strcspn(now->at + margin, ":\n") : 0;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s:%d: %.*s%sthis size was trained with \"%.*s\", now \"%.*s\"",
                  path, then->line, key, now->at + margin, key ? ": " : "", length_of_value(was),
                  was, length_of_value(is), is),
        "another --out, one for each ladder; --tokens changes the steps of schedules too");
}

/* True for two lines of a key whose file or folder may have another name. */
static bool may_move(const char *then, const char *now)
{
    return (has_key(then, "data_dir:") && has_key(now, "data_dir:")) ||
           (has_key(then, "vocab_file:") && has_key(now, "vocab_file:"));
}

/* Compare the params @p then of the file @p path with @p now. */
static enum wsc_err compare(const char *path, const char *then, const char *now)
{
    struct place a = {then, 1}, b = {now, 1};
    for (;;) {
        skip_free(&a);
        skip_free(&b);
        if (!*a.at && !*b.at) return WSC_OK;
        const struct place was = a, is = b;
        const size_t n = next_key(&a), m = next_key(&b);
        if (n == m && !memcmp(was.at, is.at, n)) continue;
        if (!may_move(was.at, is.at)) return differs(path, &was, &is);
        WSC_WARNING("%s:%d: this size was trained with another %.*s; its data are taken for the "
                    "same",
                    path, was.line, (int)strcspn(is.at + strspn(is.at, " "), ":"),
                    is.at + strspn(is.at, " "));
    }
}

enum wsc_err law_check_earlier(const struct zoo_params *p)
{
    enum { MOST = 1 << 24 };
    char *now = NULL, *then = NULL;
    size_t n = 0;
    char *path = out_file_path(p->runconfig.model_dir, "train/params_train.yaml");
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name");
    enum wsc_err rc = WSC_OK;
    if (!access(path, F_OK)) {
        rc = wsc_file_read(WSC_MEM_REPORT, path, MOST, &then, &n);
        if (!rc) rc = zoo_params_dump(p, &now);
        if (!rc) rc = compare(path, then, now);
    }
    wsc_free(now);
    wsc_free(then);
    wsc_free(path);
    return rc;
}
