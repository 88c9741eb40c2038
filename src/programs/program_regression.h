/** Squared error of the only output of a sequence, which its first token has, and its target, on
 *  the mesh; program_head.c calls. */
#ifndef WSC_PROGRAMS_REGRESSION_H
#define WSC_PROGRAMS_REGRESSION_H
#include "program_loss.h"

#include <wsc/err.h>

/** Squared errors of tokens that count, 0 of the others, in @p out, whose best outputs are without
 *  meaning.  The tile becomes output - target; 0 where a token does not count. */
enum wsc_err programs_run_regression(struct programs_grid *g, const struct programs_loss *l,
                                     const struct programs_losses *out);
/** The tile becomes d(error^2)/d(output before its scale). */
enum wsc_err programs_run_regression_backward(struct programs_grid *g,
                                              const struct programs_loss *l);
#endif
