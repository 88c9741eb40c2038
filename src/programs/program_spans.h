/** Answers as spans on the mesh (Devlin et al. 2019, 4.2): each of the two outputs of a head is a
 *  logit of every token, and the softmax goes over the tokens of a sequence, down the columns of
 *  the lane.  program_head.c calls; src/host/host_spans.c has the loss. */
#ifndef WSC_PROGRAMS_SPANS_H
#define WSC_PROGRAMS_SPANS_H
#include "program_loss.h"
#include "program_state.h"

#include <wsc/err.h>

#include <stdint.h>

/** Number of words that @p samples sequences and @p slots outputs need on a PE. */
int64_t programs_spans_words(int samples, int slots);
/** Set the token of each end (samples, MODEL_SPAN_ENDS) in the current micro-batch: the first
 *  marked one, -1 without one. */
void programs_spans_label(const struct programs_model *k, int32_t *label);
/** Compute, for each end e of the answer of a sequence, the cross entropy and the token with the
 *  largest logit; @p out has them at token e of the sequence. *@p cycles: cycles of this. The tile
 *  becomes exp(logit - maximum). */
enum wsc_err programs_run_spans(struct programs_model *k, const struct programs_loss *l,
                                const struct programs_losses *out, int64_t *cycles);
/** Replace the tile by d(nats)/d(logit before its scale); 0 for an end without a label. */
enum wsc_err programs_run_spans_backward(struct programs_model *k, const struct programs_loss *l);
/** Add loss and counts of the sequences first .. first + n - 1 to @p sum; @p label from
 *  programs_spans_label(). */
void programs_spans_loss(const struct programs_model *k, const int32_t *label, int first, int n,
                         struct model_loss *sum);
#endif
