// SPDX-License-Identifier: Apache-2.0
/* Configuration keys of the families that are more than one value: widths that follow from others,
 * rotary embeddings, groups of heads, experts.  Each has a function to params and one back, which
 * the rows of hf_families.c name.
 *
 * Rotary settings stand in rope_theta, rope_scaling and partial_rotary_factor up to release 4 of
 * the transformers library, in one object rope_parameters since release 5; both are read. */
#include "hf_special_keys.h"
#include "hf_config.h"
#include "hf_family.h"
#include "hf_key.h"
#include "hf_source.h"
#include "json_file.h"

#include <wsc/units.h>

#include <math.h>
#include <stdlib.h>
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
    TRY(convert_config_value(&key, y->from, text));
    if (!strcmp(text, "null")) return WSC_OK;
    return wsc_units_int(text, value);
}

/* A whole number from 1 on, whatever is missing. */
static enum wsc_err read_positive(const struct convert_yaml *y, const char *name, const char *old,
                                  int64_t *value)
{
    *value = 1;
    TRY(read_int(y, name, old, 0, value));
    if (*value > 0 && *value <= INT32_MAX) return WSC_OK;
    return convert_source_raise(y->from, WSC_FORMAT, name, "expected a positive whole number");
}

/* Width and heads, which several rotary and head settings follow from. */
static enum wsc_err read_heads(const struct convert_yaml *y, int64_t *hidden, int64_t *heads)
{
    TRY(read_positive(y, "hidden_size", "n_embd", hidden));
    TRY(read_positive(y, "num_attention_heads", "n_head", heads));
    if (*heads > 0 && *hidden % *heads == 0) return WSC_OK;
    return convert_source_raise(y->from, WSC_FORMAT, "num_attention_heads",
                                "%lld heads do not divide a width of %lld", (long long)*heads,
                                (long long)*hidden);
}

/* Width of a head: that of the model over the number of heads. */
static enum wsc_err read_head_dim(const struct convert_yaml *y, int64_t *head_dim)
{
    int64_t hidden = 1, heads = 1;
    TRY(read_heads(y, &hidden, &heads));
    *head_dim = heads > 0 ? hidden / heads : 1;
    return WSC_OK;
}

/* ---- width of the feed-forward network ------------------------------------------------------- */

/* filter_size: the key @p name where it is given, else four times the width. */
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

/* The library does not read n_inner here: it must be what follows from the width. */
enum wsc_err convert_four_hidden_to_cs(struct convert_yaml *y)
{
    int64_t hidden = 1, inner = 0;
    TRY(read_positive(y, "hidden_size", "n_embed", &hidden));
    TRY(read_int(y, "n_inner", NULL, 0, &inner));
    if (inner && inner != 4 * hidden)
        return convert_source_raise(y->from, WSC_CONFIG, "n_inner",
                                    "%lld is not supported, only four times the width = %lld",
                                    (long long)inner, 4 * (long long)hidden);
    return filter_to_cs(y, NULL, "hidden_size", "n_embed");
}

/* There is no key to write: the width of the network must be the one that the library takes. */
enum wsc_err convert_four_hidden_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config;
    if (cs->model->F == 4 * cs->model->C) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model.filter_size: a %s model has four times the width",
                     cs->params->file, cs->family->name);
}

/* ---- rotary embedding ------------------------------------------------------------------------ */

/* The settings that are understood; any other may change the angles and is an error. */
static const char *const rope_key[] = {"rope_theta",
                                       "rope_type",
                                       "type",
                                       "factor",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "original_max_position_embeddings",
                                       "partial_rotary_factor"};
enum { N_ROPE_KEYS = sizeof rope_key / sizeof *rope_key };

/* Is the setting one of rope_key? */
static bool is_rope_key(const char *name)
{
    for (int i = 0; i < N_ROPE_KEYS; i++)
        if (!strcmp(rope_key[i], name)) return true;
    return false;
}

/* The object with the rotary settings and its name; NULL when there is none. */
struct rope {
    const char *name;
    json_t *settings; /* borrowed */
};

/* Null settings are as good as none. */
static enum wsc_err check_rope(const struct convert_source *s, const struct rope *r)
{
    if (!json_is_object(r->settings))
        return convert_source_raise(s, WSC_FORMAT, r->name, "expected an object");
    for (void *i = json_object_iter(r->settings); i; i = json_object_iter_next(r->settings, i)) {
        const char *name = json_object_iter_key(i);
        if (!is_rope_key(name) && !json_is_null(json_object_iter_value(i)))
            return convert_source_raise(s, WSC_CONFIG, r->name, "%s is not supported", name);
    }
    return WSC_OK;
}

