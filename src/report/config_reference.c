// SPDX-License-Identifier: Apache-2.0
/* docs/CONFIG.md: every key of params files, of the trainer style and of machine files, written
 * from the key tables (<wsc/zoo.h>, <wsc/hw.h>), and the manual pages of both kinds of files, made
 * of the same text.  `wsc --help-config` and `wsc help --man` print them. */
#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/report.h>

#include <string.h>

#define SCHEDULES                                                                                  \
    "\n### Schedulers\n\n"                                                                         \
    "Entries of `optimizer.learning_rate` and `optimizer.weight_decay`: maps with a `scheduler`, " \
    "or `{Name: {keys}}`. Neither case nor the endings LR, WD and Scheduler count in names. "      \
    "[TRAINING.md](TRAINING.md) has the formulas.\n\n"

#define INITIALIZERS                                                                               \
    "\n### Initializers\n\n"                                                                       \
    "Values of the `model` keys that end in `initializer`: a name, or a map with a `name` and "    \
    "its keys. Names in successive rows have the keys below the last of them.\n\n"
#define SPARSITY                                                                                   \
    "\n### Sparse weights\n\n"                                                                     \
    "Entries of `sparsity`: maps with an `algorithm` (older: `type`, `sideband` for static), or "  \
    "a number, the sparsity of static masks. The first entry whose filter matches a tensor "       \
    "counts. [SPARSITY.md](SPARSITY.md) describes the algorithms.\n\n"
#define FRACTIONS                                                                                  \
    "\nFractions: a number, a list whose values follow each other from update to update "          \
    "(`cycling`), or a map with a `type`; t counts applied updates of the optimizer, and the "     \
    "result is cut to 0 .. 1.\n\n"
#define MIXTURES                                                                                   \
    "\n### Mixtures\n\n"                                                                           \
    "Entries of `mixture`: maps, a data set each, which gives an epoch its fraction of the "       \
    "samples ([DATA.md](DATA.md)).\n\n"
#define TRANSFORMS                                                                                 \
    "\n### Transforms of samples\n\n"                                                              \
    "The entry of `data_transforms`: a map with a `name`.\n\n"

/* ---- the trainer style ----------------------------------------------------------------------- */

/* True when @p to is @p path or a section around it. */
static bool covers(const char *to, const char *path)
{
    const size_t n = strlen(to);
    return !strncmp(to, path, n) && (!path[n] || path[n] == '.');
}

/* Where @p path stands in the trainer style: the rows that reach closest to it. */
static void write_trainer_path(struct wsc_text *out, const char *path)
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
        wsc_text_add(out, "%s`%s%s%s`", comma, key->path + sizeof "trainer." - 1,
                     named ? ".TYPE" : "", below);
        comma = ", ";
    }
}

/* Keys of the trainer style that the other style does not have. */
static void write_trainer_table(struct wsc_text *out)
{
    const struct conf_table *table = zoo_trainer_table();
    wsc_text_add(out, "| key under `trainer` | status | meaning |\n|---|---|---|\n");
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (!key->doc) continue;
        wsc_text_add(out, "| `%s` | ", key->path + sizeof "trainer." - 1);
        if (key->to)
            wsc_text_add(out, "as `%s`", key->to);
        else
            wsc_text_add(out, "%s", conf_status_text(key->status));
        wsc_text_add(out, " | %s |\n", key->doc);
    }
}

/* ---- the pages ------------------------------------------------------------------------------- */

