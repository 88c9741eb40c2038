// SPDX-License-Identifier: Apache-2.0
/* A machine file from bytes to struct hw_machine: what it is based on (machine_base.c), --set and
 * --fault, keys by the table (machine_keys.c), the source and uncertainty of each constant, and a
 * hash of all values that says which machine a number belongs to. */
#include "machine_parts.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* schema_version, the name and faults are no constants of the machine. */
bool hw_key_is_constant(const struct conf_key *key)
{
    return key->status == CONF_USED && key->type != CONF_T_STRING && key->type != CONF_T_SPECIAL;
}

/* Length of hw_machine.source. */
static int n_constants(const struct conf_table *table)
{
    int n = 0;
    for (int i = 0; i < table->n; i++)
        n += hw_key_is_constant(&table->key[i]);
    return n;
}

/* Entry of a row's constant among the sources, which are in the order of the table. */
static struct hw_source *source_of(struct hw_machine *c, const struct conf_table *table, int row)
{
    int n = 0;
    for (int i = 0; i < row; i++)
        n += hw_key_is_constant(&table->key[i]);
    c->source[n].unit = table->key[row].measure;
    return &c->source[n];
}

/* A copy of @p text, owned by the caller; a lack of memory goes to the diag. */
static char *copy_of(struct conf_parse *p, const char *text)
{
    char *copy = wsc_strdup(WSC_MEM_CONF, text);
    if (!copy) p->diag->no_memory = true;
    return copy;
}

/* Kind, source and uncertainty of a constant, whose value has been read; no uncertainty when the
 * value is wrong, because every range would be wrong beside it. */
static void read_source(struct conf_parse *p, int row, const struct conf_node *map, bool has_value)
{
    const char *path = p->table->key[row].path;
    struct hw_source *s = source_of((struct hw_machine *)(void *)p->out, p->table, row);
    const struct conf_node *value = conf_node_find(map, "value"),
                           *kind = conf_node_find(map, "kind"),
                           *source = conf_node_find(map, "source"),
                           *uncertainty = conf_node_find(map, "uncertainty");
    const struct conf_choice *kinds = hw_source_kinds();
    const int k = conf_choice_find(kinds, kind);
    char kind_path[CONF_MAX_PATH];
    (void)snprintf(kind_path, sizeof kind_path, "%s.kind", path);
    if (k < 0)
        conf_key_unsupported(p, kind_path, kind, kinds);
    else
        s->kind = kinds[k].name;
    if (source->kind != CONF_NODE_SCALAR || conf_node_is_null(source) || !*source->text)
        conf_diag_error(p->diag, source->pos, path, "source must say where the value comes from");
    else
        s->source = copy_of(p, source->text);
    s->value = copy_of(p, value->kind == CONF_NODE_SCALAR ? value->text : "");
    s->is_set = value->pos.line < 0;
    if (uncertainty && uncertainty->kind == CONF_NODE_SCALAR)
        s->uncertainty = copy_of(p, uncertainty->text);
    if (!s->kind || !has_value) return;
    hw_uncertainty_read(p, row, uncertainty, s);
    hw_correlation_read(p, row, conf_node_find(map, "correlation"), s);
}

/* A constant that the file does not have. */
static void default_source(struct conf_parse *p, int row)
{
    struct hw_source *s = source_of((struct hw_machine *)(void *)p->out, p->table, row);
    const struct conf_node none = {.kind = CONF_NODE_SCALAR, .plain = true, .text = "0 %"};
    s->kind = hw_source_kinds()[HW_ASSUMED].name;
    s->source = copy_of(p, "not in the cluster file: the default");
    s->is_default = true;
    s->value = copy_of(p, p->table->key[row].fallback);
    hw_uncertainty_read(p, row, &none, s);
}

/* Sources of the constants that have a default and are not in the file: assumed, and said so. */
static void default_sources(struct conf_parse *p)
{
    for (int row = 0; row < p->table->n; row++)
        if (hw_key_is_constant(&p->table->key[row]) && !p->seen[row] && p->table->key[row].fallback)
            default_source(p, row);
}

/* The parts of a constant: the first three are required. */
static const char *const parts[] = {"value", "kind", "source", "uncertainty", "correlation"};
enum { N_PARTS = sizeof parts / sizeof *parts, N_REQUIRED = 3 };

/* False, with an error at each, when a constant has keys that are no parts. */
static bool check_parts(struct conf_parse *p, const char *path, const struct conf_node *map)
{
    bool known = true;
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *entry = &map->entry[i];
        char shown[CONF_QUOTE_BYTES];
        int part = 0;
        while (part < N_PARTS && strcmp(entry->key, parts[part]) != 0)
            part++;
        if (part < N_PARTS) continue;
        known = false;
        conf_diag_error(p->diag, entry->key_pos, path,
                        "unknown key %s; hint: a constant has value, kind, source, and maybe "
                        "uncertainty, correlation",
                        conf_quote(entry->key, shown));
    }
    return known;
}

