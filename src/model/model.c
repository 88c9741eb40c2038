// SPDX-License-Identifier: Apache-2.0
#include <wsc/model.h>

#include "model_impl.h"
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Bounds that keep every table small and every product of two sizes far from overflow.  The
 * largest published matrix of the dataflow is 100k x 100k. */
enum { MAX_LAYERS = 8192, MAX_DIM = 1 << 20 };

static WSC_CHECKED enum wsc_err check_size(const char *key, int64_t value, int64_t max)
{
    if (value >= 1 && value <= max) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "model.%s: %lld is outside 1 .. %lld", key, (long long)value,
                     (long long)max);
}

static WSC_CHECKED enum wsc_err check_positive(const char *key, double value)
{
    if (isfinite(value) && value > 0) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: %g is not a positive number", key, value);
}

static WSC_CHECKED enum wsc_err check_sizes(const struct conf_model *m)
{
    TRY(check_size("num_hidden_layers", m->num_hidden_layers, MAX_LAYERS));
    TRY(check_size("hidden_size", m->hidden_size, MAX_DIM));
    TRY(check_size("num_heads", m->num_heads, MAX_DIM));
    TRY(check_size("filter_size", m->filter_size, MAX_DIM));
    TRY(check_size("vocab_size", m->vocab_size, MAX_DIM));
    TRY(check_size("max_position_embeddings", m->max_position_embeddings, MAX_DIM));
    if (m->hidden_size % m->num_heads != 0)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "model.num_heads: %lld heads do not divide hidden_size %lld",
                                      (long long)m->num_heads, (long long)m->hidden_size),
                            "hidden_size must be a multiple of num_heads");
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err check_family(const struct conf_model *m)
{
    if (m->position_embedding_type != CONF_POSITION_LEARNED &&
        m->position_embedding_type != CONF_POSITION_NONE)
        return WSC_RAISE(WSC_CONFIG, "model.position_embedding_type: only learned and null are "
                                     "supported");
    if (m->objective == CONF_MASKED_LM && m->max_predictions_per_seq > m->max_position_embeddings)
        return WSC_RAISE(WSC_CONFIG,
                         "model.max_predictions_per_seq: %lld is more than the %lld tokens of a "
                         "sequence",
                         (long long)m->max_predictions_per_seq,
                         (long long)m->max_position_embeddings);
    TRY(check_positive("model.layer_norm_epsilon", m->layer_norm_epsilon));
    TRY(check_positive("model.embeddings_scale", m->embeddings_scale));
    TRY(check_positive("model.output_logits_scale", m->output_logits_scale));
    return WSC_OK;
}

/** What an objective makes of a sequence: which tokens see which, what the head does. */
static void set_objective(struct model *model, const struct conf_model *m)
{
    enum { CLASSES = 2 };
    const bool classes = m->objective == CONF_CLASSIFICATION;
    model->causal = m->objective == CONF_CAUSAL_LM;
    model->embed_norm = model->head_dense = !model->causal;
    model->head_norm = !classes;
    model->head_outputs = classes ? CLASSES : m->vocab_size;
    model->head_tokens = m->max_position_embeddings;
    if (classes) model->head_tokens = 1;
    if (m->objective == CONF_MASKED_LM) model->head_tokens = m->max_predictions_per_seq;
    model->tied = m->share_embedding_weights && !classes;
}

static void set_sizes(struct model *model, const struct conf_model *m)
{
    model->L = m->num_hidden_layers;
    model->C = m->hidden_size;
    model->H = m->num_heads;
    model->F = m->filter_size;
    model->V = m->vocab_size;
    model->T = m->max_position_embeddings;
    model->head_dim = m->hidden_size / m->num_heads;
    double d = (double)model->head_dim;
    set_objective(model, m);
    model->norm_eps = m->layer_norm_epsilon;
    model->qk_scale = m->scale_qk_dot_by_d ? 1.0 / d : 1.0 / sqrt(d);
    model->qk_scale_by_layer = m->scale_qk_dot_by_layer_idx;
    model->embeddings_scale = m->embeddings_scale;
    model->logits_scale = m->output_logits_scale;
    model->nonlinearity = m->nonlinearity;
}

/** precision_opt_level 2, and 1 with cbfloat16, take the softmax in 16 bits. */
static void set_precision(struct model *model, const struct conf_params *params)
{
    static const enum num_format formats[] = {
        [CONF_FP16] = NUM_FP16, [CONF_BF16] = NUM_BF16, [CONF_CB16] = NUM_CB16};
    const struct conf_model *m = &params->model;
    const int64_t level = params->runconfig.precision_opt_level;
    const bool fast = level == 2 || (level == 1 && m->fp16_type == CONF_CB16);
    model->format = m->mixed_precision ? formats[m->fp16_type] : NUM_FP32;
    model->softmax_16 = m->mixed_precision && (fast || !m->attention_softmax_fp32);
}

enum wsc_err model_create(struct model **out, const struct conf_params *params,
                          enum conf_granularity granularity)
{
    enum wsc_err rc = WSC_OK;
    struct model *model;
    *out = NULL;
    TRY(check_sizes(&params->model));
    TRY(check_family(&params->model));
    TRY_NEW(model, WSC_MEM_MODEL, 1);
    set_sizes(model, &params->model);
    set_precision(model, params);
    TRY_GOTO(model_build_tensors(model, params), cleanup);
    TRY_GOTO(model_build_stages(model, granularity), cleanup);
    *out = model;
    return WSC_OK;
cleanup:
    model_destroy(&model);
    return rc;
}

void model_destroy(struct model **model)
{
    if (!*model) return;
    wsc_free((*model)->tensor);
    wsc_free((*model)->stage);
    wsc_free(*model);
    *model = NULL;
}

double model_flop_per_token(const struct model *model)
{
    double L = (double)model->L, C = (double)model->C, F = (double)model->F;
    double head = (double)model->head_outputs * C + (model->head_dense ? C * C : 0);
    head *= (double)model->head_tokens / (double)model->T;
    double matrices = L * (4 * C * C + 2 * C * F) + head;
    return 6 * matrices + 12 * L * (double)model->T * C;
}
