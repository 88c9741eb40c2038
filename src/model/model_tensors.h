/** The table of tensors.
 *  Names, order and initial values are those of the Model Zoo. */
#ifndef WSC_MODEL_TENSORS_H
#define WSC_MODEL_TENSORS_H
#include <wsc/model.h>

/* Fill model->tensor, n_tensors and n_params from sizes already set in @p model. */
enum wsc_err model_build_tensors(struct model *model, const struct zoo_params *params) WSC_CHECKED;
#endif
