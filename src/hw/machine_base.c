// SPDX-License-Identifier: Apache-2.0
/* Cluster files that are based on others.  The files of a chain travel as one text: the farthest
 * base first, the file itself last, each after a line `# wsc-cluster-file BYTES FOLLOW PATH`
 * (FOLLOW files come after it), so that ranks that read no files see the same constants and name
 * the same lines. */
#include "machine_parts.h"

#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "# wsc-cluster-file ";

struct file {
    char *path, *bytes; /* owned */
    size_t n;
};

/* ---- reading a chain ------------------------------------------------------------------------- */

/* The value of `base`, and where it stands; *@p base is NULL when there is none or the text is no
 * YAML, which the parser reports. */
static enum wsc_err find_base(const struct file *f, char **base, struct conf_pos *pos)
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = f->path};
    const struct conf_node *node = NULL;
    *base = NULL;
    if (conf_doc_parse(&doc, &d, f->bytes, f->n, CONF_LAST_WINS))
        node = conf_node_find(doc.root, "base");
    if (node && node->kind == CONF_NODE_SCALAR && !conf_node_is_null(node)) {
        *pos = node->pos;
        *base = wsc_strdup(WSC_MEM_CONF, node->text);
        d.no_memory = d.no_memory || !*base;
    }
    const bool no_memory = d.no_memory;
    (void)!conf_diag_finish(&d);
    conf_doc_fini(&doc);
    return no_memory ? wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "find base") : WSC_OK;
}

/* @p base as seen from the folder of @p path. */
static char *resolve(const char *path, const char *base)
{
    const char *slash = strrchr(path, '/');
    if (base[0] == '/' || !slash) return wsc_strdup(WSC_MEM_CONF, base);
    return wsc_asprintf(WSC_MEM_CONF, "%.*s/%s", (int)(slash - path), path, base);
}

static bool same_file(const char *a, const char *b)
{
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return realpath(a, real_a) && realpath(b, real_b) && !strcmp(real_a, real_b);
}

/* A file that is in the chain already would be a cycle; @p pos is where the last file names it. */
static enum wsc_err check_chain(const struct file *file, int n, const char *path,
                                struct conf_pos pos)
{
    const struct file *from = &file[n - 1];
    for (int i = 0; i < n; i++)
        if (same_file(file[i].path, path))
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: base: %s is based on itself this way",
                             from->path, pos.line, pos.column, path);
    if (n < CONF_MAX_FILES) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: base: more than %d files are based on each other",
                     from->path, pos.line, pos.column, CONF_MAX_FILES);
}

/* Read the file that @p from names at @p pos; a file that cannot be read is an error of that line.
 */
static enum wsc_err read_named(struct file *file, const char *path, const struct file *from,
                               struct conf_pos pos)
{
    char why[512];
    const enum wsc_err rc = conf_read_file(path, &file->bytes, &file->n);
    if (!rc || rc == WSC_NOMEM) return rc;
    (void)snprintf(why, sizeof why, "%s", wsc_err_message());
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s:%d:%d: base: %s", from->path, pos.line, pos.column, why),
        "the name is relative to the folder of %s", from->path);
}

/* Read what file n - 1 is based on; *@p more is false when that is nothing. */
static enum wsc_err read_base(struct file *file, int n, bool *more)
{
    struct conf_pos pos = {0};
    const struct file *from = &file[n - 1];
    char *base;
    TRY(find_base(from, &base, &pos));
    *more = base != NULL;
    if (!base) return WSC_OK;
    char *path = resolve(from->path, base);
    wsc_free(base);
    if (!path) return WSC_NOMEM;
    enum wsc_err rc = check_chain(file, n, path, pos);
    if (!rc) rc = read_named(&file[n], path, from, pos);
    file[n].path = path;
    return rc;
}

/* One text from the files of a chain, as the opening comment has it. */
static enum wsc_err join(const struct file *file, int n_files, char **text, size_t *n)
{
    size_t size = 1;
    for (int i = 0; i < n_files; i++)
        size += file[i].n + strlen(file[i].path) + sizeof mark + 48;
    char *out = wsc_alloc(WSC_MEM_CONF, size, 1);
    if (!out) return WSC_NOMEM;
    *n = 0;
    for (int i = n_files - 1; i >= 0; i--) {
        *n += (size_t)snprintf(out + *n, size - *n, "%s%zu %d %s\n", mark, file[i].n, i,
                               file[i].path);
        memcpy(out + *n, file[i].bytes, file[i].n);
        *n += file[i].n;
        out[(*n)++] = '\n';
    }
    out[*n] = '\0';
    *text = out;
    return WSC_OK;
}

