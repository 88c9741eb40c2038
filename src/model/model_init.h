/** Initial distributions of tensors.
 *  Variance scaling is resolved here; memoryx samples from what comes out. */
#ifndef WSC_MODEL_INIT_H
#define WSC_MODEL_INIT_H
#include <wsc/model.h>

/* Variance scaling as the distribution that it is for a matrix of @p shape; others as they are. */
struct zoo_init model_init_of_shape(struct zoo_init init, const int64_t shape[2]);
#endif
