// SPDX-License-Identifier: Apache-2.0
/* A params file from bytes to struct zoo_params: YAML, the trainer style or that of gigaGPT to the
 * runconfig style (trainer.c, giga_gpt.c), policy models (policy_model.c), old spellings
 * (renames.c), --set, keys by the table (params_keys.c), the family's defaults (zoo_families.c),
 * and checks between keys (params_check.c).  Called by the commands. */
#include "giga_gpt.h"
#include "params_passes.h"
#include "params_values.h"
#include "trainer.h"

#include <wsc/check.h>
#include <wsc/hw.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Phase of a list of trainers: the last `phase=` of the --set options, which set *@p chosen; files
 * have no such key. */
static int64_t choose_phase(struct conf_diag *d, bool *chosen)
{
    int64_t phase = 1;
    *chosen = false;
    for (int set = 1; set <= d->n_sets; set++) {
        const struct conf_pos pos = {.line = -set};
        char path[CONF_MAX_PATH];
        const char *value;
        if (strncmp(d->sets[set - 1].text, "phase=", 6) != 0) continue;
        *chosen = true;
        if (conf_set_split(d, set, path, &value) && wsc_units_int(value, &phase))
            conf_diag_error(d, pos, "phase", "%s", wsc_err_message());
    }
    return phase;
}

/* Value of the last `runconfig.mode=` of the --set options, as --mode sets it; NULL: none. The
 * trainer style has no such key. */
static const char *choose_mode(const struct conf_diag *d)
{
    static const char mode[] = "runconfig.mode=";
    for (int set = d->n_sets; set > 0; set--)
        if (!strncmp(d->sets[set - 1].text, mode, sizeof mode - 1))
            return d->sets[set - 1].text + sizeof mode - 1;
    return NULL;
}

/* Styles of params files. */
enum style { RUNCONFIG, TRAINER, GIGA_GPT };

static enum style style_of(const struct conf_node *root)
{
    if (zoo_trainer_is(root)) return TRAINER;
    return zoo_giga_is(root) ? GIGA_GPT : RUNCONFIG;
}

static bool is_of_trainer(const char *path)
{
    return !strcmp(path, "trainer") || !strncmp(path, "trainer.", 8);
}

/* True for a path of a file of @p style that is not one of the runconfig style. */
static bool is_of_style(enum style style, const char *path)
{
    if (style == GIGA_GPT) return conf_keys_find(zoo_giga_table(), path) >= 0;
    return style == TRAINER && is_of_trainer(path);
}

/* True when this pass over the --set options applies @p path: one pass for the paths of the file's
 * @p style, one for those of the runconfig style. */
static bool is_of_pass(struct conf_diag *d, struct conf_pos pos, const char *path, bool first,
                       enum style style)
{
    if (!strcmp(path, "phase")) return false;
    if (!is_of_trainer(path) || style == TRAINER) return is_of_style(style, path) == first;
    if (!first)
        conf_diag_error(d, pos, path,
                        style == GIGA_GPT
                            ? "the file is one of gigaGPT; hint: its keys are width, depth, heads "
                              "and others, or those of the runconfig style"
                            : "the file has the runconfig style; hint: its keys are model, "
                              "optimizer, train_input, eval_input, runconfig");
    return false;
}

/* Check a --set of a constant of the machine, which the parse of its file applies: unknown name, or
 * given before. */
static void check_constant(struct conf_diag *d, int set, const char *path, const char *constant)
{
    const struct conf_pos pos = {.line = -set};
    const size_t n = strlen(path);
    if (!strcmp(constant, CONF_FAULTS_ADD)) return;
    if (conf_keys_find(hw_machine_table(), constant) < 0)
        conf_keys_unknown(hw_machine_table(), d, pos, constant);
    for (int i = 0; i < set - 1; i++)
        if (!strncmp(d->sets[i].text, path, n) && d->sets[i].text[n] == '=') {
            conf_set_warn_twice(d, pos);
            return;
        }
}

/* The path of the option, cut to the length of a path. */
static void path_of(const struct conf_set *set, char path[CONF_MAX_PATH])
{
    (void)snprintf(path, CONF_MAX_PATH, "%.*s", (int)strcspn(set->text, "="), set->text);
}

/* Apply the --set of params files to the tree; those of cluster files are only looked up. The
 * @p first pass is over the tree of the file's @p style, the second one over that of the runconfig
 * style. */
static void apply_sets(struct conf_doc *doc, struct conf_diag *d, bool first, enum style style)
{
    for (int set = 1; set <= d->n_sets; set++) {
        char path[CONF_MAX_PATH];
        const char *value;
        struct conf_pos pos = {.line = -set};
        /* A wrong option is reported once, in the pass that every file has. */
        path_of(&d->sets[set - 1], path);
        if (first && !is_of_style(style, path)) continue;
        if (!conf_set_split(d, set, path, &value)) continue;
        if (!is_of_pass(d, pos, path, first, style)) continue;
        const char *cluster = conf_set_cluster_path(path);
        if (cluster) {
            check_constant(d, set, path, cluster);
            continue;
        }
        struct conf_node *node = conf_doc_parse_value(doc, d, value, set);
        if (node) conf_doc_set(doc, d, first ? path : zoo_renames_path(path), node);
    }
}

