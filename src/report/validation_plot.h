/** The picture of `wsc validate`, drawn when its tables are written
 *  (validation_table.c). */
#ifndef WSC_VALIDATION_PLOT_H
#define WSC_VALIDATION_PLOT_H
#include <wsc/report.h>

/** validation.gp, and from it validation.svg and validation.png. */
enum wsc_err report_validation_plot(const char *dir, const struct validation_table *v) WSC_CHECKED;
#endif
