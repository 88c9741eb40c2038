// SPDX-License-Identifier: Apache-2.0
/* Finds the rows of an expert in a leaf among the sorted places (host_experts.c). The tokens of an
 * expert in a leaf are consecutive rows, so a single product computes them, and another one the
 * weight gradient. */
#include "host_order.h"
#include "host_state.h"

/* First place of every network of a leaf, and the end of the last network. */
int64_t *host_expert_ranges(const struct host *k, int64_t leaf)
{
    const int64_t stride = model_n_ffns(k->model) + 1;
    return (int64_t *)k->buffer[HOST_RANGES] +
           ((k->training ? k->stage.layer : 0) * k->max_samples + leaf) * stride;
}

struct host_span host_expert_rows(const struct host *k, const struct host_span *leaf,
                                  int64_t expert)
{
    const int64_t *range = host_expert_ranges(k, leaf - k->leaf);
    return (struct host_span){.row = range[expert], .n = range[expert + 1] - range[expert]};
}
