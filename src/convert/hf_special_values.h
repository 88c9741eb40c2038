/** Numbers of config.json, for functions that read more than the key of their row.
 *
 *  Each raises WSC_FORMAT with the folder and the key when the value has another form. */
#ifndef WSC_CONVERT_HF_SPECIAL_VALUES_H
#define WSC_CONVERT_HF_SPECIAL_VALUES_H
#include "hf_key.h"

/** A whole number under @p name or @p old; @p missing when it is null or not there. */
enum wsc_err convert_read_int(const struct convert_yaml *y, const char *name, const char *old,
                              int64_t missing, int64_t *value) WSC_CHECKED;
/** A whole number from 1 on under @p name or @p old, which must be there. */
enum wsc_err convert_read_positive(const struct convert_yaml *y, const char *name, const char *old,
                                   int64_t *value) WSC_CHECKED;
/** Width of the model and number of heads. */
enum wsc_err convert_read_heads(const struct convert_yaml *y, int64_t *hidden,
                                int64_t *heads) WSC_CHECKED;
/** Width of a head: head_dim where the family has that key and the folder gives it, else the width
 *  of the model over the number of heads, which must divide it. */
enum wsc_err convert_read_head_dim(const struct convert_yaml *y, int64_t *head_dim) WSC_CHECKED;
/** A number under @p name; *@p value stays as it is when it is null or not there. */
enum wsc_err convert_read_real(const struct convert_yaml *y, const char *name,
                               double *value) WSC_CHECKED;
/** Rotated dimensions of a head of @p head_dim, @p pct of it above 0 and at most 1. */
int64_t convert_rotary_dim(int64_t head_dim, double pct);
/** Fraction of a head from which the transformers library computes @p rotary_dim of @p head_dim. */
double convert_rotary_pct(int64_t rotary_dim, int64_t head_dim);
#endif
