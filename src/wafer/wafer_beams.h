/** Beam search on one wafer: of each prompt the most likely texts continue side by side, and those
 *  that end are kept with their scores.
 */
#ifndef WSC_WAFER_BEAMS_H
#define WSC_WAFER_BEAMS_H
#include "wafer_texts.h"

#include <wsc/err.h>

/* Make the search of all prompts of @p g; nothing with one text for each prompt. */
enum wsc_err wafer_beams_create(struct wafer_texts *g) WSC_CHECKED;
void wafer_beams_destroy(struct wafer_beams **beams);
/* Take the logits of all texts of prompt @p i (of the wafer's), choose the continuations that stay
 * open and add a token to each; the search of a prompt that is done ends its texts. */
void wafer_beams_add(struct wafer_texts *g, int i);
/* Text that each text continues, for the step that follows. */
const int64_t *wafer_beams_from(const struct wafer_texts *g);
/* After the last step: the best text of prompt @p i with its length and its score. */
const int32_t *wafer_beams_best(struct wafer_texts *g, int i, int64_t *length, double *score);
#endif
