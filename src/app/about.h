/** Texts on the program as a whole: purpose, exit statuses, environment variables.
 *
 *  `wsc --help` and wsc(1) are made of it.
 */
#ifndef WSC_APP_ABOUT_H
#define WSC_APP_ABOUT_H

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
