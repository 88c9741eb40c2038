/** Dropout of the current stage: its places in the step, and their cycles. program_dropout.h has
 *  the dropout of any tile. */
#ifndef WSC_PROGRAMS_STAGE_DROPOUT_H
#define WSC_PROGRAMS_STAGE_DROPOUT_H
#include "program_dropout.h"
#include "program_state.h"

#include <wsc/err.h>

/** Is anything dropped at @p place of the layer at hand? */
bool programs_drops(const struct programs_model *k, enum model_drop_place place);
/** Dropout at @p place in the step at hand. */
struct programs_drop programs_drop_of(const struct programs_model *k, enum model_drop_place place);
/** to = dropout @p at of @p from in the step at hand, or @p back of its gradient. */
enum wsc_err programs_drop_as(struct programs_model *k, const struct model_dropout *at,
                              const struct programs_tile *to, const struct programs_tile *from,
                              bool back);
/** to = dropout of @p from, or @p back of its gradient; nothing where programs_drops() says so. */
enum wsc_err programs_drop(struct programs_model *k, enum model_drop_place place,
                           const struct programs_tile *to, const struct programs_tile *from,
                           bool back);
/** The programs of @p d were kernel `dropout`. */
void programs_book_drop(struct programs_model *k, const struct programs_drop *d, bool back);
#endif
