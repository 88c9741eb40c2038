/** The table of families: which row a folder's config.json or the name after --model
 *  chooses. */
#ifndef WSC_CONVERT_HF_FAMILIES_H
#define WSC_CONVERT_HF_FAMILIES_H
#include "hf_family.h"

#include <wsc/err.h>

#include <jansson.h>
#include <stdbool.h>

/** The families, in the order in which a configuration is tried; the last one has no name. */
extern const struct convert_family convert_families[];
/** The family of a folder's configuration, and the family with the name @p name. */
enum wsc_err convert_family_of(const char *path, const json_t *config,
                               const struct convert_family **out) WSC_CHECKED;
enum wsc_err convert_family_named(const char *name, const struct convert_family **out) WSC_CHECKED;
/** True when @p name (of a folder) is a buffer, such as a mask or a table of angles, and not a
 *  weight. */
bool convert_is_buffer(const char *name);
/** True when @p name ends with one of the list, which ends with NULL. A NULL list is empty. */
bool convert_ends_with(const char *const *ending, const char *name);
#endif
