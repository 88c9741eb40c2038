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

/* Settings of any scaling; one that neither these nor its type have may change the angles. */
static const char *const rope_key[] = {"rope_theta", "rope_type", "type", "factor",
                                       "partial_rotary_factor"};
enum { N_ROPE_KEYS = sizeof rope_key / sizeof *rope_key };

enum { MAX_ARGUMENTS = 4 };
/* Names of scalings on both sides, with the numbers that both have under one name. */
static const struct rope_type {
    const char *name;
    struct {
        const char *name;
        double missing; /* 0: the number must be given */
    } argument[MAX_ARGUMENTS];
    /* The length before the extension is by default that of the model; cosines and sines have a
     * factor, attention_factor. */
    bool extended;
} rope_type[] = {
    {"linear", {{NULL}}, false},
    {"llama3",
     {{"low_freq_factor", 0}, {"high_freq_factor", 0}, {"original_max_position_embeddings", 0}},
     false},
    {"yarn", {{"beta_fast", 32}, {"beta_slow", 1}, {"original_max_position_embeddings", 0}}, true},
};
enum { N_ROPE_TYPES = sizeof rope_type / sizeof *rope_type };

/* NULL: another one, or none. */
static const struct rope_type *find_type(const char *name)
{
    for (int i = 0; name && i < N_ROPE_TYPES; i++)
        if (!strcmp(rope_type[i].name, name)) return &rope_type[i];
    return NULL;
}

/* True when the setting is one of any scaling, or of type @p type. */
static bool is_rope_key(const struct rope_type *type, const char *name)
{
    for (int i = 0; i < N_ROPE_KEYS; i++)
        if (!strcmp(rope_key[i], name)) return true;
    for (int i = 0; type && i < MAX_ARGUMENTS && type->argument[i].name; i++)
        if (!strcmp(type->argument[i].name, name)) return true;
    return type && type->extended && !strcmp(name, "attention_factor");
}

/* The object with the rotary settings and its name; NULL when there is none. */
struct rope {
    const char *name;
    json_t *settings; /* borrowed */
};

/* The name of the scaling, under its newer or its older key; NULL: there is none. */
static const char *type_of(const struct rope *r)
{
    const char *type = json_string_value(json_object_get(r->settings, "rope_type"));
    return type ? type : json_string_value(json_object_get(r->settings, "type"));
}

