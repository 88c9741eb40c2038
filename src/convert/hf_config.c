// SPDX-License-Identifier: Apache-2.0
/* Converts config.json to params and back, by the key tables of the families (hf_families.c): a row
 * has a key of both sides, with a plain value, a word of a list, or a function of
 * hf_special_keys.c. Every key of a folder is either converted by a row of the family's table, or
 * must have the only value that the model supports, or is on a list of keys without influence on
 * the results of the model. Any other key is an error, because it may mean another model with the
 * same tensors. */
#include "hf_config.h"
#include "hf_family.h"
#include "hf_key.h"
#include "hf_source.h"
#include "json_file.h"

#include <wsc/mem.h>
#include <wsc/text.h>
#include <wsc/units.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- config.json to YAML --------------------------------------------------------------------- */

/* The shorter of 15 and 17 digits that reads back as @p x. */
static int print_real(char text[CONVERT_VALUE_BYTES], double x)
{
    double back = 0;
    int n = snprintf(text, CONVERT_VALUE_BYTES, "%.15g", x);
    if (wsc_units_double(text, &back) || back != x)
        n = snprintf(text, CONVERT_VALUE_BYTES, "%.17g", x);
    return n;
}

/* A value as YAML writes it: "null", "12", "1e-05", "true", "gelu". */
static bool print_json(char text[CONVERT_VALUE_BYTES], const json_t *value)
{
    int n = 0;
    if (!value || json_is_null(value))
        n = snprintf(text, CONVERT_VALUE_BYTES, "null");
    else if (json_is_integer(value))
        n = snprintf(text, CONVERT_VALUE_BYTES, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        n = print_real(text, json_real_value(value));
    else if (json_is_boolean(value))
        n = snprintf(text, CONVERT_VALUE_BYTES, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_string(value))
        n = snprintf(text, CONVERT_VALUE_BYTES, "%s", json_string_value(value));
    else if (json_is_object(value) && !json_object_size(value))
        n = snprintf(text, CONVERT_VALUE_BYTES, "{}");
    else
        return false;
    return n < CONVERT_VALUE_BYTES;
}

/* True when the value is of the type; null is a value of each type. */
static bool has_type(const json_t *value, enum convert_value type)
{
    if (json_is_null(value)) return true;
    switch (type) {
    case CONVERT_INT:
        return json_is_integer(value);
    case CONVERT_REAL:
        return json_is_number(value);
    case CONVERT_BOOL:
        return json_is_boolean(value);
    case CONVERT_TEXT:
        return true;
    }
    return false;
}

/* The transformers library takes no text for a number or a truth value either. */
static enum wsc_err wrong_type(const struct convert_source *s, const char *key, const json_t *value)
{
    const enum wsc_err rc =
        convert_source_raise(s, WSC_FORMAT, key, "has another type than expected");
    return json_is_string(value)
               ? wsc_err_hint(rc, "write %s without quotation marks", json_string_value(value))
               : rc;
}

/* Compare by value, so that 1e-5 equals 1e-05. */
static bool same_value(const char *a, const char *b)
{
    double x, y;
    if (!strcmp(a, b)) return true;
    return !wsc_units_double(a, &x) && !wsc_units_double(b, &y) && x == y;
}

/* The value of the key, or of its older name. */
static const json_t *find_value(const struct convert_key *key, const struct convert_source *s)
{
    const json_t *value = json_object_get(s->json, key->hf);
    return value || !key->old_hf ? value : json_object_get(s->json, key->old_hf);
}

/* The name under which find_value() finds the value. */
static const char *found_name(const struct convert_key *key, const struct convert_source *s)
{
    return key->old_hf && !json_object_get(s->json, key->hf) ? key->old_hf : key->hf;
}

/* Errors have the key and its position in the folder's file. */
enum wsc_err convert_config_value(const struct convert_key *key, const struct convert_source *s,
                                  char text[CONVERT_VALUE_BYTES])
{
    const json_t *value = find_value(key, s);
    if (!value && !key->missing) return convert_source_raise(s, WSC_FORMAT, key->hf, "is missing");
    if (!value)
        (void)snprintf(text, CONVERT_VALUE_BYTES, "%s", key->missing);
    else if (!print_json(text, value) || !has_type(value, key->type))
        return wrong_type(s, found_name(key, s), value);
    return WSC_OK;
}

/* Error unless the folder has the value key->fixed, or does not have the key. Null counts as no
 * key, for a bool as false. */
static enum wsc_err check_folder_fixed(const struct convert_key *key,
                                       const struct convert_source *s)
{
    char text[CONVERT_VALUE_BYTES] = "false";
    const json_t *value = find_value(key, s);
    if (!value || (json_is_null(value) && key->type != CONVERT_BOOL)) return WSC_OK;
    if (!json_is_null(value) && !print_json(text, value))
        (void)snprintf(text, sizeof text, "what stands here");
    if (json_is_string(value) && !has_type(value, key->type)) return wrong_type(s, key->hf, value);
    if (same_value(text, key->fixed)) return WSC_OK;
    return convert_source_raise(s, WSC_CONFIG, key->hf, "%s is not supported, only %s", text,
                                key->fixed);
}

/* ---- known keys ------------------------------------------------------------------------------ */

/* Keys that any folder may have with any value: names, tokens, defaults of generation, choices of
 * implementation, and settings of tasks that are not language models. */
static const char *const neutral[] = {"architectures",
                                      "model_type",
                                      "transformers_version",
                                      "torch_dtype",
                                      "dtype",
                                      "_name_or_path",
                                      "name_or_path",
                                      "_attn_implementation",
                                      "_attn_implementation_autoset",
                                      "attn_implementation",
                                      "auto_map",
                                      "custom_pipelines",
                                      "use_cache",
                                      "pretraining_tp",
                                      "gradient_checkpointing",
                                      "chunk_size_feed_forward",
                                      "torchscript",
                                      "use_bfloat16",
                                      "tf_legacy_loss",
                                      "return_dict",
                                      "return_dict_in_generate",
                                      "output_hidden_states",
                                      "output_attentions",
                                      "output_scores",
                                      "output_past",
                                      "is_decoder",
                                      "bos_token_id",
                                      "eos_token_id",
                                      "pad_token_id",
                                      "unk_token_id",
                                      "sep_token_id",
                                      "cls_token_id",
                                      "mask_token_id",
                                      "decoder_start_token_id",
                                      "tokenizer_class",
                                      "task_specific_params",
                                      "problem_type",
                                      "id2label",
                                      "label2id",
                                      "num_labels",
                                      "finetuning_task",
                                      "classifier_dropout",
                                      "prefix",
                                      "max_length",
                                      "min_length",
                                      "do_sample",
                                      "early_stopping",
                                      "num_beams",
                                      "num_beam_groups",
                                      "num_return_sequences",
                                      "diversity_penalty",
                                      "temperature",
                                      "top_k",
                                      "top_p",
                                      "typical_p",
                                      "repetition_penalty",
                                      "length_penalty",
                                      "no_repeat_ngram_size",
                                      "encoder_no_repeat_ngram_size",
                                      "bad_words_ids",
                                      "forced_bos_token_id",
                                      "forced_eos_token_id",
                                      "remove_invalid_values",
                                      "exponential_decay_length_penalty",
                                      "suppress_tokens",
                                      "begin_suppress_tokens",
                                      NULL};

/* Keys that any folder may have with the one value that does not change the model. */
static const struct convert_key same_model[] = {
    {.hf = "is_encoder_decoder", .type = CONVERT_BOOL, .fixed = "false", .missing = "false"},
    {.hf = "tie_encoder_decoder", .type = CONVERT_BOOL, .fixed = "false", .missing = "false"},
    {.hf = "add_cross_attention", .type = CONVERT_BOOL, .fixed = "false", .missing = "false"},
    {.hf = "cross_attention_hidden_size", .type = CONVERT_INT, .fixed = "null", .missing = "null"},
    {.hf = "pruned_heads", .type = CONVERT_TEXT, .fixed = "{}", .missing = "{}"},
    {.hf = "partial_rotary_factor", .type = CONVERT_REAL, .fixed = "1.0", .missing = "1.0"},
    {.hf = "rope_scaling", .type = CONVERT_TEXT, .fixed = "null", .missing = "null"},
    {.hf = "rope_parameters", .type = CONVERT_TEXT, .fixed = "null", .missing = "null"},
    {.hf = "quantization_config", .type = CONVERT_TEXT, .fixed = "null", .missing = "null"},
    {.hf = "compression_config", .type = CONVERT_TEXT, .fixed = "null", .missing = "null"},
    {.hf = "embedding_multiplier", .type = CONVERT_REAL, .fixed = "1.0", .missing = "1.0"},
    {.hf = "residual_multiplier", .type = CONVERT_REAL, .fixed = "1.0", .missing = "1.0"},
    {.hf = "attention_multiplier", .type = CONVERT_REAL, .fixed = "null", .missing = "null"},
    {.hf = "logits_scaling", .type = CONVERT_REAL, .fixed = "1.0", .missing = "1.0"},
};
enum { N_SAME_MODEL = sizeof same_model / sizeof *same_model };

/* True when @p name is in the list, which ends with NULL; a NULL list is empty. */
static bool is_listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (!strcmp(*list, name)) return true;
    return false;
}