/* Where both objects are there they must agree. */
static enum wsc_err read_rope(const struct convert_source *s, struct rope *r)
{
    json_t *older = json_object_get(s->json, "rope_scaling");
    json_t *newer = json_object_get(s->json, "rope_parameters");
    const bool has_older = older && !json_is_null(older), has_newer = newer && !json_is_null(newer);
    *r = (struct rope){"rope_scaling", has_older ? older : NULL};
    if (has_older && has_newer && !json_equal(older, newer))
        return convert_source_raise(s, WSC_CONFIG, "rope_parameters", "contradicts rope_scaling");
    if (has_newer) *r = (struct rope){"rope_parameters", newer};
    return r->settings ? check_rope(s, r) : WSC_OK;
}

/* The number @p name among the rotary settings, or at the top as @p outer or @p old; *@p found
 * is whether it is anywhere. */
static enum wsc_err read_rope_number(const struct convert_source *s, const char *name,
                                     const char *outer, const char *old, double *value, bool *found)
{
    struct rope r;
    TRY(read_rope(s, &r));
    const json_t *inner = json_object_get(r.settings, name), *top = json_object_get(s->json, outer);
    if (!top && old) top = json_object_get(s->json, old);
    if (json_is_null(inner)) inner = NULL;
    if (json_is_null(top)) top = NULL;
    const json_t *taken = inner ? inner : top;
    *found = taken != NULL;
    if (!taken) return WSC_OK;
    *value = json_number_value(taken);
    if (!json_is_number(taken))
        return convert_source_raise(s, WSC_FORMAT, inner ? r.name : outer, "%s is not a number",
                                    name);
    if (inner && top && json_number_value(top) != *value)
        return convert_source_raise(s, WSC_CONFIG, r.name, "%s is %g there and %g beside it", name,
                                    *value, json_number_value(top));
    return WSC_OK;
}

/* 17 digits, so that the base is the same number on both sides. */
enum wsc_err convert_rope_theta_to_cs(struct convert_yaml *y)
{
    double theta = 0;
    bool found = false;
    TRY(read_rope_number(y->from, "rope_theta", y->key->hf, y->key->old_hf, &theta, &found));
    if (found)
        convert_yaml_add(y, "rope_theta", "%.17g", theta);
    else
        convert_yaml_add(y, "rope_theta", "%s", y->key->missing);
    return WSC_OK;
}

/* rotary_dim: whole heads are rotated, so the settings that could say otherwise are checked. */
enum wsc_err convert_head_dim_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1, given = 1;
    double fraction = 1;
    bool found = false;
    TRY(read_head_dim(y, &head_dim));
    TRY(read_int(y, "head_dim", NULL, head_dim, &given));
    if (given != head_dim)
        return convert_source_raise(y->from, WSC_CONFIG, "head_dim",
                                    "%lld is not supported, only width / heads = %lld",
                                    (long long)given, (long long)head_dim);
    TRY(read_rope_number(y->from, "partial_rotary_factor", "partial_rotary_factor", NULL, &fraction,
                         &found));
    if (fraction != 1)
        return convert_source_raise(y->from, WSC_CONFIG, "partial_rotary_factor",
                                    "%g is not supported, only 1: whole heads are rotated",
                                    fraction);
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

/* rotary_dim = head_dim times the fraction, cut to a whole number. */
enum wsc_err convert_rotary_pct_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1;
    double pct = 0.25, newer = 0;
    bool found = false;
    const json_t *older = json_object_get(y->from->json, "rotary_pct");
    TRY(read_head_dim(y, &head_dim));
    TRY(read_rope_number(y->from, "partial_rotary_factor", "partial_rotary_factor", NULL, &newer,
                         &found));
    if (older) pct = json_number_value(older);
    if (found && older && newer != pct)
        return convert_source_raise(y->from, WSC_CONFIG, "rotary_pct",
                                    "%g contradicts a partial_rotary_factor of %g", pct, newer);
    if (found) pct = newer;
    if (!(pct > 0 && pct <= 1))
        return convert_source_raise(y->from, WSC_FORMAT, "rotary_pct",
                                    "expected a number above 0, at most 1");
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

