/** The table of options: one row for each option of each command.
 *
 *  What a row may say: struct app_option (option.h).
 */
#ifndef WSC_APP_OPTIONS_H
#define WSC_APP_OPTIONS_H
#include "option.h"

/** Rows of every command, ended by a row of no command. */
extern const struct app_option app_options[];
#endif
