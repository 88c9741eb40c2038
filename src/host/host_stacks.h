/** The rows of each stack of a model. Encoder and decoder have sequences of their own, so leaves,
 *  blocks of rows and the batch belong to the current stack. */
#ifndef WSC_HOST_STACKS_H
#define WSC_HOST_STACKS_H
#include "host_state.h"

/** Allocate the rows of all stacks. WSC_NOMEM. */
enum wsc_err host_stacks_create(struct host *k) WSC_CHECKED;
void host_stacks_destroy(struct host *k);
/** Cut the rows of the current share into leaves and blocks, and @p batch into the tokens of each
 *  stack; sets n_leaves and n_samples. Afterwards the last stack is the current one. */
void host_stacks_cut(struct host *k, const struct data_batch *batch);
/** Make stack @p i the current one: T, batch, leaf, block and their numbers become those of the
 *  stack. */
void host_use_stack(struct host *k, int i);
/** Cut a leaf of the current stack into even blocks, which depend on its size alone. */
void host_cut_leaf(struct host *k, const struct host_span *leaf);
#endif