/* Choose a trainer of the file. */
static void choose_trainer(struct zoo_params *out, struct conf_doc *doc, struct conf_diag *d)
{
    bool chosen;
    const int64_t phase = choose_phase(d, &chosen);
    zoo_trainer_choose(doc, d, phase, &out->n_phases);
    if (out->n_phases > 1 && !chosen)
        conf_diag_warn(d, (struct conf_pos){0}, "trainer",
                       "the first of %d trainers alone is read; hint: --set phase=N reads another",
                       out->n_phases);
    out->phase = d->trainer ? d->trainer : 1;
}

/* Convert a tree of another style to the runconfig style; false after an error in its phases. */
static bool take_style(struct zoo_params *out, struct conf_doc *doc, struct conf_diag *d,
                       enum style style)
{
    choose_trainer(out, doc, d);
    if (d->n_errors) return false;
    if (style == TRAINER) zoo_trainer_normalise(doc, d);
    if (style != RUNCONFIG) apply_sets(doc, d, true, style);
    if (style == TRAINER) {
        zoo_trainer_normalise(doc, d);
        zoo_trainer_convert(doc, d, choose_mode(d));
    }
    if (style == GIGA_GPT) zoo_giga_convert(doc, d);
    return true;
}

/* Keys and sections that may be refused later for the sake of a model, a job or a published row:
 * src/model/model_tuning.c, src/model/model_lr_scale.c, src/job/job_check.c, src/job/job.c,
 * src/validation/row_checks.c. */
static const char *const late_key[ZOO_LATE_KEYS] = {"model.name",
                                                    "model.objective",
                                                    "model.dpo",
                                                    "model.moe",
                                                    "model.recompute",
                                                    "reduction_leaf",
                                                    "eval_input",
                                                    "eval_input.drop_last",
                                                    "runconfig.mode",
                                                    "model.freeze",
                                                    "model.selective_grad",
                                                    "model.lora_params",
                                                    "optimizer.params",
                                                    "optimizer.adjust_learning_rate",
                                                    "sparsity",
                                                    "runconfig.num_epochs",
                                                    "runconfig.steps_per_epoch",
                                                    "train_input.repeat",
                                                    "eval_input.repeat",
                                                    "train_input.data_processor",
                                                    "eval_input.data_processor",
                                                    "model.max_position_embeddings",
                                                    "train_input.max_sequence_length",
                                                    "eval_input.max_sequence_length",
                                                    "train_input.tgt_max_sequence_length",
                                                    "eval_input.tgt_max_sequence_length",
                                                    "train_input.batch_size",
                                                    "train_input.micro_batch_size",
                                                    "eval_input.batch_size",
                                                    "eval_input.micro_batch_size",
                                                    "runconfig.num_csx"};

/* The key that sets the length of the samples: the input's own, if it has one; for the evaluations
 * of a training, that of train_input; otherwise the length of the model. */
static void keep_lengths(struct zoo_params *out, const struct conf_node *root)
{
    const struct {
        struct zoo_input *in;
        const char *key, *target;
    } row[] = {
        {&out->train_input, "train_input.max_sequence_length",
         "train_input.tgt_max_sequence_length"},
        {&out->eval_input, "eval_input.max_sequence_length", "eval_input.tgt_max_sequence_length"}};
    const char *of_run = "model.max_position_embeddings";
    for (int i = 0; i < 2; i++) {
        const bool own = !conf_node_is_null(conf_node_at(root, row[i].key));
        row[i].in->length_place = zoo_params_place(out, own ? row[i].key : of_run);
        if (own && out->runconfig.mode != ZOO_EVAL) of_run = row[i].key;
        row[i].in->tgt_length_place = zoo_params_place(out, row[i].target);
    }
}

static void keep_places(struct zoo_params *out, const struct conf_doc *doc, struct conf_diag *d)
{
    for (int i = 0; i < ZOO_LATE_KEYS; i++) {
        const struct conf_node *node = conf_node_at(doc->root, late_key[i]);
        const struct conf_pos pos = node ? node->pos : (struct conf_pos){0};
        out->place[i] = conf_diag_place(d, pos, late_key[i]);
        d->no_memory = d->no_memory || !out->place[i];
    }
    keep_lengths(out, doc->root);
}