/* The scaling of Llama 3.1 by its three numbers (host_positions.c computes it). */
static enum wsc_err llama3_to_cs(struct convert_yaml *y, const struct rope *r)
{
    convert_yaml_add(y, "pos_scaling_type", "llama3");
    (void)fprintf(y->out, "    pos_scaling_extra_args:\n");
    for (int i = 0; i < N_LLAMA3_KEYS; i++) {
        const json_t *value = json_object_get(r->settings, llama3_key[i]);
        if (!json_is_number(value))
            return convert_source_raise(y->from, WSC_FORMAT, r->name, "%s is missing",
                                        llama3_key[i]);
        (void)fprintf(y->out, "        %s: %.17g\n", llama3_key[i], json_number_value(value));
    }
    return WSC_OK;
}

/* No object, the type `default`, or rope_parameters without type and factor: no scaling. */
enum wsc_err convert_rope_scaling_to_cs(struct convert_yaml *y)
{
    struct rope r;
    TRY(read_rope(y->from, &r));
    if (!r.settings) return WSC_OK;
    const char *type = json_string_value(json_object_get(r.settings, "rope_type"));
    if (!type) type = json_string_value(json_object_get(r.settings, "type"));
    const json_t *given = json_object_get(r.settings, "factor");
    const double factor = json_number_value(given);
    if (type ? !strcmp(type, "default") : !given && !strcmp(r.name, "rope_parameters"))
        return WSC_OK;
    const bool llama3 = type && !strcmp(type, "llama3");
    if (!llama3 && !(type && !strcmp(type, "linear")))
        return wsc_err_hint(convert_source_raise(y->from, WSC_CONFIG, r.name, "%s is not supported",
                                                 type ? type : "a scaling without a type"),
                            "known are: default, linear, llama3");
    if (!(factor > 0))
        return convert_source_raise(y->from, WSC_FORMAT, r.name, "factor is not a positive number");
    convert_yaml_add(y, "pos_scaling_factor", "%.17g", factor);
    return llama3 ? llama3_to_cs(y, &r) : WSC_OK;
}

/* A number of the params; false when the key is not given. */
static bool real_param(const struct convert_side *cs, const char *path, double *value)
{
    char text[CONVERT_VALUE_BYTES];
    return zoo_params_value(cs->params, path, text, sizeof text) && !wsc_units_double(text, value);
}

/* The scaling as an object rope_scaling; without one the key is null. */
enum wsc_err convert_rope_scaling_to_hf(json_t *config, const struct convert_side *cs)
{
    char type[CONVERT_VALUE_BYTES] = "linear", path[CONVERT_NAME_BYTES];
    double factor = 1, value = 0;
    (void)real_param(cs, "model.pos_scaling_factor", &factor);
    (void)zoo_params_value(cs->params, "model.pos_scaling_type", type, sizeof type);
    if (factor == 1 && strcmp(type, "longrope") != 0)
        return convert_config_set(config, "rope_scaling", json_null());
    if (strcmp(type, "linear") != 0 && strcmp(type, "llama3") != 0)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model.pos_scaling_type: a %s model has no counterpart of %s",
                         cs->params->file, cs->family->name, type);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", type, "factor", factor);
    for (int i = 0; !strcmp(type, "llama3") && i < N_LLAMA3_KEYS; i++) {
        (void)snprintf(path, sizeof path, "model.pos_scaling_extra_args.%s", llama3_key[i]);
        if (real_param(cs, path, &value))
            (void)json_object_set_new(scaling, llama3_key[i], json_real(value));
    }
    return convert_config_set(config, "rope_scaling", scaling);
}

/* ---- key and value heads --------------------------------------------------------------------- */

/* Fewer key heads than query heads: the attention module of the Model Zoo for it. */
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
    TRY(read_heads(y, &hidden, &heads));
    if (json_object_get(y->from->json, name) || !y->key->missing)
        TRY(read_int(y, name, NULL, heads, &groups));
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

/* multi_query is true where it is absent; without it there is one key head for each query head. */
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
    TRY(read_heads(y, &hidden, &heads));
    TRY(read_int(y, "num_kv_heads", NULL, heads, &groups));
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
    const json_t *coefficient = json_object_get(y->from->json, "router_aux_loss_coef");
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

/* The family has one kind of router; any other mixture would be another model there. */
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

