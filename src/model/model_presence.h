/** Which models have a kind of tensor: one condition for each row of the table of tensors
 *  (model_tensors.c), named by what the tensor belongs to.
 */
#ifndef WSC_MODEL_PRESENCE_H
#define WSC_MODEL_PRESENCE_H
#include <wsc/model.h>
#include <wsc/zoo.h>

#include <stdbool.h>

/** Which models have the tensor. */
enum model_presence {
    MODEL_ALWAYS,
    MODEL_IF_LEARNED,
    MODEL_IF_TOKEN_TYPES,
    MODEL_IF_EMBED_NORM,
    MODEL_IF_QKV_BIAS,
    MODEL_IF_O_BIAS,
    MODEL_IF_QK_NORM,
    MODEL_IF_QK_NORM_BIAS,
    MODEL_IF_FFN_BIAS,
    MODEL_IF_GATED,
    MODEL_IF_GATED_BIAS,
    MODEL_IF_NORM_BIAS,
    MODEL_IF_NORM3,
    MODEL_IF_NORM3_BIAS,
    MODEL_IF_SANDWICH,
    MODEL_IF_SANDWICH_BIAS,
    MODEL_IF_ROUTED,
    MODEL_IF_UNTIED,
    MODEL_IF_HEAD_BIAS,
    MODEL_IF_CAUSAL,
    MODEL_IF_CAUSAL_NORM_BIAS,
    MODEL_IF_EMBED_NORM_BIAS,
    MODEL_IF_NORM_FIRST,
    MODEL_IF_ENCODER_NORM3,
    MODEL_IF_NORM_LAST,
    MODEL_IF_FINAL_NORM,
    MODEL_IF_ENCODER_EMBED_NORM,
    MODEL_IF_MASKED,
    MODEL_IF_POOLED,
    MODEL_IF_POOLER_BIAS,
    MODEL_IF_CLASSES,
    MODEL_IF_CLASS_BIAS,
    MODEL_IF_TOKENS,
    MODEL_IF_RELATIVE,
    MODEL_IF_SLOPES,
    MODEL_IF_MEMORY,
    MODEL_IF_MEMORY_BIAS,
    MODEL_IF_CROSS,
    MODEL_IF_CROSS_QKV_BIAS,
    MODEL_IF_CROSS_O_BIAS,
    MODEL_IF_CROSS_FIRST,
    MODEL_IF_CROSS_FIRST_BIAS,
    MODEL_IF_CROSS_LAST,
    MODEL_IF_CROSS_LAST_BIAS,
    MODEL_IF_ENCODER_NORM3_BIAS,
    MODEL_IF_NORM_LAST_BIAS,
    MODEL_IF_NORM2_LAST,
    MODEL_IF_NORM2_LAST_BIAS,
    MODEL_IF_DIFFUSION,
    MODEL_IF_LEARNED_PATCHES,
    MODEL_IF_TRANSPOSED,
    MODEL_IF_NOT_TRANSPOSED,
    MODEL_N_PRESENCES
};

/** Whether the tensors of @p when exist in a stack of the model of the section @p m. */
bool model_is_present(enum model_presence when, const struct model *model,
                      const struct zoo_model *m, const struct model_stack *stack);
#endif
