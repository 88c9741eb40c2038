/** Pages of the manual, in the macros of man(7), from the tables that the program works by.
 *
 *  `wsc help --man PAGE` prints one.
 */
#ifndef WSC_APP_MANUAL_H
#define WSC_APP_MANUAL_H
#include <wsc/err.h>

/** Write the page named @p page, "wsc-run" or "wsc-run.1", or, for "list", the file names of all;
 *  *@p text is owned by the caller.  WSC_USAGE when there is no such page. */
enum wsc_err app_manual(const char *page, char **text) WSC_CHECKED;
#endif
