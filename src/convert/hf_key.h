/** A configuration key on both sides, and the arguments of its functions: the configuration that is
 *  converted to params, or the params that are converted to config.json. */
#ifndef WSC_CONVERT_HF_KEY_H
#define WSC_CONVERT_HF_KEY_H
#include <wsc/err.h>
#include <wsc/model.h>
#include <wsc/zoo.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct convert_family;
struct convert_source;
enum { CONVERT_VALUE_BYTES = 64 };
enum convert_value { CONVERT_INT, CONVERT_REAL, CONVERT_BOOL, CONVERT_TEXT };
struct convert_word {
    const char *hf, *cs;
};
/** A folder's configuration that is converted to params. */
struct convert_yaml {
    const struct convert_source *from;
    const struct convert_family *family;
    const struct convert_key *key; /**< the row that is being converted */
    FILE *out;
};
/** The side of this program: params, and the model of these params. */
struct convert_side {
    const struct convert_family *family;
    const struct zoo_params *params;
    const struct model *model;
    bool fold; /**< to Hugging Face: multiply the model's factors into its tensors */
};
enum { CONVERT_MAX_READS = 4 };
/** A configuration key on both sides: one value, unchanged or converted by `word`. Without `cs` the
 *  folder must have the value `fixed`; without `hf` the params must have it (any value with `any`).
 *  A key that is more than one value has functions. */
struct convert_key {
    const char *hf, *old_hf; /**< key of config.json; another name that some folders have */
    const char *cs;          /**< key below `model.` */
    enum convert_value type;
    const char *fixed;
    bool any;
    const char *missing; /**< value when config.json does not have the key; NULL: it must */
    const struct convert_word *word; /**< pairs, {NULL, NULL} at the end */
    enum wsc_err (*to_cs)(struct convert_yaml *y);
    enum wsc_err (*to_hf)(json_t *config, const struct convert_side *cs);
    const char *reads[CONVERT_MAX_READS]; /**< other keys of config.json that to_cs reads */
};
#endif
