// SPDX-License-Identifier: Apache-2.0
/* Converts rotary settings. Up to release 4 of the transformers library they are rope_theta,
 * rope_scaling and partial_rotary_factor, since release 5 one object rope_parameters; both are
 * read. */
#include "hf_config.h"
#include "hf_family.h"
#include "hf_source.h"
#include "hf_special_keys.h"
#include "hf_special_values.h"
#include "json_file.h"

#include <wsc/units.h>

#include <math.h>
#include <string.h>

/* The supported settings; any other one may change the angles and is an error. */
static const char *const rope_key[] = {"rope_theta",
                                       "rope_type",
                                       "type",
                                       "factor",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "original_max_position_embeddings",
                                       "partial_rotary_factor"};
enum { N_ROPE_KEYS = sizeof rope_key / sizeof *rope_key };

/* True when the setting is in rope_key. */
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

/* Settings that are null count as absent. */
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

/* If both objects exist, they must agree. */
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

/* Read the number @p name of the rotary settings, or @p outer or @p old at the top level; *@p
 * found: it exists. */
static enum wsc_err read_rope_number(const struct convert_source *s, const char *name,
                                     const char *outer, const char *old, double *value, bool *found)
{
    struct rope r;
    TRY(read_rope(s, &r));
    const json_t *inner = json_object_get(r.settings, name), *top = json_object_get(s->json, outer);
    const json_t *older = old ? json_object_get(s->json, old) : NULL;
    if (json_is_null(inner)) inner = NULL;
    if (json_is_null(top)) top = NULL;
    if (json_is_null(older)) older = NULL;
    if (top && older && json_number_value(top) != json_number_value(older))
        return convert_source_raise(s, WSC_CONFIG, old, "%g contradicts %s, %g",
                                    json_number_value(older), outer, json_number_value(top));
    if (!top) top = older;
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

/* rotary_dim: whole heads are rotated, so a fraction that contradicts this is an error. */
enum wsc_err convert_whole_heads_to_cs(struct convert_yaml *y)
{
    int64_t head_dim = 1;
    double fraction = 1;
    bool found = false;
    TRY(convert_read_head_dim(y, &head_dim));
    TRY(read_rope_number(y->from, "partial_rotary_factor", "partial_rotary_factor", NULL, &fraction,
                         &found));
    if (fraction != 1)
        return convert_source_raise(y->from, WSC_CONFIG, "partial_rotary_factor",
                                    "%g is not supported, only 1: whole heads are rotated",
                                    fraction);
    convert_yaml_add(y, "rotary_dim", "%lld", (long long)head_dim);
    return WSC_OK;
}

enum wsc_err convert_whole_heads_to_hf(json_t *config, const struct convert_side *cs)
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
    TRY(convert_read_head_dim(y, &head_dim));
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
