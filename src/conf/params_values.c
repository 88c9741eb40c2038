// SPDX-License-Identifier: Apache-2.0
/* Params keys whose values have a form of their own. */
#include "conf_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- data_dir, micro_batch_size, betas, loss_scaling_factor ---- */

static void add_dir(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    struct conf_input *in)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node) || !*node->text) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a directory, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    char *copy = wsc_strdup(WSC_MEM_CONF, node->text);
    if (copy)
        in->data_dir[in->n_data_dirs++] = copy;
    else
        p->diag->no_memory = true;
}

void conf_read_data_dir(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *input)
{
    struct conf_input *in = input;
    if (node->kind != CONF_NODE_LIST) {
        add_dir(p, key, node, in);
    } else if (!node->n || node->n > CONF_MAX_DIRS) {
        conf_diag_error(p->diag, node->pos, key->path, "expected 1 to %d directories, got %d",
                        CONF_MAX_DIRS, node->n);
    } else {
        for (int i = 0; i < node->n; i++)
            add_dir(p, key, node->entry[i].value, in);
    }
}

void conf_write_data_dir(struct conf_text *out, const void *input, int indent)
{
    const struct conf_input *in = input;
    for (int i = 0; i < in->n_data_dirs; i++) {
        conf_text_add(out, "\n%*s- ", indent, "");
        conf_text_string(out, in->data_dir[i]);
    }
}

void conf_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                           const struct conf_node *node, void *field)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {
        {"auto", 0}, {"null", 1}, {"a whole number", 2}};
    int64_t *out = field, value;
    int word = conf_choice_find(words, node);
    if (word == 0 || word == 1) {
        *out = word ? CONF_NULL : CONF_AUTO;
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &value) != WSC_OK) {
        conf_key_unsupported(p, key->path, node, words);
    } else if (value < 1) {
        conf_diag_error(p->diag, node->pos, key->path, "must be at least 1, got %lld",
                        (long long)value);
    } else {
        *out = value;
    }
}

void conf_write_micro_batch(struct conf_text *out, const void *field, int indent)
{
    int64_t value = *(const int64_t *)field;
    (void)indent;
    if (value == CONF_NULL || value == CONF_AUTO)
        conf_text_add(out, " %s", value == CONF_NULL ? "null" : "auto");
    else
        conf_text_add(out, " %lld", (long long)value);
}

void conf_read_betas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *optimizer)
{
    struct conf_optimizer *o = optimizer;
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_LIST || node->n != 2) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of two numbers, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    p->seen[conf_keys_find(p->table, "optimizer.beta1")] = true;
    p->seen[conf_keys_find(p->table, "optimizer.beta2")] = true;
    (void)(conf_read_double(p, key->path, node->entry[0].value, &o->beta1) &&
           conf_read_double(p, key->path, node->entry[1].value, &o->beta2));
}

void conf_write_betas(struct conf_text *out, const void *optimizer, int indent)
{
    const struct conf_optimizer *o = optimizer;
    (void)indent;
    conf_text_add(out, " [");
    conf_text_double(out, o->beta1);
    conf_text_add(out, ", ");
    conf_text_double(out, o->beta2);
    conf_text_add(out, "]");
}

void conf_read_loss_scale(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {{"dynamic", 0}, {"null", 1}};
    char shown[CONF_QUOTE_BYTES];
    double *out = field, value;
    int word = conf_choice_find(words, node);
    if (word >= 0) {
        *out = word ? 1 : CONF_LOSS_SCALE_DYNAMIC;
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_double(node->text, &value) != WSC_OK) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a number or dynamic, got %s",
                        conf_node_describe(node, shown));
    } else if (!(value > 0)) {
        conf_diag_error(p->diag, node->pos, key->path, "must be greater than 0, got %s",
                        conf_node_describe(node, shown));
    } else {
        *out = value;
    }
}

void conf_write_loss_scale(struct conf_text *out, const void *field, int indent)
{
    double value = *(const double *)field;
    (void)indent;
    conf_text_add(out, " ");
    if (value == CONF_LOSS_SCALE_DYNAMIC)
        conf_text_add(out, "dynamic");
    else
        conf_text_double(out, value);
}

/* ---- maps with their own keys ---- */

