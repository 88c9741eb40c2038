/** The loss of a head on the mesh, by its kind: labels, loss of every leaf, gradient of the logits.
 *  A new loss is a row of the table in program_head_loss.c.  program_head.c calls; @p i is the
 *  number of the head in struct model. */
#ifndef WSC_PROGRAMS_HEAD_LOSS_H
#define WSC_PROGRAMS_HEAD_LOSS_H
#include "program_state.h"

#include <wsc/err.h>

/** Reserve memory on the PEs for the outputs and the loss of head @p i. */
enum wsc_err programs_head_loss_reserve(struct programs_model *k, int i);
/** Allocate memory of the host for labels that differ from those of the batch;
 *  programs_heads_fini() frees it. */
enum wsc_err programs_head_loss_allocate(struct programs_model *k, int i);
/** Set labels and mask of the current micro-batch. */
void programs_head_loss_begin(struct programs_model *k, int i);
/** The c of c tanh(logit / c) for head @p i; 0: no soft cap, or the outputs are not a
 *  vocabulary. */
float programs_head_cap(const struct programs_model *k, int i);

/** Compute the loss of the logits of head @p i, with its cycles, and add it to the losses of all
 *  leaves; for the reference model of preference optimization, keep the log-probabilities instead.
 *  Afterwards the tile of logits has the input of the gradient: exp(logit - maximum), or the error.
 */
enum wsc_err programs_head_loss(struct programs_model *k, int i);
/** Replace the tile of logits by its gradient, times the factor of loss scaling and the weight of
 *  the head; records the cycles. */
enum wsc_err programs_head_loss_backward(struct programs_model *k, int i);
/** Number of samples of leaf @p leaf in the current micro-batch; @p first: the first of them. */
int programs_leaf_samples(const struct programs_model *k, int leaf, int *first);
#endif
