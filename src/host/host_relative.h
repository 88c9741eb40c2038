/** Relative positions (Raffel et al. 2020): a weight for each head and bucket of distances, added
 * to the scores of all layers of a stack; or a slope of the distance for each head.  The table
 * arrives with the stack's embedding and stays until the end of the micro-batch; its gradient is
 * summed over the layers and leaves with the embedding's. */
#ifndef WSC_HOST_RELATIVE_H
#define WSC_HOST_RELATIVE_H
#include "host_gradient.h"
#include "host_state.h"

#include <stdint.h>

/** Find the buckets of all distances of each stack. */
void host_relative_create(struct host *k);
/** Start a micro-batch: gradients are 0. */
void host_relative_begin(struct host *k);
/** Take the table of the stage at hand. */
void host_relative_load(struct host *k);
/** What query head @p h of a sequence adds to the score of key j for query t: element j - t, and
 * the bucket that this is from.  NULL without relative positions, and for other stacks' keys. */
const float *host_relative_scores(const struct host *k, int64_t h);
const int32_t *host_relative_buckets(const struct host *k);
/** What the weight of a bucket is multiplied by at @p distance. */
double host_relative_factor(const struct host *k, int64_t distance);
/** Sums of the gradients of the buckets, of head @p h in sequence @p sample. */
double *host_relative_sums(const struct host *k, int64_t sample, int64_t h);
/** The gradient of the table of the stage at hand. */
struct host_grad host_relative_grad(const struct host *k);
#endif
