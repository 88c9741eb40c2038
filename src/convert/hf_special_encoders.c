// SPDX-License-Identifier: Apache-2.0
/* Configuration keys of encoders, and of the encoder with a decoder: heads by the architecture in
 * config.json, classes, positions of padding, vocabularies. */
#include "hf_config.h"
#include "hf_family.h"
#include "hf_source.h"
#include "hf_special_keys.h"
#include "hf_special_values.h"

#include <math.h>
#include <string.h>

/* The class of the folder, or @p missing. */
static const char *architecture_of(const struct convert_yaml *y, const char *missing)
{
    const char *name = convert_source_class(y->from);
    return name ? name : missing;
}

static enum wsc_err unknown_architecture(const struct convert_yaml *y, const char *name,
                                         const char *known)
{
    return wsc_err_hint(
        convert_source_raise(y->from, WSC_CONFIG, "architectures", "%s is not supported", name),
        "known are: %s; a model without a head is one of them with tensors left out", known);
}

/* A model with pairs of sentences has a pooler, whose nonlinearity has no key in config.json. */
enum wsc_err convert_bert_heads_to_cs(struct convert_yaml *y)
{
    const char *name = architecture_of(y, "BertForMaskedLM");
    const bool pairs = !strcmp(name, "BertForPreTraining");
    if (!pairs && strcmp(name, "BertForMaskedLM") != 0)
        return unknown_architecture(y, name, "BertForPreTraining, BertForMaskedLM");
    convert_yaml_add(y, "disable_nsp", "%s", pairs ? "false" : "true");
    if (pairs) convert_yaml_add(y, "pooler_nonlinearity", "tanh");
    return WSC_OK;
}

enum wsc_err convert_bert_heads_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    if (m->causal || m->head[0].dense != MODEL_DENSE_W || m->head[0].function != m->nonlinearity ||
        (m->n_heads > 1 && m->head[1].function != ZOO_TANH))
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s: model: not as a %s model has its heads", cs->params->file,
                      cs->family->name),
            "it has masked tokens with the encoder's function, and a pooler with tanh");
    if (m->n_heads == 1) return WSC_OK;
    return convert_config_set(config, "architectures", json_pack("[s]", "BertForPreTraining"));
}

enum wsc_err convert_masked_head_to_cs(struct convert_yaml *y)
{
    const char *expected = y->family->architecture, *name = architecture_of(y, expected);
    if (strcmp(name, expected) != 0) return unknown_architecture(y, name, expected);
    convert_yaml_add(y, "disable_nsp", "true");
    return WSC_OK;
}

enum wsc_err convert_masked_head_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    (void)config;
    if (!m->causal && m->head[0].dense == MODEL_DENSE_W && m->n_heads == 1) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: model: a %s model has the head of masked tokens alone",
                     cs->params->file, cs->family->name);
}

/* The number of classes is that of their names; the default of the library is two. */
static enum wsc_err count_labels(const struct convert_yaml *y, int64_t *n)
{
    const json_t *names = json_object_get(y->from->json, "id2label");
    const int64_t named = json_is_object(names) ? (int64_t)json_object_size(names) : 2;
    return convert_read_int(y, "num_labels", NULL, named, n);
}

/* A checkpoint of the Model Zoo has numbers of classes alone. */
static void warn_of_names(const struct convert_yaml *y)
{
    json_t *names = json_object_get(y->from->json, "id2label"), *name;
    const char *number;
    json_object_foreach(names, number, name)
    {
        const char *text = json_string_value(name);
        if (text && !strncmp(text, "LABEL_", 6) && !strcmp(text + 6, number)) continue;
        convert_source_warn(y->from, "id2label",
                            "names of classes are not kept; the way back writes LABEL_0, LABEL_1, "
                            "...");
        return;
    }
}

static enum wsc_err refuse_labels(const struct convert_yaml *y, int64_t n, const char *known)
{
    const bool named = json_is_object(json_object_get(y->from->json, "id2label"));
    return convert_source_raise(y->from, WSC_CONFIG, named ? "id2label" : "num_labels",
                                "%lld classes are not supported, only %s", (long long)n, known);
}

