/** Dropout on the mesh. A PE computes the random numbers of its elements, which are those of the
 *  host (model_dropout_at()), and applies them. */
#ifndef WSC_PROGRAMS_DROPOUT_H
#define WSC_PROGRAMS_DROPOUT_H
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/model.h>
#include <wsc/programs.h>

#include <stdint.h>

/** Dropout of one place in a step. */
struct programs_drop {
    struct model_dropout at;
    uint64_t seed;        /**< of the step */
    int64_t first_sample; /**< of the micro-batch, in the global batch */
    int64_t cycles;       /**< out: those of its programs are added */
};
/** to = dropout of @p from, tiles of hidden features of all tokens; may be the same. */
enum wsc_err programs_run_drop(struct programs_grid *g, struct programs_drop *d,
                               const struct programs_tile *to, const struct programs_tile *from);
/** Scores of sample @p sample of each lane at address @p to = dropout of those at @p from, with
 *  the heads of @p f; may be the same. */
enum wsc_err programs_run_drop_scores(struct programs_grid *g, struct programs_drop *d, int sample,
                                      const struct programs_features *f, int to, int from);
#endif
