/** Pieces of `wsc reproduce`'s output, one function each: tables of texts (exhibit_cells.c),
 *  pictures (exhibit_plot.c), the page (exhibit_page.c), the PDF (exhibit_pdf.c), files and stdout
 *  (exhibit_files.c). */
#ifndef WSC_EXHIBIT_OUTPUT_H
#define WSC_EXHIBIT_OUTPUT_H
#include <wsc/report.h>

enum { REPORT_CELL_COLUMNS = 12, REPORT_CELL_SIZE = 200 };
/** A table of texts before it is known where it goes: stdout, HTML or PDF. */
struct report_cells {
    const char *head[REPORT_CELL_COLUMNS]; /**< static */
    char align[REPORT_CELL_COLUMNS + 1];   /**< `l` or `r` for each column */
    int n_columns, n_rows;
    char (*text)[REPORT_CELL_COLUMNS][REPORT_CELL_SIZE]; /**< owned */
};
/** The rows of an exhibit that are compared. */
enum wsc_err report_exhibit_rows(struct report_cells *c,
                                 const struct validation_reproduced *r) WSC_CHECKED;
/** The rows that are only shown, with the reason. */
enum wsc_err report_exhibit_context(struct report_cells *c,
                                    const struct validation_reproduced *r) WSC_CHECKED;
/** The points of its curves. */
enum wsc_err report_exhibit_points(struct report_cells *c,
                                   const struct validation_reproduced *r) WSC_CHECKED;
/** Release the texts. */
void report_cells_fini(struct report_cells *c);

/** Everything that gnuplot needs to draw @p r inside the rectangle that its variables X0, Y0, W, H
 *  give in fractions of the page: data and settings go to @p data, the plots to @p plot. */
void report_exhibit_plot(const struct validation_reproduced *r, struct wsc_text *data,
                         struct wsc_text *plot);
/** Whether there is anything to draw: a predicted row other than a bound, or a curve. */
bool report_exhibit_drawn(const struct validation_reproduced *r);
/** Draw `<id>.svg` and `<id>.png`, if there is anything to draw. */
enum wsc_err report_exhibit_draw(const char *dir,
                                 const struct validation_reproduced *r) WSC_CHECKED;
/** reproduction.html, with the pictures of @p dir inside. */
enum wsc_err report_exhibits_page(const char *dir,
                                  const struct validation_reproduction *r) WSC_CHECKED;
/** reproduction.pdf: a page for each exhibit, and more of them for long tables. */
enum wsc_err report_exhibits_pdf(const char *dir,
                                 const struct validation_reproduction *r) WSC_CHECKED;
#endif
