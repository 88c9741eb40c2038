/** The text of `wsc COMMAND --help`, written from the rows of a table of options.
 *
 *  Choices, defaults and which options may be repeated are the rows' own.
 */
#ifndef WSC_APP_OPTION_HELP_H
#define WSC_APP_OPTION_HELP_H
#include "option.h"

/** What the value of an option is called: "FILE", "a|b|c"; "" for a flag. */
void app_option_value(const struct app_option *o, char text[256]);
/** What an option does, with its default. */
void app_option_text(const struct app_option *o, char text[1024]);
/** The text of `wsc --help`: @p commands, ended by one without a name, with their summaries; owned
 *  by the caller. */
enum wsc_err app_overview(const struct app_command *commands, char **text) WSC_CHECKED;
/** The text of `wsc COMMAND --help`; owned by the caller. */
enum wsc_err app_help(const struct app_command *command, const struct app_option *table,
                      char **text) WSC_CHECKED;
#endif
