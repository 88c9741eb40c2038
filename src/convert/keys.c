// SPDX-License-Identifier: Apache-2.0
#include "families.h"

#include <wsc/units.h>

#include <string.h>

/* ---- reading config.json --------------------------------------------------------------------- */

/* A whole number under @p name or @p old; @p missing when it is null or not there. */
static enum wsc_err read_int(const struct convert_yaml *y, const char *name, const char *old,
                             int64_t missing, int64_t *value)
{
    const struct convert_key key = {
        .hf = name, .old_hf = old, .type = CONVERT_INT, .missing = "null"};
    char text[CONVERT_VALUE_BYTES];
    *value = missing;
    TRY(convert_config_value(&key, y->path, y->config, text));
    if (!strcmp(text, "null")) return WSC_OK;
    return wsc_units_int(text, value);
}

static enum wsc_err read_positive(const struct convert_yaml *y, const char *name, const char *old,
                                  int64_t *value)
{
    *value = 1;
    TRY(read_int(y, name, old, 0, value));
    if (*value > 0 && *value <= INT32_MAX) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: %s: expected a positive whole number", y->path, name);
}

static enum wsc_err read_heads(const struct convert_yaml *y, int64_t *hidden, int64_t *heads)
{
    TRY(read_positive(y, "hidden_size", "n_embd", hidden));
    TRY(read_positive(y, "num_attention_heads", "n_head", heads));
    if (*heads > 0 && *hidden % *heads == 0) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: %lld heads do not divide a width of %lld", y->path,
                     (long long)*heads, (long long)*hidden);
}

static enum wsc_err read_head_dim(const struct convert_yaml *y, int64_t *head_dim)
{
    int64_t hidden = 1, heads = 1;
    TRY(read_heads(y, &hidden, &heads));
    *head_dim = heads > 0 ? hidden / heads : 1;
    return WSC_OK;
}

/* ---- width of the feed-forward network ------------------------------------------------------- */

static enum wsc_err filter_to_cs(struct convert_yaml *y, const char *name, const char *hidden_name,
                                 const char *old)
{
    int64_t hidden = 1, filter = 0;
    TRY(read_positive(y, hidden_name, old, &hidden));
    if (name) TRY(read_int(y, name, NULL, 0, &filter));
    convert_yaml_add(y, "filter_size", "%lld", (long long)(filter ? filter : 4 * hidden));
    return WSC_OK;
}

enum wsc_err convert_inner_to_cs(struct convert_yaml *y)
{
    return filter_to_cs(y, "n_inner", "n_embd", NULL);
}

enum wsc_err convert_inner_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "n_inner", json_integer(cs->model->F));
}

enum wsc_err convert_ffn_hidden_to_cs(struct convert_yaml *y)
{
    return filter_to_cs(y, "ffn_hidden_size", "hidden_size", NULL);
}

enum wsc_err convert_ffn_hidden_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "ffn_hidden_size", json_integer(cs->model->F));
}

enum wsc_err convert_four_hidden_to_cs(struct convert_yaml *y)
{
    return filter_to_cs(y, NULL, "hidden_size", "n_embed");
}

enum wsc_err convert_four_hidden_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->F == 4 * cs->model->C) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model.filter_size: a %s model has four times the width",
                     cs->params->file, cs->family->name);
}

/* ---- rotary embedding ------------------------------------------------------------------------ */

enum wsc_err convert_head_dim_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1, given = 1;
    TRY(read_head_dim(y, &head_dim));
    TRY(read_int(y, "head_dim", NULL, head_dim, &given));
    if (given != head_dim)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: head_dim: %lld is not supported, only width / heads = %lld", y->path,
                         (long long)given, (long long)head_dim);
    convert_yaml_add(y, "rotary_dim", "%lld", (long long)head_dim);
    return WSC_OK;
}

