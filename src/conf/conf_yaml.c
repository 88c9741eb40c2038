// SPDX-License-Identifier: Apache-2.0
/* YAML to a tree, over libyaml: one document with anchors, aliases, merge keys and duplicates as
 * PyYAML takes them, and bounds on depth, size and expansion.  libyaml delivers events; the builder
 * keeps the stack of open lists and maps and hangs every node under the innermost one.  Numbers and
 * booleans stay text here; the rows of the key tables decide what they are. */
#include <wsc/conf.h>

#include <wsc/check.h>

#include <yaml.h>

#include <stdio.h>
#include <string.h>

/* An anchor of the document: the node that its aliases share. */
struct anchor {
    const char *name;
    struct conf_node *node;
};

/* One level of the tree under construction. */
struct level {
    struct conf_node *node;
    const char *name; /* the key of this node in its parent; NULL in a list */
    const char *key;  /* of a map: waits for its value */
    struct conf_pos key_pos;
};

/* The state of one parse: the stack of open lists and maps, innermost last. */
struct builder {
    struct conf_doc *doc;
    struct conf_diag *diag;
    enum conf_duplicates duplicates;
    int set; /* > 0: the text is the value of that --set */
    bool failed;
    int n_documents;
    struct conf_node *root;
    int depth;
    struct level level[CONF_MAX_DEPTH];
    int n_anchors;
    struct anchor anchor[CONF_MAX_ANCHORS];
};

/* Position for messages: of the file being read, or of the --set whose value this is. */
static struct conf_pos pos_of(const struct builder *b, yaml_mark_t mark)
{
    if (b->set) return (struct conf_pos){.line = -b->set};
    return (struct conf_pos){
        .line = (int)mark.line + 1, .column = (int)mark.column + 1, .file = b->diag->reading};
}

/* Report an error and end the parse: after it the tree may have holes. */
#define FAIL(b, pos, ...)                                                                          \
    do {                                                                                           \
        conf_diag_error((b)->diag, (pos), NULL, __VA_ARGS__);                                      \
        (b)->failed = true;                                                                        \
    } while (0)

/* End the parse; conf_diag_finish() raises WSC_NOMEM. */
static void out_of_memory(struct builder *b)
{
    b->diag->no_memory = true;
    b->failed = true;
}

/* An error of libyaml at its position; errors of the reader (bad UTF-8) have no problem mark. */
static void syntax_error(struct builder *b, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "unreadable";
    if (parser->error == YAML_MEMORY_ERROR) {
        out_of_memory(b);
        return;
    }
    yaml_mark_t mark = parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark;
    FAIL(b, pos_of(b, mark), "not valid YAML: %s%s%s", problem, parser->context ? " " : "",
         parser->context ? parser->context : "");
}

/* The anchor called @p name; a later one of the same name has replaced the earlier. */
static struct anchor *find_anchor(struct builder *b, const char *name)
{
    for (int i = 0; i < b->n_anchors; i++)
        if (!strcmp(b->anchor[i].name, name)) return &b->anchor[i];
    return NULL;
}

/* A name that is used again means the later node from here on. */
static void remember_anchor(struct builder *b, const yaml_char_t *name, struct conf_node *node)
{
    if (!name) return;
    struct anchor *a = find_anchor(b, (const char *)name);
    if (!a && b->n_anchors == CONF_MAX_ANCHORS) {
        FAIL(b, node->pos, "more than %d anchors", CONF_MAX_ANCHORS);
        return;
    }
    if (!a) {
        char *copy = conf_doc_text(b->doc, (const char *)name, strlen((const char *)name));
        if (!copy) {
            out_of_memory(b);
            return;
        }
        a = &b->anchor[b->n_anchors++];
        a->name = copy;
    }
    a->node = node;
}

/* The innermost open list or map; NULL at the top. */
static struct level *innermost(struct builder *b)
{
    if (!b->depth) return NULL;
    struct level *top = &b->level[b->depth - 1];
    WSC_CHECK(top->node, "level %d", b->depth);
    return top;
}

/* Merge key: entries of a map, or of a list of maps, that are not there yet. */
static void merge_map(struct builder *b, struct conf_node *into, const struct conf_node *from)
{
    for (int i = 0; i < from->n && !b->failed; i++) {
        if (conf_node_index(into, from->entry[i].key) >= 0) continue;
        if (!conf_doc_append(b->doc, into, &from->entry[i])) out_of_memory(b);
        if (into->n > CONF_MAX_MAP)
            FAIL(b, into->pos, "more than %d keys in one map", CONF_MAX_MAP);
    }
}

/* Carry out `<<: *defaults` when its map is complete: what the map has itself counts, of several
 * merged maps the first. */