static void write_params(struct wsc_text *out)
{
    wsc_text_add(out, "## Params files\n\n"
                      "Model Zoo files of both styles: runconfig (releases up to 2.2) and "
                      "trainer (from 2.3). `--set path=value` takes the paths of both in a "
                      "file of the trainer style, those of the first column everywhere. "
                      "A key that is not in these tables is an error, with the nearest known "
                      "one.\n\n");
    conf_table_markdown(out, zoo_params_table(), "trainer style, under `trainer`",
                        write_trainer_path);
    wsc_text_add(out, SCHEDULES);
    conf_variants_markdown(out, zoo_schedulers());
    wsc_text_add(out, INITIALIZERS);
    conf_variants_markdown(out, zoo_initializers());
    wsc_text_add(out, MIXTURES);
    conf_table_markdown(out, zoo_mixture_table(), NULL, NULL);
    wsc_text_add(out, TRANSFORMS);
    conf_variants_markdown(out, zoo_transforms());
    wsc_text_add(out, SPARSITY);
    conf_variants_markdown(out, zoo_sparsity_algorithms());
    wsc_text_add(out, FRACTIONS);
    conf_variants_markdown(out, zoo_fractions());
    wsc_text_add(out, "\n### Keys of the trainer style alone\n\n"
                      "Optimizer, schedulers, callbacks and loggers are maps with one key, "
                      "their name, in any case. A callback that is null removes what it would "
                      "do by default. `trainer` may be a list: its phases run one after "
                      "another, `--phase N` takes one.\n\n");
    write_trainer_table(out);
    wsc_text_add(out, "\n### Spellings of older releases\n\n"
                      "Taken with a warning. Beside them, a phase of `optimizer.learning_rate` "
                      "may say `steps` or `decay_steps` for `total_iters`.\n\n");
    zoo_renames_write(out);
}

static void write_cluster(struct wsc_text *out)
{
    wsc_text_add(out, "\n## Cluster files\n\n"
                      "Every constant is `{value: ..., kind: documented | derived | assumed | "
                      "calibrated, source: ..., uncertainty: 10 %% | LOW..HIGH}`; without "
                      "`uncertainty` a documented value is taken as it is, a derived one may "
                      "be 5 %% off, a calibrated one 10 %%, an assumed one half or double. "
                      "A calibrated one may have `correlation: {wafer.stage_latency: 0.4}`, how "
                      "its error goes with those of others of the same fit. "
                      "Quantities carry their unit: `150 GB/s`. "
                      "`--set cluster.path=value` changes one.\n\n");
    conf_table_markdown(out, hw_machine_table(), NULL, NULL);
    wsc_text_add(out, "\n### Faults\n\n"
                      "Entries of `faults`, maps with a `kind`; `--fault "
                      "kind:key=value,...` of `wsc run` and `wsc scale` adds one. "
                      "`from` is the first step that it touches, counted from 1, `steps` how "
                      "many (0: to the end), `rate` the probability that it begins in a step, "
                      "in each place ([FAULTS.md](FAULTS.md)).\n\n");
    conf_variants_markdown(out, hw_fault_kinds());
}

enum wsc_err report_config_reference(char **text)
{
    struct wsc_text out = {0};
    wsc_text_add(&out, "# Configuration keys\n\nGenerated from the key tables; do not edit.\n\n");
    write_params(&out);
    write_cluster(&out);
    return wsc_text_take(&out, text);
}

enum wsc_err report_config_manual(enum report_config_file file, char **text)
{
    static const struct {
        const char *name, *summary;
        void (*write)(struct wsc_text *out);
    } manual[] = {
        [REPORT_PARAMS_FILE] = {"wsc-params", "keys of params files of wsc", write_params},
        [REPORT_CLUSTER_FILE] = {"wsc-cluster", "keys of cluster files of wsc", write_cluster}};
    struct wsc_text page = {0}, out = {0};
    char *markdown;
    manual[file].write(&page);
    *text = NULL;
    TRY(wsc_text_take(&page, &markdown));
    out_manual_begin(&out, manual[file].name, 5, manual[file].summary);
    out_manual_markdown(&out, markdown);
    wsc_free(markdown);
    out_manual_heading(&out, 1, "see also");
    out_manual_paragraph(&out, "`wsc`(1), `wsc-run`(1), `wsc-scale`(1)");
    return wsc_text_take(&out, text);
}
