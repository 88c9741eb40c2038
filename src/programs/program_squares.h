/** Sums of the squares of each leaf's gradient, for the gradient noise scale: gradients of leaves
 *  come to the edge one by one, so these are taken there.  program_model.c calls. */
#ifndef WSC_PROGRAMS_SQUARES_H
#define WSC_PROGRAMS_SQUARES_H
#include "program_state.h"

/** A micro-batch begins. */
void programs_squares_begin(struct programs_model *k);
/** The gradients of the stage at hand have come, of all leaves. */
void programs_squares_add(struct programs_model *k);
void programs_squares_fini(struct programs_model *k);
#endif
