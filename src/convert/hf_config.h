/** Conversion of config.json to params and back, by the keys of a family (hf_key.h). Keys that are
 *  more than one value are in hf_special_keys.h. */
#ifndef WSC_CONVERT_HF_CONFIG_H
#define WSC_CONVERT_HF_CONFIG_H
#include "hf_family.h"
#include "hf_key.h"
#include "hf_source.h"

#include <wsc/convert.h>
#include <wsc/err.h>

#include <jansson.h>
#include <stdio.h>

/** A line of the section `model`. */
void convert_yaml_add(struct convert_yaml *y, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** The value of key->hf as text ("null", "12", "gelu"), checked for key->type. */
enum wsc_err convert_config_value(const struct convert_key *key, const struct convert_source *s,
                                  char text[CONVERT_VALUE_BYTES]) WSC_CHECKED;
/** Set a key of config.json; takes @p value, NULL is an error. */
enum wsc_err convert_config_set(json_t *config, const char *key, json_t *value) WSC_CHECKED;
/** The params file of a folder whose tensors have the type @p stored, which counts where
 * config.json names none.  *@p yaml is owned by the caller. */
enum wsc_err convert_config_to_yaml(const struct convert_family *family,
                                    const struct convert_source *s, enum convert_dtype stored,
                                    const char *checkpoint, char **yaml) WSC_CHECKED;
/** config.json of params; the caller owns *@p config. */
enum wsc_err convert_config_to_json(const struct convert_side *cs, enum convert_dtype dtype,
                                    json_t **config) WSC_CHECKED;
#endif
