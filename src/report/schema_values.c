// SPDX-License-Identifier: Apache-2.0
/* Writes the JSON Schema of single values from the rows of key tables: type, range, choices, unit.
 * YAML readers differ in the texts that they read as numbers or booleans (`1e-05`, `yes`), so the
 * schema accepts these texts, as the program does. A value with a reader of its own
 * (CONF_T_SPECIAL) has a row in the table of forms below. Called by config_schema.c. */
#include "schema.h"

#include <wsc/check.h>
#include <wsc/zoo.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UNSIGNED "([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?"
#define NUMBER   "[-+]?" UNSIGNED
/* A fraction, and a range of two. */
#define SHARE "(0(\\.[0-9]*)?|\\.[0-9]+|1(\\.0*)?)"
#define SPAN  SHARE "-" SHARE

/* ---- parts ----------------------------------------------------------------------------------- */

void report_schema_any_case(struct wsc_text *pattern, const char *name)
{
    for (; *name; name++) {
        const int c = (unsigned char)*name;
        if (isalpha(c))
            wsc_text_add(pattern, "[%c%c]", toupper(c), tolower(c));
        else
            wsc_text_add(pattern, "%s%c", strchr(".+*?()[]", c) ? "\\" : "", c);
    }
}

void report_schema_pattern(struct out_json *j, const char *key, const struct wsc_text *pattern)
{
    j->text.failed = j->text.failed || pattern->failed;
    out_json_str(j, key, pattern->failed ? "" : pattern->bytes);
}

void report_schema_ref(struct out_json *j, const char *key, const char *name)
{
    char ref[128];
    (void)snprintf(ref, sizeof ref, "#/definitions/%s", name);
    out_json_open(j, key);
    out_json_str(j, "$ref", ref);
    out_json_close(j);
}

/* Alternatives: members of a list `anyOf` that is open. */
static void add_type(struct out_json *j, const char *type)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", type);
    out_json_close(j);
}

static void add_text_like(struct out_json *j, const char *pattern)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "string");
    out_json_str(j, "pattern", pattern);
    out_json_close(j);
}

/* A text that matches @p pattern, which is freed. */
static void add_pattern(struct out_json *j, struct wsc_text *pattern)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "string");
    report_schema_pattern(j, "pattern", pattern);
    out_json_close(j);
    wsc_text_free(pattern);
}

/* One of @p names: as written, for editors that offer them, or in any case. */
static void add_names(struct out_json *j, const char *const *names, int n)
{
    struct wsc_text pattern = {0};
    if (!n) return;
    out_json_open(j, NULL);
    out_json_open_list(j, "enum");
    for (int i = 0; i < n; i++) {
        wsc_text_add(&pattern, i ? "|" : "^(");
        report_schema_any_case(&pattern, names[i]);
        out_json_str(j, NULL, names[i]);
    }
    wsc_text_add(&pattern, ")$");
    out_json_close_list(j);
    out_json_close(j);
    add_pattern(j, &pattern);
}

/* A text that is not empty; what YAML takes for a number or a boolean is one too. */
static void add_text(struct out_json *j)
{
    static const char *const types[] = {"string", "number", "boolean"};
    out_json_open(j, NULL);
    out_json_open_list(j, "type");
    for (int i = 0; i < 3; i++)
        out_json_str(j, NULL, types[i]);
    out_json_close_list(j);
    out_json_int(j, "minLength", 1);
    out_json_close(j);
}

/* A number in the range of @p row. */
static void add_number(struct out_json *j, const struct conf_key *row)
{
    const double unbounded = 1e100;
    const bool whole = row->type == CONF_T_INT;
    out_json_open(j, NULL);
    out_json_str(j, "type", whole ? "integer" : "number");
    if (row->positive)
        out_json_int(j, "exclusiveMinimum", 0);
    else if (row->min > -unbounded)
        out_json_real(j, "minimum", row->min);
    if (row->max < unbounded)
        out_json_real(j, row->below_max ? "exclusiveMaximum" : "maximum", row->max);
    out_json_close(j);
    add_text_like(j, "^\\s*" NUMBER "\\s*$");
}

