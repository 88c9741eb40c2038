// SPDX-License-Identifier: Apache-2.0
/* Keys of fine-tuning with special values: `freeze`, a list of expressions; `lora_params` and
 * `selective_grad`, a map or a list of maps, bare or in the form of the callbacks of the trainer
 * style. The rows of params_keys.c name the readers and writers; src/model/model_tuning.c applies
 * the values to tensors. */
#include "name_patterns.h"
#include "params_values.h"

#include <wsc/mem.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

/* ---- freeze ---------------------------------------------------------------------------------- */

void zoo_read_freeze(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field)
{
    struct zoo_patterns *patterns = field;
    patterns->expressions = true;
    zoo_patterns_read(p, key->path, node, patterns);
}

void zoo_write_freeze(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    (void)at;
    zoo_patterns_write(out, field);
}

/* ---- lora_params ----------------------------------------------------------------------------- */

/* Read names of classes and attributes. Numbers of layers are refused, because layers would have
 * different tensors. */
static void read_targets(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *entry)
{
    struct zoo_lora *lora = entry;
    const bool list = node->kind == CONF_NODE_LIST;
    char shown[CONF_QUOTE_BYTES];
    for (int i = 0; i < (list ? node->n : 1); i++) {
        const struct conf_node *name = list ? node->entry[i].value : node;
        const bool text = name->kind == CONF_NODE_SCALAR && !conf_node_is_null(name);
        if (!text || !*name->text || strpbrk(name->text, " 0123456789") == name->text) {
            conf_diag_error(p->diag, name->pos, key->path,
                            "expected the name of a class or an attribute, got %s",
                            conf_node_describe(name, shown));
            return;
        }
        if (lora->n_targets == ZOO_MAX_TARGETS) {
            conf_diag_error(p->diag, name->pos, key->path, "more than %d names", ZOO_MAX_TARGETS);
            return;
        }
        char *copy = wsc_strdup(WSC_MEM_CONF, name->text);
        if (copy) lora->target[lora->n_targets++] = copy;
        p->diag->no_memory = p->diag->no_memory || !copy;
    }
}

#define KEY(n, f) .path = (n), .offset = offsetof(struct zoo_lora, f)
static const struct conf_key lora_keys[] = {
    {KEY("r", r), .type = CONF_T_INT, .required = true, .min = 1, .max = 1024,
     .doc = "rank of the adapters"},
    {KEY("alpha", alpha), .type = CONF_T_DOUBLE, .nullable = true, .fallback = "1",
     .positive = true, .max = DBL_MAX, .doc = "their product is multiplied by alpha / r"},
    {KEY("dropout", dropout), .type = CONF_T_DOUBLE, .nullable = true, .fallback = "0", .max = 1,
     .below_max = true, .doc = "of their input, in training"},
    {.path = "fan_in_fan_out",
     .type = CONF_T_CHOICE,
     .status = CONF_ONLY,
     .choices = CONF_CHOICES({"null", 0}, {"false", 0}),
     .refusal = "weights of shape (in, out) are not supported"},
    {KEY("merge_weights", merge_weights), .type = CONF_T_BOOL, .nullable = true,
     .fallback = "false", .doc = "without effect: `wsc convert` merges"},
    {.path = "target_modules",
     .type = CONF_T_SPECIAL,
     .read = read_targets,
     .nullable = true,
     .form = "name or list of names",
     .doc = "classes and attributes that all stand on the way to a module; null: all modules"},
};
enum { N_LORA_KEYS = sizeof lora_keys / sizeof *lora_keys };

static void read_lora(struct conf_parse *p, const char *path, const struct conf_node *node,
                      struct zoo_loras *list)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with r, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    if (list->n == ZOO_MAX_LORAS) {
        conf_diag_error(p->diag, node->pos, path, "more than %d entries", ZOO_MAX_LORAS);
        return;
    }
    if (!list->entry) list->entry = wsc_alloc(WSC_MEM_CONF, ZOO_MAX_LORAS, sizeof *list->entry);
    if (!list->entry) {
        p->diag->no_memory = true;
        return;
    }
    const struct conf_record record = {.path = path,
                                       .map = node,
                                       .key = lora_keys,
                                       .n = N_LORA_KEYS,
                                       .out = &list->entry[list->n++]};
    (void)conf_record_read(p, &record);
}

/* A callback has its argument under the name of the key. */
void zoo_read_lora(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *field)
{
    const struct conf_node *inner = conf_node_find(node, "lora_params");
    if (node->kind == CONF_NODE_MAP && inner) node = inner;
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST) read_lora(p, key->path, node, field);
    for (int i = 0; node->kind == CONF_NODE_LIST && i < node->n; i++) {
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "%.150s[%d]", key->path, i);
        read_lora(p, path, node->entry[i].value, field);
    }
}

