/** Patterns of tensors' names in params files: reading, writing, freeing.  Matching is public
 *  (<wsc/zoo_sparsity.h>). */
#ifndef WSC_ZOO_NAME_PATTERNS_H
#define WSC_ZOO_NAME_PATTERNS_H
#include <wsc/zoo_sparsity.h>

/** True for a tensor that a section without patterns selects: with more than one dimension, and
 *  without `embedding`, `norm`, `lm_head`, `pe_helper` in its name. */
bool zoo_sparsity_by_default(const char *name, int n_dims);
/** Does @p glob, at most ZOO_PATTERN_BYTES and one more, match the whole of @p name, as in Python's
 *  fnmatchcase()? */
bool zoo_glob_matches(const char *glob, const char *name);
/** Append the pattern or the list of patterns @p node; out->expressions is true for expressions.
 *  Errors name @p path. */
void zoo_patterns_read(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct zoo_patterns *out);
/** Write a blank and the list of patterns, `null` without one. */
void zoo_patterns_write(struct wsc_text *out, const struct zoo_patterns *patterns);
/** Free the patterns. */
void zoo_patterns_fini(struct zoo_patterns *patterns);
#endif