static const char *problem_type_of(const struct convert_yaml *y)
{
    return json_string_value(json_object_get(y->from->json, "problem_type"));
}

static enum wsc_err refuse_type(const struct convert_yaml *y, const char *type, const char *known)
{
    return convert_source_raise(y->from, WSC_CONFIG, "problem_type", "%s is not supported, only %s",
                                type, known);
}

enum wsc_err convert_labels_to_cs(struct convert_yaml *y)
{
    static const char known[] = "single_label_classification";
    const char *type = problem_type_of(y);
    int64_t n = 0;
    TRY(count_labels(y, &n));
    if (type && strcmp(type, known) != 0) return refuse_type(y, type, known);
    if (n < 2 || n > INT32_MAX) return refuse_labels(y, n, "two or more");
    warn_of_names(y);
    convert_yaml_add(y, "num_labels", "%lld", (long long)n);
    return WSC_OK;
}

/* The library takes one class without a type for a regression. */
static bool is_regression(const char *type, int64_t n)
{
    return type ? !strcmp(type, "regression") : n == 1;
}

enum wsc_err convert_sequence_objective_to_cs(struct convert_yaml *y)
{
    const char *type = problem_type_of(y);
    int64_t n = 0;
    TRY(count_labels(y, &n));
    const bool regression = is_regression(type, n);
    if (type && !regression && strcmp(type, "single_label_classification") != 0)
        return refuse_type(y, type, "single_label_classification and regression");
    if (regression && n != 1) return refuse_labels(y, n, "one of a regression");
    convert_yaml_add(y, "objective", regression ? "regression" : "classification");
    return WSC_OK;
}

enum wsc_err convert_sequence_objective_to_hf(json_t *config, const struct convert_side *cs)
{
    const enum zoo_objective objective = cs->params->model.objective;
    if (objective == ZOO_CLASSIFICATION) return WSC_OK;
    if (objective == ZOO_REGRESSION)
        return convert_config_set(config, "problem_type", json_string("regression"));
    return WSC_RAISE(WSC_CONFIG, "%s: model.objective: a %s model has classification or regression",
                     cs->params->file, cs->family->name);
}

enum wsc_err convert_sequence_labels_to_cs(struct convert_yaml *y)
{
    int64_t n = 0;
    TRY(count_labels(y, &n));
    return is_regression(problem_type_of(y), n) ? WSC_OK : convert_labels_to_cs(y);
}

enum wsc_err convert_sequence_labels_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_labels_to_hf(config, cs);
}

enum wsc_err convert_labels_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct zoo_model *m = &cs->params->model;
    const int64_t n = m->objective == ZOO_REGRESSION ? 1 : m->num_labels;
    json_t *names = json_object(), *numbers = json_object();
    bool ok = names && numbers;
    for (int64_t i = 0; ok && i < n; i++) {
        char number[24], name[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)i);
        (void)snprintf(name, sizeof name, "LABEL_%lld", (long long)i);
        ok = !json_object_set_new(names, number, json_string(name)) &&
             !json_object_set_new(numbers, name, json_integer(i));
    }
    const enum wsc_err rc = convert_config_set(config, "id2label", ok ? json_incref(names) : NULL);
    const enum wsc_err more =
        rc ? rc : convert_config_set(config, "label2id", ok ? json_incref(numbers) : NULL);
    json_decref(names);
    json_decref(numbers);
    return more;
}

/* The transformers library derives both keys from feed_forward_proj, and then takes the values of
 * config.json for them. */