/* A number at the top; @p value stays as it is when the key is absent or null. */
static enum wsc_err read_real(const struct convert_yaml *y, const char *name, double *value)
{
    const json_t *given = json_object_get(y->from->json, name);
    if (!given || json_is_null(given)) return WSC_OK;
    if (!json_is_number(given))
        return convert_source_raise(y->from, WSC_FORMAT, name, "expected a number");
    *value = json_number_value(given);
    return WSC_OK;
}

enum wsc_err convert_logits_scale_to_cs(struct convert_yaml *y)
{
    double whole = 0, alpha = 1, width = 1;
    TRY(read_real(y, "width_scale", &whole));
    TRY(read_real(y, "mup_output_alpha", &alpha));
    TRY(read_real(y, "mup_width_scale", &width));
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
    TRY(read_positive(y, "d_model", NULL, &width));
    TRY(read_int(y, "expansion_ratio", NULL, 4, &ratio));
    const long long filter = width * ratio;
    convert_yaml_add(y, "filter_size", "%lld", filter);
    return WSC_OK;
}

enum wsc_err convert_expansion_to_hf(json_t *config, const struct convert_side *cs)
{
    const int64_t C = cs->model->C, F = cs->model->F;
    if (F % C == 0) return convert_config_set(config, "expansion_ratio", json_integer(F / C));
    return WSC_RAISE(WSC_CONFIG, "%s: model.filter_size: %lld is no multiple of the width %lld",
                     cs->params->file, (long long)F, (long long)C);
}

/* What attn_config may have, with the only value; NULL: any. */
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

/* A member of attn_config against the table. */
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

/* The layout of its fused tensor needs heads in four equal groups. */
enum wsc_err convert_quarters_to_cs(struct convert_yaml *y)
{
    int64_t heads = 1;
    TRY(read_positive(y, "n_head", NULL, &heads));
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

/* ---- encoders -------------------------------------------------------------------------------- */

/* The first of the architectures, or @p missing. */
static const char *architecture_of(const struct convert_yaml *y, const char *missing)
{
    const json_t *list = json_object_get(y->from->json, "architectures");
    const char *name = json_string_value(json_array_get(list, 0));
    return name ? name : missing;
}

static enum wsc_err unknown_architecture(const struct convert_yaml *y, const char *name,
                                         const char *known)
{
    return wsc_err_hint(
        convert_source_raise(y->from, WSC_CONFIG, "architectures", "%s is not supported", name),
        "known are: %s; a model without a head is one of them with tensors left out", known);
}

/* With the pairs of sentences there is a pooler, whose function is no key there. */
enum wsc_err convert_bert_heads_to_cs(struct convert_yaml *y)
{
    const char *name = architecture_of(y, "BertForMaskedLM");
    const bool pairs = !strcmp(name, "BertForPreTraining");
    if (!pairs && strcmp(name, "BertForMaskedLM") != 0)
        return unknown_architecture(y, name, "BertForPreTraining, BertForMaskedLM");
    convert_yaml_add(y, "disable_nsp", "%s", pairs ? "false" : "true");
    if (pairs) convert_yaml_add(y, "pooler_nonlinearity", "tanh");
    return WSC_OK;
}

enum wsc_err convert_bert_heads_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    if (m->causal || m->head[0].dense != MODEL_DENSE_W || m->head[0].function != m->nonlinearity ||
        (m->n_heads > 1 && m->head[1].function != ZOO_TANH))
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s: model: not as a %s model has its heads", cs->params->file,
                      cs->family->name),
            "it has masked tokens with the encoder's function, and a pooler with tanh");
    if (m->n_heads == 1) return WSC_OK;
    return convert_config_set(config, "architectures", json_pack("[s]", "BertForPreTraining"));
}

enum wsc_err convert_masked_head_to_cs(struct convert_yaml *y)
{
    const char *expected = y->family->architecture, *name = architecture_of(y, expected);
    if (strcmp(name, expected) != 0) return unknown_architecture(y, name, expected);
    convert_yaml_add(y, "disable_nsp", "true");
    return WSC_OK;
}

enum wsc_err convert_masked_head_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    (void)config;
    if (!m->causal && m->head[0].dense == MODEL_DENSE_W && m->n_heads == 1) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model: a %s model has the head of masked tokens alone",
                     cs->params->file, cs->family->name);
}

