/** Relative positions (Raffel et al. 2020): a weight for each head and bucket of distances, added
 *  to the scores of all layers of a stack; or a slope of the distance for each head. The table
 *  arrives with the stack's embedding and stays until the end of the micro-batch. Its gradient is
 *  summed over the layers and leaves the wafer with that of the embedding. */
#ifndef WSC_HOST_RELATIVE_H
#define WSC_HOST_RELATIVE_H
#include "host_gradient.h"
#include "host_state.h"

#include <stdint.h>

/** Compute the buckets of all distances of each stack. */
void host_relative_create(struct host *k);
/** Set the gradients to 0 at the beginning of a micro-batch. */
void host_relative_begin(struct host *k);
/** Load the table of the current stage. */
void host_relative_load(struct host *k);
/** Terms that query head @p h adds to its scores, by distance: element j - t for query t and key j.
 *  host_relative_buckets(): the bucket of each distance. NULL without relative positions, and for
 *  keys of another stack. */
const float *host_relative_scores(const struct host *k, int64_t h);
const int32_t *host_relative_buckets(const struct host *k);
/** Factor of the weight of a bucket at @p distance. */
double host_relative_factor(const struct host *k, int64_t distance);
/** Sums of the gradients of the buckets for head @p h in sequence @p sample. */
double *host_relative_sums(const struct host *k, int64_t sample, int64_t h);
/** Describe the gradient of the table of the current stage. */
struct host_grad host_relative_grad(const struct host *k);
#endif
