// SPDX-License-Identifier: Apache-2.0
/* Params keys whose values have a form of their own. */
#include "zoo_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- micro_batch_size ---- */

/* {explore: {min: 1, max: 8}}; either bound may be missing. */
static void read_explore(struct conf_parse *p, const char *path, const struct conf_node *node,
                         struct zoo_input *in)
{
    const struct conf_part parts[] = {{"min", NULL, &in->explore_min, NULL},
                                      {"max", NULL, &in->explore_max, NULL}};
    const char *const known[] = {"explore"};
    const struct conf_node *bounds = conf_node_find(node, "explore");
    char full[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    (void)snprintf(full, sizeof full, "%.180s.explore", path);
    for (int i = 0; i < node->n; i++)
        if (strcmp(node->entry[i].key, known[0]) != 0)
            conf_part_unknown(p, path, &node->entry[i], known, 1);
    if (!bounds || bounds->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, full, "expected {min: N, max: N}, got %s",
                        conf_node_describe(bounds ? bounds : node, shown));
        return;
    }
    in->micro_batch_size = CONF_EXPLORE;
    if (!conf_read_parts(p, full, bounds, parts, 2)) return;
    const int64_t least = in->explore_min == CONF_NULL ? 1 : in->explore_min;
    if (least < 1 || (in->explore_max != CONF_NULL && in->explore_max < least))
        conf_diag_error(p->diag, bounds->pos, full, "must have 1 <= min <= max");
}

void zoo_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {
        {"auto", 0}, {"null", 1}, {"explore", 2}, {"a whole number", 3}};
    static const int64_t meaning[] = {CONF_AUTO, CONF_NULL, CONF_EXPLORE};
    struct zoo_input *in = input;
    int64_t value;
    int word = conf_choice_find(words, node);
    in->explore_min = in->explore_max = CONF_NULL;
    if (word >= 0 && word < 3) {
        in->micro_batch_size = meaning[word];
    } else if (node->kind == CONF_NODE_MAP) {
        read_explore(p, key->path, node, in);
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &value) != WSC_OK) {
        conf_key_unsupported(p, key->path, node, words);
    } else if (value < 1) {
        conf_diag_error(p->diag, node->pos, key->path, "must be at least 1, got %lld",
                        (long long)value);
    } else {
        in->micro_batch_size = value;
    }
}

static void write_bound(struct conf_text *out, const char *name, int64_t value)
{
    if (value == CONF_NULL)
        conf_text_add(out, "%s: null", name);
    else
        conf_text_add(out, "%s: %lld", name, (long long)value);
}

void zoo_write_micro_batch(struct conf_text *out, const void *input, int indent)
{
    const struct zoo_input *in = input;
    const int64_t value = in->micro_batch_size;
    const bool bounded = in->explore_min != CONF_NULL || in->explore_max != CONF_NULL;
    (void)indent;
    if (value == CONF_EXPLORE && bounded) {
        conf_text_add(out, " {explore: {");
        write_bound(out, "min", in->explore_min);
        write_bound(out, ", max", in->explore_max);
        conf_text_add(out, "}}");
    } else if (value == CONF_NULL || value == CONF_AUTO || value == CONF_EXPLORE) {
        conf_text_add(out, " %s",
                      value == CONF_NULL   ? "null"
                      : value == CONF_AUTO ? "auto"
                                           : "explore");
    } else {
        conf_text_add(out, " %lld", (long long)value);
    }
}

/* ---- data_transforms ---- */

