// SPDX-License-Identifier: Apache-2.0
/* Reads benchmarks/reference/exhibits.yaml: a list of exhibits, each a record whose picture decides
 * which keys it has.  exhibit_curves.c simulates what they ask for. */
#include <wsc/validation_exhibits.h>

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <stdio.h>
#include <string.h>

/* ---- lists of whole numbers ------------------------------------------------------------------ */

static void read_counts(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *field)
{
    struct validation_counts *out = field;
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_LIST || node->n < 1 || node->n > VALIDATION_MAX_COUNTS) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of 1 to %d numbers, got %s",
                        VALIDATION_MAX_COUNTS, conf_node_describe(node, shown));
        return;
    }
    *out = (struct validation_counts){.n = node->n};
    for (int i = 0; i < node->n; i++) {
        const struct conf_node *item = node->entry[i].value;
        const bool number =
            item->kind == CONF_NODE_SCALAR && !wsc_units_int(item->text, &out->item[i]);
        const double value = (double)out->item[i];
        if (number && value >= key->min && value <= key->max &&
            (!i || out->item[i] > out->item[i - 1]))
            continue;
        conf_diag_error(p->diag, item->pos, key->path,
                        "expected whole numbers from %.0f to %.0f, rising, got %s", key->min,
                        key->max, conf_node_describe(item, shown));
        return;
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

#define AT(n)   .path = #n, .offset = offsetof(struct validation_exhibit, n)
#define TEXT(n) AT(n), .type = CONF_T_STRING
#define COUNTS(n)                                                                                  \
    AT(n), .type = CONF_T_SPECIAL, .read = read_counts, .form = "list of numbers", .required = true
/* clang-format off */
#define ALL \
    {.path = "picture", .type = CONF_T_ANY}, \
    {TEXT(id), .required = true, .doc = "begins the names of its files, at most 59 bytes"}, \
    {TEXT(title), .required = true, .doc = "heading; `{ROW}` is the figure of a row"}, \
    {TEXT(note), .nullable = true, .doc = "conditions; `{ROW}`, `{ROW/OTHER}`: figures of rows"}
#define CURVES \
    {TEXT(rows), .nullable = true, .doc = "rows of the published figures, with `*`"}, \
    {TEXT(models), .required = true, .doc = "names of params files"}, \
    {TEXT(cluster), .required = true, .doc = "name of a machine file"}, \
    {TEXT(set), .nullable = true, .doc = "overrides, separated by `;`"}, \
    {AT(msl), .type = CONF_T_INT, .max = 1e9, .fallback = "0", .doc = "tokens of a sequence"}
static const struct conf_variant pictures[VALIDATION_N_PICTURES] = {
    [VALIDATION_RATIOS] = {"ratios", .doc = "predicted over published speed", CONF_KEYS(
        ALL, {TEXT(rows), .required = true, .doc = "rows of the published figures, with `*`"})},
    [VALIDATION_BATCHES] = {"batches", .doc = "time of a step against the batch", CONF_KEYS(
        ALL, CURVES, {COUNTS(batch), .min = 1, .max = 1e6, .doc = "sequences of a step"})},
    [VALIDATION_SYSTEMS] = {"systems", .doc = "throughput against the number of systems", CONF_KEYS(
        ALL, CURVES, {COUNTS(num_csx), .min = 1, .max = HW_MAX_SYSTEMS, .doc = "numbers of systems"},
        {AT(batch_per_csx), .type = CONF_T_INT, .max = 1e6, .fallback = "0",
         .doc = "sequences of a step and system; 0: of the params"},
        {AT(measured_to), .type = CONF_T_INT, .max = HW_MAX_SYSTEMS, .fallback = "0",
         .doc = "largest number of systems that was measured"})},
};
/* clang-format on */
static const struct conf_variants variants = {
    .selector = "picture", .variant = pictures, .n = VALIDATION_N_PICTURES};

static struct validation_place place_of(const struct conf_node *exhibit, const char *key)
{
    const struct conf_node *node = conf_node_find(exhibit, key);
    return node ? (struct validation_place){node->pos.line, node->pos.column}
                : (struct validation_place){0};
}

/* Bytes that each name in @p list, separated by blanks, may have; @p list NULL: none. */
static void check_length(struct conf_parse *p, const struct conf_node *exhibit, const char *key,
                         const char *list, size_t most)
{
    static const char blanks[] = " \n";
    const struct conf_node *node = conf_node_find(exhibit, key);
    for (const char *name = list; name && node && *(name += strspn(name, blanks));
         name += strcspn(name, blanks))
        if (strcspn(name, blanks) > most)
            conf_diag_error(p->diag, node->pos, key, "\"%.20s...\" is longer than %zu bytes", name,
                            most);
}

/* Models, machine and overrides stand in the fields of a row when curves are simulated. */
static void check_names(struct conf_parse *p, const struct conf_node *exhibit,
                        const struct validation_exhibit *e)
{
    struct validation_figure row;
    const struct conf_node *set = conf_node_find(exhibit, "set"),
                           *models = conf_node_find(exhibit, "models");
    int n = 0;
    for (const char *m = e->models; m && *(m += strspn(m, " \n")); m += strcspn(m, " \n"))
        n++;
    if (n > VALIDATION_MAX_CURVES)
        conf_diag_error(p->diag, models->pos, "models", "%d models, an exhibit has at most %d", n,
                        VALIDATION_MAX_CURVES);
    check_length(p, exhibit, "models", e->models, sizeof row.model - 1);
    check_length(p, exhibit, "cluster", e->cluster, sizeof row.cluster - 1);
    if (e->set && set && strlen(e->set) >= sizeof row.set)
        conf_diag_error(p->diag, set->pos, "set", "longer than %zu bytes", sizeof row.set - 1);
}

static void read_exhibit(struct conf_parse *p, const char *path, const struct conf_node *node,
                         struct validation_exhibit *out)
{
    const struct conf_node *picture = conf_node_find(node, "picture");
    char full[CONF_MAX_PATH];
    (void)snprintf(full, sizeof full, "%.150s.picture", path);
    if (!picture) {
        conf_diag_error(p->diag, node->pos, full,
                        "required key is missing; hint: ratios, batches or systems");
        return;
    }
    out->picture = conf_variant_read(p, &variants, full, picture);
    if (out->picture < 0) return;
    const struct conf_variant *v = &pictures[out->picture];
    const struct conf_record record = {
        .path = path, .map = node, .key = v->key, .n = v->n, .out = out};
    (void)conf_record_read(p, &record);
    out->title_at = place_of(node, "title");
    out->note_at = place_of(node, "note");
    out->rows_at = place_of(node, "rows");
    check_names(p, node, out);
}

/* Files are named after an id, so it has no slash in it, no character that a shell reads, and a
 * limited length. */
static void check_id(struct conf_parse *p, const struct conf_node *exhibit, const char *id)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char shown[CONF_QUOTE_BYTES];
    const struct conf_node *node = conf_node_find(exhibit, "id");
    if (id && (!*id || strspn(id, allowed) != strlen(id)))
        conf_diag_error(p->diag, node ? node->pos : exhibit->pos, "id",
                        "names files: expected letters, digits, _ and -, got \"%s\"",
                        conf_quote(id, shown));
    check_length(p, exhibit, "id", id, OUT_PICTURE_NAME_BYTES);
}

