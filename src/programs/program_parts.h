/** The parts of a stage on the mesh, in both passes; program_model.c walks
 * the parts of a stage with them. */
#ifndef WSC_PROGRAMS_PARTS_H
#define WSC_PROGRAMS_PARTS_H
#include "program_state.h"

#include <wsc/err.h>

enum wsc_err programs_forward_part(struct programs_model *k, enum model_part part);
enum wsc_err programs_backward_part(struct programs_model *k, enum model_part part);
#endif