static void read_transform(struct conf_parse *p, const char *path, const struct conf_node *node,
                           struct zoo_input *in)
{
    static const struct conf_choice names[CONF_MAX_CHOICES] = {{"add_sink_tokens", 0}};
    const struct conf_node *name = conf_node_find(node, "name");
    const struct conf_part parts[] = {{"name", NULL, NULL, NULL},
                                      {"num_sink_tokens", NULL, &in->sink_tokens, NULL},
                                      {"sink_token_id", NULL, &in->sink_token_id, NULL}};
    char shown[CONF_QUOTE_BYTES];
    if (!name) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with a name, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    if (conf_choice_find(names, name) < 0) {
        conf_key_unsupported(p, path, name, names);
        return;
    }
    if (!conf_read_parts(p, path, node, parts, 3)) return;
    if (in->sink_tokens < 1 || in->sink_tokens > 1 << 20 || in->sink_token_id < 0)
        conf_diag_error(p->diag, node->pos, path,
                        "num_sink_tokens must be at least 1, sink_token_id at least 0");
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

void zoo_write_transforms(struct conf_text *out, const void *input, int indent)
{
    const struct zoo_input *in = input;
    if (!in->sink_tokens) {
        conf_text_add(out, " null");
        return;
    }
    conf_text_add(out, "\n%*s- {name: add_sink_tokens, num_sink_tokens: %lld, sink_token_id: %lld}",
                  indent, "", (long long)in->sink_tokens, (long long)in->sink_token_id);
}

/* ---- load_checkpoint_states ---- */

/* The names of a list, with commas between; NULL after an error. */
static char *join_names(struct conf_parse *p, const char *path, const struct conf_node *list)
{
    struct conf_text all = {0};
    char shown[CONF_QUOTE_BYTES], *joined = NULL;
    for (int i = 0; i < list->n; i++) {
        const struct conf_node *one = list->entry[i].value;
        if (one->kind == CONF_NODE_SCALAR && *one->text && !conf_node_is_null(one)) {
            conf_text_add(&all, "%s%s", i ? "," : "", one->text);
            continue;
        }
        conf_diag_error(p->diag, one->pos, path, "expected a name, got %s",
                        conf_node_describe(one, shown));
        wsc_free(all.text);
        return NULL;
    }
    if (conf_text_take(&all, &joined)) p->diag->no_memory = true;
    return joined;
}

/* What a checkpoint can hold, in a text with commas. */
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

void zoo_write_states(struct conf_text *out, const void *field, int indent)
{
    const char *text = *(char *const *)field;
    (void)indent;
    conf_text_add(out, " ");
    if (text)
        conf_text_string(out, text);
    else
        conf_text_add(out, "null");
}

/* ---- initializers ---- */

/* Names of one kind are those of PyTorch and of TensorFlow for special cases of variance scaling:
 * `value` is its scale. */
static const struct init_row {
    const char *name;
    struct zoo_init start;
} init_rows[] = {
#define PLAIN(name, kind_)                                                                         \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            .kind = (kind_), .std = 0.05                                                           \
        }                                                                                          \
    }
#define SCALED(name, v, f, dist)                                                                   \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            .kind = ZOO_INIT_VARIANCE_SCALING, .value = (v), .fan = (f), .distribution = (dist)    \
        }                                                                                          \
    }
    PLAIN("constant", ZOO_INIT_CONSTANT),
    PLAIN("zeros", ZOO_INIT_ZEROS),
    PLAIN("ones", ZOO_INIT_ONES),
    PLAIN("normal", ZOO_INIT_NORMAL),
    PLAIN("truncated_normal", ZOO_INIT_TRUNCATED_NORMAL),
    PLAIN("uniform", ZOO_INIT_UNIFORM),
    PLAIN("eye", ZOO_INIT_EYE),
    SCALED("variance_scaling", 1, ZOO_FAN_IN, ZOO_INIT_TRUNCATED_NORMAL),
    SCALED("xavier_normal", 1, ZOO_FAN_AVG, ZOO_INIT_NORMAL),
    SCALED("xavier_uniform", 1, ZOO_FAN_AVG, ZOO_INIT_UNIFORM),
    SCALED("glorot_normal", 1, ZOO_FAN_AVG, ZOO_INIT_NORMAL),
    SCALED("glorot_uniform", 1, ZOO_FAN_AVG, ZOO_INIT_UNIFORM),
    SCALED("lecun_normal", 1, ZOO_FAN_IN, ZOO_INIT_TRUNCATED_NORMAL),
    SCALED("lecun_uniform", 1, ZOO_FAN_IN, ZOO_INIT_UNIFORM),
    SCALED("kaiming_normal", 2, ZOO_FAN_IN, ZOO_INIT_NORMAL),
    SCALED("kaiming_uniform", 2, ZOO_FAN_IN, ZOO_INIT_UNIFORM),
#undef PLAIN
#undef SCALED
};
enum { N_INIT_ROWS = sizeof init_rows / sizeof *init_rows };
static const struct conf_choice fans[CONF_MAX_CHOICES] = {
    {"fan_in", ZOO_FAN_IN}, {"fan_out", ZOO_FAN_OUT}, {"fan_avg", ZOO_FAN_AVG}};
static const struct conf_choice distributions[CONF_MAX_CHOICES] = {
    {"truncated_normal", ZOO_INIT_TRUNCATED_NORMAL},
    {"normal", ZOO_INIT_NORMAL},
    {"uniform", ZOO_INIT_UNIFORM}};

/* The row of a name, or NULL after an error. */
static const struct init_row *find_init(struct conf_parse *p, const char *path,
                                        const struct conf_node *name)
{
    struct conf_choice names[CONF_MAX_CHOICES] = {0};
    _Static_assert((int)N_INIT_ROWS < (int)CONF_MAX_CHOICES, "initializers that can be listed");
    for (int i = 0; i < N_INIT_ROWS; i++)
        names[i] = (struct conf_choice){init_rows[i].name, i};
    const int i = conf_choice_find(names, name);
    if (i < 0) conf_key_unsupported(p, path, name, names);
    return i < 0 ? NULL : &init_rows[i];
}

