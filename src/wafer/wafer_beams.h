/** Beam search on one wafer: the most likely texts of each prompt are continued side by side; texts
 *  that end are kept with their scores. */
#ifndef WSC_WAFER_BEAMS_H
#define WSC_WAFER_BEAMS_H
#include "wafer_texts.h"

#include <wsc/err.h>

/* Create the searches of all prompts of @p g; does nothing with one text for each prompt. */
enum wsc_err wafer_beams_create(struct wafer_texts *g) WSC_CHECKED;
void wafer_beams_destroy(struct wafer_beams **beams);
/* Take the logits of all texts of prompt @p i (among the wafer's prompts), choose the continuations
 * that stay open and append a token to each. When the search of a prompt is done, its texts end. */
void wafer_beams_add(struct wafer_texts *g, int i);
/* For each text, the text of the last step that it continues. */
const int64_t *wafer_beams_from(const struct wafer_texts *g);
/* After the last step: the best text of prompt @p i, with its length and its score. */
const int32_t *wafer_beams_best(struct wafer_texts *g, int i, int64_t *length, double *score);
#endif
