/** What `wsc params` makes of params files: templates and differences.
 *
 *  cmd_params.c calls both; the schema is report_config_schema().
 */
#ifndef WSC_APP_PARAMS_FILES_H
#define WSC_APP_PARAMS_FILES_H
#include <wsc/err.h>

/** Write a commented params file of the shipped model of @p family and @p size (`1.3b`, or NULL)
 *  into *@p text, owned by the caller; the family `list` gives all families and sizes, a line each.
 *  WSC_USAGE when there is no such model. */
enum wsc_err app_params_template(const char *family, const char *size, char **text) WSC_CHECKED;
/** Print the keys whose effective values differ in the params files @p a and @p b, a line each. */
enum wsc_err app_params_diff(const char *a, const char *b) WSC_CHECKED;
#endif
