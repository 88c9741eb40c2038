// SPDX-License-Identifier: Apache-2.0
/* Writes the JSON Schema (draft 7) of params files of all styles and of cluster files, for editors
 * and for checks without this program. Sections come from the tables of keys (schema_tree.c),
 * values from their rows (schema_values.c), polymorphic maps become definitions
 * (schema_records.c). Conditions on several keys are left to the program. `wsc params --schema`
 * prints a document. */
#include "schema.h"

#include <wsc/mem.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

/* ---- the trainer style ----------------------------------------------------------------------- */

/* A list, or one, of what the definition @p name allows. */
static void add_one_or_list(struct out_json *j, const char *name)
{
    out_json_open_list(j, "anyOf");
    report_schema_ref(j, NULL, name);
    out_json_open(j, NULL);
    out_json_str(j, "type", "array");
    report_schema_ref(j, "items", name);
    out_json_close(j);
    out_json_open(j, NULL);
    out_json_str(j, "type", "null");
    out_json_close(j);
    out_json_close_list(j);
}

/* The definition @p name; members beside a reference are not looked at, those beside a list are. */
static void add_all_of(struct out_json *j, const char *name)
{
    out_json_open_list(j, "allOf");
    report_schema_ref(j, NULL, name);
    out_json_close_list(j);
}

/* `{AdamW: {keys}}` */
static void add_typed(struct out_json *j, const char *name)
{
    out_json_open_list(j, "type");
    out_json_str(j, NULL, "object");
    out_json_str(j, NULL, "null");
    out_json_close_list(j);
    out_json_int(j, "minProperties", 1);
    out_json_int(j, "maxProperties", 1);
    report_schema_ref(j, "additionalProperties", name);
}

static struct report_schema_tree trainer_tree(void);

/* true, false, null, or a map with the keys of the rows below @p row. */
static void add_switch(struct out_json *j, const struct conf_key *row)
{
    static const struct conf_key truth = {.type = CONF_T_BOOL};
    const struct report_schema_tree tree = trainer_tree();
    out_json_open_list(j, "anyOf");
    report_schema_value(j, NULL, &truth);
    out_json_open(j, NULL);
    report_schema_section(j, &tree, row->path);
    out_json_close(j);
    out_json_close_list(j);
}

/* Keys whose values have a form of their own: what src/zoo/trainer_takes.c takes apart. */
static void add_taken(struct out_json *j, const struct conf_key *row)
{
    const bool is_list = strstr(row->path, "val_dataloader") != NULL;
    const int to = conf_keys_find(zoo_params_table(), row->to);
    if (row->doc) out_json_str(j, "description", row->doc);
    if (zoo_trainer_is_switch(row))
        add_switch(j, row);
    else if (zoo_trainer_is_named(row))
        add_typed(j, "trainer.optimizer");
    else if (!strcmp(row->to, "optimizer.learning_rate"))
        add_one_or_list(j, "scheduler");
    else if (to < 0 && is_list)
        add_one_or_list(j, row->to);
    else if (to < 0)
        add_all_of(j, row->to);
}

/* An optimizer of the trainer style may have its rate as `lr`. */
static void add_optimizer_key(struct out_json *j, const char *name, const struct conf_key *row)
{
    report_schema_value(j, name, row);
    if (!strcmp(row->path, "optimizer.learning_rate")) report_schema_value(j, "lr", row);
}

/* A row of the trainer style: as the key that it becomes, or by itself. */
static void add_trainer_key(struct out_json *j, const char *name, const struct conf_key *row)
{
    const int to = row->to ? conf_keys_find(zoo_params_table(), row->to) : -1;
    const struct conf_key *key = to < 0 ? row : &zoo_params_table()->key[to];
    const bool is_switch = zoo_trainer_is_switch(row);
    static const struct conf_key paths = {
        .type = CONF_T_SPECIAL, .nullable = true, .form = "expression or list of them"};
    if (!strcmp(row->path, "trainer.validate_all.ckpt_paths")) {
        report_schema_value(j, name, &paths);
        return;
    }
    if (!row->to || (to >= 0 && !is_switch && strcmp(row->to, "optimizer.learning_rate") != 0)) {
        report_schema_value(j, name, key);
        return;
    }
    out_json_open(j, name);
    add_taken(j, row);
    out_json_close(j);
}

static bool add_trainer_section(struct out_json *j, const char *name, const char *path);

