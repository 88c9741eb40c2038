// SPDX-License-Identifier: Apache-2.0
/* Which models the programs of the mesh compute: decoders of every family, without experts,
 * adapters, weights by distance, dropout and smoothed labels.  Everything else is refused by the
 * name of its key before anything is reserved. */
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
        {!m->causal || m->n_stacks > 1 || m->norm_last || m->token_types > 0, "objective"},
        {m->rotary_dim > 0 && m->head_dim % 2, "num_heads"},
        {model_norms_heads(m), "attention_qk_norm_layer"},
        {m->slopes, "alibi_trainable_slopes"},
        {m->buckets > 0, "position_embedding_type"},
        {m->experts > 0, "moe.num_experts"},
        {adapters > 0, "lora_params"},
        {training && m->head[0].smoothing > 0, "label_smoothing"},
        {training && m->zoo.dropout_rate > 0, "dropout_rate"},
        {training && m->zoo.attention_dropout_rate > 0, "attention_dropout_rate"},
        {training && m->zoo.embedding_dropout_rate > 0, "embedding_dropout_rate"},
        {training && m->zoo.label_smoothing > 0, "label_smoothing"},
    };
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (features[i].has)
            return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                          "model.%s: --numerics mesh computes decoders without "
                                          "experts, adapters, weights by distance, norms of "
                                          "queries, dropout and smoothed labels, and turns "
                                          "positions of heads of an even width",
                                          features[i].key),
                                "--numerics host");
    return WSC_OK;
}
