/** The loss of a head on the mesh, by its kind: labels, loss of every leaf, gradient of the logits.
 *  A new loss is a row of the table in program_head_loss.c.  program_head.c calls; @p i is the
 *  number of the head in struct model. */
#ifndef WSC_PROGRAMS_HEAD_LOSS_H
#define WSC_PROGRAMS_HEAD_LOSS_H
#include "program_state.h"

#include <wsc/err.h>

/** Memory on the PEs for the outputs and the loss of head @p i. */
enum wsc_err programs_head_loss_reserve(struct programs_model *k, int i);
/** Memory of the host for labels that are not those of the batch; programs_heads_fini() frees it.
 */
enum wsc_err programs_head_loss_allocate(struct programs_model *k, int i);
/** Labels and mask of the micro-batch at hand. */
void programs_head_loss_begin(struct programs_model *k, int i);
/** The c of c tanh(logit / c) of head @p i; 0: no soft cap, or outputs that are no vocabulary. */
float programs_head_cap(const struct programs_model *k, int i);

/** Compute the loss of the logits of head @p i, with its cycles, and add it to the losses of all
 *  leaves; for the reference model of preference optimization, keep the log-probabilities instead.
 *  Afterwards the tile of logits has the input of the gradient: exp(logit - maximum), or the error.
 */
enum wsc_err programs_head_loss(struct programs_model *k, int i);
/** The tile of logits becomes its gradient, with the factor of loss scaling and the weight of the
 *  head; its cycles. */
enum wsc_err programs_head_loss_backward(struct programs_model *k, int i);
/** Samples of leaf @p leaf in the micro-batch at hand, the first of them in *@p first. */
int programs_leaf_samples(const struct programs_model *k, int leaf, int *first);
#endif
