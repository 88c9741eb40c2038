/** Low-rank adapters of embeddings: token or position i has the row W_i + s B a_i, where a_i is
 *  column i of A (r, rows). host_block.c adds them to the rows that it looks up. */
#ifndef WSC_HOST_TABLE_ADAPTER_H
#define WSC_HOST_TABLE_ADAPTER_H
#include "host_gradient.h"
#include "host_state.h"

/** Sum of the adapters of all embeddings for a block of rows, (b->n, C) in HOST_WIDE of the thread;
 *  NULL without adapters. */
const float *host_table_adapter_rows(const struct host *k, const struct host_span *b, int thread);
/** Describe the gradients of A and B of each adapter, from that of the rows in HOST_DRES; returns
 *  their number. */
int host_table_adapter_grads(struct host *k, struct host_grad out[4]);
#endif
