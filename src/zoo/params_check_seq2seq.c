// SPDX-License-Identifier: Apache-2.0
/* Checks of encoder-decoders: lengths and widths of both sides, keys that both must share.
 * refused_features.c has the features that they do not have. */
#include "params_checks.h"

#include <stdio.h>
#include <string.h>

/* muP of an encoder with a decoder: checks its keys, and sets the scales of the decoder. */
void zoo_check_mup_of_seq2seq(struct conf_parse *p, struct zoo_model *m)
{
    const bool on = m->mup_base_hidden_size > 0;
    const struct {
        const char *path, *why;
        bool wrong;
    } refused[] = {
        {"model.use_transformer_initialization",
         "not with muP, whose initial deviations are those of T5",
         on && m->use_transformer_initialization},
        {"model.use_ffn_bias_in_attention",
         "not with muP of an encoder and a decoder, whose outputs of attention have no bias",
         on && m->use_ffn_bias_in_attention},
        {"model.mup_base_d_kv", "needs mup_base_d_model and mup_base_d_ff",
         !on && m->mup_base_d_kv > 0}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].wrong)
            conf_diag_error(p->diag, conf_parse_place(p, refused[i].path, NULL), refused[i].path,
                            "%s", refused[i].why);
    if (on && !conf_parse_given(p, "model.scale_decoder_qk_dot_by_d"))
        m->scale_decoder_qk_dot_by_d = true;
}

/* Lengths of sources and targets: the lengths of the data and the sizes of position tables are each
 * other's defaults. */
static void set_lengths(const struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    struct zoo_input *const in[] = {&params->train_input, &params->eval_input};
    const struct zoo_input *first = in[params->train_input.present ? 0 : 1];
    if (!conf_parse_given(p, "model.max_position_embeddings") && first->max_sequence_length > 0)
        m->max_position_embeddings = first->max_sequence_length;
    if (m->tgt_max_position_embeddings == CONF_NULL)
        m->tgt_max_position_embeddings = first->tgt_max_sequence_length > 0
                                             ? first->tgt_max_sequence_length
                                             : m->max_position_embeddings;
    for (int i = 0; i < 2; i++) {
        if (in[i]->max_sequence_length == CONF_NULL)
            in[i]->max_sequence_length = m->max_position_embeddings;
        if (in[i]->tgt_max_sequence_length == CONF_NULL)
            in[i]->tgt_max_sequence_length = m->tgt_max_position_embeddings;
    }
}

/* The width of attention is that of a head times the heads. */
static void set_head_width(struct conf_parse *p, struct zoo_model *m)
{
    const char *width = "model.d_kv", *inner = "model.attention_inner_dim";
    enum { HEAD_WIDTH = 64 };
    if (m->num_heads < 1) return;
    if (m->d_kv == CONF_NULL)
        m->d_kv = m->attention_inner_dim > 0 ? m->attention_inner_dim / m->num_heads : HEAD_WIDTH;
    if (conf_parse_given(p, inner) && m->attention_inner_dim != m->d_kv * m->num_heads)
        conf_diag_error(p->diag, conf_parse_place(p, width, inner), width,
                        "times num_heads is %lld, but attention_inner_dim is %lld",
                        (long long)m->d_kv * m->num_heads, (long long)m->attention_inner_dim);
    m->attention_inner_dim = m->d_kv * m->num_heads;
}

/* Features of T5's class that other keys of it determine. */
static void check_t5_features(struct conf_parse *p, struct zoo_model *m)
{
    const char *decoder = "model.decoder_nonlinearity", *bias = "model.use_ffn_bias",
               *shared = "model.share_encoder_decoder_embedding",
               *output = "model.use_bias_in_output";
    const bool scaled = m->share_embedding_weights && !(m->mup_base_hidden_size > 0);
    if (m->decoder_nonlinearity == ZOO_SAME_FUNCTION) m->decoder_nonlinearity = m->nonlinearity;
    if (m->decoder_nonlinearity != m->nonlinearity)
        conf_diag_error(p->diag, conf_parse_place(p, decoder, NULL), decoder,
                        "must be that of the encoder in this release");
    if (m->nonlinearity == ZOO_GELU && m->use_ffn_bias) {
        conf_diag_warn(p->diag, conf_parse_place(p, bias, NULL), bias, "taken as false with gelu");
        m->use_ffn_bias = false;
    }
    if (m->share_encoder_decoder_embedding && m->tgt_vocab_size != m->vocab_size)
        conf_diag_error(p->diag, conf_parse_place(p, shared, "model.tgt_vocab_size"), shared,
                        "needs one vocabulary, but tgt_vocab_size is %lld and src_vocab_size %lld",
                        (long long)m->tgt_vocab_size, (long long)m->vocab_size);
    if (m->use_bias_in_output && scaled)
        conf_diag_error(p->diag, conf_parse_place(p, output, NULL), output,
                        "not with a tied output layer, whose input is divided by the root of "
                        "d_model; hint: share_embedding_weights: false");
    if (!conf_parse_given(p, "model.attention_type"))
        m->attention_type = m->use_transformer_initialization || m->mup_base_hidden_size > 0
                                ? ZOO_SCALED_DOT_PRODUCT
                                : ZOO_DOT_PRODUCT;
    if (!conf_parse_given(p, "model.loss_scaling")) m->loss_scaling = m->mlm_loss_scaling;
}

/* Files of tokens that the loader of @p in needs beside data_dir. */
static void check_token_files(struct conf_parse *p, const struct zoo_input *in, const char *section)
{
    char path[CONF_MAX_PATH], near[CONF_MAX_PATH];
    const bool spans = in->samples == ZOO_SAMPLES_SPANS;
    const bool translation = in->samples == ZOO_SAMPLES_TRANSLATION;
    (void)snprintf(near, sizeof near, "%s.data_processor", section);
    if (!in->present || (!spans && !translation)) return;
    (void)snprintf(path, sizeof path, "%s.vocab_file", section);
    if (!in->vocab_file)
        conf_diag_error(p->diag, conf_parse_place(p, near, NULL), path,
                        "required key is missing; hint: src_vocab_file, a token in each line");
}

/* Check the keys of an encoder with a decoder, and set defaults that depend on other keys. */
void zoo_check_seq2seq(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    if (m->objective != ZOO_SEQ2SEQ) return;
    if (m->tgt_vocab_size == CONF_NULL) m->tgt_vocab_size = m->vocab_size;
    if (m->decoder_num_hidden_layers == CONF_NULL)
        m->decoder_num_hidden_layers = m->num_hidden_layers;
    set_lengths(p, params);
    set_head_width(p, m);
    check_t5_features(p, m);
    check_token_files(p, &params->train_input, "train_input");
    check_token_files(p, &params->eval_input, "eval_input");
}