enum wsc_err hw_machine_read(const char *path, char **text, size_t *n)
{
    struct file file[CONF_MAX_FILES + 1] = {0};
    int n_files = 1;
    bool more = true;
    *text = NULL;
    file[0].path = wsc_strdup(WSC_MEM_CONF, path);
    enum wsc_err rc = file[0].path ? conf_read_file(path, &file[0].bytes, &file[0].n) : WSC_NOMEM;
    while (!rc && more) {
        rc = read_base(file, n_files, &more);
        n_files += more;
    }
    if (!rc && n_files > 1) rc = join(file, n_files, text, n);
    if (!rc && n_files == 1) {
        *text = file[0].bytes;
        *n = file[0].n;
        file[0].bytes = NULL;
    }
    for (int i = 0; i <= CONF_MAX_FILES; i++) {
        wsc_free(file[i].path);
        wsc_free(file[i].bytes);
    }
    return rc;
}

/* ---- taking the text apart ------------------------------------------------------------------- */

/* The next file of the text, and how many follow: its path goes to the memory of @p doc. */
static bool next_part(struct conf_doc *doc, const char **at, size_t *left, struct file *part,
                      unsigned long *follow)
{
    const size_t n_mark = sizeof mark - 1;
    if (*left < n_mark || memcmp(*at, mark, n_mark) != 0) return false;
    const char *line = *at + n_mark;
    const char *end = memchr(line, '\n', *left - n_mark);
    char *path = NULL;
    if (!end) return false;
    const unsigned long long n = strtoull(line, &path, 10);
    *follow = strtoul(path, &path, 10);
    const size_t head = (size_t)(end - *at) + 1;
    if (*path != ' ' || n >= *left || head + n + 1 > *left) return false;
    *part = (struct file){.path = conf_doc_text(doc, path + 1, (size_t)(end - path) - 1),
                          .bytes = (char *)(uintptr_t)(end + 1),
                          .n = (size_t)n};
    *at += head + n + 1;
    *left -= head + n + 1;
    return part->path != NULL;
}

/* Entries of @p from that @p into lacks; sections entry by entry, constants as a whole. */
static void merge(struct conf_doc *doc, struct conf_diag *d, struct conf_node *into,
                  const struct conf_node *from, const char *section)
{
    for (int i = 0; i < from->n; i++) {
        const struct conf_entry *entry = &from->entry[i];
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", entry->key);
        if (conf_node_index(into, entry->key) < 0) {
            d->no_memory = d->no_memory || !conf_doc_append(doc, into, entry);
            continue;
        }
        const bool whole = conf_keys_find(hw_machine_table(), path) >= 0 ||
                           entry->value->kind != CONF_NODE_MAP ||
                           !conf_keys_is_section(hw_machine_table(), path);
        struct conf_node *own = whole ? NULL : conf_doc_own(doc, into, entry->key);
        if (own) merge(doc, d, own, entry->value, path);
    }
}

/* Parse the parts from the file itself to the farthest base; each adds what the earlier ones lack.
 */
static bool parse_chain(struct conf_doc *doc, struct conf_diag *d, const struct file *part, int n)
{
    struct conf_node *root = NULL;
    for (int i = n - 1; i >= 0; i--) {
        const int base = n - 1 - i; /* 0: the file itself */
        if (base) d->base[base - 1] = part[i].path;
        d->reading = base;
        if (!conf_doc_parse(doc, d, part[i].bytes, part[i].n, CONF_DUPLICATE_IS_ERROR))
            return false;
        if (root && doc->root) merge(doc, d, root, doc->root, "");
        if (!root) root = doc->root ? doc->root : conf_doc_map(doc, (struct conf_pos){0});
    }
    d->reading = 0;
    doc->root = root;
    return root != NULL;
}

bool hw_machine_doc(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    int skip)
{
    struct file part[CONF_MAX_FILES];
    unsigned long follow = 0;
    int n = 0;
    doc->diag = d;
    while (n < CONF_MAX_FILES && next_part(doc, &bytes, &n_bytes, &part[n], &follow))
        n++;
    const bool torn = n_bytes || follow;
    if (n && torn)
        conf_diag_error(d, (struct conf_pos){0}, NULL,
                        "the text of the files it is based on is torn");
    if (n) return !torn && n > skip && parse_chain(doc, d, part, n - skip);
    if (!conf_doc_parse(doc, d, bytes, n_bytes, CONF_DUPLICATE_IS_ERROR)) return false;
    const struct conf_node *base = conf_node_find(doc->root, "base");
    if (!base) return true;
    conf_diag_error(d, base->pos, "base", "the file that this one is based on has not been read");
    return false;
}
