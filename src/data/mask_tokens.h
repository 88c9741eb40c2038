/** Masks of a masked language model: the tokens of a sample that are predicted, and their
 *  replacements. */
#ifndef WSC_DATA_MASK_TOKENS_H
#define WSC_DATA_MASK_TOKENS_H
#include "wordpiece.h"

#include <stdbool.h>
#include <stdint.h>

/** Number of masked tokens, choice of tokens, and random numbers. */
struct data_cloze {
    const struct data_wordpiece *words;
    double share;    /**< fraction of the tokens, masked_lm_prob */
    int64_t most;    /**< max_predictions_per_seq */
    bool whole_word; /**< all pieces of a word together */
    uint64_t seed, draw;
};
/** Mask the first @p n tokens of @p ids: set labels and mask, and replace the ids: 80 % by [MASK],
 *  10 % by a random token, 10 % unchanged. @p order: scratch memory of n numbers. */
void data_mask_tokens(const struct data_cloze *c, int64_t n, int32_t *ids, int32_t *labels,
                      int32_t *mask, int32_t *order);
/** Write the label of a masked token that a file names by position @p t of T, with its weight (0:
 * no masked token). Returns what is wrong: a position outside the sequence or named twice, a weight
 *  other than 0 and 1; else NULL. */
const char *data_mask_named(int64_t T, int64_t t, int32_t label, int32_t weight, int32_t *labels,
                            int32_t *mask);
#endif
