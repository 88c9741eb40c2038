/** Preference optimization on the mesh: from the cross entropies of tokens, which leave the fabric
 *  with the loss, to the loss of pairs, and how much each token weighs in it.  The sequences of a
 *  pair follow each other in a leaf, the chosen one first.  program_head.c calls. */
#ifndef WSC_PROGRAMS_PAIRS_H
#define WSC_PROGRAMS_PAIRS_H
#include "program_state.h"

#include <wsc/err.h>

/** Allocate memory of the host, if the model is trained by preferences. */
enum wsc_err programs_pairs_allocate(struct programs_model *k);
void programs_pairs_fini(struct programs_model *k);
/** After the head of the reference model: keep the log-probability of every sequence. */
void programs_pairs_refer(struct programs_model *k);
/** After the head of the policy model: add loss, rewards and counts of the pairs among the
 * sequences first .. first + n - 1 of the micro-batch to @p sum, and set the weights of their
 * tokens. */
void programs_pairs_loss(struct programs_model *k, int first, int n, struct model_loss *sum);
#endif
