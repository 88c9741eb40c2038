/** The next token of a text by sampling.
 */
#ifndef WSC_WAFER_SAMPLE_H
#define WSC_WAFER_SAMPLE_H
#include "wafer_texts.h"

/* Token @p position of the text of prompt @p prompt (of all), from its logits (V). */
int64_t wafer_sample_token(struct wafer_texts *g, const float *logits, int prompt,
                           int64_t position);
#endif