enum wsc_err convert_dense_act_to_cs(struct convert_yaml *y)
{
    const json_t *config = y->from->json, *act = json_object_get(config, "dense_act_fn"),
                 *gated = json_object_get(config, "is_gated_act");
    const char *text = json_string_value(json_object_get(config, "feed_forward_proj"));
    const char *form = text ? text : "relu", *name = strrchr(form, '-');
    const bool is_gated = !strncmp(form, "gated-", 6);
    name = !strcmp(form, "gated-gelu") ? "gelu_new" : name ? name + 1 : form;
    if (act && !json_is_null(act) &&
        (!json_is_string(act) || strcmp(json_string_value(act), name) != 0))
        return convert_source_raise(y->from, WSC_CONFIG, "dense_act_fn",
                                    "feed_forward_proj: %s needs %s here", form, name);
    if (gated && !json_is_null(gated) &&
        (!json_is_boolean(gated) || json_is_true(gated) != is_gated))
        return convert_source_raise(y->from, WSC_CONFIG, "is_gated_act",
                                    "feed_forward_proj: %s needs %s here", form,
                                    is_gated ? "true" : "false");
    return WSC_OK;
}

enum wsc_err convert_dense_act_to_hf(json_t *config, const struct convert_side *cs)
{
    (void)config, (void)cs;
    return WSC_OK;
}

/* null means the dropout of the residual branches, as an absent key does. */
enum wsc_err convert_head_dropout_to_cs(struct convert_yaml *y)
{
    double rate = -1;
    TRY(convert_read_real(y, "classifier_dropout", &rate));
    if (rate < 0 && json_is_number(json_object_get(y->from->json, "classifier_dropout")))
        return convert_source_raise(y->from, WSC_CONFIG, "classifier_dropout",
                                    "%g, expected 0 to 1", rate);
    if (rate < 0) TRY(convert_read_real(y, "hidden_dropout_prob", &rate));
    convert_yaml_add(y, "task_dropout", "%.17g", rate < 0 ? 0.1 : rate);
    return WSC_OK;
}

enum wsc_err convert_head_dropout_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "classifier_dropout",
                              json_real(cs->params->model.task_dropout));
}

/* Positions begin after the row for padding, pad_token_id. */
enum wsc_err convert_padded_positions_to_cs(struct convert_yaml *y)
{
    int64_t rows = 514, pad = 1;
    TRY(convert_read_int(y, "max_position_embeddings", NULL, 514, &rows));
    TRY(convert_read_int(y, "pad_token_id", NULL, 1, &pad));
    if (pad < 0 || rows <= pad + 1 || rows > INT32_MAX)
        return convert_source_raise(y->from, WSC_FORMAT, "max_position_embeddings",
                                    "%lld rows leave no position after padding, row %lld",
                                    (long long)rows, (long long)pad);
    convert_yaml_add(y, "max_position_embeddings", "%lld", (long long)(rows - pad - 1));
    return WSC_OK;
}

enum wsc_err convert_padded_positions_to_hf(json_t *config, const struct convert_side *cs)
{
    return convert_config_set(config, "max_position_embeddings",
                              json_integer(cs->model->stack[0].table_rows));
}

/* ---- an encoder with a decoder --------------------------------------------------------------- */

/* Encoder and decoder have one vocabulary, which includes the sentinels. */
enum wsc_err convert_pair_vocabulary_to_cs(struct convert_yaml *y)
{
    int64_t tokens = 1;
    TRY(convert_read_positive(y, "vocab_size", NULL, &tokens));
    convert_yaml_add(y, "vocab_size", "%lld", (long long)tokens);
    return WSC_OK;
}

/* A folder has no keys for factors other than that of a tied output, 1 / sqrt(width). */
enum wsc_err convert_pair_vocabulary_to_hf(json_t *config, const struct convert_side *cs)
{
    const struct model *m = cs->model;
    const double logits = m->tied ? 1 / sqrt((double)m->C) : 1;
    if (m->n_stacks < 2 || m->stack[0].V != m->stack[1].V)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model: a %s model has an encoder and a decoder with one vocabulary",
                         cs->params->file, cs->family->name);
    if (m->zoo.embeddings_scale != 1 || m->stack[0].qk_scale != 1 || m->stack[1].qk_scale != 1 ||
        fabs(m->logits_scale / logits - 1) > 1e-12)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: model: a %s model has no factors of embeddings, scores and logits",
                         cs->params->file, cs->family->name);
    return convert_config_set(config, "vocab_size", json_integer(m->stack[0].V));
}
