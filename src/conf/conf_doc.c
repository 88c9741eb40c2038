// SPDX-License-Identifier: Apache-2.0
/* The tree of a YAML document: nodes with their positions, in blocks of memory that are released
 * together.  An alias shares the node of its anchor; who changes a map copies it first.  Made by
 * conf_yaml.c, changed by conf_set.c and by the styles of params files, walked by conf_keys.c. */
#include <wsc/conf.h>

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Bytes of a block of memory; larger requests get a block of their own. */
enum { BLOCK_BYTES = 32768 };

/* Memory of many nodes and texts: a list of blocks that are released together. */
struct conf_block {
    struct conf_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

/* Aligned memory that lives as long as the document.  The rest of a block that is too small is
 * lost: little, as nodes are small and texts bounded. */
static void *take(struct conf_doc *doc, size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    struct conf_block *b = doc->block;
    if (!b || b->size - b->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        b = wsc_alloc(WSC_MEM_CONF, 1, sizeof *b + size);
        if (!b) {
            if (doc->diag) doc->diag->no_memory = true;
            return NULL;
        }
        b->size = size;
        b->next = doc->block;
        doc->block = b;
    }
    void *out = b->bytes + b->used;
    b->used += bytes;
    return out;
}

void conf_doc_fini(struct conf_doc *doc)
{
    while (doc->block) {
        struct conf_block *b = doc->block;
        doc->block = b->next;
        wsc_free(b);
    }
    *doc = (struct conf_doc){0};
}

char *conf_doc_text(struct conf_doc *doc, const char *text, size_t n)
{
    char *copy = take(doc, n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

/* A node without entries; height and weight count itself. */
static struct conf_node *new_node(struct conf_doc *doc, enum conf_node_kind kind,
                                  struct conf_pos pos)
{
    struct conf_node *node = take(doc, sizeof *node);
    if (!node) return NULL;
    *node = (struct conf_node){.kind = kind, .pos = pos, .height = 1, .weight = 1};
    return node;
}

struct conf_node *conf_doc_share(struct conf_doc *doc, const struct conf_node *node)
{
    struct conf_node *same = take(doc, sizeof *same);
    if (!same) return NULL;
    *same = *node;
    same->capacity = same->n; /* the entries stay those of the other one */
    return same;
}

struct conf_node *conf_doc_map(struct conf_doc *doc, struct conf_pos pos)
{
    return new_node(doc, CONF_NODE_MAP, pos);
}

struct conf_node *conf_doc_list(struct conf_doc *doc, struct conf_pos pos)
{
    return new_node(doc, CONF_NODE_LIST, pos);
}

struct conf_node *conf_doc_scalar(struct conf_doc *doc, const char *text, size_t n,
                                  struct conf_pos pos)
{
    struct conf_node *node = new_node(doc, CONF_NODE_SCALAR, pos);
    if (!node) return NULL;
    node->plain = true;
    node->text = conf_doc_text(doc, text, n);
    return node->text ? node : NULL;
}

/* Room for one more entry.  The old array stays in its block, as aliases may share it. */
static bool grow(struct conf_doc *doc, struct conf_node *node)
{
    if (node->n < node->capacity) return true;
    int capacity = node->capacity ? 2 * node->capacity : 8;
    struct conf_entry *entry = take(doc, (size_t)capacity * sizeof *entry);
    if (!entry) return false;
    if (node->n) memcpy(entry, node->entry, (size_t)node->n * sizeof *entry);
    node->entry = entry;
    node->capacity = capacity;
    return true;
}

bool conf_doc_append(struct conf_doc *doc, struct conf_node *node, const struct conf_entry *entry)
{
    if (!grow(doc, node)) return false;
    node->entry[node->n++] = *entry;
    return true;
}

int conf_node_index(const struct conf_node *map, const char *key)
{
    if (!map || map->kind != CONF_NODE_MAP) return -1;
    for (int i = 0; i < map->n; i++)
        if (!strcmp(map->entry[i].key, key)) return i;
    return -1;
}

struct conf_node *conf_node_find(const struct conf_node *map, const char *key)
{
    int i = conf_node_index(map, key);
    return i < 0 ? NULL : map->entry[i].value;
}

bool conf_doc_put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry)
{
    int i = conf_node_index(map, entry->key);
    if (i < 0) return conf_doc_append(doc, map, entry);
    map->entry[i] = *entry;
    return true;
}

void conf_node_remove(struct conf_node *map, const char *key)
{
    int i = conf_node_index(map, key);
    if (i < 0) return;
    map->n--;
    memmove(&map->entry[i], &map->entry[i + 1], (size_t)(map->n - i) * sizeof *map->entry);
}

struct conf_node *conf_doc_own(struct conf_doc *doc, struct conf_node *map, const char *key)
{
    int i = conf_node_index(map, key);
    if (i < 0 || map->entry[i].value->kind != CONF_NODE_MAP) return NULL;
    const struct conf_node *shared = map->entry[i].value;
    struct conf_node *copy = new_node(doc, CONF_NODE_MAP, shared->pos);
    if (!copy) return NULL;
    for (int k = 0; k < shared->n; k++)
        if (!conf_doc_append(doc, copy, &shared->entry[k])) return NULL;
    map->entry[i].value = copy;
    return copy;
}

bool conf_node_is_null(const struct conf_node *node)
{
    if (!node) return true;
    if (node->kind != CONF_NODE_SCALAR || !node->plain) return false;
    static const char *const names[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(node->text, names[i])) return true;
    return false;
}

const char *conf_node_describe(const struct conf_node *node, char out[CONF_QUOTE_BYTES])
{
    if (conf_node_is_null(node)) return "null";
    if (node->kind == CONF_NODE_LIST) return node->n ? "a list" : "an empty list";
    if (node->kind == CONF_NODE_MAP) return node->n ? "a map" : "an empty map";
    char text[CONF_QUOTE_BYTES];
    (void)conf_quote(node->text, text);
    (void)snprintf(out, CONF_QUOTE_BYTES, "\"%.*s\"", CONF_QUOTE_BYTES - 3, text);
    return out;
}
