/** The parts of a stage on the mesh, and where the gradients of a leaf go; program_model.c walks
 * the parts of a stage with them. */
#ifndef WSC_PROGRAMS_PARTS_H
#define WSC_PROGRAMS_PARTS_H
#include "program_state.h"

/** First sample and number of samples of leaf @p i of the share. */
void programs_leaf_samples(const struct programs_model *k, int i, int *first, int *n);

enum wsc_err programs_forward_part(struct programs_model *k, enum model_part part);
enum wsc_err programs_backward_part(struct programs_model *k, enum model_part part);
#endif