static void add_bool(struct out_json *j)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off"};
    add_type(j, "boolean");
    add_names(j, words, 6);
}

/* A number with a suffix of the unit's kind. */
static void add_quantity(struct out_json *j, enum wsc_unit unit)
{
    struct wsc_text pattern = {0};
    const char *suffix;
    wsc_text_add(&pattern, "^\\s*[+]?" UNSIGNED "[ \\t]*(");
    for (int i = 0; (suffix = wsc_units_suffix(unit, i)); i++)
        wsc_text_add(&pattern, "%s%s", i ? "|" : "", suffix);
    wsc_text_add(&pattern, ")\\s*$");
    add_pattern(j, &pattern);
}

/* An empty list or map. */
static void add_empty(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "array");
    out_json_int(j, "maxItems", 0);
    out_json_close(j);
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_int(j, "maxProperties", 0);
    out_json_close(j);
}

/* Choices match by meaning (conf_choice_find()): booleans, numbers, null, else names; with @p empty
 * an empty list or map is null too. */
static void add_choices(struct out_json *j, const struct conf_choice *choice, bool empty)
{
    static const char *const words[2][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};
    const char *names[CONF_MAX_CHOICES];
    int n = 0;
    for (; choice->name; choice++) {
        bool truth;
        double value;
        if (!strcmp(choice->name, "null")) {
            add_type(j, "null");
            if (empty) add_empty(j);
        } else if (conf_parse_bool(choice->name, &truth)) {
            out_json_open(j, NULL);
            out_json_bool(j, "const", truth);
            out_json_close(j);
            add_names(j, words[truth], 3);
        } else if (!wsc_units_double(choice->name, &value)) {
            out_json_open(j, NULL);
            out_json_real(j, "const", value);
            out_json_close(j);
            add_names(j, &choice->name, 1);
        } else {
            names[n++] = choice->name;
        }
    }
    add_names(j, names, n);
}

/* ---- values with a reader of their own ------------------------------------------------------- */

static const struct conf_key any_number = {.type = CONF_T_DOUBLE, .min = -1e300, .max = 1e300},
                             fraction = {.type = CONF_T_DOUBLE, .max = 1},
                             share_of_sum = {.type = CONF_T_DOUBLE, .max = 1e300},
                             from_1 = {.type = CONF_T_INT, .min = 1, .max = 1e9};

/* Begin and end a list of @p least to @p most items, each one of what is added between. */
static void begin_items(struct out_json *j, int least, int most)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "array");
    out_json_int(j, "minItems", least);
    if (most) out_json_int(j, "maxItems", most);
    out_json_open(j, "items");
    out_json_open_list(j, "anyOf");
}

static void end_items(struct out_json *j)
{
    out_json_close_list(j);
    out_json_close(j);
    out_json_close(j);
}

static void add_folders(struct out_json *j)
{
    add_text(j);
    begin_items(j, 1, ZOO_MAX_DIRS);
    add_text(j);
    end_items(j);
}

static void add_subset(struct out_json *j)
{
    add_text_like(j, "^" SPAN "(," SPAN ")*$");
}

/* The member @p name of an object, one of what @p add adds. */
static void add_member(struct out_json *j, const char *name, void (*add)(struct out_json *j),
                       bool nullable)
{
    out_json_open(j, name);
    out_json_open_list(j, "anyOf");
    add(j);
    if (nullable) add_type(j, "null");
    out_json_close_list(j);
    out_json_close(j);
}

static void add_weight(struct out_json *j)
{
    add_number(j, &share_of_sum);
}

static void add_mixture(struct out_json *j)
{
    begin_items(j, 1, ZOO_MAX_DIRS);
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "data_dir", add_folders, false);
    add_member(j, "weight", add_weight, false);
    add_member(j, "data_subset", add_subset, true);
    out_json_close(j);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, "data_dir");
    out_json_str(j, NULL, "weight");
    out_json_close_list(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
    end_items(j);
}

static void add_bound(struct out_json *j)
{
    add_number(j, &from_1);
}

static void add_bounds(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "min", add_bound, true);
    add_member(j, "max", add_bound, true);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