static const struct conf_part *find_part(const struct conf_part *parts, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(parts[i].name, key)) return &parts[i];
    return NULL;
}

static void unknown_part(struct conf_parse *p, const char *path, const struct conf_entry *entry,
                         const struct conf_part *parts, int n)
{
    char full[CONF_MAX_PATH], hint[CONF_MAX_PATH] = "";
    int best = (int)strlen(entry->key) / 3 + 1;
    (void)snprintf(full, sizeof full, "%s.%.80s", path, entry->key);
    for (int i = 0; i < n; i++) {
        int d = wsc_units_distance(entry->key, parts[i].name);
        if (d >= best) continue;
        best = d;
        (void)snprintf(hint, sizeof hint, "; hint: did you mean %s?", parts[i].name);
    }
    conf_diag_error(p->diag, entry->key_pos, full, "unknown key%s", hint);
}

bool conf_read_parts(struct conf_parse *p, const char *path, const struct conf_node *map,
                     const struct conf_part *parts, int n)
{
    bool ok = true;
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        const struct conf_part *part = find_part(parts, n, e->key);
        char full[CONF_MAX_PATH];
        (void)snprintf(full, sizeof full, "%s.%.80s", path, e->key);
        if (!part) {
            unknown_part(p, path, e, parts, n);
            ok = false;
        } else if (!conf_node_is_null(e->value)) {
            if (part->given) *part->given = true;
            if (part->real) ok = conf_read_double(p, full, e->value, part->real) && ok;
            if (part->whole) ok = conf_read_int(p, full, e->value, part->whole) && ok;
        }
    }
    return ok;
}

/* ---- data_transforms ---- */

static void read_transform(struct conf_parse *p, const char *path, const struct conf_node *node,
                           struct conf_input *in)
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