/* True when the row reads key @p name. */
static bool reads(const struct convert_key *key, const char *name)
{
    if (key->hf && !strcmp(key->hf, name)) return true;
    if (key->old_hf && !strcmp(key->old_hf, name)) return true;
    for (int i = 0; i < CONVERT_MAX_READS && key->reads[i]; i++)
        if (!strcmp(key->reads[i], name)) return true;
    return false;
}

/* True for a key that a row converts, or that it reads besides its own key. */
static bool is_converted(const struct convert_family *family, const char *name)
{
    for (int i = 0; i < family->n_keys; i++)
        if (reads(&family->key[i], name)) return true;
    return false;
}

/* Classes of keys, in the order of the checks: converted, without influence, with the one value
 * that does not change the model. */
static enum wsc_err check_key(const struct convert_source *s, const struct convert_family *family,
                              const char *name)
{
    if (is_converted(family, name) || is_listed(neutral, name) || is_listed(family->ignored, name))
        return WSC_OK;
    for (int i = 0; i < N_SAME_MODEL; i++)
        if (!strcmp(same_model[i].hf, name)) return check_folder_fixed(&same_model[i], s);
    return wsc_err_hint(
        convert_source_raise(s, WSC_CONFIG, name, "is not a known key of a %s model", family->name),
        "remove it when it changes nothing of what the model computes");
}

