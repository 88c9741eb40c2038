/** What the Model Zoo's optimizers make of a tensor: weight decay, and its place in the groups of
 *  parameters.
 */
#ifndef WSC_MODEL_PARAMETERS_H
#define WSC_MODEL_PARAMETERS_H
#include <wsc/model.h>

/* Set what @p optimizer makes of @p t, whose names, kind, place and lr_scale are set: decay, tags
 * and their schedules, and the order in its groups. */
void model_set_parameter(struct model_tensor *t, const struct model *model,
                         const struct zoo_optimizer *optimizer);
#endif