static void check_ids(struct conf_parse *p, const struct conf_node *list,
                      const struct validation_exhibits *e)
{
    for (int i = 0; i < e->n; i++)
        check_id(p, list->entry[i].value, e->item[i].id);
    for (int i = 0; i < e->n; i++)
        for (int k = 0; k < i; k++)
            if (e->item[i].id && e->item[k].id && !strcmp(e->item[i].id, e->item[k].id))
                conf_diag_error(p->diag, list->pos, NULL, "a second exhibit with the id %.40s",
                                e->item[i].id);
}

static void read_list(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *field)
{
    enum { MOST = 128 };
    struct validation_exhibits *e = field;
    char path[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_LIST || node->n < 1 || node->n > MOST) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of 1 to %d maps, got %s",
                        MOST, conf_node_describe(node, shown));
        return;
    }
    e->item = wsc_alloc(WSC_MEM_SCALING, (size_t)node->n, sizeof *e->item);
    if (!e->item) {
        p->diag->no_memory = true;
        return;
    }
    for (int i = 0; i < node->n; i++) {
        (void)snprintf(path, sizeof path, "%s[%d]", key->path, i);
        read_exhibit(p, path, node->entry[i].value, &e->item[e->n++]);
    }
    check_ids(p, node, e);
}

/* ---- the file -------------------------------------------------------------------------------- */

