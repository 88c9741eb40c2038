// SPDX-License-Identifier: Apache-2.0
/* Configuration keys of the families that are more than one value: widths that follow from others,
 * groups of heads, experts, keys of the Model Zoo's decoders. Each has a function to params and one
 * back, which the rows of hf_families.c name. hf_special_rotary.c has rotary settings,
 * hf_special_encoders.c keys of encoders. */
#include "hf_special_keys.h"
#include "hf_config.h"
#include "hf_family.h"
#include "hf_source.h"
#include "hf_special_values.h"

#include <wsc/units.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- width of the feed-forward network ------------------------------------------------------- */

/* filter_size: the key @p name if given, else four times the width. */
static enum wsc_err filter_to_cs(struct convert_yaml *y, const char *name, const char *hidden_name,
                                 const char *old)
{
    int64_t hidden = 1, filter = 0;
    TRY(convert_read_positive(y, hidden_name, old, &hidden));
    if (name) TRY(convert_read_int(y, name, NULL, 4 * hidden, &filter));
    if (name && filter < 1)
        return convert_source_raise(y->from, WSC_CONFIG, name, "%lld, expected 1 or more",
                                    (long long)filter);
    convert_yaml_add(y, "filter_size", "%lld", (long long)(name ? filter : 4 * hidden));
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

/* The library ignores n_inner for this family, so it must be the default. */
enum wsc_err convert_four_hidden_to_cs(struct convert_yaml *y)
{
    int64_t hidden = 1, inner = 0;
    TRY(convert_read_positive(y, "hidden_size", "n_embed", &hidden));
    TRY(convert_read_int(y, "n_inner", NULL, 0, &inner));
    if (inner && inner != 4 * hidden)
        return convert_source_raise(y->from, WSC_CONFIG, "n_inner",
                                    "%lld is not supported, only four times the width = %lld",
                                    (long long)inner, 4 * (long long)hidden);
    return filter_to_cs(y, NULL, "hidden_size", "n_embed");
}

/* config.json has no key for the width of the network: it must be the one that the library uses. */
enum wsc_err convert_four_hidden_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->F == 4 * cs->model->C) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model.filter_size: a %s model has four times the width",
                     cs->params->file, cs->family->name);
}

/* ---- heads of their own width ---------------------------------------------------------------- */

enum wsc_err convert_head_dim_to_cs(struct convert_yaml *y)
{
    int64_t hidden = 1, heads = 1, head_dim = 1;
    TRY(convert_read_heads(y, &hidden, &heads));
    TRY(convert_read_head_dim(y, &head_dim));
    const int64_t inner = heads * head_dim;
    if (inner != hidden) convert_yaml_add(y, "attention_inner_dim", "%lld", (long long)inner);
    return WSC_OK;
}

enum wsc_err convert_head_dim_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "head_dim", json_integer(cs->model->head_dim));
}

/* attention_logits_alpha multiplies scores that are divided by the root of head_dim. */
enum wsc_err convert_query_scalar_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1;
    double scalar = 0;
    TRY(wsc_units_double(y->key->missing, &scalar));
    TRY(convert_read_head_dim(y, &head_dim));
    TRY(convert_read_real(y, "query_pre_attn_scalar", &scalar));
    if (!(scalar > 0))
        return convert_source_raise(y->from, WSC_FORMAT, "query_pre_attn_scalar",
                                    "expected a positive number");
    convert_yaml_add(y, "attention_logits_alpha", "%.17g", sqrt((double)head_dim / scalar));
    return WSC_OK;
}

/* A whole number where the scalar was one. */
enum wsc_err convert_query_scalar_to_hf(json_t *config, const struct convert_side *cs)
{
    const double scale = cs->model->stack[0].qk_scale, scalar = 1 / (scale * scale);
    const bool whole = fabs(scalar - round(scalar)) <= 1e-9 * scalar;
    return convert_config_set(config, "query_pre_attn_scalar",
                              whole ? json_integer(llround(scalar)) : json_real(scalar));
}

/* ---- what no key expresses ------------------------------------------------------------------- */

