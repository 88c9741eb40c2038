/** Tables and the picture of a sweep over sparsity. study_tables.c shows them instead of those of a
 *  swept constant. */
#ifndef WSC_SPARSITY_SWEEP_H
#define WSC_SPARSITY_SWEEP_H
#include "scaling_output.h"

/** sparsity.csv under @p dir: a line for each value and row of the sweep. */
enum wsc_err report_sparsity_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** A table for each model, at its largest node count. */
enum wsc_err report_sparsity_print(const struct report_scaling *s) WSC_CHECKED;
/** sparsity.svg and .png: a panel for each model, at its largest node count. */
enum wsc_err report_sparsity_draw(const char *dir, const struct report_scaling *s) WSC_CHECKED;
#endif