static void resolve_merge(struct builder *b, struct conf_node *map)
{
    const struct conf_node *from = conf_node_find(map, "<<");
    if (!from) return;
    conf_node_remove(map, "<<");
    if (from->kind == CONF_NODE_MAP) {
        merge_map(b, map, from);
        return;
    }
    if (from->kind != CONF_NODE_LIST) FAIL(b, from->pos, "<<: expected a map or a list of maps");
    for (int i = 0; i < from->n && !b->failed; i++) {
        if (from->entry[i].value->kind != CONF_NODE_MAP)
            FAIL(b, from->entry[i].value->pos, "<<: expected a map");
        else
            merge_map(b, map, from->entry[i].value);
    }
}

/* Hang a complete or an open node under the innermost open one. */
static void attach(struct builder *b, struct conf_node *node)
{
    struct level *top = innermost(b);
    if (!top) {
        b->root = node;
        return;
    }
    struct conf_entry entry = {.key = top->key, .key_pos = top->key_pos, .value = node};
    top->key = NULL;
    bool map = top->node->kind == CONF_NODE_MAP;
    bool ok =
        map ? conf_doc_put(b->doc, top->node, &entry) : conf_doc_append(b->doc, top->node, &entry);
    if (!ok) out_of_memory(b);
    if (map && top->node->n > CONF_MAX_MAP)
        FAIL(b, entry.key_pos, "more than %d keys in one map", CONF_MAX_MAP);
}

/* Bounds the nodes with aliases followed: an alias of an alias of ... would make a small file a
 * huge tree ("billion laughs"). */
static void count(struct builder *b, struct conf_pos pos, int64_t weight)
{
    b->doc->n_nodes += weight;
    if (b->doc->n_nodes > CONF_MAX_NODES)
        FAIL(b, pos, "more than %d nodes with aliases followed", CONF_MAX_NODES);
}

/* A complete list or map: its merge key is resolved, its height and weight are known. */
static void close_level(struct builder *b)
{
    const struct level *top = innermost(b);
    WSC_CHECK(top, "an end without its start");
    struct conf_node *node = top->node;
    b->depth--;
    node->open = false;
    if (node->kind == CONF_NODE_MAP) resolve_merge(b, node);
    for (int i = 0; i < node->n; i++) {
        const struct conf_node *child = node->entry[i].value;
        node->weight += child->weight;
        if (child->height + 1 > node->height) node->height = child->height + 1;
    }
}

/* Begin a list or map: attached at once, filled by the events that follow. */
static void open_level(struct builder *b, struct conf_node *node, const yaml_char_t *anchor)
{
    if (!node) {
        out_of_memory(b);
        return;
    }
    if (b->depth == CONF_MAX_DEPTH) {
        FAIL(b, node->pos, "nested more than %d levels deep", CONF_MAX_DEPTH);
        return;
    }
    node->open = true;
    remember_anchor(b, anchor, node);
    count(b, node->pos, 1);
    const char *name = b->depth ? b->level[b->depth - 1].key : NULL;
    attach(b, node);
    b->level[b->depth++] = (struct level){.node = node, .name = name};
}

/* Hang the anchor's node under the innermost open one.  An alias inside its own anchor would be a
 * cycle, which no tree has. */
static void take_alias(struct builder *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct conf_pos pos = pos_of(b, event->start_mark);
    char quoted[CONF_QUOTE_BYTES];
    const struct anchor *anchor = find_anchor(b, name);
    struct conf_node *node = anchor ? anchor->node : NULL;
    if (!node) {
        FAIL(b, pos, "alias *%s has no anchor before it", conf_quote(name, quoted));
        return;
    }
    if (node->open) {
        FAIL(b, pos, "alias *%s stands inside its own anchor", conf_quote(name, quoted));
        return;
    }
    if (b->depth + node->height > CONF_MAX_DEPTH) {
        FAIL(b, pos, "nested more than %d levels deep", CONF_MAX_DEPTH);
        return;
    }
    count(b, pos, node->weight);
    attach(b, node);
}

/* The dotted path of @p key in the innermost map: "faults[2].system". */
static const char *path_of(const struct builder *b, const char *key, char out[CONF_QUOTE_BYTES])
{
    char path[CONF_MAX_PATH] = "";
    size_t n = 0;
    for (int i = 1; i <= b->depth && n < sizeof path - 1; i++) {
        const char *part = i < b->depth ? b->level[i].name : key;
        const int in_list = b->level[i - 1].node->n - 1; /* an open node is in its list already */
        const int added = part ? snprintf(path + n, sizeof path - n, "%s%s", n ? "." : "", part)
                               : snprintf(path + n, sizeof path - n, "[%d]", in_list);
        n += added > 0 ? (size_t)added : 0;
    }
    return conf_quote(path, out);
}

