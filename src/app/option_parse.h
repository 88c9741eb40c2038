/** The parser of command lines: arguments to a request, by the rows of a table of options.
 *
 *  Start at app_parse(); a command asks app_given() whether an option was given.
 */
#ifndef WSC_APP_OPTION_PARSE_H
#define WSC_APP_OPTION_PARSE_H
#include "option.h"

/** Fill @p call from @p argv, of which argv[0] is the command's name: defaults, then the command
 *  line, then the checks of option against option.  @p command is one of @p commands, which are
 *  ended by one without a name; errors name those that have an option which it lacks.
 *  app_call_fini() the call, also after an error. */
enum wsc_err app_parse(struct app_call *call, const struct app_command *commands,
                       const struct app_command *command, const struct app_option *table, int argc,
                       char **argv) WSC_CHECKED;
void app_call_fini(struct app_call *call);
/** True when the option @p name of the call was given; its row must exist. */
bool app_given(const struct app_call *call, const char *name);
/** Refuse options of `wsc run` that have no effect in any of @p modes: words of `--mode`, separated
 *  by spaces, and `--requests` for a scoring. */
enum wsc_err app_check_mode(const struct app_call *call, const char *modes) WSC_CHECKED;
/** The next row of @p command in @p table after @p row, NULL @p row: the first; NULL at the end.
 */
const struct app_option *app_next_option(const struct app_option *table,
                                         const struct app_command *command,
                                         const struct app_option *row);

/** @p words, "a b c", as "a, b or c" in @p text of @p size bytes. */
void app_list_words(const char *words, char *text, size_t size);
/** True when @p a and @p b, words separated by spaces, have a word in common. */
bool app_share_word(const char *a, const char *b);
/** Add `--set text`; @p text is borrowed. */
enum wsc_err app_add_set(struct app_config *c, const char *text) WSC_CHECKED;
/** Add the override of the option @p o, KEY=@p value with its key; WSC_USAGE for an empty value. */
enum wsc_err app_add_override(struct app_config *c, const struct app_option *o,
                              const char *value) WSC_CHECKED;
/** Check the list @p list of option @p o: names separated by commas, none empty, none twice.
 *  WSC_USAGE. */
enum wsc_err app_check_names(const struct app_option *o, const char *list) WSC_CHECKED;
/** Read a whole number in [min, max], or raise an error that names @p what. */
enum wsc_err app_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                           int64_t *out) WSC_CHECKED;
#endif
