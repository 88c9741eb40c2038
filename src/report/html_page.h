/** Pieces of an HTML page, appended to a growing text (html_page.c).  Texts are escaped here; a
 *  caller passes them as they are. */
#ifndef WSC_HTML_PAGE_H
#define WSC_HTML_PAGE_H
#include <wsc/hw.h>
#include <wsc/out.h>

/** The head with the style sheet, and @p title as heading. */
void report_page_begin(struct wsc_text *t, const char *title);
/** The script and the end of a page. */
void report_page_end(struct wsc_text *t);
/** Begin a table whose head is @p heads, as in "model|systems>", where > sets a column to the
 *  right. */
void report_page_table(struct wsc_text *t, const char *heads);
/** End a table. */
void report_page_table_end(struct wsc_text *t);
/** A cell with @p text; NULL: an empty one. */
void report_page_cell(struct wsc_text *t, const char *text, bool right);
/** A cell with @p text, which stands for @p value: tables are sorted by it, downloads have it. */
void report_page_value(struct wsc_text *t, const char *text, double value);
/** A cell with @p value to @p digits decimals and @p unit after it. */
void report_page_number(struct wsc_text *t, int digits, double value, const char *unit);
/** A cell with a ratio as change in percent; NaN: what was compared does not fit the machine. */
void report_page_change(struct wsc_text *t, double ratio);
/** The picture `<dir>/<name>` inside the page, without the XML head that HTML does not want; a
 *  sentence where there is none (html_picture.c).  @p labels: a line `PLOT TEXT` for each point
 *  that shows its values, in the order of gnuplot's plots and their data; NULL: none. */
enum wsc_err report_page_picture(struct wsc_text *t, const char *dir, const char *name,
                                 const char *caption, const char *labels) WSC_CHECKED;
/** A section with every constant of @p cluster: value, kind, source. */
void report_page_constants(struct wsc_text *t, const struct hw_machine *cluster);
/** Begin the section on provenance, a table of facts, with program, @p command, date and host;
 *  more facts may follow, then `</tbody></table>`. */
void report_page_provenance(struct wsc_text *t, const char *command);
/** A row of that table; nothing when @p value is NULL. */
void report_page_fact(struct wsc_text *t, const char *name, const char *value);
#endif