/* Error at the first key that is neither converted nor known not to change the model. */
static enum wsc_err check_keys(const struct convert_source *s, const struct convert_family *family)
{
    for (void *i = json_object_iter(s->json); i; i = json_object_iter_next(s->json, i))
        TRY(check_key(s, family, json_object_iter_key(i)));
    return WSC_OK;
}

/* ---- the class ------------------------------------------------------------------------------- */

/* The ending of a class of language models, before which the family's own name stands, or NULL. */
static const char *language_ending(const char *name)
{
    static const char *const ending[] = {"ForCausalLM", "LMHeadModel", "LMHeadCustomModel",
                                         "ForConditionalGeneration"};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (wsc_ends_with(name, ending[i])) return ending[i];
    return NULL;
}

/* True when the class is the family's body without a head: its own name and "Model". */
static bool is_body(const struct convert_family *family, const char *name)
{
    char body[CONVERT_NAME_BYTES];
    const char *ending = language_ending(family->architecture);
    if (!ending) return false;
    (void)snprintf(body, sizeof body, "%.*sModel",
                   (int)(strlen(family->architecture) - strlen(ending)), family->architecture);
    return !strcasecmp(name, body);
}

/* A class with a head of another task has tensors of a language model and computes something else.
 * Families of encoders read the class themselves. */
