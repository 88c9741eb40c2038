// SPDX-License-Identifier: Apache-2.0
/* Checks a row against the params that it names: overrides that a column replaces, modes that have
 * no steps of the row's quantity, samples of a fixed length.  Rows of the user's own also get the
 * warnings that `wsc run` has for their params, at the line of the row.  validation_cases.c calls
 * the checks while it loads rows, validate.c the warnings. */
#include "validation_impl.h"

#include <wsc/log.h>
#include <wsc/zoo_batch.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- keys that a column says -------------------------------------------------------------------
 */

static const struct said {
    const char *key, *column;
} said[] = {
    {"train_input.batch_size", "global_batch"}, {"train_input.micro_batch_size", "micro_batch"},
    {"eval_input.batch_size", "global_batch"},  {"eval_input.micro_batch_size", "micro_batch"},
    {"model.max_position_embeddings", "msl"},   {"train_input.max_sequence_length", "msl"},
    {"eval_input.max_sequence_length", "msl"},  {"runconfig.num_csx", "num_csx"}};
enum { N_SAID = sizeof said / sizeof *said };

/* True when @p set is the override `key=value` of @p key. */
static bool is_set_of(const char *set, const char *key)
{
    const size_t n = strlen(key);
    return !strncmp(set, key, n) && set[n] == '=';
}

/* The present name of the key of @p set, where it has an older one; otherwise NULL. */
static const char *renamed(const char *set)
{
    const char *old;
    for (int i = 0; (old = zoo_renames_old(i)); i++)
        if (is_set_of(set, old)) return zoo_renames_new(i);
    return NULL;
}

const char *validation_column_of_key(const char *set)
{
    const char *now = renamed(set);
    for (int i = 0; i < N_SAID; i++)
        if (is_set_of(set, said[i].key) || (now && !strcmp(now, said[i].key)))
            return said[i].column;
    return NULL;
}

enum wsc_err validation_check_set(const struct validation_figure *ref, const char *set)
{
    const int n = (int)strcspn(set, "=");
    const char *column = validation_column_of_key(set);
    if (column)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: set: %.*s: the column %s says it", ref->file,
                         ref->line, ref->set_column, n, set, column);
    if (!conf_set_cluster_path(set)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s:%d:%d: set: %.*s: is no key of the params",
                                  ref->file, ref->line, ref->set_column, n, set),
                        "the column cluster names a machine file, which may have base: %s.yaml",
                        ref->cluster);
}

/* True when @p text begins with the key of @p n bytes, and not with a longer name; between two
 * semicolons there is no key. */
