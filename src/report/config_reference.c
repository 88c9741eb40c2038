// SPDX-License-Identifier: Apache-2.0
/* Writes docs/CONFIG.md: every key of params files, of the trainer style and of machine files, with
 * a list of contents.  The text comes from the key tables (<wsc/zoo.h>, <wsc/hw.h>), cut into
 * sections by the tables below; the list of contents comes from the headings of that text.  The
 * manual pages of both kinds of files have the same sections.  `wsc --help-config` and `wsc help
 * --man` print them. */
#include <wsc/check.h>
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

/* Keys of files of gigaGPT. */
static void write_giga_table(struct wsc_text *out)
{
    const struct conf_table *table = zoo_giga_table();
    wsc_text_add(out, "| key | becomes | default | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        wsc_text_add(out, "| `%s` | ", key->path);
        if (key->to)
            wsc_text_add(out, "`%s`", key->to);
        else
            wsc_text_add(out, "%s", conf_status_text(key->status));
        wsc_text_add(out, " | %s | %s |\n", key->fallback ? key->fallback : "",
                     key->doc ? key->doc : "");
    }
}

/* ---- sections of a table of keys ------------------------------------------------------------- */

/* A section of a table: from the row of key @c first up to the first row of the next section. */
struct section {
    const char *first, *title, *about;
};

static const struct section params_sections[] = {
    {"train_input.data_processor", "Training input",
     "Data sets, batch size and data loader of training."},
    {"eval_input.data_processor", "Evaluation input",
     "Data sets, batch size and data loader of evaluation."},
    {"model.vocab_size", "Model and sparsity",
     "Architecture, initialization, number format and loss of the model; `sparsity`: its masks."},
    {"optimizer.optimizer_type", "Optimizer",
     "Optimizer, learning rate, weight decay, clipping and loss scaling."},
    {"runconfig.mode", "Run configuration",
     "Mode, steps, checkpoints, evaluation, seed and logs of a run."},
    {"inference_input", "Other keys of params files",
     "Keys that stand alone, and sections without effect."}};

static const struct section cluster_sections[] = {
    {"schema_version", "Machine file", "Version, name and base of the file."},
    {"wafer.clock", "Wafer", "Processing elements, their vector operations, I/O and power."},
    {"swarmx.fanout", "SwarmX", "The tree that broadcasts weights and adds gradients."},
    {"memoryx.shards", "MemoryX", "The servers that hold and update the weights."},
    {"stream.granularity", "Weight streaming",
     "Unit, prefetch window and formats of the streams of weights and gradients."},
    {"systems", "Systems and jitter", "Number of systems, and variation of their compute times."},
    {"input.rate", "Input workers", "The hosts that make the samples."},
    {"activation.rate", "Activation servers, control and checkpoints",
     "Hosts of spilled activations, coordination, checkpoints, failures and restarts."},
    {"swarmx.planes", "Network planes", "Parallel networks, message headers and incast."},
    {"effects.boundary", "Mechanisms of several systems",
     "Switches of the mechanisms for which N systems do less than N times one."},
    {"recovery.detection", "Recovery and retransmission",
     "Times of recovery after a loss, retransmission, and the list of faults."}};

enum {
    N_PARAMS_SECTIONS = sizeof params_sections / sizeof *params_sections,
    N_CLUSTER_SECTIONS = sizeof cluster_sections / sizeof *cluster_sections
};

/* The row of key @p path; the end of the table where there is none. */
static int row_of(const struct conf_table *table, const char *path)
{
    int i = 0;
    while (i < table->n && strcmp(table->key[i].path, path) != 0)
        i++;
    return i;
}

/* The rows of @p table as @p n sections, each with a heading and a table of its own. */
static void write_sections(struct wsc_text *out, const struct conf_table *table,
                           const struct section *section, int n, const char *column,
                           void (*cell)(struct wsc_text *out, const char *path))
{
    for (int i = 0; i < n; i++) {
        const int first = row_of(table, section[i].first);
        const int end = i + 1 < n ? row_of(table, section[i + 1].first) : table->n;
        WSC_CHECK(i ? first < end : !first && end, "section of %s", section[i].first);
        struct conf_table part = *table;
        part.key += first;
        part.n = end - first;
        wsc_text_add(out, "\n### %s\n\n%s\n\n", section[i].title, section[i].about);
        conf_table_markdown(out, &part, column, cell);
    }
}

/* ---- contents -------------------------------------------------------------------------------- */

