// SPDX-License-Identifier: Apache-2.0
/* Applies dropout to the current stage: it decides which of the stage's places drop anything in
 * this step, and counts the cycles. The parts of a block and adapters call. */
#include "program_stage_dropout.h"
#include "program_stage.h"

static struct model_dropout dropout_at(const struct programs_model *k, enum model_drop_place place)
{
    return model_dropout_at(k->model, 0, k->l, place);
}

bool programs_drops(const struct programs_model *k, enum model_drop_place place)
{
    return k->training && !k->reference && dropout_at(k, place).below > 0;
}

static struct programs_drop drop_of(const struct programs_model *k, struct model_dropout at)
{
    return (struct programs_drop){.at = at,
                                  .seed = model_dropout_seed(k->model, k->share.step),
                                  .first_sample = k->share.first_leaf * k->share.leaf_samples};
}

struct programs_drop programs_drop_of(const struct programs_model *k, enum model_drop_place place)
{
    return drop_of(k, dropout_at(k, place));
}

void programs_book_drop(struct programs_model *k, const struct programs_drop *d, bool back)
{
    const enum programs_row_kind row = back ? PROGRAMS_ROW_DROPOUT_BACKWARD : PROGRAMS_ROW_DROPOUT;
    programs_stage_book(k, row, d->cycles);
    programs_stage_expect(k, row, 0); /* the analytical model has no term for it */
}

enum wsc_err programs_drop_as(struct programs_model *k, const struct model_dropout *at,
                              const struct programs_tile *to, const struct programs_tile *from,
                              bool back)
{
    struct programs_drop d = drop_of(k, *at);
    TRY(programs_run_drop(&k->grid, &d, to, from));
    programs_book_drop(k, &d, back);
    return WSC_OK;
}

enum wsc_err programs_drop(struct programs_model *k, enum model_drop_place place,
                           const struct programs_tile *to, const struct programs_tile *from,
                           bool back)
{
    const struct model_dropout at = dropout_at(k, place);
    return programs_drops(k, place) ? programs_drop_as(k, &at, to, from, back) : WSC_OK;
}