/* A word of the map, NULL left out; false after an error. */
static bool read_word(struct conf_parse *p, const char *path, const struct conf_node *map,
                      const char *key, const struct conf_choice *words, int *out)
{
    char full[CONF_MAX_PATH];
    const struct conf_node *node = conf_node_find(map, key);
    if (conf_node_is_null(node)) return true;
    const int i = conf_choice_find(words, node);
    (void)snprintf(full, sizeof full, "%.100s.%s", path, key);
    if (i < 0)
        conf_key_unsupported(p, full, node, words);
    else
        *out = words[i].value;
    return i >= 0;
}

static void check_init(struct conf_parse *p, const char *path, const struct conf_node *node,
                       const struct zoo_init *init)
{
    bool random = init->kind == ZOO_INIT_NORMAL || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == ZOO_INIT_UNIFORM || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    if (init->kind == ZOO_INIT_VARIANCE_SCALING && !(init->value > 0))
        conf_diag_error(p->diag, node->pos, path, "scale must be greater than 0, got %.15g",
                        init->value);
    else if (random && !(init->std > 0))
        conf_diag_error(p->diag, node->pos, path, "std must be greater than 0, got %.15g",
                        init->std);
    else if (bounded && !(init->a < init->b))
        conf_diag_error(p->diag, node->pos, path, "a must be less than b, got %.15g and %.15g",
                        init->a, init->b);
}

/* Defaults of the Model Zoo: mean 0, std 0.05, uniform on (-0.05, 0.05), truncated at two
 * standard deviations; bounds are absolute values. */
static bool read_init_map(struct conf_parse *p, const char *path, const struct conf_node *map,
                          struct zoo_init *init)
{
    bool has_a = false, has_b = false, has_gain = false;
    double gain = 1;
    int fan = (int)init->fan, distribution = (int)init->distribution;
    const bool scaled = init->kind == ZOO_INIT_VARIANCE_SCALING;
    const struct conf_part plain[] = {
        {"name", NULL, NULL, NULL},      {"mean", &init->mean, NULL, NULL},
        {"std", &init->std, NULL, NULL}, {"a", &init->a, NULL, &has_a},
        {"b", &init->b, NULL, &has_b},   {"val", &init->value, NULL, NULL}};
    const struct conf_part of_scaled[] = {{"name", NULL, NULL, NULL},
                                          {"scale", &init->value, NULL, NULL},
                                          {"gain", &gain, NULL, &has_gain},
                                          {"mode", NULL, NULL, NULL},
                                          {"distribution", NULL, NULL, NULL}};
    if (map->kind == CONF_NODE_MAP && !(scaled ? conf_read_parts(p, path, map, of_scaled, 5)
                                               : conf_read_parts(p, path, map, plain, 6)))
        return false;
    if (scaled && !(read_word(p, path, map, "mode", fans, &fan) &&
                    read_word(p, path, map, "distribution", distributions, &distribution)))
        return false;
    init->fan = (enum zoo_fan)fan;
    init->distribution = (enum zoo_init_kind)distribution;
    if (has_gain) init->value *= gain * gain;
    const double width = init->kind == ZOO_INIT_UNIFORM ? 0.05 : 2 * init->std;
    if (!has_a) init->a = -width;
    if (!has_b) init->b = width;
    return true;
}

void zoo_read_initializer(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field)
{
    if (conf_node_is_null(node)) return;
    const struct conf_node *name =
        node->kind == CONF_NODE_MAP ? conf_node_find(node, "name") : node;
    if (!name) {
        conf_diag_error(p->diag, node->pos, key->path, "name is missing");
        return;
    }
    const struct init_row *row = find_init(p, key->path, name);
    if (!row) return;
    struct zoo_init init = row->start;
    if (!read_init_map(p, key->path, node, &init)) return;
    check_init(p, key->path, node, &init);
    *(struct zoo_init *)field = init;
}

static const char *word_of(const struct conf_choice *words, int value)
{
    while (words->value != value)
        words++;
    return words->name;
}

void zoo_write_initializer(struct conf_text *out, const void *field, int indent)
{
    const struct zoo_init *init = field;
    (void)indent;
    if (init->kind == ZOO_INIT_DEFAULT) {
        conf_text_add(out, " null");
        return;
    }
    const struct {
        const char *name;
        double value;
    } parts[] = {{"mean", init->mean},
                 {"std", init->std},
                 {"a", init->a},
                 {"b", init->b},
                 {"val", init->value}};
    const char *name = "";
    for (int i = N_INIT_ROWS - 1; i >= 0; i--)
        if (init_rows[i].start.kind == init->kind) name = init_rows[i].name;
    conf_text_add(out, " {name: %s", name);
    if (init->kind == ZOO_INIT_VARIANCE_SCALING) {
        conf_text_add(out, ", mode: %s, distribution: %s, scale: ", word_of(fans, (int)init->fan),
                      word_of(distributions, (int)init->distribution));
        conf_text_double(out, init->value);
        conf_text_add(out, "}");
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        conf_text_add(out, ", %s: ", parts[i].name);
        conf_text_double(out, parts[i].value);
    }
    conf_text_add(out, "}");
}