static void add_micro_batch(struct out_json *j)
{
    static const char *const words[] = {"auto", "explore"};
    add_number(j, &from_1);
    add_names(j, words, 2);
    add_type(j, "null");
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "explore", add_bounds, false);
    out_json_close(j);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, "explore");
    out_json_close_list(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

static void add_eval_frequency(struct out_json *j)
{
    static const struct conf_key key = {.type = CONF_T_DOUBLE, .min = 0, .max = 1e15};
    add_number(j, &key);
    add_type(j, "null");
}

static void add_lanes(struct out_json *j)
{
    static const char *const words[] = {"auto"};
    static const struct conf_key key = {.type = CONF_T_INT, .min = 1, .max = 64};
    add_number(j, &key);
    add_names(j, words, 1);
    add_type(j, "null");
}

static void add_transforms(struct out_json *j)
{
    begin_items(j, 0, 1);
    report_schema_ref(j, NULL, "transform");
    end_items(j);
    add_type(j, "null");
}

static void add_initializer(struct out_json *j)
{
    const struct conf_variants *kinds = zoo_initializers();
    const char *names[CONF_MAX_CHOICES];
    for (int i = 0; i < kinds->n; i++)
        names[i] = kinds->variant[i].name;
    add_names(j, names, kinds->n);
    report_schema_ref(j, NULL, "initializer");
    add_type(j, "null");
}

static void add_family(struct out_json *j)
{
    const char *names[CONF_MAX_CHOICES + 1];
    int n = 0;
    while (n < CONF_MAX_CHOICES && (names[n] = zoo_family_spelling(n)))
        n++;
    names[n++] = "dpo"; /* beside policy_model, which names the family */
    add_names(j, names, n);
    add_type(j, "null");
}

static void add_schedule(struct out_json *j)
{
    add_number(j, &share_of_sum);
    report_schema_ref(j, NULL, "schedule");
}

static void add_schedules(struct out_json *j)
{
    begin_items(j, 1, ZOO_MAX_SCHEDULES);
    report_schema_ref(j, NULL, "schedule");
    end_items(j);
}

/* A list of @p least to @p most numbers; 0: any number of them. */
static void add_numbers(struct out_json *j, int least, int most)
{
    begin_items(j, least, most);
    add_number(j, &any_number);
    end_items(j);
}

static void add_pair(struct out_json *j)
{
    add_numbers(j, 2, 2);
}

static void add_number_or_pair(struct out_json *j)
{
    add_number(j, &any_number);
    add_pair(j);
}

static void add_list(struct out_json *j)
{
    add_numbers(j, 1, 0);
}

/* Boundaries of lengths; that they rise is not said. */
static void add_lengths(struct out_json *j)
{
    begin_items(j, 1, ZOO_MAX_BUCKETS);
    add_number(j, &from_1);
    end_items(j);
}

static void add_loss_scale(struct out_json *j)
{
    static const char *const words[] = {"dynamic"};
    add_number(j, &any_number);
    add_names(j, words, 1);
}

/* Anything: what it is depends on other keys. */
static void add_anything(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_close(j);
}

/* A map whose keys the program checks. */
static void add_map(struct out_json *j)
{
    add_type(j, "object");
}

static void add_texts(struct out_json *j)
{
    add_text(j);
    begin_items(j, 0, 0);
    add_text(j);
    end_items(j);
}

static void add_states(struct out_json *j)
{
    add_texts(j);
    add_type(j, "null");
}

static void add_texts_or_map(struct out_json *j)
{
    add_texts(j);
    add_map(j);
}

static void add_fraction(struct out_json *j)
{
    add_number(j, &fraction);
    begin_items(j, 1, 0);
    add_number(j, &fraction);
    end_items(j);
    report_schema_ref(j, NULL, "fraction");
}

static void add_sparsity(struct out_json *j)
{
    add_number(j, &fraction);
    report_schema_ref(j, NULL, "sparsity");
    begin_items(j, 0, 0);
    report_schema_ref(j, NULL, "sparsity");
    end_items(j);
}

static void add_pairs(struct out_json *j)
{
    begin_items(j, 1, 0);
    add_pair(j);
    end_items(j);
}

/* A token, or sequences of tokens. */
static void add_stops(struct out_json *j)
{
    static const struct conf_key id = {.type = CONF_T_INT, .max = INT32_MAX};
    add_number(j, &id);
    begin_items(j, 0, ZOO_MAX_STOPS);
    begin_items(j, 1, ZOO_MAX_STOP_TOKENS);
    add_number(j, &id);
    end_items(j);
    end_items(j);
}

static void add_faults(struct out_json *j)
{
    begin_items(j, 0, 256);
    report_schema_ref(j, NULL, "fault");
    end_items(j);
    add_type(j, "null");
}

static void add_rank(struct out_json *j)
{
    static const struct conf_key rank = {.type = CONF_T_INT, .min = 1, .max = 1024};
    add_number(j, &rank);
}

static void add_positive(struct out_json *j)
{
    static const struct conf_key positive = {.type = CONF_T_DOUBLE, .positive = true, .max = 1e300};
    add_number(j, &positive);
}

static void add_share(struct out_json *j)
{
    add_number(j, &fraction);
}

/* An entry of lora_params. */
static void add_lora(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "r", add_rank, false);
    add_member(j, "alpha", add_positive, true);
    add_member(j, "dropout", add_share, true);
    add_member(j, "fan_in_fan_out", add_bool, true);
    add_member(j, "merge_weights", add_bool, true);
    add_member(j, "target_modules", add_texts, true);
    out_json_close(j);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, "r");
    out_json_close_list(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

static void add_outlier(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "const", "outlier");
    out_json_close(j);
}

