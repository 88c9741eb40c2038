// SPDX-License-Identifier: Apache-2.0
/* Keys of an input that name its samples: data_dir (a directory or a list), data_subset (ranges of
 * fractions), mixture (data sets with weights, each with its own directories and subset), and
 * `buckets` of lengths. This file has the readers and writers that the rows of params_keys.c name;
 * src/data reads the files of samples. */
#include "params_values.h"

#include <wsc/mem.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

/* ---- directories ----------------------------------------------------------------------------- */

/* Append a directory to the newest data set, which is being read. */
static void add_dir(struct conf_parse *p, const char *path, const struct conf_node *node,
                    struct zoo_input *in)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node) || !*node->text) {
        conf_diag_error(p->diag, node->pos, path, "expected a directory, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    if (in->n_data_dirs == ZOO_MAX_DIRS) {
        conf_diag_error(p->diag, node->pos, path, "more than %d directories", ZOO_MAX_DIRS);
        return;
    }
    char *copy = wsc_strdup(WSC_MEM_CONF, node->text);
    if (!copy) {
        p->diag->no_memory = true;
        return;
    }
    in->data_set[in->n_data_dirs] = in->n_sets ? in->n_sets - 1 : 0;
    in->data_dir[in->n_data_dirs++] = copy;
}

/* A directory or a list of them. */
static void add_dirs(struct conf_parse *p, const char *path, const struct conf_node *node,
                     struct zoo_input *in)
{
    if (node->kind != CONF_NODE_LIST) {
        add_dir(p, path, node, in);
    } else if (!node->n || node->n > ZOO_MAX_DIRS) {
        conf_diag_error(p->diag, node->pos, path, "expected 1 to %d directories, got %d",
                        ZOO_MAX_DIRS, node->n);
    } else {
        for (int i = 0; i < node->n; i++)
            add_dir(p, path, node->entry[i].value, in);
    }
}

/* True unless the other one of data_dir and mixture was read before, which is an error. */
static bool is_first(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     const struct zoo_input *in)
{
    if (!in->n_data_dirs && !in->n_sets) return true;
    conf_diag_error(p->diag, node->pos, key->path,
                    "data_dir and mixture exclude each other; hint: null takes the other one out");
    return false;
}

void zoo_read_data_dir(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *input)
{
    if (is_first(p, key, node, input)) add_dirs(p, key->path, node, input);
}

/* Directories of one data set, a line each. */
static void write_dirs(struct wsc_text *out, const struct zoo_input *in, int set, int indent)
{
    for (int i = 0; i < in->n_data_dirs; i++) {
        if (in->data_set[i] != set) continue;
        wsc_text_add(out, "\n%*s- ", indent, "");
        conf_text_string(out, in->data_dir[i]);
    }
}

void zoo_write_data_dir(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    const struct zoo_input *in = input;
    if (in->n_sets)
        wsc_text_add(out, " null");
    else
        write_dirs(out, in, 0, at->indent);
}

/* ---- parts of a data set --------------------------------------------------------------------- */