enum wsc_err convert_root_scale_to_cs(struct convert_yaml *y)
{
    int64_t hidden = 1;
    TRY(convert_read_positive(y, "hidden_size", NULL, &hidden));
    convert_yaml_add(y, "embeddings_scale", "%.17g", sqrt((double)hidden));
    return WSC_OK;
}

/* Params may have the root with six digits. */
enum wsc_err convert_root_scale_to_hf(json_t *config, const struct convert_side *cs)
{
    const double root = sqrt((double)cs->model->C), scale = cs->model->zoo.embeddings_scale;
    (void)config;
    if (fabs(scale - root) <= 1e-6 * root) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "%s: model.embeddings_scale: %.9g, but a %s model has the root of its width, "
                     "%.9g",
                     cs->params->file, scale, cs->family->name, root);
}

/* Every @p period-th layer from the first one has a window; 0: none has. The list layer_types of
 * newer folders must agree. */
static enum wsc_err check_layers(const struct convert_yaml *y, size_t period)
{
    const json_t *list = json_object_get(y->from->json, "layer_types");
    int64_t layers = 1;
    if (!list || json_is_null(list)) return WSC_OK;
    TRY(convert_read_positive(y, "num_hidden_layers", NULL, &layers));
    if ((int64_t)json_array_size(list) != layers)
        return convert_source_raise(y->from, WSC_FORMAT, "layer_types",
                                    "expected a list of %lld types", (long long)layers);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *type = json_string_value(json_array_get(list, i));
        const bool slides = period && i % period == 0;
        if (!type || strcmp(type, slides ? "sliding_attention" : "full_attention") != 0)
            return convert_source_raise(y->from, WSC_CONFIG, "layer_types",
                                        "layer %zu: expected %s", i,
                                        slides ? "sliding_attention" : "full_attention");
    }
    return WSC_OK;
}

/* sliding_window has no effect without use_sliding_window. */
enum wsc_err convert_full_layers_to_cs(struct convert_yaml *y)
{
    const json_t *window = json_object_get(y->from->json, "use_sliding_window");
    if (window && !json_is_false(window) && !json_is_null(window))
        return convert_source_raise(y->from, WSC_CONFIG, "use_sliding_window",
                                    "only false is supported");
    return check_layers(y, 0);
}

enum wsc_err convert_full_layers_to_hf(json_t *config, const struct convert_side *cs)
{
    if (cs->model->zoo.attention_sliding_window_length != CONF_NULL)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model.attention_sliding_window_length: a %s model has no window",
                         cs->params->file, cs->family->name);
    return convert_config_set(config, "use_sliding_window", json_false());
}

enum wsc_err convert_other_layers_to_cs(struct convert_yaml *y)
{
    enum { EVERY_OTHER = 2 };
    TRY(check_layers(y, EVERY_OTHER));
    convert_yaml_add(y, "sliding_window_every_other_decoder_layer", "true");
    return WSC_OK;
}

enum wsc_err convert_other_layers_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct zoo_model *m = &cs->model->zoo;
    (void)config;
    if (m->attention_sliding_window_length == CONF_NULL ||
        m->sliding_window_every_other_decoder_layer)
        return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "%s: model.sliding_window_every_other_decoder_layer: a %s model has windows "
                     "in every other layer",
                     cs->params->file, cs->family->name);
}

/* ---- key and value heads --------------------------------------------------------------------- */

/* With fewer key heads than query heads, the Model Zoo needs its attention module for groups. */
static void add_groups(struct convert_yaml *y, int64_t groups)
{
    convert_yaml_add(y, "attention_module", "multiquery_attention");
    convert_yaml_add(y, "extra_attention_params", "{num_kv_groups: %lld}", (long long)groups);
}

/* Number of key and value heads; a default of the family where the key is absent, else all heads.
 */