enum wsc_err convert_head_dim_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->rotary_dim == cs->model->head_dim) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model.rotary_dim: a %s model rotates whole heads of %lld",
                     cs->params->file, cs->family->name, (long long)cs->model->head_dim);
}

enum wsc_err convert_rotary_pct_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1;
    const json_t *share = json_object_get(y->config, "rotary_pct");
    const double pct = share ? json_number_value(share) : 0.25;
    TRY(read_head_dim(y, &head_dim));
    if (!(pct > 0 && pct <= 1))
        return WSC_RAISE(WSC_FORMAT, "%s: rotary_pct: expected a number above 0, at most 1",
                         y->path);
    convert_yaml_add(y, "rotary_dim", "%lld", (long long)((double)head_dim * pct));
    return WSC_OK;
}

enum wsc_err convert_rotary_pct_to_hf(json_t *config, const struct convert_side *cs)
{
    const double pct = (double)cs->model->rotary_dim / (double)cs->model->head_dim;
    return convert_config_set(config, "rotary_pct", json_real(pct));
}

static const char *const llama3_key[] = {"low_freq_factor", "high_freq_factor",
                                         "original_max_position_embeddings"};
enum { N_LLAMA3_KEYS = sizeof llama3_key / sizeof *llama3_key };

static enum wsc_err llama3_to_cs(struct convert_yaml *y, const json_t *scaling)
{
    convert_yaml_add(y, "pos_scaling_type", "llama3");
    (void)fprintf(y->out, "    pos_scaling_extra_args:\n");
    for (int i = 0; i < N_LLAMA3_KEYS; i++) {
        const json_t *value = json_object_get(scaling, llama3_key[i]);
        if (!json_is_number(value))
            return WSC_RAISE(WSC_FORMAT, "%s: rope_scaling: %s is missing", y->path, llama3_key[i]);
        (void)fprintf(y->out, "        %s: %.17g\n", llama3_key[i], json_number_value(value));
    }
    return WSC_OK;
}

enum wsc_err convert_rope_scaling_to_cs(struct convert_yaml *y)
{
    const json_t *scaling = json_object_get(y->config, "rope_scaling");
    if (!scaling || json_is_null(scaling)) return WSC_OK;
    const char *type = json_string_value(json_object_get(scaling, "rope_type"));
    if (!type) type = json_string_value(json_object_get(scaling, "type"));
    const double factor = json_number_value(json_object_get(scaling, "factor"));
    if (type && !strcmp(type, "default")) return WSC_OK;
    const bool llama3 = type && !strcmp(type, "llama3");
    if (!llama3 && !(type && !strcmp(type, "linear")))
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: rope_scaling: %s is not supported", y->path,
                                      type ? type : "a scaling without a type"),
                            "known are: linear, llama3");
    if (!(factor > 0))
        return WSC_RAISE(WSC_FORMAT, "%s: rope_scaling: factor is not a positive number", y->path);
    convert_yaml_add(y, "pos_scaling_factor", "%.17g", factor);
    return llama3 ? llama3_to_cs(y, scaling) : WSC_OK;
}

static bool real_param(const struct convert_side *cs, const char *path, double *value)
{
    char text[CONVERT_VALUE_BYTES];
    return zoo_params_value(cs->params, path, text, sizeof text) && !wsc_units_double(text, value);
}

enum wsc_err convert_rope_scaling_to_hf(json_t *config, const struct convert_side *cs)
{
    char type[CONVERT_VALUE_BYTES] = "linear", path[CONVERT_NAME_BYTES];
    double factor = 1, value = 0;
    (void)real_param(cs, "model.pos_scaling_factor", &factor);
    if (factor == 1) return convert_config_set(config, "rope_scaling", json_null());
    (void)zoo_params_value(cs->params, "model.pos_scaling_type", type, sizeof type);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", type, "factor", factor);
    for (int i = 0; !strcmp(type, "llama3") && i < N_LLAMA3_KEYS; i++) {
        (void)snprintf(path, sizeof path, "model.pos_scaling_extra_args.%s", llama3_key[i]);
        if (real_param(cs, path, &value))
            (void)json_object_set_new(scaling, llama3_key[i], json_real(value));
    }
    return convert_config_set(config, "rope_scaling", scaling);
}

