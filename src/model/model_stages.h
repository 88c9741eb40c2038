/** The cut of a model into stages.
 *  A stage is what streams at once: the embedding, a block or one of its parts, the head. */
#ifndef WSC_MODEL_STAGES_H
#define WSC_MODEL_STAGES_H
#include <wsc/model.h>

/* Fill model->stage, n_stages and n_stage_elems_max from the tensors. */
enum wsc_err model_build_stages(struct model *model, enum hw_granularity granularity) WSC_CHECKED;
#endif