static struct report_schema_tree trainer_tree(void)
{
    return (struct report_schema_tree){.table = zoo_trainer_table(),
                                       .leaf = add_trainer_key,
                                       .section = add_trainer_section,
                                       .nullable = true};
}

/* Flags by their dotted names, as well as in nested maps. */
static void add_flags(struct out_json *j, const char *path)
{
    const struct report_schema_tree tree = trainer_tree();
    const size_t n = strlen(path);
    char inner[CONF_MAX_PATH];
    (void)snprintf(inner, sizeof inner, "%s.csx", path);
    out_json_open(j, "properties");
    out_json_open(j, "csx");
    report_schema_section(j, &tree, inner);
    out_json_close(j);
    for (int i = 0; i < 2; i++) {
        static const char *const group[] = {"csx.performance", "csx.debug"};
        (void)snprintf(inner, sizeof inner, "%s.%s", path, group[i]);
        out_json_open(j, group[i]);
        report_schema_section(j, &tree, inner);
        out_json_close(j);
    }
    for (int i = 0; i < tree.table->n; i++) {
        const struct conf_key *row = &tree.table->key[i];
        if (!strncmp(row->path, path, n) && row->path[n] == '.' && !strchr(row->path, '*'))
            add_trainer_key(j, row->path + n + 1, row);
    }
    out_json_close(j);
    out_json_open(j, "patternProperties");
    out_json_open(j, "^csx\\.debug\\.");
    out_json_close(j);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
}

/* Callbacks and loggers are lists of maps with one key, or one map. */
static bool add_trainer_section(struct out_json *j, const char *name, const char *path)
{
    const size_t n = strlen(path);
    const bool flags = n > 5 && !strcmp(path + n - 5, "Flags");
    const bool list =
        !strcmp(path, "trainer.init.callbacks") || !strcmp(path, "trainer.init.loggers");
    if (!flags && !list) return false;
    out_json_open(j, name);
    if (flags)
        add_flags(j, path);
    else
        add_one_or_list(j, path);
    out_json_close(j);
    return true;
}

/* The callbacks or loggers of the section @p path by their names, which count in any case. */
static void add_named_keys(struct out_json *j, const char *path)
{
    const struct report_schema_tree tree = trainer_tree();
    const size_t n = strlen(path);
    char before[CONF_MAX_PATH] = "";
    out_json_open(j, path);
    report_schema_section(j, &tree, path);
    out_json_open(j, "patternProperties");
    for (int i = 0; i < tree.table->n; i++) {
        struct wsc_text pattern = {0};
        const char *row = tree.table->key[i].path;
        char name[CONF_MAX_PATH], definition[2 * CONF_MAX_PATH];
        if (strncmp(row, path, n) != 0 || row[n] != '.') continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(row + n + 1, "."), row + n + 1);
        if (!strcmp(name, before)) continue;
        (void)snprintf(before, sizeof before, "%s", name);
        wsc_text_add(&pattern, "^");
        report_schema_any_case(&pattern, name);
        wsc_text_add(&pattern, "$");
        (void)snprintf(definition, sizeof definition, "%s/properties/%s", path, name);
        j->text.failed = j->text.failed || pattern.failed;
        report_schema_ref(j, pattern.failed ? "" : pattern.bytes, definition);
        wsc_text_free(&pattern);
    }
    out_json_close(j);
    out_json_close(j);
}

/* ---- params files ---------------------------------------------------------------------------- */

/* True when row @p i is the first one of a section, whose name goes to @p name. */
static bool opens_section(int i, char name[CONF_MAX_PATH])
{
    const struct conf_key *key = zoo_params_table()->key;
    const size_t n = strcspn(key[i].path, ".");
    bool first = key[i].path[n] == '.';
    for (int k = 0; k < i && first; k++)
        first = strncmp(key[k].path, key[i].path, n + 1) != 0;
    (void)snprintf(name, CONF_MAX_PATH, "%.*s", (int)n, key[i].path);
    return first;
}

/* The sections are definitions, to which both styles refer. */
static bool add_params_section(struct out_json *j, const char *name, const char *path)
{
    if (strchr(path, '.') || !conf_keys_is_section(zoo_params_table(), path)) return false;
    report_schema_ref(j, name, path);
    return true;
}

/* A key of a section; a policy model has the keys of a model. */
static void add_params_key(struct out_json *j, const char *name, const struct conf_key *row)
{
    if (!strcmp(row->path, "model.policy_model"))
        report_schema_ref(j, name, "model");
    else
        report_schema_value(j, name, row);
}

