/** Gradients of the weights that are not zero, alone: a sampled product of two dense matrices, of
 *  which one passes along the rows and the other one stays. */
#ifndef WSC_PROGRAMS_SAMPLED_H
#define WSC_PROGRAMS_SAMPLED_H
#include "program_weight_grad.h"

#include <wsc/err.h>

/** Compute only the elements w->kept of the gradient; other elements of the host's matrix are not
 *  written. */
enum wsc_err programs_run_sampled_gradient(struct programs_grid *g,
                                           struct programs_weight_gradient *w);
#endif