/* Settings that are null count as absent. */
static enum wsc_err check_rope(const struct convert_source *s, const struct rope *r)
{
    const struct rope_type *type = find_type(type_of(r));
    if (!json_is_object(r->settings))
        return convert_source_raise(s, WSC_FORMAT, r->name, "expected an object");
    for (void *i = json_object_iter(r->settings); i; i = json_object_iter_next(r->settings, i)) {
        const char *name = json_object_iter_key(i);
        if (!is_rope_key(type, name) && !json_is_null(json_object_iter_value(i)))
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
    convert_yaml_add(y, "rotary_dim", "%lld", (long long)convert_rotary_dim(head_dim, pct));
    return WSC_OK;
}

enum wsc_err convert_rotary_pct_to_hf(json_t *config, const struct convert_side *cs)
{
    const double pct = convert_rotary_pct(cs->model->rotary_dim, cs->model->head_dim);
    return convert_config_set(config, "rotary_pct", json_real(pct));
}

/* The factor of the angles' cosines and sines, where it is not the default of yarn; the rule is
 * mscale_a log(factor) + mscale_b (model_positions.c). */
static enum wsc_err attention_factor_to_cs(struct convert_yaml *y, const struct rope *r,
                                           double factor)
{
    const json_t *value = json_object_get(r->settings, "attention_factor");
    if (!value || json_is_null(value)) return WSC_OK;
    if (!json_is_number(value) || json_number_value(value) < 0)
        return convert_source_raise(y->from, WSC_FORMAT, r->name,
                                    "attention_factor is not a positive number");
    if (factor <= 1 && json_number_value(value) != 1)
        return wsc_err_hint(convert_source_raise(y->from, WSC_CONFIG, r->name,
                                                 "an attention_factor of %g needs a factor above "
                                                 "1, got %g",
                                                 json_number_value(value), factor),
                            "attention_factor 1, or none");
    (void)fprintf(y->out, "        mscale_a: 0\n        mscale_b: %.17g\n",
                  json_number_value(value));
    return WSC_OK;
}

/* Length of the model's sequences, by the family's row; 0: null. */
static enum wsc_err read_length(const struct convert_yaml *y, int64_t *length)
{
    char text[CONVERT_VALUE_BYTES] = "0";
    for (int i = 0; i < y->family->n_keys; i++) {
        const struct convert_key *key = &y->family->key[i];
        if (key->hf && key->cs && !strcmp(key->cs, "max_position_embeddings"))
            TRY(convert_config_value(key, y->from, text));
    }
    *length = 0;
    return strcmp(text, "null") != 0 ? wsc_units_int(text, length) : WSC_OK;
}

/* The scaling by its numbers (model_positions.c computes it). */
static enum wsc_err arguments_to_cs(struct convert_yaml *y, const struct rope *r,
                                    const struct rope_type *type, double factor)
{
    int64_t length = 0;
    if (!type->argument[0].name) return WSC_OK;
    if (type->extended) TRY(read_length(y, &length));
    convert_yaml_add(y, "pos_scaling_type", "%s", type->name);
    (void)fprintf(y->out, "    pos_scaling_extra_args:\n");
    for (int i = 0; i < MAX_ARGUMENTS && type->argument[i].name; i++) {
        const char *name = type->argument[i].name;
        const json_t *value = json_object_get(r->settings, name);
        double number = type->argument[i].missing > 0 ? type->argument[i].missing : (double)length;
        if (value && !json_is_null(value)) number = json_number_value(value);
        if (!(number > 0))
            return convert_source_raise(y->from, WSC_FORMAT, r->name, "%s is %s", name,
                                        value ? "not a positive number" : "missing");
        (void)fprintf(y->out, "        %s: %.17g\n", name, number);
    }
    return type->extended ? attention_factor_to_cs(y, r, factor) : WSC_OK;
}

/* No object, the type `default`, or rope_parameters without type and factor: no scaling. */
enum wsc_err convert_rope_scaling_to_cs(struct convert_yaml *y)
{
    struct rope r;
    TRY(read_rope(y->from, &r));
    if (!r.settings) return WSC_OK;
    const char *name = type_of(&r);
    const struct rope_type *type = find_type(name);
    const json_t *given = json_object_get(r.settings, "factor");
    const double factor = json_number_value(given);
    if (name ? !strcmp(name, "default") : !given && !strcmp(r.name, "rope_parameters"))
        return WSC_OK;
    if (!type)
        return wsc_err_hint(convert_source_raise(y->from, WSC_CONFIG, r.name, "%s is not supported",
                                                 name ? name : "a scaling without a type"),
                            "known are: default, linear, llama3, yarn");
    if (!(factor > 0))
        return convert_source_raise(y->from, WSC_FORMAT, r.name, "factor is not a positive number");
    convert_yaml_add(y, "pos_scaling_factor", "%.17g", factor);
    return arguments_to_cs(y, &r, type, factor);
}

/* A number of the params; false when the key is not given. */
static bool real_param(const struct convert_side *cs, const char *path, double *value)
{
    char text[CONVERT_VALUE_BYTES];
    return zoo_params_value(cs->params, path, text, sizeof text) && !wsc_units_double(text, value);
}

/* What folders cannot express of yarn is an error; the factor of the angles is written unless it is
 * the default. It is 1 where the scaling does not extend (model_positions.c). */
static enum wsc_err attention_factor_to_hf(json_t *scaling, const struct convert_side *cs,
                                           double factor)
{
    double extrapolation = 1, a = 0.1, b = 1;
    (void)real_param(cs, "model.pos_scaling_extra_args.extrapolation_factor", &extrapolation);
    (void)real_param(cs, "model.pos_scaling_extra_args.mscale_a", &a);
    (void)real_param(cs, "model.pos_scaling_extra_args.mscale_b", &b);
    if (extrapolation != 1)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model.pos_scaling_extra_args.extrapolation_factor: a %s model has no "
                         "counterpart of %g",
                         cs->params->file, cs->family->name, extrapolation);
    if (factor <= 1 || (a == 0.1 && b == 1)) return WSC_OK;
    return convert_config_set(scaling, "attention_factor", json_real(a * log(factor) + b));
}

/* A length is a whole number in transformers, every other setting a real one. */
static json_t *json_number(const char *name, double value)
{
    const bool is_length = !strcmp(name, "original_max_position_embeddings");
    return is_length && value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static enum wsc_err arguments_to_hf(json_t *scaling, const struct convert_side *cs,
                                    const struct rope_type *type)
{
    char path[CONVERT_NAME_BYTES];
    for (int i = 0; i < MAX_ARGUMENTS && type->argument[i].name; i++) {
        double value = type->argument[i].missing;
        const char *name = type->argument[i].name;
        (void)snprintf(path, sizeof path, "model.pos_scaling_extra_args.%s", name);
        if (!real_param(cs, path, &value) && !(value > 0)) continue;
        TRY(convert_config_set(scaling, name, json_number(name, value)));
    }
    return WSC_OK;
}

/* The scaling as an object rope_scaling; without one the key is null. */
enum wsc_err convert_rope_scaling_to_hf(json_t *config, const struct convert_side *cs)
{
    char name[CONVERT_VALUE_BYTES] = "linear";
    double factor = 1;
    (void)real_param(cs, "model.pos_scaling_factor", &factor);
    (void)zoo_params_value(cs->params, "model.pos_scaling_type", name, sizeof name);
    const struct rope_type *type = find_type(name);
    if (factor == 1 && type && !type->extended)
        return convert_config_set(config, "rope_scaling", json_null());
    if (!type)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model.pos_scaling_type: a %s model has no counterpart of %s",
                         cs->params->file, cs->family->name, name);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", name, "factor", factor);
    enum wsc_err rc = arguments_to_hf(scaling, cs, type);
    if (!rc && type->extended) rc = attention_factor_to_hf(scaling, cs, factor);
    if (!rc) return convert_config_set(config, "rope_scaling", scaling);
    json_decref(scaling);
    return rc;
}
