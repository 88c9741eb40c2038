/** Sums over tokens, the pattern `outer`: one value at a time by arriving data, or in blocks
 *  (program_weight_grad.h), as the job says. */
#ifndef WSC_PROGRAMS_COLUMNS_H
#define WSC_PROGRAMS_COLUMNS_H
#include "program_grid.h"
#include "program_weight_grad.h"

#include <wsc/err.h>

enum wsc_err programs_sum_weights(struct programs_grid *g, struct programs_weight_gradient *w);
enum wsc_err programs_sum_keys(struct programs_grid *g, const struct programs_key_gradient *k);
#endif
