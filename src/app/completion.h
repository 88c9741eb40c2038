/** Completion of command lines in bash and zsh, from the tables that the program works by.
 *
 *  `wsc help --completion SHELL` prints a script.
 */
#ifndef WSC_APP_COMPLETION_H
#define WSC_APP_COMPLETION_H
#include "option.h"

/** Write the script for zsh (@p zsh) or bash into *@p text, owned by the caller: commands and
 *  options of @p call, choices, files, keys of `--set`. */
enum wsc_err app_completion(const struct app_call *call, bool zsh, char **text) WSC_CHECKED;
#endif
