/** Generation on one wafer.
 *  The forward half of a step for each token.
 */
#ifndef WSC_WAFER_GENERATE_H
#define WSC_WAFER_GENERATE_H
#include "wafer_state.h"

/* Continue this wafer's share of the prompts by w->pass->n_steps tokens and send the texts. */
enum wsc_err wafer_generate(struct wafer *w);
#endif
