/** The files and tables of a sweep that scaling_files.c puts together, one function each:
 *  tables (scaling_text.c, study_tables.c), pictures (scaling_plot.c, study_plot.c), the page
 *  (report_html.c, study_html.c). */
#ifndef WSC_SCALING_OUTPUT_H
#define WSC_SCALING_OUTPUT_H
#include <wsc/report.h>

#include "report_view.h"

/** Most constants of a table of sensitivities, and most bars of a tornado plot. */
enum { REPORT_MOST_CONSTANTS = 16 };

/** scaling.csv: a row per model and number of systems. */
enum wsc_err report_csv_write(const char *dir, const struct report_view *v) WSC_CHECKED;
/** scaling.gp, and from it scaling.svg and scaling.png by gnuplot. */
enum wsc_err report_plot_write(const char *dir, const struct report_view *v) WSC_CHECKED;
/** What the points of scaling.svg say, as report_page_picture() takes it. */
void report_plot_labels(struct wsc_text *t, const struct report_view *v);
/** report.html, with scaling.svg of @p dir inside. */
enum wsc_err report_html_write(const char *dir, const struct report_view *v) WSC_CHECKED;

/** Write effects.csv, faults.csv, sweep.csv, sensitivity.csv, training.csv, as far as @p s has what
 *  they hold. */
enum wsc_err report_study_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Draw sweep.svg or sparsity.svg, and tornado.svg, with their PNGs, all models in each; one that
 * fails does not keep the other away. */
enum wsc_err report_study_draw(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Print what report_study_write() writes as tables on stdout. */
enum wsc_err report_study_print(const struct report_scaling *s) WSC_CHECKED;
/** Sections of report.html, with the pictures of @p dir inside. */
enum wsc_err report_study_html(struct wsc_text *t, const char *dir,
                               const struct report_scaling *s) WSC_CHECKED;
#endif