static void add_loras(struct out_json *j)
{
    add_lora(j);
    begin_items(j, 0, ZOO_MAX_LORAS);
    add_lora(j);
    end_items(j);
    out_json_open(j, NULL); /* the callback's argument */
    out_json_str(j, "type", "object");
    out_json_open_list(j, "required");
    out_json_str(j, NULL, "lora_params");
    out_json_close_list(j);
    out_json_close(j);
}

/* An entry of selective_grad. */
static void add_selective(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "param_filter", add_texts, true);
    add_member(j, "init_method", add_outlier, true);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

static void add_selectives(struct out_json *j)
{
    add_selective(j);
    begin_items(j, 0, ZOO_MAX_PATTERNS);
    add_selective(j);
    end_items(j);
    out_json_open(j, NULL); /* the callback's argument */
    out_json_str(j, "type", "object");
    out_json_open_list(j, "required");
    out_json_str(j, NULL, "selective_grads");
    out_json_close_list(j);
    out_json_close(j);
}

/* An entry of optimizer.params. */
static void add_tag(struct out_json *j)
{
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "params", add_texts, false);
    add_member(j, "tag", add_texts, false);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

static void add_tags(struct out_json *j)
{
    add_tag(j);
    begin_items(j, 0, ZOO_MAX_TAGS);
    add_tag(j);
    end_items(j);
}

/* An entry of optimizer.tagged_schedules. */
static void add_tagged(struct out_json *j)
{
    begin_items(j, 0, ZOO_MAX_TAGS);
    out_json_open(j, NULL);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    add_member(j, "param_group_tags", add_anything, true);
    add_member(j, "learning_rate", add_schedule, true);
    add_member(j, "weight_decay", add_schedule, true);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
    end_items(j);
}

/* Height and width. */
static void add_size(struct out_json *j)
{
    begin_items(j, 2, 2);
    out_json_open(j, NULL);
    out_json_str(j, "type", "integer");
    out_json_int(j, "minimum", 1);
    out_json_close(j);
    end_items(j);
}

