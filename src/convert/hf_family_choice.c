// SPDX-License-Identifier: Apache-2.0
/* Finds the family (hf_families.c) of a folder or of a name, and the tensors of a folder that are
 * not weights. */
#include "hf_families.h"

#include <wsc/text.h>

#include <stdio.h>
#include <string.h>

/* An error that names all families. */
static enum wsc_err unknown(const char *where, const char *name)
{
    char known[1024] = "";
    size_t n = 0;
    for (const struct convert_family *f = convert_families; f->name && n < sizeof known; f++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", f->name);
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s is not a family that is known", where, name),
                        "known are: %s", known);
}

/* Is @p value, or the first of a list, the text or the truth value @p expected? */
static bool has_value(const json_t *value, const char *expected)
{
    if (json_is_array(value)) value = json_array_get(value, 0);
    if (json_is_string(value)) return !strcmp(json_string_value(value), expected);
    return !strcmp(json_is_true(value) ? "true" : "false", expected);
}

enum wsc_err convert_family_of(const char *path, const json_t *config,
                               const struct convert_family **out)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    *out = NULL;
    if (!type) return WSC_RAISE(WSC_FORMAT, "%s: model_type is missing", path);
    for (const struct convert_family *f = convert_families; f->name; f++) {
        if (strcmp(f->model_type, type) != 0) continue;
        if (!f->select && !*out) *out = f;
        if (!f->select || !has_value(json_object_get(config, f->select), f->selected)) continue;
        *out = f; /* the row of a kind, whatever the order of the rows */
        return WSC_OK;
    }
    return *out ? WSC_OK : unknown(path, type);
}

enum wsc_err convert_family_named(const char *name, const struct convert_family **out)
{
    *out = NULL;
    for (const struct convert_family *f = convert_families; f->name; f++) {
        if (strcmp(f->name, name) != 0) continue;
        *out = f;
        return WSC_OK;
    }
    return unknown("--model", name);
}

bool convert_ends_with(const char *const *ending, const char *name)
{
    for (; ending && *ending; ending++)
        if (wsc_ends_with(name, *ending)) return true;
    return false;
}

/* Masks, tables of angles and of positions, slopes, and the second name of a tied bias. */
bool convert_is_buffer(const char *name)
{
    static const char *const ending[] = {".attn.bias",
                                         ".attn.masked_bias",
                                         ".attn.causal_mask",
                                         ".attention.bias",
                                         ".attention.masked_bias",
                                         ".rotary_emb.inv_freq",
                                         ".rotary_embeddings.inv_freq",
                                         ".embed_positions",
                                         ".position_ids",
                                         ".relative_pe.slopes",
                                         "cls.predictions.decoder.bias",
                                         "lm_head.decoder.bias",
                                         NULL};
    return convert_ends_with(ending, name);
}