/* The names of the classes are as many as there are; the library's default is two. */
enum wsc_err convert_labels_to_cs(struct convert_yaml *y)
{
    const json_t *names = json_object_get(y->from->json, "id2label");
    const char *type = json_string_value(json_object_get(y->from->json, "problem_type"));
    int64_t n = 2;
    TRY(read_int(y, "num_labels", NULL,
                 json_is_object(names) ? (int64_t)json_object_size(names) : n, &n));
    if (type && strcmp(type, "single_label_classification") != 0)
        return convert_source_raise(y->from, WSC_CONFIG, "problem_type",
                                    "%s is not supported, only single_label_classification", type);
    if (n < 2 || n > INT32_MAX)
        return convert_source_raise(
            y->from, WSC_CONFIG, json_is_object(names) ? "id2label" : "num_labels",
            "%lld classes are not supported, only two or more", (long long)n);
    convert_yaml_add(y, "num_labels", "%lld", (long long)n);
    return WSC_OK;
}

enum wsc_err convert_labels_to_hf(json_t *config, const struct convert_side *cs)
{
    json_t *names = json_object(), *numbers = json_object();
    bool ok = names && numbers;
    for (int64_t i = 0; ok && i < cs->params->model.num_labels; i++) {
        char number[24], name[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)i);
        (void)snprintf(name, sizeof name, "LABEL_%lld", (long long)i);
        ok = !json_object_set_new(names, number, json_string(name)) &&
             !json_object_set_new(numbers, name, json_integer(i));
    }
    const enum wsc_err rc = convert_config_set(config, "id2label", ok ? json_incref(names) : NULL);
    const enum wsc_err more =
        rc ? rc : convert_config_set(config, "label2id", ok ? json_incref(numbers) : NULL);
    json_decref(names);
    json_decref(numbers);
    return more;
}

/* null is that of the residual branches, as without the key. */
enum wsc_err convert_head_dropout_to_cs(struct convert_yaml *y)
{
    double rate = -1;
    TRY(read_real(y, "classifier_dropout", &rate));
    if (rate < 0) TRY(read_real(y, "hidden_dropout_prob", &rate));
    convert_yaml_add(y, "task_dropout", "%.17g", rate < 0 ? 0.1 : rate);
    return WSC_OK;
}

enum wsc_err convert_head_dropout_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "classifier_dropout",
                              json_real(cs->params->model.task_dropout));
}

/* Positions begin after the row of padding, pad_token_id. */
enum wsc_err convert_padded_positions_to_cs(struct convert_yaml *y)
{
    int64_t rows = 514, pad = 1;
    TRY(read_int(y, "max_position_embeddings", NULL, 514, &rows));
    TRY(read_int(y, "pad_token_id", NULL, 1, &pad));
    if (pad < 0 || rows <= pad + 1 || rows > INT32_MAX)
        return convert_source_raise(y->from, WSC_FORMAT, "max_position_embeddings",
                                    "%lld rows leave no position after padding, row %lld",
                                    (long long)rows, (long long)pad);
    convert_yaml_add(y, "max_position_embeddings", "%lld", (long long)(rows - pad - 1));
    return WSC_OK;
}

enum wsc_err convert_padded_positions_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "max_position_embeddings",
                              json_integer(cs->model->stack[0].table_rows));
}

/* ---- an encoder with a decoder --------------------------------------------------------------- */

/* One vocabulary for both, whose sentinels are counted as tokens. */
enum wsc_err convert_pair_vocabulary_to_cs(struct convert_yaml *y)
{
    int64_t tokens = 1;
    TRY(read_positive(y, "vocab_size", NULL, &tokens));
    convert_yaml_add(y, "vocab_size", "%lld", (long long)tokens);
    return WSC_OK;
}

/* A folder has no keys for other factors than that of a tied output, 1 / sqrt(width). */
enum wsc_err convert_pair_vocabulary_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    const double logits = m->tied ? 1 / sqrt((double)m->C) : 1;
    if (m->n_stacks < 2 || m->stack[0].V != m->stack[1].V)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model: a %s model has an encoder and a decoder with one vocabulary",
                         cs->params->file, cs->family->name);
    if (m->zoo.embeddings_scale != 1 || m->stack[0].qk_scale != 1 || m->stack[1].qk_scale != 1 ||
        fabs(m->logits_scale / logits - 1) > 1e-12)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model: a %s model has no factors of embeddings, scores and logits",
                         cs->params->file, cs->family->name);
    return convert_config_set(config, "vocab_size", json_integer(m->stack[0].V));
}
