/** A configuration key on both sides, and what its functions are given: the configuration on its
 * way to params, or the params on their way to config.json. */
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
/** A folder's configuration on its way to params. */
struct convert_yaml {
    const struct convert_source *from;
    const struct convert_family *family;
    const struct convert_key *key; /**< the row that is being converted */
    FILE *out;
};
/** Our side: params, the model they give. */
struct convert_side {
    const struct convert_family *family;
    const struct zoo_params *params;
    const struct model *model;
    bool fold; /**< to Hugging Face: the model's factors become part of its tensors */
};
enum { CONVERT_MAX_READS = 4 };
/** A configuration key on both sides: one value, as it stands or through `word`.  Without `cs` the
 *  folder must have `fixed`, without `hf` the params must (with `any`: may have anything).  A key
 *  that is more than a value has functions. */
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
    const char *reads[CONVERT_MAX_READS]; /**< other keys of config.json that to_cs takes in */
};
#endif
