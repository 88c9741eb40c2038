/** Cross entropy over the vocabulary of a tile of logits, and its gradient; program_head.c runs it.
 */
#ifndef WSC_PROGRAMS_LOSS_H
#define WSC_PROGRAMS_LOSS_H
#include "program_grid.h"

#include <wsc/err.h>

#include <stdint.h>

/** Input of a loss from a head's outputs and the batch: cross entropy over the features of @p
 * logits (the vocabulary) in program_loss.c, of spans in program_spans.c, squared error in
 *  program_regression.c. */
struct programs_loss {
    struct programs_tile logits;
    int number;                   /**< address: minus the index of each feature, as floats */
    int tokens;                   /**< address: PROGRAMS_LOSS_ROWS vectors of tokens */
    int words;                    /**< address, of spans: programs_spans_words() */
    const int32_t *labels, *mask; /**< (samples, T), on the host: the input of the step; of spans
                                       labels as programs_spans_label() sets them, no mask */
    const float *targets;         /**< (samples), of squared errors */
    const float *weight;          /**< (samples, T), of each token in the backward pass; NULL: 1 */
    float scale; /**< of the logits; in the backward pass times that of all gradients */
    float cap;   /**< c of c tanh(logit / c), after the scale; 0: none */
    float even;  /**< smoothing: part of the labels spread evenly over all features, 0 to 1 */
    const struct programs_tile *capped; /**< tanh(logit / c), for the gradient */
    const struct programs_tile *tmp;
};
enum { PROGRAMS_LOSS_ROWS = 5 };
/** A word of a PE's memory, as scalar code of losses loads, changes and stores it. */
union programs_word {
    uint32_t bits;
    float value;
};
/** Factor of the exponentials of a token in its gradient. */
static inline float programs_scaled_reciprocal(float sum, float scale)
{
    return scale / sum;
}
/** nats and the predicted feature of each token (samples, T), -1 where no logit is a number; the
 * tile becomes exp(logit - max). */
struct programs_losses {
    float *nats;
    int32_t *best;
};
struct programs_script;
/** Set @p out from the words at the west edge of a script whose two vectors are minus the predicted
 *  indices and the nats. */
void programs_store_losses(const struct programs_grid *g, const struct programs_script *s,
                           const struct programs_losses *out);
enum wsc_err programs_run_loss(struct programs_grid *g, const struct programs_loss *l,
                               const struct programs_losses *out);
/** Replace the tile by d(nats)/d(logit before its scale). */
enum wsc_err programs_run_loss_backward(struct programs_grid *g, const struct programs_loss *l);
#endif
