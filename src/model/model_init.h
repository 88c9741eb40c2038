/** Initial distributions of tensors: rules of the Model Zoo's classes, initializers of the params.
 *  model_tensors.c has a rule in each row; memoryx samples from what comes out. */
#ifndef WSC_MODEL_INIT_H
#define WSC_MODEL_INIT_H
#include "model_mup.h"

#include <wsc/err.h>
#include <wsc/model.h>

/** What decides how a tensor starts: rule and kind of its row, and its stack. */
struct model_init_place {
    enum model_init_rule rule;
    enum model_tensor_kind kind;
    bool decoder; /**< of the decoder of an encoder-decoder */
};
/** The initial distribution of a tensor of @p shape; neither DEFAULT nor VARIANCE_SCALING. */
struct zoo_init model_init_of(const struct zoo_model *m, const struct model_init_place *of,
                              const int64_t shape[2]);
/** The row of a tensor of @p kind that starts from 0; 0: none. */
int64_t model_init_zero_row(const struct zoo_model *m, enum model_tensor_kind kind);
/** WSC_CONFIG for initializers of the params that are no distribution: a deviation that is not
 *  positive, an empty interval. */
enum wsc_err model_init_check(const struct zoo_model *m) WSC_CHECKED;
#endif