/* A constant is {value, kind, source}, all three, and maybe its uncertainty and correlation.  After
 * an unknown key no part is called missing: it may be there under the wrong name. */
static void read_row(struct conf_parse *p, int row, const struct conf_node *node)
{
    const struct conf_key *key = &p->table->key[row];
    char shown[CONF_QUOTE_BYTES];
    if (!hw_key_is_constant(key)) {
        conf_key_read(p, row, node);
        return;
    }
    p->seen[row] = true;
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected {value: ..., kind: ..., source: ...}, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    bool whole = true;
    const bool known = check_parts(p, key->path, node);
    for (int i = 0; i < N_REQUIRED; i++) {
        if (conf_node_find(node, parts[i])) continue;
        whole = false;
        if (known) conf_diag_error(p->diag, node->pos, key->path, "%s is missing", parts[i]);
    }
    if (!whole) return;
    const int n_errors = p->diag->n_errors;
    conf_key_read(p, row, conf_node_find(node, "value"));
    read_source(p, row, node, p->diag->n_errors == n_errors);
}

/* A value from the command line is what the user wants to see, without a doubt; a map is taken as
 * it is. */
static struct conf_node *as_constant(struct conf_doc *doc, struct conf_node *value)
{
    enum { N_GIVEN = 4 }; /* the first of the parts */
    const char *const text[N_GIVEN] = {"", hw_source_kinds()[HW_ASSUMED].name,
                                       "given on the command line", "0 %"};
    if (value->kind == CONF_NODE_MAP) return value;
    struct conf_node *map = conf_doc_map(doc, value->pos);
    for (int i = 0; i < N_GIVEN && map; i++) {
        struct conf_entry entry = {.key = parts[i], .key_pos = value->pos, .value = value};
        if (i) entry.value = conf_doc_scalar(doc, text[i], strlen(text[i]), value->pos);
        if (!entry.value || !conf_doc_put(doc, map, &entry)) return NULL;
    }
    return map;
}

/* --set cluster.PATH=VALUE and --fault into the tree, before its keys are read. */
static void apply_sets(struct conf_doc *doc, struct conf_diag *d)
{
    for (int set = 1; set <= d->n_sets; set++) {
        char path[CONF_MAX_PATH];
        const char *text;
        if (!conf_set_split(d, set, path, &text)) continue;
        const char *cluster_path = conf_set_cluster_path(path);
        if (!cluster_path) continue;
        if (!strcmp(cluster_path, CONF_FAULTS_ADD)) {
            hw_faults_add(doc, d, text, set);
            continue;
        }
        if (!strcmp(cluster_path, "base")) {
            conf_diag_error(d, (struct conf_pos){.line = -set}, cluster_path,
                            "only a file has a base; hint: --cluster FILE");
            continue;
        }
        int row = conf_keys_find(hw_machine_table(), cluster_path);
        if (row < 0) {
            conf_keys_unknown(hw_machine_table(), d, (struct conf_pos){.line = -set}, cluster_path);
            continue;
        }
        struct conf_node *value = conf_doc_parse_value(doc, d, text, set);
        if (!value) continue;
        if (hw_key_is_constant(&hw_machine_table()->key[row])) value = as_constant(doc, value);
        if (value)
            conf_doc_set(doc, d, cluster_path, value);
        else
            d->no_memory = true;
    }
}

/* What ties two constants together, after each is in its own range. */
static void check(struct conf_parse *p, const struct hw_machine *c)
{
    const char *reserved = "wafer.sram_reserved_per_pe";
    const struct conf_node *node = p->given[conf_keys_find(p->table, reserved)];
    if (node && c->wafer.sram_reserved_bytes_per_pe >= c->wafer.sram_bytes_per_pe &&
        c->wafer.sram_bytes_per_pe > 0)
        conf_diag_error(p->diag, node->pos, reserved, "must be less than wafer.sram_per_pe");
}

/* The hash covers values only, in base units: a change of spelling, comment or source keeps it. */
static void hash_values(struct hw_machine *c, struct conf_diag *d)
{
    const struct conf_table *table = hw_machine_table();
    struct wsc_text text = {0};
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        const void *field = (const char *)c + key->offset;
        if (!hw_key_is_constant(key)) continue;
        wsc_text_add(&text, "%s=", key->path);
        if (key->type == CONF_T_DOUBLE)
            wsc_text_add(&text, "%.17g\n", *(const double *)field);
        else if (key->type == CONF_T_CHOICE)
            wsc_text_add(&text, "%d\n", *(const int *)field);
        else if (key->type == CONF_T_BOOL)
            wsc_text_add(&text, "%d\n", *(const bool *)field);
        else
            wsc_text_add(&text, "%lld\n", (long long)*(const int64_t *)field);
    }
    for (int i = 0; i < c->faults.n; i++)
        wsc_text_add(&text, "fault=%s\n", c->faults.item[i].text);
    if (text.failed)
        d->no_memory = true;
    else
        c->hash = wsc_hash64(text.bytes, text.n, 0);
    wsc_text_free(&text);
}

