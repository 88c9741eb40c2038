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
    int64_t cycles;       /**< result: the cycles of its programs are added */
};
/** to = dropout of @p from, tiles of hidden features of all tokens; @p to and @p from may be one
 *  tile. */
enum wsc_err programs_run_drop(struct programs_grid *g, struct programs_drop *d,
                               const struct programs_tile *to, const struct programs_tile *from);
/** Apply dropout to the scores of sample @p sample of each lane, from address @p from to address @p
 *  to, which may be equal; the heads are those of @p f. */
enum wsc_err programs_run_drop_scores(struct programs_grid *g, struct programs_drop *d, int sample,
                                      const struct programs_features *f, int to, int from);
#endif