static enum wsc_err groups_to_cs(struct convert_yaml *y, const char *name)
{
    int64_t hidden = 1, heads = 1, groups = 1;
    TRY(convert_read_heads(y, &hidden, &heads));
    if (json_object_get(y->from->json, name) || !y->key->missing)
        TRY(convert_read_int(y, name, NULL, heads, &groups));
    else
        TRY(wsc_units_int(y->key->missing, &groups));
    if (groups < 1 || heads % groups)
        return convert_source_raise(y->from, WSC_FORMAT, name, "%lld groups for %lld heads",
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

/* multi_query is true by default; with false there is one key head for each query head. */
enum wsc_err convert_multi_query_to_cs(struct convert_yaml *y)
{
    int64_t hidden = 1, heads = 1, groups = 1;
    const json_t *one = json_object_get(y->from->json, "multi_query");
    if (one && !json_is_boolean(one))
        return convert_source_raise(y->from, WSC_FORMAT, "multi_query", "expected true or false");
    if (!one || json_is_true(one)) {
        add_groups(y, 1);
        return WSC_OK;
    }
    TRY(convert_read_heads(y, &hidden, &heads));
    TRY(convert_read_int(y, "num_kv_heads", NULL, heads, &groups));
    if (groups == heads) return WSC_OK;
    return convert_source_raise(y->from, WSC_CONFIG, "num_kv_heads",
                                "%lld is not supported without multi_query, only %lld",
                                (long long)groups, (long long)heads);
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
    double coefficient = 0.001;
    TRY(convert_read_real(y, "router_aux_loss_coef", &coefficient));
    TRY(convert_read_int(y, "num_local_experts", NULL, 8, &experts));
    TRY(convert_read_int(y, "num_experts_per_tok", NULL, 2, &active));
    (void)fprintf(y->out,
                  "    moe:\n"
                  "        num_experts: %lld\n"
                  "        top_k: %lld\n"
                  "        load_balancing_loss_coef: %.15g\n",
                  (long long)experts, (long long)active, coefficient);
    return WSC_OK;
}

/* The family has one kind of router; any other mixture is refused. */
enum wsc_err convert_experts_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    if (!m->experts || m->shared_experts || m->zoo.moe.routing_algorithm != ZOO_ROUTING_LEARNED ||
        !m->zoo.moe.expert_weighting_normalization || m->zoo.moe.null_expert_bias != 0 ||
        m->zoo.moe.router_selection_nonlinearity != ZOO_ROUTER_SOFTMAX ||
        m->zoo.moe.expert_weighting_nonlinearity != ZOO_ROUTER_SOFTMAX ||
        m->zoo.moe.probability_before_ffn)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: model.moe: not as a %s model has it",
                                      cs->params->file, cs->family->name),
                            "it has a learned router, normalised weights, no shared experts");
    TRY(convert_config_set(config, "num_local_experts", json_integer(m->experts)));
    TRY(convert_config_set(config, "num_experts_per_tok", json_integer(m->active_experts)));
    return convert_config_set(config, "router_aux_loss_coef", json_real(m->load_balance));
}

/* ---- decoders of the Model Zoo --------------------------------------------------------------- */

enum wsc_err convert_one_kv_head_to_cs(struct convert_yaml *y)
{
    add_groups(y, 1);
    return WSC_OK;
}

enum wsc_err convert_one_kv_head_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->kv_heads == 1) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: a %s model has one key head, not %lld", cs->params->file,
                     cs->family->name, (long long)cs->model->kv_heads);
}

enum wsc_err convert_logits_scale_to_cs(struct convert_yaml *y)
{
    double whole = 0, alpha = 1, width = 1;
    TRY(convert_read_real(y, "width_scale", &whole));
    TRY(convert_read_real(y, "mup_output_alpha", &alpha));
    TRY(convert_read_real(y, "mup_width_scale", &width));
    convert_yaml_add(y, "output_logits_scale", "%.17g", whole != 0 ? whole : alpha * width);
    return WSC_OK;
}

enum wsc_err convert_logits_scale_to_hf(json_t *config, const struct convert_side *cs)
{
    TRY(convert_config_set(config, "mup_output_alpha", json_real(cs->model->logits_scale)));
    return convert_config_set(config, "mup_width_scale", json_real(1));
}

