/** The cloze of a masked language model: which tokens of a sample are predicted, and what stands in
 *  their place. */
#ifndef WSC_DATA_MASK_TOKENS_H
#define WSC_DATA_MASK_TOKENS_H
#include "wordpiece.h"

#include <stdbool.h>
#include <stdint.h>

/** How many tokens, which ones, by which random numbers. */
struct data_cloze {
    const struct data_wordpiece *words;
    double share;    /**< of the tokens, masked_lm_prob */
    int64_t most;    /**< max_predictions_per_seq */
    bool whole_word; /**< all pieces of a word together */
    uint64_t seed, draw;
};
/** Mask the first @p n tokens of @p ids: their labels and mask are set, the ids replaced: 80 % by
 *  [MASK], 10 % by a random token, 10 % stay.  @p order is scratch of n numbers. */
void data_mask_tokens(const struct data_cloze *c, int64_t n, int32_t *ids, int32_t *labels,
                      int32_t *mask, int32_t *order);
#endif
