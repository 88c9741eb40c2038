/** Pages of the manual, in the macros of man(7), from the tables that the program works by.
 *
 *  `wsc help --man PAGE` prints one.
 */
#ifndef WSC_APP_MANUAL_H
#define WSC_APP_MANUAL_H
#include "option.h"

/** Write the page named @p page, "wsc-run" or "wsc-run.1", or, for "list", the file names of all;
 *  *@p text is owned by the caller.  The commands and options are those of @p call.  WSC_USAGE when
 * there is no such page. */
enum wsc_err app_manual(const struct app_call *call, const char *page, char **text) WSC_CHECKED;
#endif
