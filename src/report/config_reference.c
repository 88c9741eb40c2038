// SPDX-License-Identifier: Apache-2.0
/* docs/CONFIG.md: every key of params files, of the trainer style and of machine files, written
 * from the key tables (<wsc/zoo.h>, <wsc/hw.h>).  `wsc --help-config` prints it. */
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

static void write_form(struct conf_text *out, const struct conf_key *key)
{
    static const char *const names[] = {
        [CONF_T_INT] = "whole number", [CONF_T_DOUBLE] = "number", [CONF_T_QUANTITY] = "quantity",
        [CONF_T_BOOL] = "boolean",     [CONF_T_STRING] = "text",   [CONF_T_CHOICE] = "",
        [CONF_T_SPECIAL] = "",         [CONF_T_ANY] = "any"};
    conf_text_add(out, "%s", key->form ? key->form : names[key->type]);
    for (int i = 0; i < CONF_MAX_CHOICES && key->choices[i].name; i++)
        conf_text_add(out, "%s`%s`", i ? ", " : "", key->choices[i].name);
}

static void write_bound(struct conf_text *out, const struct conf_key *key, double bound)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.10g", bound);
    if (key->unit != WSC_UNIT_NONE) wsc_units_format(key->unit, (int64_t)bound, text, sizeof text);
    conf_text_add(out, "%s", text);
}

static void write_range(struct conf_text *out, const struct conf_key *key)
{
    const double unbounded = 1e100;
    if (key->positive) {
        conf_text_add(out, "> 0");
        return;
    }
    if (!(key->min < key->max)) return;
    bool low = key->min > -unbounded, high = key->max < unbounded;
    if (low) write_bound(out, key, key->min);
    if (low || high) conf_text_add(out, " to ");
    if (high) write_bound(out, key, key->max);
}

static void write_default(struct conf_text *out, const struct conf_key *key)
{
    if (key->required)
        conf_text_add(out, "required");
    else if (key->fallback && key->fallback[0] == '=')
        conf_text_add(out, "as %s", key->fallback + 1);
    else if (key->fallback)
        conf_text_add(out, "%s", key->fallback);
}

static const char *status_text(const struct conf_key *key)
{
    static const char *const text[] = {[CONF_USED] = "used",
                                       [CONF_OLD] = "old spelling",
                                       [CONF_NO_EFFECT] = "accepted, without effect",
                                       [CONF_NOISE] = "ignored with a warning",
                                       [CONF_ONLY] = "other values are not supported"};
    return text[key->status];
}

/* ---- the trainer style ----------------------------------------------------------------------- */

/* True when @p to is @p path or a section around it. */
static bool covers(const char *to, const char *path)
{
    const size_t n = strlen(to);
    return !strncmp(to, path, n) && (!path[n] || path[n] == '.');
}

/* Where @p path stands in the trainer style: the rows that reach closest to it. */
static void write_trainer_path(struct conf_text *out, const char *path)
{
    const struct conf_table *table = zoo_trainer_table();
    size_t longest = 0;
    const char *comma = "";
    for (int i = 0; i < table->n; i++)
        if (table->key[i].to && covers(table->key[i].to, path) &&
            strlen(table->key[i].to) > longest)
            longest = strlen(table->key[i].to);
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (!key->to || strlen(key->to) != longest || !covers(key->to, path)) continue;
        const char *below = path + longest;
        const bool named = *below && zoo_trainer_is_named(key);
        conf_text_add(out, "%s`%s%s%s`", comma, key->path + sizeof "trainer." - 1,
                      named ? ".TYPE" : "", below);
        comma = ", ";
    }
}

/* Keys of the trainer style that the other style does not have. */
static void write_trainer_table(struct conf_text *out)
{
    const struct conf_table *table = zoo_trainer_table();
    conf_text_add(out, "| key under `trainer` | status | meaning |\n|---|---|---|\n");
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (!key->doc) continue;
        conf_text_add(out, "| `%s` | ", key->path + sizeof "trainer." - 1);
        if (key->to)
            conf_text_add(out, "as `%s`", key->to);
        else
            conf_text_add(out, "%s", status_text(key));
        conf_text_add(out, " | %s |\n", key->doc);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_table(struct conf_text *out, const struct conf_table *table)
{
    const bool styles = !table->sourced;
    conf_text_add(out,
                  "| key | %svalue | unit | default | range | status | meaning |\n"
                  "|---|---|---|---|---|---|---|%s\n",
                  styles ? "trainer style, under `trainer` | " : "", styles ? "---|" : "");
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        conf_text_add(out, "| `%s` | ", key->path);
        if (styles) write_trainer_path(out, key->path);
        if (styles) conf_text_add(out, " | ");
        write_form(out, key);
        conf_text_add(out, " | %s | ", wsc_units_base(key->unit));
        write_default(out, key);
        conf_text_add(out, " | ");
        write_range(out, key);
        conf_text_add(out, " | %s | %s |\n", status_text(key), key->doc);
    }
}

enum wsc_err report_config_reference(char **text)
{
    struct conf_text out = {0};
    conf_text_add(&out, "# Configuration keys\n\n"
                        "Generated from the key tables; do not edit.\n\n"
                        "## Params files\n\n"
                        "Model Zoo files of both styles: runconfig (releases up to 2.2) and "
                        "trainer (from 2.3). `--set path=value` takes the paths of both in a "
                        "file of the trainer style, those of the first column everywhere. "
                        "A key that is not in these tables is an error, with the nearest known "
                        "one.\n\n");
    write_table(&out, zoo_params_table());
    conf_text_add(&out, "\n### Keys of the trainer style alone\n\n"
                        "Optimizer, schedulers, callbacks and loggers are maps with one key, "
                        "their name, in any case. A callback that is null removes what it would "
                        "do by default. `trainer` may be a list: its phases run one after "
                        "another, `--phase N` takes one.\n\n");
    write_trainer_table(&out);
    conf_text_add(&out, "\n### Spellings of older releases\n\n"
                        "Taken with a warning. Beside them, a phase of `optimizer.learning_rate` "
                        "may say `steps` or `decay_steps` for `total_iters`.\n\n");
    zoo_renames_write(&out);
    conf_text_add(&out, "\n## Cluster files\n\n"
                        "Every constant is `{value: ..., kind: documented | derived | assumed | "
                        "calibrated, source: ..., uncertainty: 10 %% | LOW..HIGH}`; without "
                        "`uncertainty` a documented value is taken as it is, a derived one may "
                        "be 5 %% off, a calibrated one 10 %%, an assumed one half or double. "
                        "Quantities carry their unit: `150 GB/s`. "
                        "`--set cluster.path=value` changes one.\n\n");
    write_table(&out, hw_machine_table());
    conf_text_add(&out, "\n### Faults\n\n"
                        "Entries of `faults`, maps with a `kind`; `--fault "
                        "kind:key=value,...` of `wsc run` and `wsc scale` adds one. "
                        "`from` is the first step that it touches, counted from 1, `steps` how "
                        "many (0: to the end), `rate` the probability that it begins in a step, "
                        "in each place ([FAULTS.md](FAULTS.md)).\n\n");
    hw_faults_write(&out);
    return conf_text_take(&out, text);
}
