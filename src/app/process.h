/** What the process knows of itself: its command line, and whether its error has been printed.
 *
 *  On several ranks one rank prints an error that all of them return.
 */
#ifndef WSC_APP_PROCESS_H
#define WSC_APP_PROCESS_H
#include <wsc/comm.h>
#include <wsc/err.h>

#include <stdbool.h>

/** Remember the command line of main(). */
void app_set_command_line(int argc, char **argv);
/** The command line as one string, for provenance. */
const char *app_command_line(void);
/** Marks the error as printed, by this rank or by another: app_report_error() prints nothing. */
void app_set_reported(void);
/** Print the error that was raised last to stderr, unless it is marked as printed. */
void app_report_error(void);
/** True on the rank that prints and writes, and in a process of its own (@p comm is NULL). */
bool app_leads(const struct comm *comm);
/** The result of a step that one rank takes alone, on every rank; the lowest rank that failed
 * prints its error. Collective. */
enum wsc_err app_agree(struct comm *comm, enum wsc_err rc) WSC_CHECKED;
/** Pass on an error that every rank of @p comm (or NULL) finds alike: rank 0 prints it. One of
 *  app_agree() is printed by the rank that it has chosen. */
enum wsc_err app_reported_once(struct comm *comm, enum wsc_err rc) WSC_CHECKED;
#endif
