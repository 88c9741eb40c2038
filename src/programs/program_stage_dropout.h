/** Dropout of the current stage: its places in the step, and their cycles. program_dropout.h has
 *  the dropout of any tile. */
#ifndef WSC_PROGRAMS_STAGE_DROPOUT_H
#define WSC_PROGRAMS_STAGE_DROPOUT_H
#include "program_dropout.h"
#include "program_state.h"

#include <wsc/err.h>

/** True when dropout acts at @p place of the current layer. */
bool programs_drops(const struct programs_model *k, enum model_drop_place place);
/** Parameters of dropout at @p place in the current step. */
struct programs_drop programs_drop_of(const struct programs_model *k, enum model_drop_place place);
/** to = dropout @p at of @p from in the current step; with @p back, its gradient. */
enum wsc_err programs_drop_as(struct programs_model *k, const struct model_dropout *at,
                              const struct programs_tile *to, const struct programs_tile *from,
                              bool back);
/** to = dropout of @p from; with @p back, its gradient. Does nothing where programs_drops() is
 *  false. */
enum wsc_err programs_drop(struct programs_model *k, enum model_drop_place place,
                           const struct programs_tile *to, const struct programs_tile *from,
                           bool back);
/** Add the cycles of the programs of @p d to kernel `dropout`. */
void programs_book_drop(struct programs_model *k, const struct programs_drop *d, bool back);
#endif