static enum wsc_err check_class(const struct convert_source *s, const struct convert_family *family)
{
    static const char key[] = "architectures";
    const json_t *value = json_object_get(s->json, key);
    const char *name = convert_source_class(s), *known = family->architecture;
    if (value && !json_is_null(value) && !name)
        return convert_source_raise(s, WSC_FORMAT, key, "expected a list with the name of a class");
    if (!name || !strcasecmp(name, known) || is_converted(family, key)) return WSC_OK;
    if (family->select && !strcmp(family->select, key)) return WSC_OK;
    if (!is_body(family, name) && !language_ending(name))
        return wsc_err_hint(convert_source_raise(s, WSC_CONFIG, key, "%s is not supported", name),
                            "a %s model is %s", family->name, known);
    convert_source_warn(s, key, "%s is converted as %s", name, known);
    return WSC_OK;
}

/* ---- rows of the table ----------------------------------------------------------------------- */

/* Error for a word that the model does not support, with the list of supported words. */
static enum wsc_err list_words(const struct convert_key *key, const struct convert_source *s,
                               const char *text)
{
    char list[256] = "";
    size_t used = 0;
    for (const struct convert_word *w = key->word; w->hf && used < sizeof list; w++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", w->hf);
    return wsc_err_hint(convert_source_raise(s, WSC_CONFIG, key->hf, "%s is not supported", text),
                        "known are: %s", list);
}

/* Convert one row of the table to a line of the section `model`, or check it if a side lacks the
 * key. */
static enum wsc_err key_to_yaml(const struct convert_key *key, struct convert_yaml *y)
{
    char text[CONVERT_VALUE_BYTES];
    const char *value = text;
    y->key = key;
    if (key->to_cs) return key->to_cs(y);
    if (!key->hf) {
        convert_yaml_add(y, key->cs, "%s", key->fixed);
        return WSC_OK;
    }
    if (!key->cs) return check_folder_fixed(key, y->from);
    TRY(convert_config_value(key, y->from, text));
    for (const struct convert_word *w = key->word; w; w++) {
        if (!w->hf) return list_words(key, y->from, text);
        value = w->cs;
        if (!strcmp(text, w->hf)) break;
    }
    convert_yaml_add(y, key->cs, "%s", value);
    return WSC_OK;
}

void convert_yaml_add(struct convert_yaml *y, const char *key, const char *fmt, ...)
{
    va_list ap;
    (void)fprintf(y->out, "    %s: ", key);
    va_start(ap, fmt);
    (void)vfprintf(y->out, fmt, ap);
    va_end(ap);
    (void)fputc('\n', y->out);
}

/* Print a text in YAML's double quotes. */
static void print_quoted(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') (void)fputc('\\', out);
        if ((unsigned char)*text < ' ')
            (void)fprintf(out, "\\x%02x", (unsigned char)*text);
        else
            (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

/* Names of types in config.json. */
static const char *const dtype_names[] = {
    [CONVERT_F32] = "float32", [CONVERT_F16] = "float16", [CONVERT_BF16] = "bfloat16"};

/* Read the type under @p key into *@p dtype, which is unchanged if the folder does not have the
 * key. */
static enum wsc_err read_dtype(const struct convert_source *s, const char *key, int *dtype)
{
    enum { N_NAMES = sizeof dtype_names / sizeof *dtype_names };
    const json_t *value = json_object_get(s->json, key);
    const char *text = json_string_value(value);
    int i = 0;
    if (!value || json_is_null(value)) return WSC_OK;
    while (i < N_NAMES && (!text || !dtype_names[i] || strcmp(text, dtype_names[i]) != 0))
        i++;
    if (i == N_NAMES)
        return wsc_err_hint(convert_source_raise(s, WSC_CONFIG, key, "%s is not supported",
                                                 text ? text : "what stands here"),
                            "known are: float32, float16, bfloat16");
    if (*dtype >= 0 && *dtype != i)
        return convert_source_raise(s, WSC_CONFIG, key, "%s contradicts torch_dtype, %s", text,
                                    dtype_names[*dtype]);
    *dtype = i;
    return WSC_OK;
}

/* Weights of 16 bits select computation in 16 bits. Newer folders have the key `dtype`, some
 * neither of the two. */
static enum wsc_err add_precision(struct convert_yaml *y, enum convert_dtype stored)
{
    int dtype = -1;
    TRY(read_dtype(y->from, "torch_dtype", &dtype));
    TRY(read_dtype(y->from, "dtype", &dtype));
    if (dtype < 0) dtype = (int)stored;
    const bool narrow = dtype == CONVERT_F16 || dtype == CONVERT_BF16;
    convert_yaml_add(y, "mixed_precision", "%s", narrow ? "true" : "false");
    if (narrow) convert_yaml_add(y, "fp16_type", "%s", dtype_names[dtype]);
    return WSC_OK;
}

/* Number of masked tokens of a sample: 20 of 128, 80 of 512, as in the Model Zoo's files. */
static void add_predictions(const struct convert_yaml *y)
{
    const json_int_t tokens =
        json_integer_value(json_object_get(y->from->json, "max_position_embeddings"));
    if (y->family->processor && !y->family->decoder_stack)
        (void)fprintf(y->out, "    max_predictions_per_seq: %lld\n",
                      (long long)(tokens > 31 ? tokens * 5 / 32 : 1));
}

/* Add the sections that config.json has no keys for, so that the params can be run. */
static void add_sections(struct convert_yaml *y, const char *checkpoint)
{
    static const char *const input[] = {"train", "eval"};
    const char *processor = y->family->processor;
    for (int i = 0; i < 2; i++) {
        (void)fprintf(y->out,
                      "%s_input:\n"
                      "    data_processor: %s\n"
                      "    data_dir: ./data/%s\n"
                      "    batch_size: 8\n"
                      "    shuffle: %s\n",
                      input[i], processor ? processor : "GptHDF5MapDataProcessor",
                      i ? "val" : "train", i ? "false" : "true");
        add_predictions(y);
    }
    (void)fputs("optimizer:\n"
                "    optimizer_type: AdamW\n"
                "    learning_rate: 1.0e-5\n"
                "    betas: [0.9, 0.95]\n"
                "    weight_decay: 0.1\n"
                "    max_gradient_norm: 1.0\n"
                "runconfig:\n"
                "    num_steps: 100\n"
                "    checkpoint_path: ",
                y->out);
    print_quoted(y->out, checkpoint);
    (void)fputs("\n    load_checkpoint_states: model\n", y->out);
}

/* Write the rows of the model in the order of the table. */
static enum wsc_err write_yaml(struct convert_yaml *y, enum convert_dtype stored,
                               const char *checkpoint)
{
    (void)fputs("model:\n", y->out);
    for (int i = 0; i < y->family->n_keys; i++)
        TRY(key_to_yaml(&y->family->key[i], y));
    TRY(add_precision(y, stored));
    add_sections(y, checkpoint);
    return WSC_OK;
}

/* The text is built in memory, because the params are parsed from it before any file is written. */
enum wsc_err convert_config_to_yaml(const struct convert_family *family,
                                    const struct convert_source *s, enum convert_dtype stored,
                                    const char *checkpoint, char **yaml)
{
    struct convert_yaml y = {.from = s, .family = family};
    char *text = NULL;
    size_t n = 0;
    *yaml = NULL;
    TRY(check_class(s, family));
    TRY(check_keys(s, family));
    y.out = open_memstream(&text, &n);
    if (!y.out) return WSC_RAISE(WSC_NOMEM, "no memory for the params");
    enum wsc_err rc = write_yaml(&y, stored, checkpoint);
    if (fclose(y.out) && !rc) rc = WSC_RAISE(WSC_NOMEM, "no memory for the params");
    if (!rc) *yaml = wsc_strdup(WSC_MEM_CONVERT, text);
    free(text);
    if (!rc && !*yaml) rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "params");
    return rc;
}

/* ---- params to config.json ------------------------------------------------------------------- */

/* A value of the params as JSON; NULL when the text is not of the type. */
static json_t *json_of(const char *text, enum convert_value type)
{
    int64_t whole = 0;
    double real = 0;
    if (!strcmp(text, "null")) return json_null();
    switch (type) {
    case CONVERT_INT:
        return wsc_units_int(text, &whole) ? NULL : json_integer(whole);
    case CONVERT_REAL:
        return wsc_units_double(text, &real) ? NULL : json_real(real);
    case CONVERT_BOOL:
        return json_boolean(!strcmp(text, "true"));
    case CONVERT_TEXT:
        break;
    }
    return json_string(text);
}

enum wsc_err convert_config_set(json_t *config, const char *key, json_t *value)
{
    if (value && !json_object_set_new(config, key, value)) return WSC_OK;
    return WSC_RAISE(WSC_NOMEM, "config.json: no memory for %s", key);
}

/* Error for a value that the family does not support, with the supported one. */
static enum wsc_err unsupported(const struct convert_side *cs, const char *key, const char *value,
                                const char *known)
{
    enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "%s: model.%s: a %s model cannot have %s",
                                cs->params->file, key, cs->family->name, value);
    return wsc_err_hint(rc, "it has %s", known);
}

/* Check for the one value that the family supports; a key without a field is checked when params
 * are read. */
static enum wsc_err check_fixed(const struct convert_key *key, const struct convert_side *cs)
{
    char path[CONVERT_NAME_BYTES], text[CONVERT_VALUE_BYTES];
    (void)snprintf(path, sizeof path, "model.%s", key->cs);
    if (key->any || !zoo_params_value(cs->params, path, text, sizeof text)) return WSC_OK;
    return same_value(text, key->fixed) ? WSC_OK : unsupported(cs, key->cs, text, key->fixed);
}

/* Convert one row of the table to a member of config.json, or check it if folders do not have the
 * key. */
static enum wsc_err key_to_json(const struct convert_key *key, const struct convert_side *cs,
                                json_t *config)
{
    char path[CONVERT_NAME_BYTES], text[CONVERT_VALUE_BYTES];
    const char *value = text;
    if (key->to_hf) return key->to_hf(config, cs);
    if (!key->hf) return check_fixed(key, cs);
    if (!key->cs) return convert_config_set(config, key->hf, json_of(key->fixed, key->type));
    (void)snprintf(path, sizeof path, "model.%s", key->cs);
    if (!zoo_params_value(cs->params, path, text, sizeof text))
        (void)snprintf(text, sizeof text, "%s", key->missing ? key->missing : "null");
    for (const struct convert_word *w = key->word; w; w++) {
        if (!w->hf) return unsupported(cs, key->cs, text, "another one");
        value = w->hf;
        if (!strcmp(text, w->cs)) break;
    }
    return convert_config_set(config, key->hf, json_of(value, key->type));
}

/* Add the members of every folder, then the rows of the family. */
static enum wsc_err fill_json(const struct convert_side *cs, enum convert_dtype dtype,
                              json_t *config)
{
    const struct convert_family *f = cs->family;
    TRY(convert_config_set(config, "architectures", json_pack("[s]", f->architecture)));
    TRY(convert_config_set(config, "model_type", json_string(f->model_type)));
    TRY(convert_config_set(config, "torch_dtype", json_string(dtype_names[dtype])));
    for (int i = 0; i < f->n_keys; i++)
        TRY(key_to_json(&f->key[i], cs, config));
    return WSC_OK;
}

enum wsc_err convert_config_to_json(const struct convert_side *cs, enum convert_dtype dtype,
                                    json_t **config)
{
    *config = json_object();
    enum wsc_err rc =
        *config ? fill_json(cs, dtype, *config) : WSC_RAISE(WSC_NOMEM, "no memory for config.json");
    if (!rc) return WSC_OK;
    json_decref(*config);
    *config = NULL;
    return rc;
}