static const struct conf_key keys[] = {{.path = "exhibits",
                                        .type = CONF_T_SPECIAL,
                                        .read = read_list,
                                        .form = "list of exhibits",
                                        .required = true,
                                        .doc = "published tables and figures"}};
static const struct conf_table table = {.key = keys, .n = sizeof keys / sizeof *keys};

static void read_tree(struct validation_exhibits *out, const struct conf_doc *doc,
                      struct conf_diag *d)
{
    struct conf_rows rows = {0};
    struct conf_parse p = {
        .table = &table, .diag = d, .out = (char *)out, .seen = rows.seen, .given = rows.given};
    conf_keys_read(&p, doc->root, conf_key_read);
    conf_keys_defaults(&p, doc->root);
}

enum wsc_err validation_exhibits_read(const char *path, struct validation_exhibits *out)
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = path};
    char *bytes = NULL;
    size_t n = 0;
    *out = (struct validation_exhibits){.path = wsc_strdup(WSC_MEM_SCALING, path)};
    if (!out->path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, path);
    TRY(conf_read_file(path, &bytes, &n));
    if (conf_doc_parse(&doc, &d, bytes, n, CONF_DUPLICATE_IS_ERROR)) read_tree(out, &doc, &d);
    enum wsc_err rc = conf_diag_finish(&d);
    conf_doc_fini(&doc);
    wsc_free(bytes);
    return rc;
}

static void free_exhibit(struct validation_exhibit *e)
{
    wsc_free(e->id);
    wsc_free(e->title);
    wsc_free(e->note);
    wsc_free(e->rows);
    wsc_free(e->models);
    wsc_free(e->cluster);
    wsc_free(e->set);
}

void validation_exhibits_fini(struct validation_exhibits *e)
{
    for (int i = 0; i < e->n; i++)
        free_exhibit(&e->item[i]);
    wsc_free(e->item);
    wsc_free(e->path);
    *e = (struct validation_exhibits){0};
}

/* ---- a choice -------------------------------------------------------------------------------- */

static bool is_listed(const char *const *id, int n, const char *of)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(id[i], of)) return true;
    return false;
}

static WSC_CHECKED enum wsc_err check_known(const struct validation_exhibits *e, const char *id)
{
    char known[1024] = "";
    size_t used = 0;
    for (int i = 0; i < e->n; i++) {
        if (!strcmp(e->item[i].id, id)) return WSC_OK;
        const int n =
            snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", e->item[i].id);
        if (n > 0 && used + (size_t)n < sizeof known) used += (size_t)n;
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "\"%s\": no exhibit of that name", id), "one of %s",
                        known);
}

enum wsc_err validation_exhibits_keep(struct validation_exhibits *e, const char *const *id, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        TRY(check_known(e, id[i]));
    for (int i = 0; i < e->n; i++) {
        if (is_listed(id, n, e->item[i].id))
            e->item[kept++] = e->item[i];
        else
            free_exhibit(&e->item[i]);
    }
    e->n = kept;
    return WSC_OK;
}
