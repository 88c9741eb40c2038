/** Heads of a model, inside `model`: model.c asks for those of an objective, tensors and stages
 *  follow from them. */
#ifndef WSC_MODEL_MODEL_HEADS_H
#define WSC_MODEL_MODEL_HEADS_H
#include <wsc/model.h>
#include <wsc/zoo.h>

/** Set the heads of the objective and whether the output layer is tied; sizes are there already. */
void model_set_heads(struct model *model, const struct zoo_model *m);
#endif