static bool begins_with_key(const char *text, const char *key, size_t n)
{
    return n && !strncmp(text, key, n) && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

bool validation_is_about_set(const struct validation_figure *ref, const char *text)
{
    const size_t prefix = sizeof VALIDATION_SET_OPTION - 1;
    if (strncmp(text, VALIDATION_SET_OPTION, prefix) != 0) return false;
    for (const char *item = ref->set; *item; item += strcspn(item, ";") + (strchr(item, ';') != 0))
        if (begins_with_key(text + prefix, item, strcspn(item, "=;"))) return true;
    return false;
}

/* Keys of other styles and maps of several keys are known after the parse alone. */
static enum wsc_err check_said(const struct validation_figure *ref, const struct zoo_params *params)
{
    for (int i = 0; i < N_SAID; i++) {
        const char *place = zoo_params_place(params, said[i].key);
        if (!validation_is_about_set(ref, place)) continue;
        return validation_at_row(
            WSC_RAISE(WSC_CONFIG, "%s: the column %s says it", place, said[i].column), ref,
            ref->set_column, "set");
    }
    return WSC_OK;
}

/* ---- modes and lengths -------------------------------------------------------------------------
 */

static enum wsc_err check_mode(const struct validation_figure *ref, const struct zoo_params *params)
{
    const enum zoo_mode mode = params->runconfig.mode;
    const bool evaluates = ref->quantity == VALIDATION_EVAL_RATE;
    const char *place = zoo_params_place(params, "runconfig.mode");
    const bool is_set = validation_is_about_set(ref, place);
    if (zoo_mode_trains(mode) || (evaluates && zoo_mode_evaluates(mode))) return WSC_OK;
    const enum wsc_err rc = WSC_RAISE(
        WSC_CONFIG, "%s: the quantity %s is of %s, which the mode %s does not have", place,
        validation_quantity_name(ref->quantity), evaluates ? "an evaluation" : "training steps",
        zoo_params_choice("runconfig.mode", mode));
    return wsc_err_hint(validation_at_row(rc, ref, is_set ? ref->set_column : ref->model_column,
                                          is_set ? "set" : "model"),
                        "%s",
                        mode == ZOO_EVAL ? "the quantity of an evaluation is eval_rate"
                                         : "rows are of trainings and evaluations");
}

/* Patches of a latent are the tokens of a diffusion transformer. */
static enum wsc_err check_length(const struct validation_figure *ref,
                                 const struct zoo_params *params)
{
    const int64_t patches = params->model.max_position_embeddings;
    if (params->model.objective != ZOO_DIFFUSION || !ref->msl || ref->msl == patches) return WSC_OK;
    return wsc_err_hint(
        validation_at_row(WSC_RAISE(WSC_CONFIG, "msl: %lld tokens, but a sample of %s has %lld",
                                    (long long)ref->msl, ref->model, (long long)patches),
                          ref, 1, ref->id),
        "the patches of its latent are its tokens: model.patch_size");
}

enum wsc_err validation_check_params(const struct validation_figure *ref,
                                     const struct zoo_params *params)
{
    TRY(check_said(ref, params));
    TRY(check_mode(ref, params));
    return check_length(ref, params);
}

/* ---- warnings ----------------------------------------------------------------------------------
 */

/* True when @p text is about the key of a file whose value a column replaces. */
static bool is_about_said(const struct zoo_params *params, const char *text)
{
    for (int i = 0; i < N_SAID; i++) {
        const char *place = zoo_params_place(params, said[i].key);
        const size_t n = strlen(place);
        if (!strncmp(text, place, n) && text[n] == ':') return true;
    }
    return false;
}

/* True when an earlier row of the user's own, with equal overrides, has the warning. */
static bool is_repeated(const struct validation_cases *cases, int row, const char *text)
{
    const char *set = cases->item[row].ref->set;
    for (int i = 0; i < row; i++) {
        const struct validation_case *item = &cases->item[i];
        if (!item->own || strcmp(item->ref->set, set) != 0) continue;
        for (int k = 0; k < item->params.n_warnings; k++)
            if (!strcmp(item->params.warning[k].text, text)) return true;
    }
    return false;
}

/* A warning of the params; those about options of the command line concern all rows and are not of
 * one. */
static void warn_of_params(const struct validation_cases *cases, int row, const char *text)
{
    const struct validation_case *item = &cases->item[row];
    const struct validation_figure *ref = item->ref;
    const size_t prefix = sizeof VALIDATION_SET_OPTION - 1;
    if (validation_is_about_set(ref, text))
        WSC_WARNING("%s:%d:%d: set: %s", ref->file, ref->line, ref->set_column, text + prefix);
    else if (strncmp(text, "--", 2) != 0 && !is_about_said(&item->params, text) &&
             !is_repeated(cases, row, text))
        WSC_WARNING("%s:%d:%d: model: %s", ref->file, ref->line, ref->model_column, text);
}

/* published_figures.c warns of uneven batches of ratios. */
static void warn_of_batch(const struct validation_figure *ref, int64_t batch)
{
    const struct zoo_batch_notes notes = zoo_batch_notes(batch, ref->micro_batch, ref->num_csx);
    if (*notes.batch && !validation_is_ratio(ref->quantity))
        WSC_WARNING("%s:%d:1: %s: %s", ref->file, ref->line, ref->id, notes.batch);
    if (*notes.micro)
        WSC_WARNING("%s:%d:1: %s: micro_batch: %s", ref->file, ref->line, ref->id, notes.micro);
}

void validation_warn_of_own(const struct validation_cases *cases)
{
    for (int i = 0; i < cases->n; i++) {
        const struct validation_case *item = &cases->item[i];
        if (!item->own) continue;
        for (int k = 0; k < item->params.n_warnings; k++)
            warn_of_params(cases, i, item->params.warning[k].text);
        warn_of_batch(item->ref, item->ref->global_batch);
        for (int k = 0; k < item->ref->n_other_batches; k++)
            warn_of_batch(item->ref, item->ref->other_batch[k]);
    }
}