static void add_params_definitions(struct out_json *j)
{
    struct report_schema_tree tree = {
        .table = zoo_params_table(), .leaf = add_params_key, .required = true, .nullable = true};
    const struct report_schema_tree trainer = trainer_tree();
    for (int i = 0; i < tree.table->n; i++) {
        char section[CONF_MAX_PATH];
        if (!opens_section(i, section)) continue;
        out_json_open(j, section);
        report_schema_section(j, &tree, section);
        out_json_close(j);
    }
    /* Its type and its rate stand elsewhere in the trainer style. */
    tree.required = false;
    tree.leaf = add_optimizer_key;
    out_json_open(j, "trainer.optimizer");
    report_schema_section(j, &tree, "optimizer");
    out_json_close(j);
    add_named_keys(j, "trainer.init.callbacks");
    add_named_keys(j, "trainer.init.loggers");
    out_json_open(j, "trainer");
    report_schema_section(j, &trainer, "trainer");
    out_json_close(j);
    report_schema_schedules(j);
    report_schema_union(j, "sparsity", zoo_sparsity_algorithms());
    report_schema_kinds(j, "fraction", zoo_fractions());
    report_schema_record(j, "fraction", zoo_fractions());
    report_schema_kinds(j, "initializer", zoo_initializers());
    report_schema_record(j, "initializer", zoo_initializers());
    report_schema_kinds(j, "transform", zoo_transforms());
    report_schema_record(j, "transform", zoo_transforms());
}

/* Keys outside of the sections, which both styles have. */
static void add_top_keys(struct out_json *j)
{
    const struct conf_table *table = zoo_params_table();
    for (int i = 0; i < table->n; i++)
        if (!strchr(table->key[i].path, '.'))
            report_schema_value(j, table->key[i].path, &table->key[i]);
}

/* A condition: the object has the key @p key. */
static void add_if_has(struct out_json *j, const char *key)
{
    out_json_open(j, "if");
    out_json_open_list(j, "required");
    out_json_str(j, NULL, key);
    out_json_close_list(j);
    out_json_close(j);
}

/* `trainer`: one, or a list of which each may have the key `trainer` again. */
static void add_phases(struct out_json *j)
{
    out_json_open(j, "trainer");
    out_json_open(j, "if");
    out_json_str(j, "type", "array");
    out_json_close(j);
    out_json_open(j, "then");
    out_json_int(j, "minItems", 1);
    out_json_open(j, "items");
    add_if_has(j, "trainer");
    out_json_open(j, "then");
    out_json_int(j, "maxProperties", 1);
    out_json_open(j, "properties");
    report_schema_ref(j, "trainer", "trainer");
    out_json_close(j);
    out_json_close(j);
    report_schema_ref(j, "else", "trainer");
    out_json_close(j);
    out_json_close(j);
    report_schema_ref(j, "else", "trainer");
    out_json_close(j);
}

/* A key of gigaGPT: as the key that it becomes, or by itself. */
static void add_giga_keys(struct out_json *j)
{
    const struct conf_table *table = zoo_giga_table(), *params = zoo_params_table();
    out_json_open(j, "properties");
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *row = &table->key[i];
        const bool same = row->to && row->type == CONF_T_ANY;
        report_schema_value(j, row->path,
                            same ? &params->key[conf_keys_find(params, row->to)] : row);
    }
    add_top_keys(j);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
}

/* A condition: the object has the key. */
static void add_has(struct out_json *j, const char *key)
{
    out_json_open(j, NULL);
    out_json_open_list(j, "required");
    out_json_str(j, NULL, key);
    out_json_close_list(j);
    out_json_close(j);
}

/* A condition: the file is one of gigaGPT, as zoo_giga_is() decides. */
static void add_if_giga(struct out_json *j)
{
    out_json_open(j, "if");
    out_json_open_list(j, "anyOf");
    for (int i = 0; i < ZOO_GIGA_SIZES; i++)
        add_has(j, zoo_giga_table()->key[i].path);
    out_json_close_list(j);
    out_json_open(j, "not");
    out_json_open_list(j, "anyOf");
    for (int i = 0; i < zoo_params_table()->n; i++) {
        char section[CONF_MAX_PATH];
        if (opens_section(i, section)) add_has(j, section);
    }
    out_json_close_list(j);
    out_json_close(j);
    out_json_close(j);
}