void zoo_write_lora(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_loras *list = field;
    if (!list->n) wsc_text_add(out, " null");
    for (int i = 0; i < list->n; i++) {
        const struct zoo_lora *lora = &list->entry[i];
        wsc_text_add(out, "\n%*s- {r: %lld, alpha: ", at->indent, "", (long long)lora->r);
        conf_text_double(out, lora->alpha);
        wsc_text_add(out, ", dropout: ");
        conf_text_double(out, lora->dropout);
        wsc_text_add(out, ", merge_weights: %s", lora->merge_weights ? "true" : "false");
        for (int k = 0; k < lora->n_targets; k++) {
            wsc_text_add(out, "%s", k ? ", " : ", target_modules: [");
            conf_text_string(out, lora->target[k]);
        }
        wsc_text_add(out, "%s}", lora->n_targets ? "]" : "");
    }
}

static bool has_target(const char *modules, const char *target)
{
    const size_t n = strlen(target);
    for (const char *at = strstr(modules, target); at; at = strstr(at + 1, target))
        if (at > modules && at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

const struct zoo_lora *zoo_lora_find(const struct zoo_loras *loras, const char *modules)
{
    for (int i = 0; i < loras->n; i++) {
        const struct zoo_lora *lora = &loras->entry[i];
        int found = 0;
        for (int k = 0; k < lora->n_targets; k++)
            found += has_target(modules, lora->target[k]);
        if (found == lora->n_targets) return lora;
    }
    return NULL;
}

/* ---- selective_grad -------------------------------------------------------------------------- */

static void read_filter(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *field)
{
    struct zoo_selective *s = field;
    if (!conf_node_is_null(node)) zoo_patterns_read(p, key->path, node, &s->names);
}

static const struct conf_key selective_keys[] = {
    {.path = "param_filter",
     .type = CONF_T_SPECIAL,
     .read = read_filter,
     .nullable = true,
     .form = "glob or list of globs",
     .doc = "names of tensors; null: matrices but those of embeddings and the output layer"},
    {.path = "init_method",
     .type = CONF_T_CHOICE,
     .status = CONF_ONLY,
     .choices = CONF_CHOICES({"null", 0}, {"outlier", 0}),
     .doc = "weights with |w| >= 2.25 std of the |w| of their column"},
};

static void read_selective(struct conf_parse *p, const char *path, const struct conf_node *node,
                           struct zoo_selective *s)
{
    const struct conf_record record = {.path = path,
                                       .map = node,
                                       .key = selective_keys,
                                       .n = sizeof selective_keys / sizeof *selective_keys,
                                       .out = s};
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with param_filter, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    s->on = true;
    s->by_default = s->by_default || conf_node_is_null(conf_node_find(node, "param_filter"));
    (void)conf_record_read(p, &record);
}

/* A callback has its argument under selective_grads. */
void zoo_read_selective(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *field)
{
    struct zoo_selective *s = field;
    const struct conf_node *inner = conf_node_find(node, "selective_grads");
    if (node->kind == CONF_NODE_MAP && inner) node = inner;
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST) read_selective(p, key->path, node, s);
    for (int i = 0; node->kind == CONF_NODE_LIST && i < node->n; i++) {
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "%.150s[%d]", key->path, i);
        read_selective(p, path, node->entry[i].value, s);
    }
}

void zoo_write_selective(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_selective *s = field;
    if (!s->on) wsc_text_add(out, " null");
    if (s->by_default) wsc_text_add(out, "\n%*s- {init_method: outlier}", at->indent, "");
    if (!s->names.n) return;
    wsc_text_add(out, "\n%*s- {init_method: outlier, param_filter:", at->indent, "");
    zoo_patterns_write(out, &s->names);
    wsc_text_add(out, "}");
}

bool zoo_selective_takes(const struct zoo_selective *s, const char *name, int n_dims)
{
    return (s->by_default && zoo_sparsity_by_default(name, n_dims)) ||
           zoo_patterns_find(&s->names, name) >= 0;
}

void zoo_tuning_fini(struct zoo_model *model)
{
    zoo_patterns_fini(&model->freeze);
    zoo_patterns_fini(&model->selective_grad.names);
    for (int i = 0; i < model->lora_params.n; i++)
        for (int k = 0; k < model->lora_params.entry[i].n_targets; k++)
            wsc_free(model->lora_params.entry[i].target[k]);
    wsc_free(model->lora_params.entry);
    model->lora_params = (struct zoo_loras){0};
}
