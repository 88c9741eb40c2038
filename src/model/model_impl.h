/** What the files of model share: the table of tensors and the cut into stages. */
#ifndef WSC_MODEL_IMPL_H
#define WSC_MODEL_IMPL_H
#include <wsc/model.h>

/** Fill model->tensor, n_tensors and n_params from sizes already set in @p model. */
enum wsc_err model_build_tensors(struct model *model, const struct zoo_params *params) WSC_CHECKED;
/** Fill model->stage, n_stages and n_stage_elems_max from the tensors. */
enum wsc_err model_build_stages(struct model *model, enum hw_granularity granularity) WSC_CHECKED;
/** Variance scaling as the distribution that it is for a matrix of @p shape; others as they are. */
struct zoo_init model_spread(struct zoo_init init, const int64_t shape[2]);
#endif
