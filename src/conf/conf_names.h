/** Names of keys in messages, inside conf: longer than conf_quote() allows.
 *  The other functions of conf_names.c are in <wsc/conf.h>. */
#ifndef WSC_CONF_NAMES_H
#define WSC_CONF_NAMES_H
#include <wsc/conf.h>

/** Size of the buffer of conf_quote_path(), bytes. */
enum { CONF_QUOTE_PATH_BYTES = 128 };
/** A dotted key path for a message, cut to CONF_QUOTE_PATH_BYTES, control characters replaced by
 *  `?`.  Returns @p out. */
const char *conf_quote_path(const char *text, char out[CONF_QUOTE_PATH_BYTES]);
#endif
