/** The table of commands: what `wsc --help` lists and main.c dispatches to.
 *
 *  To add a command: a row in commands.c, a bit in option.h, a request in requests.h, a function.
 */
#ifndef WSC_APP_COMMANDS_H
#define WSC_APP_COMMANDS_H
#include "option.h"

/** One row for each command, ended by a row without a name. */
extern const struct app_command app_commands[];
#endif
