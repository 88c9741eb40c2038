// SPDX-License-Identifier: Apache-2.0
/* Which models the programs of the mesh compute: blocks of GPT-2 without dropout. Everything else
 * is refused by the name of its key before anything is reserved. */
#include <wsc/programs.h>

enum wsc_err programs_model_check(const struct model *m, bool training)
{
    int64_t adapters = 0;
    for (int kind = 0; kind < MODEL_N_KINDS; kind++)
        adapters += m->adapter[kind].r;
    const struct {
        bool has;
        const char *key;
    } features[] = {
        {m->zoo.position_embedding_type != ZOO_POSITION_LEARNED &&
             m->zoo.position_embedding_type != ZOO_POSITION_NONE,
         "position_embedding_type"},
        {m->zoo.norm_type != ZOO_LAYERNORM, "norm_type"},
        {m->zoo.embedding_layer_norm, "embedding_layer_norm"},
        {m->zoo.parallel_block, "name"},
        {!m->causal, "objective"},
        {m->zoo.norm_first_sandwich, "norm_first_sandwich"},
        {m->kv_heads != m->H, "extra_attention_params.num_kv_groups"},
        {m->H * m->head_dim != m->C, "attention_inner_dim"},
        {m->window > 0, "attention_sliding_window_length"},
        {m->zoo.attention_logit_softcapping > 0, "attention_logit_softcapping"},
        {m->zoo.final_logit_softcapping > 0, "final_logit_softcapping"},
        {m->gated || m->nonlinearity > ZOO_RELU, "nonlinearity"},
        {m->experts > 0, "moe.num_experts"},
        {adapters > 0, "lora_params"},
        {training && m->zoo.dropout_rate > 0, "dropout_rate"},
        {training && m->zoo.attention_dropout_rate > 0, "attention_dropout_rate"},
        {training && m->zoo.embedding_dropout_rate > 0, "embedding_dropout_rate"},
    };
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (features[i].has)
            return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                          "model.%s: --numerics mesh computes blocks of GPT-2 "
                                          "only, without dropout: learned positions or none, "
                                          "LayerNorm, gelu, gelu_new or relu, one key for each "
                                          "query head",
                                          features[i].key),
                                "--numerics host");
    return WSC_OK;
}
