// SPDX-License-Identifier: Apache-2.0
/* Keys of params with special values: micro_batch_size (a number, auto, null, explore with bounds),
 * lanes (a number, auto, null), data_transforms (a list of maps by name), load_checkpoint_states
 * (names with commas, or a list). Each has a reader and a writer that the rows of params_keys.c
 * name. */
#include "params_values.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- micro_batch_size ---- */

#define BOUND .type = CONF_T_INT, .nullable = true, .min = 1, .max = 1e9, .fallback = "null"

/* Read {min: 1, max: 8}; either bound may be missing. */
static void read_bounds(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *input)
{
    static const struct conf_key bounds[] = {
        {.path = "min", BOUND, .offset = offsetof(struct zoo_input, explore_min)},
        {.path = "max", BOUND, .offset = offsetof(struct zoo_input, explore_max)}};
    const struct conf_record record = {
        .path = key->path, .map = node, .key = bounds, .n = 2, .out = input};
    struct zoo_input *in = input;
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, key->path, "expected {min: N, max: N}, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    in->micro_batch_size = CONF_EXPLORE;
    if (!conf_record_read(p, &record)) return;
    if (in->explore_max != CONF_NULL && in->explore_max < in->explore_min)
        conf_diag_error(p->diag, node->pos, key->path, "must have 1 <= min <= max");
}

/* Read a word, a map {explore: {min, max}}, or a number from 1. */
void zoo_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {
        {"auto", 0}, {"null", 1}, {"explore", 2}, {"a whole number", 3}};
    static const int64_t meaning[] = {CONF_AUTO, CONF_NULL, CONF_EXPLORE};
    static const struct conf_key explore = {
        .path = "explore", .type = CONF_T_SPECIAL, .read = read_bounds, .required = true};
    const struct conf_record record = {
        .path = key->path, .map = node, .key = &explore, .n = 1, .out = input};
    struct zoo_input *in = input;
    int64_t value;
    int word = conf_choice_find(words, node);
    in->explore_min = in->explore_max = CONF_NULL;
    if (word >= 0 && word < 3) {
        in->micro_batch_size = meaning[word];
    } else if (node->kind == CONF_NODE_MAP) {
        (void)conf_record_read(p, &record);
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &value) != WSC_OK) {
        conf_key_unsupported(p, key->path, node, words);
    } else if (value < 1) {
        conf_diag_error(p->diag, node->pos, key->path, "must be at least 1, got %lld",
                        (long long)value);
    } else {
        in->micro_batch_size = value;
    }
}

static void write_bound(struct wsc_text *out, const char *name, int64_t value)
{
    if (value == CONF_NULL)
        wsc_text_add(out, "%s: null", name);
    else
        wsc_text_add(out, "%s: %lld", name, (long long)value);
}

void zoo_write_micro_batch(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    const struct zoo_input *in = input;
    const int64_t value = in->micro_batch_size;
    const bool bounded = in->explore_min != CONF_NULL || in->explore_max != CONF_NULL;
    (void)at;
    if (value == CONF_EXPLORE && bounded) {
        wsc_text_add(out, " {explore: {");
        write_bound(out, "min", in->explore_min);
        write_bound(out, ", max", in->explore_max);
        wsc_text_add(out, "}}");
    } else if (value == CONF_NULL || value == CONF_AUTO || value == CONF_EXPLORE) {
        wsc_text_add(out, " %s",
                     value == CONF_NULL   ? "null"
                     : value == CONF_AUTO ? "auto"
                                          : "explore");
    } else {
        wsc_text_add(out, " %lld", (long long)value);
    }
}

/* ---- lanes ---- */

/* A number with a point is a fraction, as it is a float in the Model Zoo's YAML. null and 0 ask for
 * no evaluation; the default is that of a file without the key. */
void zoo_read_eval_frequency(struct conf_parse *p, const struct conf_key *key,
                             const struct conf_node *node, void *runconfig)
{
    struct zoo_runconfig *rc = runconfig;
    const char *text = node->kind == CONF_NODE_SCALAR ? node->text : "";
    char shown[CONF_QUOTE_BYTES];
    rc->eval_frequency = 0;
    rc->eval_fraction = 0;
    if (conf_node_is_null(node)) return;
    const bool fraction = strchr(text, '.') && wsc_units_double(text, &rc->eval_fraction) == WSC_OK;
    if (fraction && rc->eval_fraction >= 0 && rc->eval_fraction <= 1) return;
    if (!fraction && wsc_units_int(text, &rc->eval_frequency) == WSC_OK &&
        rc->eval_frequency >= 0 && rc->eval_frequency <= ZOO_MOST_STEPS)
        return;
    conf_diag_error(
        p->diag, node->pos, key->path,
        "expected a whole number of steps, a fraction of the training from 0.0 to 1.0, or "
        "null, got %s",
        conf_node_describe(node, shown));
}

void zoo_write_eval_frequency(struct wsc_text *out, const void *runconfig,
                              const struct conf_layout *at)
{
    const struct zoo_runconfig *rc = runconfig;
    char fraction[40];
    double back = 0;
    (void)at;
    wsc_text_add(out, " ");
    /* With a point, and as many digits as bring the number back. */
    for (int digits = 1; digits <= 17 && back != rc->eval_fraction; digits++) {
        (void)snprintf(fraction, sizeof fraction, "%.*f", digits, rc->eval_fraction);
        if (wsc_units_double(fraction, &back) != WSC_OK) back = 0;
    }
    if (rc->eval_fraction > 0)
        wsc_text_add(out, "%s", fraction);
    else
        wsc_text_add(out, "%lld", (long long)rc->eval_frequency);
}

