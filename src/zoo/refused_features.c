// SPDX-License-Identifier: Apache-2.0
/* Features that a kind of model does not have in this release: one table, with a row for each
 * feature, its key, and the objectives with which it is an error. */
#include "params_checks.h"

#define WITH(objective) (1U << (objective))
enum {
    DECODER = WITH(ZOO_CAUSAL_LM),
    PAIR = WITH(ZOO_SEQ2SEQ), /* of an encoder and a decoder */
    DIFFUSION = WITH(ZOO_DIFFUSION),
    ENCODER = WITH(ZOO_N_OBJECTIVES) - 1 - DECODER - PAIR - DIFFUSION,
    NO_TOKENS = ENCODER - WITH(ZOO_MASKED_LM) + DIFFUSION /* heads that do not predict tokens */
};

static const char *name_of(enum zoo_objective objective)
{
    return WITH(objective) & PAIR        ? "an encoder and a decoder"
           : WITH(objective) & DIFFUSION ? "diffusion transformers"
           : WITH(objective) & ENCODER   ? "encoders"
                                         : "decoders";
}

void zoo_check_features(struct conf_parse *p, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const char *position = "model.position_embedding_type";
    const struct {
        const char *path;
        bool asked;            /* the params have the feature */
        unsigned refused_with; /* objectives */
    } feature[] = {
        {"model.norm_type", m->norm_type != ZOO_LAYERNORM, ENCODER | DIFFUSION},
        {position, m->position_embedding_type == ZOO_POSITION_ROTARY, PAIR | DIFFUSION},
        {position, m->position_embedding_type == ZOO_POSITION_ALIBI, ENCODER | PAIR | DIFFUSION},
        {position, m->position_embedding_type == ZOO_POSITION_RELATIVE, ENCODER | DIFFUSION},
        {"model.embedding_layer_norm", m->embedding_layer_norm, PAIR | DIFFUSION},
        {"model.norm_first_sandwich", m->norm_first_sandwich, ENCODER | PAIR | DIFFUSION},
        {"model.use_final_layer_norm", m->use_final_layer_norm, DIFFUSION},
        {"model.nonlinearity", m->nonlinearity >= ZOO_GATED, DIFFUSION},
        {"model.moe.num_experts", m->moe.num_experts > 0, ENCODER | PAIR | DIFFUSION},
        {"model.attention_sliding_window_length", m->attention_sliding_window_length > 0,
         ENCODER | PAIR | DIFFUSION},
        {"model.attention_logit_softcapping", m->attention_logit_softcapping > 0,
         ENCODER | PAIR | DIFFUSION},
        {"model.attention_qk_norm_layer", m->attention_qk_norm_layer != ZOO_QK_NORM_NONE,
         ENCODER | PAIR | DIFFUSION},
        {"model.attention_module", m->attention_module != ZOO_MULTIHEAD, PAIR | DIFFUSION},
        {"model.extra_attention_params.num_kv_groups",
         m->num_kv_groups > 0 && m->num_kv_groups != m->num_heads, PAIR},
        {"model.scale_qk_dot_by_layer_idx", m->scale_qk_dot_by_layer_idx, PAIR},
        {"model.final_logit_softcapping", m->final_logit_softcapping > 0, PAIR | DIFFUSION},
        {"model.mup_base_hidden_size", m->mup_base_hidden_size > 0, DIFFUSION},
        {"model.label_smoothing", m->label_smoothing > 0, NO_TOKENS},
        {"model.lora_params", m->lora_params.n > 0, PAIR | DIFFUSION},
        {"model.selective_grad", m->selective_grad.on, DIFFUSION},
        {"model.dpo", m->dpo.on, ENCODER | PAIR | DIFFUSION},
        {"sparsity", params->sparsity.n > 0, PAIR | DIFFUSION},
        {"optimizer.gradient_noise_scale", params->optimizer.gradient_noise_scale,
         PAIR | DIFFUSION},
        {"train_input.data_transforms", params->train_input.sink_tokens > 0, DIFFUSION},
        {"eval_input.data_transforms", params->eval_input.sink_tokens > 0, DIFFUSION}};
    for (size_t i = 0; i < sizeof feature / sizeof *feature; i++)
        if (feature[i].asked && feature[i].refused_with & WITH(m->objective))
            conf_diag_error(p->diag, conf_parse_place(p, feature[i].path, "model.name"),
                            feature[i].path, "not with %s in this release", name_of(m->objective));
}
