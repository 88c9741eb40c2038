/** Fine-tuning as properties of tensors: adapters of matrices, frozen tensors, the first stage that
 *  trains.  model_create() calls both functions, the second one after the stages are there.
 */
#ifndef WSC_MODEL_TUNING_H
#define WSC_MODEL_TUNING_H
#include <wsc/model.h>

/* Set model->adapter[kind] for the matrix @p tensor of that kind, whose module takes an entry of
 * lora_params; refuse what has no adapters in this release.  Called for a tensor of the first layer
 * or outside the layers, before its adapter is appended. */
enum wsc_err model_take_adapter(struct model *model, const struct zoo_params *params,
                                const struct model_tensor *tensor) WSC_CHECKED;
/* Set model->tensor[].frozen and selected, stage[].n_grads, first_trained and n_trained.
 * WSC_CONFIG: a pattern of model.freeze that matches nothing, nothing that trains, sparse tensors
 * that are frozen. */
enum wsc_err model_take_frozen(struct model *model, const struct zoo_params *params) WSC_CHECKED;
#endif
