/** A tensor of a model as files know it: its names and its shape.
 *
 *  The store finds, checks and defines datasets by struct store_tensor and knows no models;
 *  <wsc/model.h> knows no files. Checkpoints, masks and conversions have their descriptions here.
 */
#ifndef WSC_MODEL_STORED_H
#define WSC_MODEL_STORED_H
#include <wsc/model.h>
#include <wsc/store.h>

/** Description of @p t, whose names and shape it borrows. */
static inline struct store_tensor model_stored(const struct model_tensor *t)
{
    return (struct store_tensor){t->name, t->alias, t->n_dims, t->shape, t->also};
}
#endif