/* By the words with which a row describes its form. */
static const struct {
    const char *form;
    void (*add)(struct out_json *j);
} forms[] = {
    {"directory or list of them", add_folders},
    {"list of maps with data_dir, weight, data_subset", add_mixture},
    {"ranges such as 0.0-0.5,0.8-1.0", add_subset},
    {"whole number, auto, null, explore or {explore: {min, max}}", add_micro_batch},
    {"whole number from 1 to 64, auto or null", add_lanes},
    {"steps, or fraction of the training as 0.25", add_eval_frequency},
    {"list of maps with a name", add_transforms},
    {"name, or map with name, mean, std, a, b, val", add_initializer},
    {"family of the Model Zoo", add_family},
    {"number, scheduler, or list of schedulers in sequence", add_schedule},
    {"list of two numbers", add_pair},
    {"list of height and width", add_size},
    {"number, Adafactor: list of two", add_number_or_pair},
    {"number or dynamic", add_loss_scale},
    {"text with commas, or list", add_states},
    {"list of faults", add_faults},
    {"list of steps", add_list},
    {"list of numbers", add_list},
    {"list of rising whole numbers", add_lengths},
    {"list of rotary_dim / 2 numbers", add_list},
    {"map with param_filter, init_method, or list of them", add_selectives},
    {"list of schedulers", add_schedules},
    {"number, map with an algorithm, or list of them", add_sparsity},
    {"number, list or map with a type", add_fraction},
    {"as `sparsity`", add_anything},
    {"glob or list of globs", add_texts},
    {"expression, list of them, or map to keys of each", add_texts_or_map},
    {"{freq, start, stop} or {steps}", add_map},
    {"list of [step, fraction]", add_pairs},
    {"expression or list of them", add_texts},
    {"token id or list of lists of token ids", add_stops},
    {"map with r, alpha, dropout, merge_weights, target_modules, or list of them", add_loras},
    {"map with params and tag, or list of them", add_tags},
    {"list of maps with param_group_tags, learning_rate, weight_decay", add_tagged},
};

static void add_special(struct out_json *j, const struct conf_key *row)
{
    void (*add)(struct out_json * j) = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !add; i++)
        if (!strcmp(forms[i].form, row->form)) add = forms[i].add;
    WSC_CHECK(add, "no schema for values of the form \"%s\"", row->form);
    add(j);
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* The default with the type that it has in a file. */
static void add_default(struct out_json *j, const struct conf_key *row)
{
    const char *text = row->fallback;
    bool truth;
    double number;
    if (!text || *text == '=' || row->status == CONF_ONLY) return;
    if (!strcmp(text, "null"))
        out_json_null(j, "default");
    else if (row->type == CONF_T_BOOL && conf_parse_bool(text, &truth))
        out_json_bool(j, "default", truth);
    else if (row->type == CONF_T_INT && !wsc_units_double(text, &number))
        out_json_int(j, "default", (int64_t)number);
    else if (row->type == CONF_T_DOUBLE && !wsc_units_double(text, &number))
        out_json_real(j, "default", number);
    else
        out_json_str(j, "default", text);
}

/* What describes @p row: meaning, default, whether it is deprecated. */
static void add_notes(struct out_json *j, const struct conf_key *row)
{
    char text[512];
    const bool idle = row->status == CONF_NO_EFFECT || row->status == CONF_NOISE;
    (void)snprintf(text, sizeof text, "%s%s%s%s", row->doc ? row->doc : "", idle ? " (" : "",
                   idle ? conf_status_text(row->status) : "", idle ? ")" : "");
    if (*text) out_json_str(j, "description", text);
    add_default(j, row);
    if (row->status == CONF_OLD || row->status == CONF_NOISE) out_json_bool(j, "deprecated", true);
}

void report_schema_value(struct out_json *j, const char *name, const struct conf_key *row)
{
    out_json_open(j, name);
    add_notes(j, row);
    if (row->type == CONF_T_ANY) {
        out_json_close(j);
        return;
    }
    out_json_open_list(j, "anyOf");
    if (row->type == CONF_T_CHOICE)
        add_choices(j, row->choices, row->status == CONF_ONLY && !row->empty_asks);
    if (row->type == CONF_T_INT || row->type == CONF_T_DOUBLE) add_number(j, row);
    if (row->type == CONF_T_BOOL) add_bool(j);
    if (row->type == CONF_T_STRING) add_text(j);
    if (row->type == CONF_T_QUANTITY) add_quantity(j, row->unit);
    if (row->type == CONF_T_SPECIAL) add_special(j, row);
    if (row->nullable) add_type(j, "null");
    out_json_close_list(j);
    out_json_close(j);
}
