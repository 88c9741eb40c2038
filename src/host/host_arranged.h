/** Weights of the stage at hand in the order in which products take them fastest
 *  (num_arrange()).  host.c calls before each part of a stage; host_linear() multiplies by them. */
#ifndef WSC_HOST_ARRANGED_H
#define WSC_HOST_ARRANGED_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Bytes of the arranged matrices of the largest part of a stage; 0 for a format without them. */
int64_t host_arranged_bytes(const struct model *m);
/** Arrange the matrices of @p part for its forward or backward pass over the rows of the share;
 *  what the part before arranged is void. */
void host_arrange(struct host *k, enum model_part part, bool backward);
#endif
