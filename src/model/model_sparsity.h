/** The section `sparsity` of the params, as it falls on the tensors of a model.
 *  Called once by model_create(); the public questions about it are in <wsc/model.h>.
 */
#ifndef WSC_MODEL_SPARSITY_H
#define WSC_MODEL_SPARSITY_H
#include <wsc/model.h>

/* Copy the entries and set every tensor's `sparsity`.  WSC_CONFIG: masks by groups that do not go
 * into a tensor; WSC_NOMEM. */
enum wsc_err model_take_sparsity(struct model *model, const struct zoo_params *params) WSC_CHECKED;
#endif