static void add_params(struct out_json *j)
{
    const struct report_schema_tree tree = {.table = zoo_params_table(),
                                            .leaf = report_schema_value,
                                            .section = add_params_section,
                                            .required = true};
    out_json_open(j, "definitions");
    add_params_definitions(j);
    out_json_close(j);
    out_json_str(j, "type", "object");
    add_if_has(j, "trainer");
    out_json_open(j, "then");
    out_json_open(j, "properties");
    add_phases(j);
    add_top_keys(j);
    out_json_close(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
    out_json_open(j, "else");
    add_if_giga(j);
    out_json_open(j, "then");
    add_giga_keys(j);
    out_json_close(j);
    out_json_open(j, "else");
    report_schema_section(j, &tree, "");
    out_json_close(j);
    out_json_close(j);
}

/* ---- cluster files --------------------------------------------------------------------------- */

/* `correlation`: a map from other constants to numbers. */
static void add_correlation(struct out_json *j)
{
    out_json_open(j, "correlation");
    out_json_str(j, "type", "object");
    out_json_open(j, "additionalProperties");
    out_json_str(j, "type", "number");
    out_json_close(j);
    out_json_close(j);
}

/* `{value, kind, source, uncertainty, correlation}` of a constant; other keys have their value
 * alone. */
static void add_constant(struct out_json *j, const char *name, const struct conf_key *row)
{
    static const char *const parts[] = {"value", "kind", "source"};
    const struct conf_key kind = {.type = CONF_T_CHOICE, .choices = hw_source_kinds()},
                          source = {.type = CONF_T_STRING};
    if (!hw_key_is_constant(row)) {
        report_schema_value(j, name, row);
        return;
    }
    out_json_open(j, name);
    if (row->doc) out_json_str(j, "description", row->doc);
    out_json_str(j, "type", "object");
    out_json_open(j, "properties");
    report_schema_value(j, "value", row);
    report_schema_value(j, "kind", &kind);
    report_schema_value(j, "source", &source);
    out_json_open(j, "uncertainty");
    out_json_str(j, "type", "string");
    out_json_str(j, "pattern", "%$|\\.\\.");
    out_json_close(j);
    add_correlation(j);
    out_json_close(j);
    out_json_open_list(j, "required");
    for (int i = 0; i < 3; i++)
        out_json_str(j, NULL, parts[i]);
    out_json_close_list(j);
    out_json_bool(j, "additionalProperties", false);
    out_json_close(j);
}

/* Without a base a file has every required key, and so every section that has one. */
static void add_whole_machine(struct out_json *j)
{
    const struct conf_table *table = hw_machine_table();
    char before[CONF_MAX_PATH] = "";
    out_json_open(j, "else");
    out_json_open_list(j, "allOf");
    for (int i = 0; i < table->n; i++) {
        char section[CONF_MAX_PATH];
        const char *path = table->key[i].path, *dot = strrchr(path, '.');
        (void)snprintf(section, sizeof section, "%.*s", dot ? (int)(dot - path) : 0, path);
        if (!table->key[i].required || (i && !strcmp(section, before))) continue;
        (void)snprintf(before, sizeof before, "%s", section);
        report_schema_require_in(j, table, section);
    }
    out_json_close_list(j);
    out_json_close(j);
}

static void add_cluster(struct out_json *j)
{
    const struct report_schema_tree tree = {
        .table = hw_machine_table(), .leaf = add_constant, .nullable = true};
    out_json_open(j, "definitions");
    report_schema_kinds(j, "fault", hw_fault_kinds());
    report_schema_record(j, "fault", hw_fault_kinds());
    out_json_close(j);
    report_schema_section(j, &tree, "");
    add_if_has(j, "base");
    add_whole_machine(j);
}

/* ---- documents ------------------------------------------------------------------------------- */

enum wsc_err report_config_schema(enum report_config_file file, char **text)
{
    static const struct {
        const char *title;
        void (*add)(struct out_json *j);
    } document[] = {[REPORT_PARAMS_FILE] = {"params file of wsc", add_params},
                    [REPORT_CLUSTER_FILE] = {"cluster file of wsc", add_cluster}};
    struct out_json j = {0};
    *text = NULL;
    out_json_open(&j, NULL);
    out_json_str(&j, "$schema", "http://json-schema.org/draft-07/schema#");
    out_json_str(&j, "title", document[file].title);
    out_json_str(&j, "description", out_version());
    document[file].add(&j);
    out_json_close(&j);
    enum wsc_err rc = out_json_check(&j, "the schema");
    if (!rc) return wsc_text_take(&j.text, text);
    wsc_text_free(&j.text);
    return rc;
}
