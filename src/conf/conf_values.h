/** What the walk of conf_keys.c needs of conf_values.c beside the reader of one key in
 *  <wsc/conf.h>: names of keys for messages, and defaults. */
#ifndef WSC_CONF_VALUES_H
#define WSC_CONF_VALUES_H
#include <wsc/conf.h>

/** Digits of a quantity that bounds a range, in messages and in docs/CONFIG.md. */
enum { CONF_BOUND_DIGITS = 7 };
/** The full path of key @p path of the map that @p p reads, for messages: in @p out after the
 *  prefix of a record, else @p path itself. */
const char *conf_key_name(const struct conf_parse *p, const char *path, char out[CONF_MAX_PATH]);
/** Set the default of row @p row of the table, read as if it stood in the file; the row has one. */
void conf_key_default(struct conf_parse *p, int row);
#endif