/* ---- key and value heads --------------------------------------------------------------------- */

static void add_groups(struct convert_yaml *y, int64_t groups)
{
    convert_yaml_add(y, "attention_module", "multiquery_attention");
    convert_yaml_add(y, "extra_attention_params", "{num_kv_groups: %lld}", (long long)groups);
}

static enum wsc_err groups_to_cs(struct convert_yaml *y, const char *name)
{
    int64_t hidden = 1, heads = 1, groups = 1;
    TRY(read_heads(y, &hidden, &heads));
    TRY(read_int(y, name, NULL, heads, &groups));
    if (groups < 1 || heads % groups)
        return WSC_RAISE(WSC_FORMAT, "%s: %s: %lld groups for %lld heads", y->path, name,
                         (long long)groups, (long long)heads);
    if (groups != heads) add_groups(y, groups);
    return WSC_OK;
}

enum wsc_err convert_kv_heads_to_cs(struct convert_yaml *y)
{
    return groups_to_cs(y, "num_key_value_heads");
}

enum wsc_err convert_kv_heads_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "num_key_value_heads", json_integer(cs->model->kv_heads));
}

enum wsc_err convert_num_kv_heads_to_cs(struct convert_yaml *y)
{
    return groups_to_cs(y, "num_kv_heads");
}

enum wsc_err convert_num_kv_heads_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "num_kv_heads", json_integer(cs->model->kv_heads));
}

enum wsc_err convert_multi_query_to_cs(struct convert_yaml *y)
{
    const json_t *one = json_object_get(y->config, "multi_query");
    if (one && !json_is_boolean(one))
        return WSC_RAISE(WSC_FORMAT, "%s: multi_query: expected true or false", y->path);
    if (!one || json_is_true(one)) add_groups(y, 1);
    return WSC_OK;
}

enum wsc_err convert_multi_query_to_hf(json_t *config, const struct convert_side *cs)
{
    const int64_t groups = cs->model->kv_heads;
    if (groups != 1 && groups != cs->model->H)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: a %s model has one key head or one per query head, not %lld",
                         cs->params->file, cs->family->name, (long long)groups);
    return convert_config_set(config, "multi_query", json_boolean(groups == 1));
}

/* ---- experts --------------------------------------------------------------------------------- */

enum wsc_err convert_experts_to_cs(struct convert_yaml *y)
{
    int64_t experts = 8, active = 2;
    const json_t *coefficient = json_object_get(y->config, "router_aux_loss_coef");
    TRY(read_int(y, "num_local_experts", NULL, 8, &experts));
    TRY(read_int(y, "num_experts_per_tok", NULL, 2, &active));
    (void)fprintf(y->out,
                  "    moe:\n"
                  "        num_experts: %lld\n"
                  "        top_k: %lld\n"
                  "        load_balancing_loss_coef: %.15g\n",
                  (long long)experts, (long long)active,
                  coefficient ? json_number_value(coefficient) : 0.001);
    return WSC_OK;
}

enum wsc_err convert_experts_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    if (!m->experts || m->shared_experts || m->routing != ZOO_ROUTING_LEARNED ||
        !m->normalise_experts || m->null_expert != 0)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: model.moe: not as a %s model has it",
                                      cs->params->file, cs->family->name),
                            "it has a learned router, normalised weights, no shared experts");
    TRY(convert_config_set(config, "num_local_experts", json_integer(m->experts)));
    TRY(convert_config_set(config, "num_experts_per_tok", json_integer(m->active_experts)));
    return convert_config_set(config, "router_aux_loss_coef", json_real(m->load_balance));
}
