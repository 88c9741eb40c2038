/** The picture of `wsc validate`, drawn when its tables are written
 *  (validation_table.c), and what tables say of bands. */
#ifndef WSC_VALIDATION_PLOT_H
#define WSC_VALIDATION_PLOT_H
#include <wsc/report.h>

/** validation.gp, and from it validation.svg and validation.png. */
enum wsc_err report_validation_plot(const char *dir, const struct validation_table *v) WSC_CHECKED;

enum { REPORT_MACHINES_SIZE = 48 };
/** " (6 of 8 machines)": how many sampled machines a band is of, if not of all that are sampled;
 *  otherwise "". Returns @p text. */
const char *report_band_machines(int n, char text[static REPORT_MACHINES_SIZE]);

enum { REPORT_BAND_SIZE = 96 };
/** "64..256 (6 of 8 machines)", the band of @p p; "- (0 of 8 machines)" without one. Returns
 *  @p text. */
const char *report_band(const struct validation_prediction *p, char text[static REPORT_BAND_SIZE]);
#endif
