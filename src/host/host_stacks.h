/** The rows of each stack of a model: an encoder and a decoder have sequences of their own, so that
 *  leaves, blocks of rows and the batch are those of the stack at hand. */
#ifndef WSC_HOST_STACKS_H
#define WSC_HOST_STACKS_H
#include "host_state.h"

/** Room for the rows of all stacks.  WSC_NOMEM. */
enum wsc_err host_stacks_create(struct host *k) WSC_CHECKED;
void host_stacks_destroy(struct host *k);
/** Cut the rows of the share at hand into leaves and blocks, and @p batch into the tokens of each
 *  stack; sets n_leaves and n_samples.  The last stack is at hand afterwards. */
void host_stacks_cut(struct host *k, const struct data_batch *batch);
/** From now on T, batch, leaf, block and their numbers are those of stack @p i. */
void host_use_stack(struct host *k, int i);
/** Cut a leaf of the stack at hand into even blocks, by its size alone. */
void host_cut_leaf(struct host *k, const struct host_span *leaf);
#endif
