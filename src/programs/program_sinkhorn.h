/** Sinkhorn's normalisation of a router's logits on the mesh: sums over the experts of a token and
 *  over the tokens of a sequence.  program_router.c calls it. */
#ifndef WSC_PROGRAMS_SINKHORN_H
#define WSC_PROGRAMS_SINKHORN_H
#include "program_state.h"

#include <wsc/err.h>

/** Normalise the logits of the experts in @p tile alternately so that they add up to 1 over the
 *  experts of a token, then over the tokens of a sequence; the model gives the number of
 * iterations. The layout of the stage must be that of tokens. */
enum wsc_err programs_sinkhorn(struct programs_model *k, const struct programs_tile *tile);
#endif
