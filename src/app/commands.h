/** The table of commands: what `wsc --help` lists and main.c dispatches to.
 *
 *  To add a command: a row in commands.c, a bit in option.h, a request in requests.h, a function.
 */
#ifndef WSC_APP_COMMANDS_H
#define WSC_APP_COMMANDS_H
#include "option.h"

/** One row for each command, ended by a row without a name. */
extern const struct app_command app_commands[];

/** What the program is, in a line and in a sentence. */
extern const char app_subject[], app_purpose[];
enum { APP_N_STATUSES = 6 };
/** Meaning of each exit status. */
extern const char *const app_statuses[APP_N_STATUSES];
/** An environment variable that users set. */
struct app_variable {
    const char *name, *meaning;
};
/** Rows ended by one without a name. */
extern const struct app_variable app_variables[];
#endif
