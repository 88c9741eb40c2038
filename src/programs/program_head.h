/** The heads of a model on the mesh: the layers before their outputs, logits, cross entropy.  All
 *  tokens pass a head's layers; its loss counts those that the head takes.  program_parts.c runs
 *  them as the last part of a model; struct model_head has the layers. */
#ifndef WSC_PROGRAMS_HEAD_H
#define WSC_PROGRAMS_HEAD_H
#include "program_state.h"

#include <wsc/err.h>

/** Lay the outputs of all heads on the columns. */
enum wsc_err programs_heads_features(struct programs_model *k);
void programs_heads_fini(struct programs_model *k);
/** Largest number of output slots of a head. */
int programs_heads_slots(const struct programs_model *k);
/** Reserve memory on the PEs for all heads. */
enum wsc_err programs_reserve_heads(struct programs_model *k);
/** Allocate memory of the host: labels of heads that take the first token of a sequence. */
enum wsc_err programs_heads_allocate(struct programs_model *k);
/** Set which tokens each head takes, and their labels, for the current micro-batch. */
void programs_heads_begin(struct programs_model *k);

/** Compute logits and losses of all heads, summed by leaf; the tiles of logits then hold exp(logit
 *  - maximum) for the gradient. */
enum wsc_err programs_heads(struct programs_model *k);
/** Begin the backward pass: the gradient of the residual stream is set to 0, then each head adds to
 *  it, the last head first. */
enum wsc_err programs_heads_backward(struct programs_model *k);
#endif