const char *zoo_params_place(const struct zoo_params *params, const char *key)
{
    for (int i = 0; i < ZOO_LATE_KEYS; i++)
        if (!strcmp(late_key[i], key)) return params->place[i] ? params->place[i] : late_key[i];
    WSC_CHECK(false, "%s is no late key", key);
    return key;
}

/* True when the file has the key. */
static bool was_given(const struct conf_parse *p, const char *path)
{
    return p->given[conf_keys_find(p->table, path)] != NULL;
}

/* The order matters: old names are replaced before and after --set, which may use either; the
 * defaults of the family are set after the keys of the file and before those of the table. */
static void read_tree(struct zoo_params *out, struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_rows rows = {0};
    struct conf_parse p = {.table = zoo_params_table(),
                           .diag = d,
                           .out = (char *)out,
                           .seen = rows.seen,
                           .given = rows.given};
    const enum style style = style_of(doc->root);
    if (!take_style(out, doc, d, style)) return;
    zoo_policy_unwrap(doc, d);
    zoo_renames_apply(doc, d);
    apply_sets(doc, d, false, style);
    zoo_policy_unwrap(doc, d);
    zoo_renames_apply(doc, d);
    if (zoo_params_refuse(doc->root, d)) return;
    out->model.dpo.on = !conf_node_is_null(conf_node_at(doc->root, "model.dpo"));
    out->train_input.present = !conf_node_is_null(conf_node_find(doc->root, "train_input"));
    out->eval_input.present = !conf_node_is_null(conf_node_find(doc->root, "eval_input"));
    zoo_optimizer_init(&out->optimizer);
    conf_keys_read(&p, doc->root, conf_key_read);
    zoo_family_resolve(&p, out);
    conf_keys_defaults(&p, doc->root);
    out->train_input.micro_batch_given = was_given(&p, "train_input.micro_batch_size");
    out->eval_input.micro_batch_given = was_given(&p, "eval_input.micro_batch_size");
    zoo_params_check(&p, doc->root, out);
    zoo_params_warn_no_effect(&p);
    keep_places(out, doc, d);
}

enum wsc_err zoo_params_parse(struct zoo_params *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets)
{
    memset(out, 0, sizeof *out);
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = file,
                          .sets = sets,
                          .n_sets = n_sets,
                          .warning = &out->warning,
                          .n_warnings = &out->n_warnings};
    out->file = wsc_strdup(WSC_MEM_CONF, file);
    if (!out->file) return WSC_NOMEM;
    if (conf_doc_parse(&doc, &d, bytes, n_bytes, CONF_LAST_WINS)) read_tree(out, &doc, &d);
    conf_doc_fini(&doc);
    return conf_diag_finish(&d);
}

void zoo_params_log(const struct zoo_params *params)
{
    for (int i = 0; i < params->n_warnings; i++)
        WSC_WARNING("%s", params->warning[i].text);
}

/* Free the texts of an input. */
static void input_fini(struct zoo_input *in)
{
    wsc_free(in->data_processor);
    wsc_free(in->vocab_file);
    wsc_free(in->label_vocab_file);
    wsc_free(in->tgt_data_dir);
    for (int i = 0; i < in->n_data_dirs; i++)
        wsc_free(in->data_dir[i]);
}

void zoo_params_fini(struct zoo_params *params)
{
    input_fini(&params->train_input);
    input_fini(&params->eval_input);
    wsc_free(params->optimizer.optimizer_type);
    zoo_sparsities_fini(&params->sparsity);
    zoo_tuning_fini(&params->model);
    zoo_groups_fini(&params->optimizer.groups);
    wsc_free(params->runconfig.model_dir);
    wsc_free(params->runconfig.checkpoint_path);
    wsc_free(params->runconfig.checkpoint_name);
    wsc_free(params->runconfig.load_checkpoint_states);
    for (int i = 0; i < params->n_warnings; i++)
        wsc_free(params->warning[i].text);
    wsc_free(params->warning);
    for (int i = 0; i < ZOO_LATE_KEYS; i++)
        wsc_free(params->place[i]);
    wsc_free(params->file);
    memset(params, 0, sizeof *params);
}

bool zoo_explores(const struct zoo_params *params)
{
    return zoo_mode_trains(params->runconfig.mode) && params->train_input.present &&
           params->train_input.micro_batch_size == CONF_EXPLORE;
}

bool zoo_is_params_file(const char *bytes, size_t n_bytes)
{
    static const char *const section[] = {"model",      "optimizer", "train_input",
                                          "eval_input", "runconfig", "trainer"};
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = ""};
    const bool parses = conf_doc_parse(&doc, &d, bytes, n_bytes, CONF_LAST_WINS);
    bool yes = parses && zoo_giga_is(doc.root);
    for (size_t i = 0; parses && i < sizeof section / sizeof *section; i++)
        yes = yes || conf_node_find(doc.root, section[i]);
    conf_doc_fini(&doc);
    (void)!conf_diag_finish(&d);
    return yes;
}
