// SPDX-License-Identifier: Apache-2.0
/* The new tree while a params file of the trainer style is converted: nodes of the file are put
 * under the keys of the runconfig style, and the user's names of keys are recorded for messages.
 * Nodes are shared with the file's tree and never written. trainer.c and trainer_takes.c call. */
#include "trainer_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *zoo_trainer_text(struct zoo_trainer *t, const char *fmt, ...)
{
    char text[2 * CONF_MAX_PATH];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *copy = conf_doc_text(t->doc, text, strlen(text));
    if (!copy) t->diag->no_memory = true;
    return copy ? copy : "";
}

void zoo_trainer_wrong_form(struct conf_diag *d, const struct conf_node *node, const char *path,
                            const char *expected)
{
    char shown[CONF_QUOTE_BYTES];
    conf_diag_error(d, node->pos, path, "expected %s, got %s", expected,
                    conf_node_describe(node, shown));
}

/* Copy the node alone, so that the new tree never writes into that of the file. */
void zoo_trainer_put(struct zoo_trainer *t, const char *to, const struct conf_node *node)
{
    struct conf_node *same = conf_doc_share(t->doc, node);
    if (same)
        conf_doc_set(t->doc, t->diag, to, same);
    else
        t->diag->no_memory = true;
}

/* True when two keys have equal values: equal scalars, or the same node. */
static bool is_same(const struct conf_node *a, const struct conf_node *b)
{
    const bool scalars = a->kind == CONF_NODE_SCALAR && b->kind == CONF_NODE_SCALAR;
    return scalars ? !strcmp(a->text, b->text) : a->entry == b->entry;
}

/* Warn that @p left, the value of @p key, is not used because of @p taken, the value of @p path. */
static void warn_left(struct zoo_trainer *t, const struct conf_node *left, const char *key,
                      const struct conf_node *taken, const char *path)
{
    if (!conf_node_is_null(left) && !is_same(left, taken))
        conf_diag_warn(t->diag, left->pos, key, "not used: %s says it", path);
}

void zoo_trainer_put_over(struct zoo_trainer *t, const char *to, const struct conf_node *node,
                          const char *path)
{
    const struct conf_node *left = conf_node_at(t->doc->root, to);
    if (left) warn_left(t, left, to, node, path);
    zoo_trainer_put(t, to, node);
}

void zoo_trainer_put_absent(struct zoo_trainer *t, const char *to, const struct conf_node *node)
{
    if (!conf_node_at(t->doc->root, to)) zoo_trainer_put(t, to, node);
}

void zoo_trainer_put_text(struct zoo_trainer *t, const char *to, const char *text,
                          struct conf_pos pos)
{
    struct conf_node *node = conf_doc_scalar(t->doc, text, strlen(text), pos);
    if (node)
        conf_doc_set(t->doc, t->diag, to, node);
    else
        t->diag->no_memory = true;
}

/* The map @p section of the new tree, which is created if needed. */
static struct conf_node *section_of(struct zoo_trainer *t, const char *section, struct conf_pos pos)
{
    struct conf_node *map = conf_doc_own(t->doc, t->doc->root, section);
    if (map) return map;
    map = conf_doc_map(t->doc, pos);
    if (map) conf_doc_set(t->doc, t->diag, section, map);
    return map;
}

/* Each key gets its origin, so that messages have the name `trainer.init.model.x` instead of
 * `model.x`. */
void zoo_trainer_merge(struct zoo_trainer *t, const char *section, const struct conf_node *map,
                       const char *path)
{
    struct conf_node *into = section_of(t, section, map->pos);
    char user[CONF_MAX_PATH];
    for (int i = 0; into && i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        const char *key = zoo_trainer_text(t, "%s.%s", section, e->key);
        const char *name = zoo_trainer_text(t, "%s.%s", path, e->key);
        const struct conf_node *taken = conf_node_find(into, e->key);
        conf_diag_origin(t->diag, key, name);
        if (taken)
            warn_left(t, e->value, name, taken, conf_diag_name(t->diag, key, user));
        else if (!conf_doc_append(t->doc, into, e))
            t->diag->no_memory = true;
    }
    t->diag->no_memory = t->diag->no_memory || !into;
}

const struct conf_entry *zoo_trainer_single(struct conf_diag *d, const struct conf_node *node,
                                            const char *path)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind == CONF_NODE_MAP && node->n == 1) return &node->entry[0];
    if (node->kind == CONF_NODE_MAP)
        conf_diag_error(d, node->pos, path, "expected a map with one key, got %d keys", node->n);
    else if (node->kind == CONF_NODE_SCALAR && !conf_node_is_null(node))
        conf_diag_error(d, node->pos, path, "expected a map with one key, got %s; hint: %s: {}",
                        conf_node_describe(node, shown), node->text);
    else
        zoo_trainer_wrong_form(d, node, path, "a map with one key");
    return NULL;
}