enum wsc_err convert_expansion_to_cs(struct convert_yaml *y)
{
    int64_t width = 1, ratio = 4;
    TRY(convert_read_positive(y, "d_model", NULL, &width));
    TRY(convert_read_int(y, "expansion_ratio", NULL, 4, &ratio));
    if (ratio < 1 || ratio > INT32_MAX / width)
        return convert_source_raise(y->from, WSC_FORMAT, "expansion_ratio",
                                    "expected a positive whole number, times d_model at most %d",
                                    INT32_MAX);
    convert_yaml_add(y, "filter_size", "%lld", (long long)width * ratio);
    return WSC_OK;
}

enum wsc_err convert_expansion_to_hf(json_t *config, const struct convert_side *cs)
{
    const int64_t C = cs->model->C, F = cs->model->F;
    if (F % C == 0) return convert_config_set(config, "expansion_ratio", json_integer(F / C));
    return WSC_RAISE(WSC_CONFIG, "%s: model.filter_size: %lld is no multiple of the width %lld",
                     cs->params->file, (long long)F, (long long)C);
}

/* Allowed members of attn_config with their only value; NULL: any value. */
static const struct {
    const char *key, *value;
} mpt_attention[] = {{"attn_type", "\"multihead_attention\""},
                     {"clip_qkv", "null"},
                     {"softmax_scale", "null"},
                     {"prefix_lm", "false"},
                     {"qk_ln", "false"},
                     {"attn_uses_sequence_id", "false"},
                     {"alibi", "true"},
                     {"alibi_bias_max", "8"},
                     {"attn_impl", NULL},
                     {"model_type", NULL},
                     {"attn_pdrop", NULL}};
enum { N_MPT_ATTENTION = sizeof mpt_attention / sizeof *mpt_attention };

/* Check a member of attn_config against the table. */
static enum wsc_err check_mpt_attention(const struct convert_yaml *y, const char *key,
                                        const json_t *value)
{
    bool known = false, right = true;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    for (int i = 0; i < N_MPT_ATTENTION; i++) {
        if (strcmp(mpt_attention[i].key, key) != 0) continue;
        known = true;
        right = !mpt_attention[i].value || (text && !strcmp(text, mpt_attention[i].value));
    }
    enum wsc_err rc = WSC_OK;
    if (!known || !right)
        rc = convert_source_raise(y->from, WSC_CONFIG, "attn_config", "%s: %s is not supported",
                                  key, text ? text : "?");
    free(text);
    return rc;
}

enum wsc_err convert_mpt_attention_to_cs(struct convert_yaml *y)
{
    const json_t *given = json_object_get(y->from->json, "attn_config");
    const json_t *dropout = json_object_get(given, "attn_pdrop");
    if (given && !json_is_null(given) && !json_is_object(given))
        return convert_source_raise(y->from, WSC_FORMAT, "attn_config", "expected an object");
    for (void *i = json_object_iter((json_t *)given); i;
         i = json_object_iter_next((json_t *)given, i))
        TRY(check_mpt_attention(y, json_object_iter_key(i), json_object_iter_value(i)));
    if (dropout && !json_is_number(dropout))
        return convert_source_raise(y->from, WSC_FORMAT, "attn_config",
                                    "attn_pdrop is not a number");
    convert_yaml_add(y, "attention_dropout_rate", "%.17g", json_number_value(dropout));
    return WSC_OK;
}

enum wsc_err convert_mpt_attention_to_hf(json_t *config, const struct convert_side *cs)
{
    json_t *attention =
        json_pack("{s:s, s:b, s:i, s:f}", "attn_type", "multihead_attention", "alibi", 1,
                  "alibi_bias_max", 8, "attn_pdrop", cs->model->zoo.attention_dropout_rate);
    return convert_config_set(config, "attn_config", attention);
}

/* The layout of the fused tensor requires heads in four equal groups. */
enum wsc_err convert_quarters_to_cs(struct convert_yaml *y)
{
    int64_t heads = 1;
    TRY(convert_read_positive(y, "n_head", NULL, &heads));
    if (heads % 4 == 0) return WSC_OK;
    return convert_source_raise(y->from, WSC_FORMAT, "n_head",
                                "%lld heads are no four equal groups", (long long)heads);
}

enum wsc_err convert_quarters_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->H % 4 == 0 && cs->model->kv_heads == cs->model->H) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model.num_heads: a %s model has a multiple of four heads",
                     cs->params->file, cs->family->name);
}
