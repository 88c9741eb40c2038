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
/** The family of a folder's configuration, and the one that is called @p name. */
enum wsc_err convert_family_of(const char *path, const json_t *config,
                               const struct convert_family **out) WSC_CHECKED;
enum wsc_err convert_family_named(const char *name, const struct convert_family **out) WSC_CHECKED;
/** Is @p name (of a folder) a buffer: a mask or a table of angles, no weight? */
bool convert_is_buffer(const char *name);
/** Does @p name end with one of the list, whose end is NULL?  A NULL list is empty. */
bool convert_ends_with(const char *const *ending, const char *name);
#endif
