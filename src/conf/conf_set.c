// SPDX-License-Identifier: Apache-2.0
/* Command-line settings, `--set path=value`: taking them apart, and putting values into a tree.  A
 * map on the way that an alias shares is copied, so that one place changes. */
#include <wsc/conf.h>

#include <string.h>

bool conf_set_split(struct conf_diag *d, int set, char path[CONF_MAX_PATH], const char **value)
{
    const char *text = d->sets[set - 1].text;
    struct conf_pos pos = {.line = -set};
    size_t n = strcspn(text, "=");
    if (!text[n]) {
        conf_diag_error(d, pos, NULL, "expected key.path=value");
        return false;
    }
    bool bad = !n || n >= CONF_MAX_PATH || text[0] == '.' || text[n - 1] == '.';
    for (size_t i = 0; i + 1 < n && !bad; i++)
        bad = text[i] == '.' && text[i + 1] == '.';
    if (bad) {
        conf_diag_error(d, pos, NULL, "not a key path");
        return false;
    }
    memcpy(path, text, n);
    path[n] = '\0';
    *value = text + n + 1;
    return true;
}

void conf_set_warn_twice(struct conf_diag *d, struct conf_pos pos)
{
    conf_diag_warn(d, pos, NULL, "given twice on the command line; this one counts");
}

/* True when another part of the command line gave the value, or one below it. */
static bool is_of_other_set(const struct conf_node *earlier, const struct conf_node *value)
{
    if (!earlier || value->pos.line >= 0) return false;
    if (earlier->pos.line < 0) return earlier->pos.line != value->pos.line;
    for (int i = 0; earlier->kind != CONF_NODE_SCALAR && i < earlier->n; i++)
        if (is_of_other_set(earlier->entry[i].value, value)) return true;
    return false;
}

/* The key and its value have the position of the `--set`, so that messages name it. */
static bool put(struct conf_doc *doc, struct conf_node *map, const char *key,
                struct conf_node *value)
{
    struct conf_entry entry = {.key = key, .key_pos = value->pos, .value = value};
    return conf_doc_put(doc, map, &entry);
}

void conf_doc_set(struct conf_doc *doc, struct conf_diag *d, const char *path,
                  struct conf_node *value)
{
    if (!doc->root) doc->root = conf_doc_map(doc, value->pos);
    conf_doc_set_in(doc, d, doc->root, path, value);
}

void conf_doc_set_in(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                     const char *path, struct conf_node *value)
{
    while (map) {
        size_t n = strcspn(path, ".");
        const char *key = conf_doc_text(doc, path, n);
        if (!key) break;
        if (!path[n]) {
            if (is_of_other_set(conf_node_find(map, key), value))
                conf_set_warn_twice(d, value->pos);
            d->no_memory = d->no_memory || !put(doc, map, key, value);
            return;
        }
        struct conf_node *next = conf_doc_own(doc, map, key);
        if (!next) { /* absent, null or a scalar: a map takes its place */
            next = conf_doc_map(doc, value->pos);
            if (!next || !put(doc, map, key, next)) break;
        }
        map = next;
        path += n + 1;
    }
    d->no_memory = true;
}
