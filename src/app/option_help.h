/** The text of `wsc COMMAND --help`, written from the rows of a table of options.
 *
 *  Choices, defaults and which options may be repeated are the rows' own.
 */
#ifndef WSC_APP_OPTION_HELP_H
#define WSC_APP_OPTION_HELP_H
#include "option.h"

/** The text of `wsc COMMAND --help`; owned by the caller. */
enum wsc_err app_help(const struct app_command *command, const struct app_option *table,
                      char **text) WSC_CHECKED;
#endif