void conf_read_transforms(struct conf_parse *p, const struct conf_key *key,
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

void conf_write_transforms(struct conf_text *out, const void *input, int indent)
{
    const struct conf_input *in = input;
    if (!in->sink_tokens) {
        conf_text_add(out, " null");
        return;
    }
    conf_text_add(out, "\n%*s- {name: add_sink_tokens, num_sink_tokens: %lld, sink_token_id: %lld}",
                  indent, "", (long long)in->sink_tokens, (long long)in->sink_token_id);
}

/* ---- initializers ---- */

static const struct conf_choice init_names[CONF_MAX_CHOICES] = {
    {"constant", CONF_INIT_CONSTANT},
    {"zeros", CONF_INIT_ZEROS},
    {"ones", CONF_INIT_ONES},
    {"normal", CONF_INIT_NORMAL},
    {"truncated_normal", CONF_INIT_TRUNCATED_NORMAL},
    {"uniform", CONF_INIT_UNIFORM}};

static void check_init(struct conf_parse *p, const char *path, const struct conf_node *node,
                       const struct conf_init *init)
{
    bool random = init->kind == CONF_INIT_NORMAL || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == CONF_INIT_UNIFORM || init->kind == CONF_INIT_TRUNCATED_NORMAL;
    if (random && !(init->std > 0))
        conf_diag_error(p->diag, node->pos, path, "std must be greater than 0, got %.15g",
                        init->std);
    else if (bounded && !(init->a < init->b))
        conf_diag_error(p->diag, node->pos, path, "a must be less than b, got %.15g and %.15g",
                        init->a, init->b);
}

/* Defaults of the Model Zoo: mean 0, std 0.05, uniform on (-0.05, 0.05), truncated at two
 * standard deviations; bounds are absolute values. */
void conf_read_initializer(struct conf_parse *p, const struct conf_key *key,
                           const struct conf_node *node, void *field)
{
    struct conf_init init = {.std = 0.05};
    bool has_a = false, has_b = false;
    if (conf_node_is_null(node)) return;
    const struct conf_node *name =
        node->kind == CONF_NODE_MAP ? conf_node_find(node, "name") : node;
    if (!name) {
        conf_diag_error(p->diag, node->pos, key->path, "name is missing");
        return;
    }
    int kind = conf_choice_find(init_names, name);
    if (kind < 0) {
        conf_key_unsupported(p, key->path, name, init_names);
        return;
    }
    init.kind = (enum conf_init_kind)init_names[kind].value;
    const struct conf_part parts[] = {
        {"name", NULL, NULL, NULL},     {"mean", &init.mean, NULL, NULL},
        {"std", &init.std, NULL, NULL}, {"a", &init.a, NULL, &has_a},
        {"b", &init.b, NULL, &has_b},   {"val", &init.value, NULL, NULL}};
    if (node->kind == CONF_NODE_MAP && !conf_read_parts(p, key->path, node, parts, 6)) return;
    double width = init.kind == CONF_INIT_UNIFORM ? 0.05 : 2 * init.std;
    if (!has_a) init.a = -width;
    if (!has_b) init.b = width;
    check_init(p, key->path, node, &init);
    *(struct conf_init *)field = init;
}

void conf_write_initializer(struct conf_text *out, const void *field, int indent)
{
    const struct conf_init *init = field;
    (void)indent;
    if (init->kind == CONF_INIT_DEFAULT) {
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
    for (int i = 0; i < CONF_MAX_CHOICES && init_names[i].name; i++)
        if (init_names[i].value == (int)init->kind) name = init_names[i].name;
    conf_text_add(out, " {name: %s", name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        conf_text_add(out, ", %s: ", parts[i].name);
        conf_text_double(out, parts[i].value);
    }
    conf_text_add(out, "}");
}

/* ---- learning rate ---- */

static const struct conf_choice schedulers[CONF_MAX_CHOICES] = {
    {"Constant", CONF_LR_CONSTANT}, {"Linear", CONF_LR_LINEAR}, {"CosineDecay", CONF_LR_COSINE}};

/* "Linear", "linear", "LinearLR": the suffix and the case do not count. */
static int find_scheduler(const struct conf_node *node)
{
    char name[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || strlen(node->text) >= sizeof name) return -1;
    size_t n = strlen(node->text);
    memcpy(name, node->text, n + 1);
    if (n > 2 && !strcasecmp(name + n - 2, "LR")) name[n - 2] = '\0';
    for (int i = 0; i < 3; i++)
        if (!strcasecmp(name, schedulers[i].name)) return i;
    return -1;
}

static void warn_old_phase_keys(struct conf_parse *p, const char *path, const struct conf_node *map)
{
    static const char *const text[][2] = {{"steps", "old spelling: write total_iters"},
                                          {"decay_steps", "old spelling: write total_iters"},
                                          {"alpha", "ignored: no longer a key"},
                                          {"disable_lr_steps_reset", "ignored: no longer a key"}};
    char full[CONF_MAX_PATH];
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        int k = conf_node_index(map, text[i][0]);
        if (k < 0) continue;
        (void)snprintf(full, sizeof full, "%s.%s", path, text[i][0]);
        conf_diag_warn(p->diag, map->entry[k].key_pos, full, "%s", text[i][1]);
    }
}

/* Which of a phase's numbers were in the file. */
struct phase_given {
    bool first, last, constant;
};

static void check_phase(struct conf_parse *p, const char *path, const struct conf_node *map,
                        const struct conf_lr_phase *phase, const struct phase_given *given)
{
    bool constant = phase->scheduler == CONF_LR_CONSTANT;
    const char *missing = NULL;
    if (constant && !given->constant && !given->first) missing = "learning_rate";
    if (!constant && !given->last) missing = "end_learning_rate";
    if (!constant && !given->first) missing = "initial_learning_rate";
    if (missing) conf_diag_error(p->diag, map->pos, path, "%s is missing", missing);
    if (!(phase->initial_learning_rate >= 0) || !(phase->end_learning_rate >= 0))
        conf_diag_error(p->diag, map->pos, path, "a learning rate must not be negative");
    if (phase->total_iters != CONF_NULL && phase->total_iters < 1)
        conf_diag_error(p->diag, map->pos, path, "total_iters must be at least 1, got %lld",
                        (long long)phase->total_iters);
    if (!constant && phase->total_iters == CONF_NULL)
        conf_diag_error(p->diag, map->pos, path, "total_iters is missing");
}

static void read_phase(struct conf_parse *p, const char *path, const struct conf_node *map,
                       struct conf_lr_phase *phase)
{
    struct phase_given given = {0};
    char shown[CONF_QUOTE_BYTES];
    double rate = 0;
    phase->total_iters = CONF_NULL;
    const struct conf_node *name = conf_node_find(map, "scheduler");
    if (!name) {
        conf_diag_error(p->diag, map->pos, path, "expected a map with a scheduler, got %s",
                        conf_node_describe(map, shown));
        return;
    }
    int i = find_scheduler(name);
    if (i < 0) {
        conf_key_unsupported(p, path, name, schedulers);
        return;
    }
    phase->scheduler = (enum conf_scheduler)schedulers[i].value;
    const struct conf_part parts[] = {
        {"scheduler", NULL, NULL, NULL},
        {"initial_learning_rate", &phase->initial_learning_rate, NULL, &given.first},
        {"end_learning_rate", &phase->end_learning_rate, NULL, &given.last},
        {"learning_rate", &rate, NULL, &given.constant},
        {"total_iters", NULL, &phase->total_iters, NULL},
        {"steps", NULL, &phase->total_iters, NULL},
        {"decay_steps", NULL, &phase->total_iters, NULL},
        {"alpha", NULL, NULL, NULL},
        {"disable_lr_steps_reset", NULL, NULL, NULL}};
    warn_old_phase_keys(p, path, map);
    if (!conf_read_parts(p, path, map, parts, sizeof parts / sizeof *parts)) return;
    if (given.constant) phase->initial_learning_rate = rate;
    if (phase->scheduler == CONF_LR_CONSTANT)
        phase->end_learning_rate = phase->initial_learning_rate;
    check_phase(p, path, map, phase, &given);
}

static void read_phases(struct conf_parse *p, const char *path, const struct conf_node *list,
                        struct conf_optimizer *o)
{
    if (!list->n || list->n > CONF_MAX_PHASES) {
        conf_diag_error(p->diag, list->pos, path, "expected 1 to %d phases, got %d",
                        CONF_MAX_PHASES, list->n);
        return;
    }
    for (int i = 0; i < list->n; i++) {
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%s[%d]", path, i);
        struct conf_lr_phase *phase = &o->phase[o->n_phases++];
        int before = p->diag->n_errors;
        read_phase(p, place, list->entry[i].value, phase);
        bool endless = p->diag->n_errors == before && phase->total_iters == CONF_NULL;
        if (endless && i + 1 < list->n)
            conf_diag_error(p->diag, list->entry[i].value->pos, place,
                            "total_iters is missing; without it no later phase begins");
    }
}

void conf_read_learning_rate(struct conf_parse *p, const struct conf_key *key,
                             const struct conf_node *node, void *optimizer)
{
    struct conf_optimizer *o = optimizer;
    double rate;
    if (node->kind == CONF_NODE_LIST) {
        read_phases(p, key->path, node, o);
    } else if (node->kind == CONF_NODE_MAP) {
        read_phase(p, key->path, node, &o->phase[o->n_phases++]);
    } else if (conf_read_double(p, key->path, node, &rate)) {
        if (rate < 0)
            conf_diag_error(p->diag, node->pos, key->path, "a learning rate must not be negative");
        o->phase[o->n_phases++] = (struct conf_lr_phase){.scheduler = CONF_LR_CONSTANT,
                                                         .initial_learning_rate = rate,
                                                         .end_learning_rate = rate,
                                                         .total_iters = CONF_NULL};
    }
}

void conf_write_learning_rate(struct conf_text *out, const void *optimizer, int indent)
{
    const struct conf_optimizer *o = optimizer;
    for (int i = 0; i < o->n_phases; i++) {
        const struct conf_lr_phase *phase = &o->phase[i];
        bool constant = phase->scheduler == CONF_LR_CONSTANT;
        conf_text_add(out, "\n%*s- {scheduler: %s, %s: ", indent, "",
                      schedulers[phase->scheduler].name,
                      constant ? "learning_rate" : "initial_learning_rate");
        conf_text_double(out, phase->initial_learning_rate);
        if (!constant) {
            conf_text_add(out, ", end_learning_rate: ");
            conf_text_double(out, phase->end_learning_rate);
        }
        if (phase->total_iters != CONF_NULL)
            conf_text_add(out, ", total_iters: %lld", (long long)phase->total_iters);
        conf_text_add(out, "}");
    }
}