/* Settings, keys, defaults, sources, checks, hash: each step needs those before it. Returns the
 * number of the file that has the name, as in conf_pos.file; 0: the file itself. */
static int read_tree(struct hw_machine *out, struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_rows rows = {0};
    struct conf_parse p = {.table = hw_machine_table(),
                           .diag = d,
                           .out = (char *)out,
                           .seen = rows.seen,
                           .given = rows.given};
    apply_sets(doc, d);
    conf_keys_read(&p, doc->root, read_row);
    conf_keys_defaults(&p, doc->root);
    default_sources(&p);
    check(&p, out);
    hash_values(out, d);
    const struct conf_node *name = p.given[conf_keys_find(p.table, "name")];
    return name ? name->pos.file : 0;
}

/* The text of a machine file, as hw_machine_read() makes it, and what the command line changes. */
struct source_text {
    const char *file, *bytes;
    size_t n;
    const struct conf_set *sets;
    int n_sets;
};

/* Parse @p text without its @p skip last files; *@p named: the file that has the name. */
static enum wsc_err parse_files(struct hw_machine *out, const struct source_text *text, int skip,
                                int *named)
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = text->file, .sets = text->sets, .n_sets = text->n_sets};
    int n = n_constants(hw_machine_table());
    memset(out, 0, sizeof *out);
    *named = 0;
    out->file = wsc_strdup(WSC_MEM_CONF, text->file);
    out->source = wsc_alloc(WSC_MEM_CONF, (size_t)n, sizeof *out->source);
    if (!out->file || !out->source) return WSC_NOMEM;
    out->n_sources = n;
    for (int i = 0, k = 0; i < hw_machine_table()->n; i++)
        if (hw_key_is_constant(&hw_machine_table()->key[i]))
            out->source[k++].key = hw_machine_table()->key[i].path;
    if (hw_machine_doc(&doc, &d, text->bytes, text->n, skip)) *named = read_tree(out, &doc, &d);
    enum wsc_err rc = conf_diag_finish(&d); /* which may name files in the memory of doc */
    conf_doc_fini(&doc);
    return rc;
}

/* Name a machine by its file, without folder and `.yaml`. */
static enum wsc_err name_by_file(struct hw_machine *m)
{
    static const char end[] = ".yaml";
    const char *slash = strrchr(m->file, '/'), *stem = slash ? slash + 1 : m->file;
    size_t n = strlen(stem), cut = sizeof end - 1;
    if (n > cut && !strcmp(stem + n - cut, end)) n -= cut;
    char *name = wsc_asprintf(WSC_MEM_CONF, "%.*s", (int)n, stem);
    if (!name) return WSC_NOMEM;
    wsc_free(m->name);
    m->name = name;
    return WSC_OK;
}

enum wsc_err hw_machine_parse(struct hw_machine *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets)
{
    struct source_text text = {file, bytes, n_bytes, sets, n_sets};
    struct hw_machine base;
    int named, ignored;
    if (!bytes) text.bytes = hw_builtin_cs2(&text.n);
    if (!file) text.file = "cs2.yaml (built in)";
    TRY(parse_files(out, &text, 0, &named));
    if (!named) return WSC_OK;
    /* A machine with the values of the one that gives the name is that one. */
    const enum wsc_err rc = parse_files(&base, &text, named, &ignored);
    const bool differs = rc || base.hash != out->hash;
    hw_machine_fini(&base);
    if (rc == WSC_NOMEM) return rc;
    return differs ? name_by_file(out) : WSC_OK;
}

void hw_machine_fini(struct hw_machine *cluster)
{
    for (int i = 0; i < cluster->n_sources; i++) {
        wsc_free(cluster->source[i].value);
        wsc_free(cluster->source[i].source);
        wsc_free(cluster->source[i].uncertainty);
    }
    wsc_free(cluster->source);
    wsc_free(cluster->faults.item);
    wsc_free(cluster->name);
    wsc_free(cluster->base);
    wsc_free(cluster->file);
    memset(cluster, 0, sizeof *cluster);
}

bool hw_is_machine_file(const char *bytes, size_t n_bytes)
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = ""};
    const struct conf_table *table = hw_machine_table();
    const bool parses = conf_doc_parse(&doc, &d, bytes, n_bytes, CONF_LAST_WINS);
    const int n = parses && doc.root ? doc.root->n : 0;
    int known = 0;
    for (int i = 0; i < n; i++) {
        const char *key = doc.root->entry[i].key;
        known += conf_keys_find(table, key) >= 0 || conf_keys_is_section(table, key);
    }
    conf_doc_fini(&doc);
    (void)!conf_diag_finish(&d);
    return 2 * known > n;
}