void zoo_read_lanes(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field)
{
    enum { MOST = 64 };
    static const struct conf_choice words[CONF_MAX_CHOICES] = {
        {"auto", 0}, {"null", 1}, {"a whole number", 2}};
    int64_t *lanes = field, value;
    const int word = conf_choice_find(words, node);
    if (word == 0 || word == 1)
        *lanes = word ? 0 : CONF_AUTO;
    else if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &value) != WSC_OK)
        conf_key_unsupported(p, key->path, node, words);
    else if (value < 1 || value > MOST)
        conf_diag_error(p->diag, node->pos, key->path, "must be in 1 .. %d, got %lld", MOST,
                        (long long)value);
    else
        *lanes = value;
}

void zoo_write_lanes(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const int64_t *lanes = field;
    (void)at;
    if (*lanes > 0)
        wsc_text_add(out, " %lld", (long long)*lanes);
    else
        wsc_text_add(out, " %s", *lanes ? "auto" : "null");
}

/* ---- data_transforms ---- */

/* clang-format off */
static const struct conf_variant transforms[] = {
    {"add_sink_tokens", .doc = "tokens before every sample", CONF_KEYS(
        {.path = "name", .type = CONF_T_ANY},
        {.path = "num_sink_tokens", .offset = offsetof(struct zoo_input, sink_tokens),
         .type = CONF_T_INT, .required = true, .min = 1, .max = 1 << 20, .doc = "how many"},
        {.path = "sink_token_id", .offset = offsetof(struct zoo_input, sink_token_id),
         .type = CONF_T_INT, .nullable = true, .fallback = "0", .max = 512000,
         .doc = "which token"})}};
/* clang-format on */
static const struct conf_variants transform_names = {
    .selector = "name", .variant = transforms, .n = sizeof transforms / sizeof *transforms};

const struct conf_variants *zoo_transforms(void)
{
    return &transform_names;
}

/* Read one transform, whose name determines its keys. */
static void read_transform(struct conf_parse *p, const char *path, const struct conf_node *node,
                           struct zoo_input *in)
{
    const struct conf_node *name = conf_node_find(node, "name");
    char shown[CONF_QUOTE_BYTES];
    if (!name) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with a name, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    const int i = conf_variant_read(p, &transform_names, path, name);
    const struct conf_record record = {.path = path,
                                       .map = node,
                                       .key = transforms[i < 0 ? 0 : i].key,
                                       .n = transforms[i < 0 ? 0 : i].n,
                                       .out = in};
    if (i >= 0) (void)conf_record_read(p, &record);
}

void zoo_read_transforms(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *input)
{
    char path[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST || node->n > 1) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of one transform, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    (void)snprintf(path, sizeof path, "%s[0]", key->path);
    if (node->n) read_transform(p, path, node->entry[0].value, input);
}

void zoo_write_transforms(struct wsc_text *out, const void *input, const struct conf_layout *at)
{
    const struct zoo_input *in = input;
    if (!in->sink_tokens) {
        wsc_text_add(out, " null");
        return;
    }
    wsc_text_add(out, "\n%*s- ", at->indent, "");
    conf_record_write(out, &transform_names, 0, in, NULL);
}

/* ---- load_checkpoint_states ---- */

/* Join the names of a list with commas; NULL after an error. */
static char *join_names(struct conf_parse *p, const char *path, const struct conf_node *list)
{
    struct wsc_text all = {0};
    char shown[CONF_QUOTE_BYTES], *joined = NULL;
    for (int i = 0; i < list->n; i++) {
        const struct conf_node *one = list->entry[i].value;
        if (one->kind == CONF_NODE_SCALAR && *one->text && !conf_node_is_null(one)) {
            wsc_text_add(&all, "%s%s", i ? "," : "", one->text);
            continue;
        }
        conf_diag_error(p->diag, one->pos, path, "expected a name, got %s",
                        conf_node_describe(one, shown));
        wsc_text_free(&all);
        return NULL;
    }
    if (wsc_text_take(&all, &joined)) p->diag->no_memory = true;
    return joined;
}

/* Check the names of parts of a checkpoint in a text with commas. */
static void check_states(struct conf_parse *p, const char *path, const struct conf_node *node,
                         const char *list)
{
    static const char *const states[] = {"model",        "optimizer", "dataloader", "grad_scaler",
                                         "lr_scheduler", "sparsity",  "global_step"};
    for (; *list; list += *list == ',') {
        list += strspn(list, " ");
        size_t n = strcspn(list, ", ");
        bool known = false;
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            known = known || (strlen(states[i]) == n && !strncmp(list, states[i], n));
        if (!known) {
            conf_diag_error(p->diag, node->pos, path,
                            "unknown state \"%.*s\"; supported: model, optimizer, dataloader, "
                            "grad_scaler, lr_scheduler, sparsity, global_step",
                            (int)(n < 40 ? n : 40), list);
            return;
        }
        list += n + strspn(list + n, " ");
    }
}

void zoo_read_states(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field)
{
    char **out = field, shown[CONF_QUOTE_BYTES];
    if (conf_node_is_null(node)) return;
    if (node->kind == CONF_NODE_SCALAR && !strcasecmp(node->text, "all")) return; /* the default */
    const bool list = node->kind == CONF_NODE_LIST && node->n;
    if (!list && (node->kind != CONF_NODE_SCALAR || !*node->text)) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected names with commas between or a list of them, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    *out = list ? join_names(p, key->path, node) : wsc_strdup(WSC_MEM_CONF, node->text);
    if (*out)
        check_states(p, key->path, node, *out);
    else if (!list)
        p->diag->no_memory = true;
}

void zoo_write_states(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const char *text = *(char *const *)field;
    (void)at;
    wsc_text_add(out, " ");
    if (text)
        conf_text_string(out, text);
    else
        wsc_text_add(out, "null");
}