/* The anchor of a heading: small letters, digits, _ and -, blanks as -. */
static void write_anchor(struct wsc_text *out, const char *title, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char c = title[i];
        if (c >= 'A' && c <= 'Z')
            wsc_text_add(out, "%c", c - 'A' + 'a');
        else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-')
            wsc_text_add(out, "%c", c);
        else if (c == ' ')
            wsc_text_add(out, "-");
    }
}

/* The first sentence of the paragraph at @p text. */
static void write_first_sentence(struct wsc_text *out, const char *text)
{
    const size_t line = strcspn(text, "\n");
    const char *dot = strstr(text, ". ");
    const size_t n = dot && dot < text + line ? (size_t)(dot - text) + 1 : line;
    wsc_text_bytes(out, text, n);
}

/* A line for each heading of @p page, with a link and the first sentence of its text. */
static void write_contents(struct wsc_text *out, const char *page)
{
    for (const char *at = page; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t level = strspn(at, "#");
        if (!level) continue;
        const char *title = at + level + 1;
        const size_t n = strcspn(title, "\n");
        wsc_text_add(out, "%s- [%.*s](#", level > 2 ? "  " : "", (int)n, title);
        write_anchor(out, title, n);
        wsc_text_add(out, "): ");
        write_first_sentence(out, title + n + strspn(title + n, "\n"));
        wsc_text_add(out, "\n");
    }
    wsc_text_add(out, "\n");
}

/* ---- the pages ------------------------------------------------------------------------------- */

static void write_params(struct wsc_text *out)
{
    wsc_text_add(out, "## Params files\n\n"
                      "Params files are Model Zoo files of two styles: runconfig (releases up to "
                      "2.2) and trainer (from 2.3); files of gigaGPT have a third one, a flat map. "
                      "The first column of the tables has the path "
                      "of a key in the runconfig style, the second one its path in the trainer "
                      "style. `--set path=value` takes paths of the first column for every "
                      "file, and paths of the trainer style for a file of that style. A key that "
                      "is not in these tables is an error; the message names the nearest known "
                      "key.\n");
    write_sections(out, zoo_params_table(), params_sections, N_PARAMS_SECTIONS,
                   "trainer style, under `trainer`", write_trainer_path);
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
    wsc_text_add(out, "\n### Files of gigaGPT\n\n"
                      "A file of gigaGPT is one flat map of these keys. `--set` takes them, and "
                      "the paths of the runconfig style. The rest of the model and of the "
                      "training is what gigaGPT's program fixes "
                      "([MODELZOO.md](MODELZOO.md#gigagpt)).\n\n");
    write_giga_table(out);
    wsc_text_add(out, "\n### Spellings of older releases\n\n"
                      "Old spellings of keys are read with a warning. Also, a phase of "
                      "`optimizer.learning_rate` may have `steps` or `decay_steps` for "
                      "`total_iters`.\n\n");
    zoo_renames_write(out);
}

static void write_cluster(struct wsc_text *out)
{
    wsc_text_add(out, "\n## Cluster files\n\n"
                      "Cluster files have the constants of the emulated machine. Every constant "
                      "is `{value: ..., kind: documented | derived | assumed | calibrated, source: "
                      "..., uncertainty: 10 %% | LOW..HIGH}`. Without `uncertainty` a documented "
                      "value is taken as it is, a derived one may be 5 %% off, a calibrated one "
                      "10 %%, an assumed one half or double. A calibrated constant may have "
                      "`correlation: {wafer.stage_latency: 0.4}`, the correlation of its error "
                      "with those of other constants of one fit. Quantities carry their unit: "
                      "`150 GB/s`. `--set cluster.path=value` changes one.\n");
    write_sections(out, hw_machine_table(), cluster_sections, N_CLUSTER_SECTIONS, NULL, NULL);
    wsc_text_add(out, "\n### Faults\n\n"
                      "Entries of `faults` are maps with a `kind`. `--fault kind:key=value,...` of "
                      "`wsc run` and `wsc scale` adds one. `from` is the first step that the "
                      "fault affects, counted from 1, `steps` their number (0: to the end), "
                      "`rate` the probability that it begins in a step, in each place "
                      "([FAULTS.md](FAULTS.md)).\n\n");
    conf_variants_markdown(out, hw_fault_kinds());
}

enum wsc_err report_config_reference(char **text)
{
    struct wsc_text out = {0}, page = {0};
    char *sections;
    *text = NULL;
    write_params(&page);
    write_cluster(&page);
    TRY(wsc_text_take(&page, &sections));
    wsc_text_add(&out, "# Configuration keys\n\nGenerated from the key tables; do not edit.\n\n");
    write_contents(&out, sections);
    wsc_text_bytes(&out, sections, strlen(sections));
    wsc_free(sections);
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
