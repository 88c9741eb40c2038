/** Sums of the squares of each leaf's gradient, for the gradient noise scale: gradients of leaves
 *  come to the edge one by one, so these are taken there.  program_model.c calls. */
#ifndef WSC_PROGRAMS_SQUARES_H
#define WSC_PROGRAMS_SQUARES_H
#include "program_state.h"

/** Reset the sums at the beginning of a micro-batch. */
void programs_squares_begin(struct programs_model *k);
/** Add the gradients of the current stage, of all leaves. */
void programs_squares_add(struct programs_model *k);
void programs_squares_fini(struct programs_model *k);
#endif
