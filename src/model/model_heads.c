// SPDX-License-Identifier: Apache-2.0
/* Heads by objective: which rows of a sequence they take, their layers, their loss.  A new head is
 * a row of the table below; sizes, functions and factors follow from the params.  Devlin et al.
 * 2019 for BERT's: masked tokens, and the class of a pair of sentences from the pooled first token;
 * Peebles and Xie 2023 for the noise in the patches of a latent.
 * model.c calls; src/host/host_head.c computes them, src/cycles/cycles_parts.c their time. */
#include "model_heads.h"

/** The kinds of heads. */
enum role { NEXT_TOKEN, MASKED_TOKENS, POOLED, TOKENS, SENTENCES, ANSWER, NOISE, N_ROLES };

static const struct model_head shapes[N_ROLES] = {
    [NEXT_TOKEN] = {.rows = MODEL_ROWS_ALL, .input_norm = MODEL_NORMF_W, .output = MODEL_LM_HEAD_W},
    [MASKED_TOKENS] = {.rows = MODEL_ROWS_LABELLED,
                       .dense = MODEL_DENSE_W,
                       .norm = MODEL_DENSE_NORM_W,
                       .output = MODEL_LM_HEAD_W},
    [POOLED] = {.rows = MODEL_ROWS_FIRST,
                .dense = MODEL_POOL_W,
                .output = MODEL_CLASS_W,
                .bias = true},
    [TOKENS] = {.rows = MODEL_ROWS_LABELLED, .output = MODEL_CLASS_W, .bias = true},
    [SENTENCES] = {.rows = MODEL_ROWS_LABELLED, .output = MODEL_CLASS_W},
    [ANSWER] = {.rows = MODEL_ROWS_ALL,
                .output = MODEL_CLASS_W,
                .outputs = MODEL_SPAN_ENDS,
                .bias = true,
                .loss = MODEL_SPAN_ENTROPY},
    [NOISE] = {.rows = MODEL_ROWS_ALL,
               .input_norm = MODEL_SCALEF_W,
               .output = MODEL_NOISE_W,
               .bias = true,
               .loss = MODEL_NOISE_ERROR},
};

/** Heads of an objective, the one with most work first. */
static const struct {
    int n;
    enum role role[MODEL_MAX_HEADS];
} objectives[ZOO_N_OBJECTIVES] = {
    [ZOO_CAUSAL_LM] = {1, {NEXT_TOKEN}},
    [ZOO_MASKED_LM] = {2, {MASKED_TOKENS, POOLED}},
    [ZOO_CLASSIFICATION] = {1, {POOLED}},
    [ZOO_REGRESSION] = {1, {POOLED}},
    [ZOO_TOKEN_CLASSIFICATION] = {1, {TOKENS}},
    [ZOO_SUMMARIZATION] = {1, {SENTENCES}},
    [ZOO_SPAN] = {1, {ANSWER}},
    [ZOO_SEQ2SEQ] = {1, {NEXT_TOKEN}},
    [ZOO_DIFFUSION] = {1, {NOISE}},
};

static enum zoo_nonlinearity function_or(enum zoo_nonlinearity given, const struct model *model)
{
    return given == ZOO_SAME_FUNCTION ? model->nonlinearity : given;
}

/** Classes of the pooled head. */
static int64_t pooled_outputs(const struct zoo_model *m)
{
    enum { PAIRS = 2 };
    if (m->objective == ZOO_MASKED_LM) return PAIRS;
    return m->objective == ZOO_REGRESSION ? 1 : m->num_labels;
}

static struct model_head head_of(enum role role, const struct model *model,
                                 const struct zoo_model *m)
{
    enum { IN_OR_OUT = 2 };
    struct model_head h = shapes[role];
    h.tokens = model->stack[model->n_stacks - 1].T;
    h.weight = 1;
    switch (role) {
    case NEXT_TOKEN:
        h.outputs = model->V;
        h.bias = m->use_bias_in_output;
        h.smoothing = m->label_smoothing;
        if (model->n_stacks > 1) h.dropout = model->memory_dropout;
        if (model->zoo.dpo.on) h.loss = MODEL_PREFERENCE;
        break;
    case MASKED_TOKENS:
        h.tokens = m->max_predictions_per_seq;
        h.outputs = model->V;
        h.bias = m->use_bias_in_output;
        h.function = function_or(m->mlm_nonlinearity, model);
        h.weight = m->mlm_loss_weight;
        h.smoothing = m->label_smoothing;
        break;
    case POOLED:
        h.tokens = 1;
        h.outputs = pooled_outputs(m);
        h.function = function_or(m->pooler_nonlinearity, model);
        if (m->objective == ZOO_REGRESSION) h.loss = MODEL_SQUARED_ERROR;
        if (m->objective != ZOO_MASKED_LM) h.dropout = m->task_dropout;
        if (m->objective == ZOO_MASKED_LM) h.bias = m->use_ffn_bias;
        break;
    case TOKENS:
        if (m->include_padding_in_loss) h.weight = 1 / (double)h.tokens;
        h.outputs = m->num_labels;
        h.dropout = m->task_dropout;
        break;
    case SENTENCES:
        h.tokens = m->max_cls_tokens < model->T ? m->max_cls_tokens : model->T;
        h.outputs = IN_OR_OUT;
        h.bias = m->use_cls_bias;
        break;
    case NOISE:
        h.outputs = model->patch;
        break;
    case ANSWER:
    case N_ROLES:
        break;
    }
    if (!model->causal && m->use_final_layer_norm) h.input_norm = MODEL_NORMF_W;
    return h;
}

void model_set_heads(struct model *model, const struct zoo_model *m)
{
    model->n_heads = objectives[m->objective].n;
    if (m->objective == ZOO_MASKED_LM && m->disable_nsp) model->n_heads = 1;
    for (int i = 0; i < model->n_heads; i++)
        model->head[i] = head_of(objectives[m->objective].role[i], model, m);
    model->tied = m->share_embedding_weights && model->head[0].output == MODEL_LM_HEAD_W;
}