/* Keep a key until its value comes; a second one of the same name warns or is an error. */
static void take_key(struct builder *b, const char *text, size_t n, struct conf_pos pos)
{
    struct level *top = &b->level[b->depth - 1];
    char quoted[CONF_QUOTE_BYTES];
    top->key = conf_doc_text(b->doc, text, n);
    top->key_pos = pos;
    if (!top->key) {
        out_of_memory(b);
        return;
    }
    int i = conf_node_index(top->node, top->key);
    if (i < 0) return;
    const char *key = path_of(b, top->key, quoted);
    const int line = top->node->entry[i].key_pos.line;
    char first[32] = ""; /* the value of an option has no lines */
    if (line > 0) (void)snprintf(first, sizeof first, ", first on line %d", line);
    if (b->duplicates == CONF_LAST_WINS)
        conf_diag_warn(b->diag, pos, key, "given twice%s; the last one counts", first);
    else
        conf_diag_error(b->diag, pos, key, "given twice%s", first);
}

/* Only the tags of YAML's own types, which a plain reader would have found itself. */
static bool tag_is_known(struct builder *b, const yaml_char_t *tag, struct conf_pos pos)
{
    static const char *const known[] = {"!",           YAML_STR_TAG,  YAML_INT_TAG, YAML_FLOAT_TAG,
                                        YAML_BOOL_TAG, YAML_NULL_TAG, YAML_SEQ_TAG, YAML_MAP_TAG};
    char quoted[CONF_QUOTE_BYTES];
    if (!tag) return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp((const char *)tag, known[i])) return true;
    FAIL(b, pos, "tag %s is not supported", conf_quote((const char *)tag, quoted));
    return false;
}

/* True where the next scalar is a key: in a map without a key that waits for its value. */
static bool is_key_place(struct builder *b)
{
    const struct level *top = innermost(b);
    return top && top->node->kind == CONF_NODE_MAP && !top->key;
}

/* A key or a value.  A tag decides about the quotes' meaning: !!str is a text, other known tags
 * read like plain scalars. */
static void take_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t n = event->data.scalar.length;
    const yaml_char_t *tag = event->data.scalar.tag;
    struct conf_pos pos = pos_of(b, event->start_mark);
    if (!tag_is_known(b, tag, pos)) return;
    if (strlen(text) != n) {
        FAIL(b, pos, "text with a NUL byte");
        return;
    }
    if (is_key_place(b)) {
        take_key(b, text, n, pos);
        return;
    }
    struct conf_node *node = conf_doc_scalar(b->doc, text, n, pos);
    if (!node) {
        out_of_memory(b);
        return;
    }
    bool bare = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool text_tag = tag && (!strcmp((const char *)tag, YAML_STR_TAG) || tag[1] == '\0');
    node->plain = tag ? !text_tag : bare;
    remember_anchor(b, event->data.scalar.anchor, node);
    count(b, pos, 1);
    attach(b, node);
}

/* A list, a map or an alias. */
static void take_collection(struct builder *b, const yaml_event_t *event)
{
    struct conf_pos pos = pos_of(b, event->start_mark);
    if (is_key_place(b)) {
        FAIL(b, pos, "a key must be plain text");
        return;
    }
    if (event->type == YAML_ALIAS_EVENT) {
        take_alias(b, event);
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        if (tag_is_known(b, event->data.mapping_start.tag, pos))
            open_level(b, conf_doc_map(b->doc, pos), event->data.mapping_start.anchor);
    } else if (tag_is_known(b, event->data.sequence_start.tag, pos)) {
        open_level(b, conf_doc_list(b->doc, pos), event->data.sequence_start.anchor);
    }
}

/* One event of libyaml; those of the stream and of comments carry nothing. */
static void take_event(struct builder *b, const yaml_event_t *event)
{
    switch ((int)event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->n_documents++) FAIL(b, pos_of(b, event->start_mark), "a second document");
        break;
    case YAML_SCALAR_EVENT:
        take_scalar(b, event);
        break;
    case YAML_ALIAS_EVENT:
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        take_collection(b, event);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        close_level(b);
        break;
    default:
        break;
    }
}

/* Feeds the events of libyaml to the builder up to the end or the first failure. */
static bool build(struct builder *b, const char *bytes, size_t n_bytes)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        out_of_memory(b);
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n_bytes);
    bool end = false;
    while (!end && !b->failed) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            syntax_error(b, &parser);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        take_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return !b->failed;
}

bool conf_doc_parse(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    enum conf_duplicates duplicates)
{
    struct builder b = {.doc = doc, .diag = d, .duplicates = duplicates};
    doc->diag = d;
    if (!build(&b, bytes, n_bytes)) return false;
    doc->root = b.root;
    if (!b.root || b.root->kind == CONF_NODE_MAP) return true;
    if (conf_node_is_null(b.root)) {
        doc->root = NULL;
        return true;
    }
    conf_diag_error(d, b.root->pos, NULL, "expected a map of sections at the top");
    return false;
}

struct conf_node *conf_doc_parse_value(struct conf_doc *doc, struct conf_diag *d, const char *value,
                                       int set)
{
    struct builder b = {.doc = doc, .diag = d, .duplicates = CONF_DUPLICATE_IS_ERROR, .set = set};
    if (!build(&b, value, strlen(value))) return NULL;
    if (b.root) return b.root;
    return conf_doc_scalar(doc, "", 0, (struct conf_pos){.line = -set});
}
