/** Squared error of the only output of a sequence, which its first token has, and its target, on
 *  the mesh; program_head.c calls. */
#ifndef WSC_PROGRAMS_REGRESSION_H
#define WSC_PROGRAMS_REGRESSION_H
#include "program_loss.h"

#include <wsc/err.h>

/** Write the squared errors to @p out: 0 for tokens that are not in the loss; the best outputs of
 *  @p out have no meaning. The tile becomes output - target; 0 for tokens that are not in the loss.
 */
enum wsc_err programs_run_regression(struct programs_grid *g, const struct programs_loss *l,
                                     const struct programs_losses *out);
/** The tile becomes d(error^2)/d(output before its scale). */
enum wsc_err programs_run_regression_backward(struct programs_grid *g,
                                              const struct programs_loss *l);
#endif