/* Read a fraction such as "0.25" up to @p end into *@p share. */
static bool read_share(const char *text, const char *end, double *share)
{
    char copy[32];
    size_t n = (size_t)(end - text);
    if (!n || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return wsc_units_double(copy, share) == WSC_OK && *share >= 0 && *share <= 1;
}

/* Read one range `from-to`; *@p text is moved past it and its comma. */
static bool read_range(const char **text, struct zoo_subset *s)
{
    const char *end = *text + strcspn(*text, ","),
               *dash = memchr(*text, '-', (size_t)(end - *text));
    if (s->n == ZOO_MAX_RANGES || !dash) return false;
    double from, to, before = s->n ? s->to[s->n - 1] : 0;
    if (!read_share(*text, dash, &from) || !read_share(dash + 1, end, &to)) return false;
    if (from < before || to < from) return false;
    s->from[s->n] = from;
    s->to[s->n++] = to;
    *text = *end ? end + 1 : end;
    return *end != ',' || **text;
}

/* Read `from-to,from-to`: increasing fractions that do not overlap. */
static void read_subset(struct conf_parse *p, const char *path, const struct conf_node *node,
                        struct zoo_subset *s)
{
    char shown[CONF_QUOTE_BYTES];
    const char *text = node->kind == CONF_NODE_SCALAR ? node->text : "";
    bool ok = *text != '\0';
    *s = (struct zoo_subset){0};
    while (ok && *text)
        ok = read_range(&text, s);
    if (!ok)
        conf_diag_error(p->diag, node->pos, path,
                        "expected at most %d rising ranges from 0 to 1 such as 0.0-0.5,0.8-1.0, "
                        "got %s",
                        ZOO_MAX_RANGES, conf_node_describe(node, shown));
}

/* data_subset is refused beside a mixture, whose data sets have their own subsets. */
static void refuse_subset(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node)
{
    conf_diag_error(p->diag, node->pos, key->path,
                    "data_subset and mixture exclude each other; hint: data_subset of an entry");
}

void zoo_read_data_subset(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input)
{
    struct zoo_input *in = input;
    if (in->n_sets)
        refuse_subset(p, key, node);
    else
        read_subset(p, key->path, node, &in->data_subset[0]);
}

/* Write the ranges in the form of the file, or null. */
static void write_subset(struct wsc_text *out, const struct zoo_subset *s)
{
    wsc_text_add(out, s->n ? " \"" : " null");
    for (int i = 0; i < s->n; i++) {
        wsc_text_add(out, i ? "," : "");
        conf_text_double(out, s->from[i]);
        wsc_text_add(out, "-");
        conf_text_double(out, s->to[i]);
    }
    if (s->n) wsc_text_add(out, "\"");
}

void zoo_write_data_subset(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    static const struct zoo_subset all = {0};
    const struct zoo_input *in = input;
    (void)at;
    write_subset(out, in->n_sets ? &all : &in->data_subset[0]);
}

/* ---- mixtures -------------------------------------------------------------------------------- */

/* State of one entry of `mixture`, a data set, that is being read. */
struct data_set {
    struct zoo_input *in; /* gets the directories */
    double weight;
    struct zoo_subset subset;
};

static void read_set_dirs(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field)
{
    add_dirs(p, key->path, node, *(struct zoo_input **)field);
}

static void read_set_subset(struct conf_parse *p, const struct conf_key *key,
                            const struct conf_node *node, void *field)
{
    if (!conf_node_is_null(node)) read_subset(p, key->path, node, field);
}

#define SET(name, f) .path = (name), .offset = offsetof(struct data_set, f)
static const struct conf_key set_keys[] = {
    {SET("data_dir", in), .type = CONF_T_SPECIAL, .required = true, .read = read_set_dirs,
     .form = "directory or list of them", .doc = "directories of the data set"},
    {SET("weight", weight), .type = CONF_T_DOUBLE, .required = true, .max = DBL_MAX,
     .doc = "of an epoch's samples, relative to the sum of all weights"},
    {SET("data_subset", subset), .type = CONF_T_SPECIAL, .read = read_set_subset,
     .form = "ranges such as 0.0-0.5,0.8-1.0", .doc = "fractions that are used; null: all"}};
static const struct conf_table set_table = {.key = set_keys,
                                            .n = sizeof set_keys / sizeof *set_keys};

const struct conf_table *zoo_mixture_table(void)
{
    return &set_table;
}

/* One entry of `mixture`. */
static void read_set(struct conf_parse *p, const char *path, const struct conf_node *node,
                     struct zoo_input *in)
{
    char shown[CONF_QUOTE_BYTES];
    struct data_set set = {.in = in};
    const struct conf_record record = {
        .path = path, .map = node, .key = set_keys, .n = set_table.n, .out = &set};
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with data_dir and weight, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    in->n_sets++;
    (void)conf_record_read(p, &record);
    in->weight[in->n_sets - 1] = set.weight;
    in->data_subset[in->n_sets - 1] = set.subset;
}

void zoo_read_mixture(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *input)
{
    struct zoo_input *in = input;
    char path[CONF_MAX_PATH];
    double sum = 0;
    if (!is_first(p, key, node, in)) return;
    if (in->data_subset[0].n) refuse_subset(p, key, node);
    if (node->kind != CONF_NODE_LIST || !node->n || node->n > ZOO_MAX_DIRS) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of 1 to %d data sets",
                        ZOO_MAX_DIRS);
        return;
    }
    const int n_errors = p->diag->n_errors;
    for (int i = 0; i < node->n; i++) {
        (void)snprintf(path, sizeof path, "%s[%d]", key->path, i);
        read_set(p, path, node->entry[i].value, in);
    }
    for (int i = 0; i < in->n_sets; i++)
        sum += in->weight[i];
    if (!(sum > 0) && p->diag->n_errors == n_errors)
        conf_diag_error(p->diag, node->pos, key->path, "no weight is above 0");
}

void zoo_write_mixture(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    const struct zoo_input *in = input;
    if (!in->n_sets) wsc_text_add(out, " null");
    for (int i = 0; i < in->n_sets; i++) {
        wsc_text_add(out, "\n%*s- weight: ", at->indent, "");
        conf_text_double(out, in->weight[i]);
        wsc_text_add(out, "\n%*s  data_subset:", at->indent, "");
        write_subset(out, &in->data_subset[i]);
        wsc_text_add(out, "\n%*s  data_dir:", at->indent, "");
        write_dirs(out, in, i, at->indent + 4);
    }
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* Read whole numbers above 0 in non-decreasing order, as the Model Zoo requires. */
void zoo_read_buckets(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *input)
{
    const int64_t longest = 1000000000;
    struct zoo_input *in = input;
    bool ok = node->kind == CONF_NODE_LIST && node->n >= 1 && node->n <= ZOO_MAX_BUCKETS;
    for (int i = 0; ok && i < node->n; i++) {
        const struct conf_node *entry = node->entry[i].value;
        ok = entry->kind == CONF_NODE_SCALAR &&
             wsc_units_int(entry->text, &in->bucket[i]) == WSC_OK &&
             in->bucket[i] >= (i ? in->bucket[i - 1] : 1) && in->bucket[i] <= longest;
    }
    in->n_buckets = ok ? node->n : 0;
    if (!ok)
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected a list of 1 to %d rising whole numbers above 0", ZOO_MAX_BUCKETS);
}

void zoo_write_buckets(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    const struct zoo_input *in = input;
    (void)at;
    for (int i = 0; i < in->n_buckets; i++)
        wsc_text_add(out, "%s%lld", i ? ", " : " [", (long long)in->bucket[i]);
    wsc_text_add(out, in->n_buckets ? "]" : " null");
}
