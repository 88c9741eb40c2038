/** The factor on the loss that keeps 16-bit gradients in range.
 *  Static, or halved after an overflow and doubled after enough good steps.
 */
#ifndef WSC_MEMORYX_LOSS_SCALE_H
#define WSC_MEMORYX_LOSS_SCALE_H
#include "memoryx_state.h"

/* True when the loss scale changes with the gradients: it is dynamic, and the format needs one. */
bool memoryx_scales_dynamically(const struct zoo_params *params, const struct model *model);
/* Set mx->scaler as at the start of a training. */
void memoryx_scale_start(struct memoryx *mx);
/* After the norm is known: set batch.loss_scale, batch.skipped, and the scale of the next step. */
enum wsc_err memoryx_scale_after(struct memoryx *mx, int64_t step);
/* Mean over @p n_tokens, or loss_weight / batch: the factor of both loss and gradient. */
double memoryx_loss_factor(const struct memoryx *mx, int64_t n_tokens);
/* The factor that is contained in the gradients of this step. */
double memoryx_gradient_scale(const struct memoryx *mx);
#endif
