/** Sums over tokens without blocks, by arriving data: the second way of the pattern `outer`, which
 *  program_weight_grad.c chooses. */
#ifndef WSC_PROGRAMS_COLUMNS_H
#define WSC_PROGRAMS_COLUMNS_H
#include "program_grid.h"
#include "program_weight_grad.h"

#include <wsc/err.h>

enum wsc_err programs_run_columns(struct programs_grid *g, struct programs_weight_gradient *w);
enum wsc_err programs_run_key_columns(struct programs_grid *g,
                                      const struct programs_key_gradient *k);
#endif
