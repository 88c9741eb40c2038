// SPDX-License-Identifier: Apache-2.0
/* Converts params files of gigaGPT, the GPT of a few hundred lines beside the Model Zoo, to the
 * tree of the runconfig style. Such a file is one flat map: the sizes of the model (`width`,
 * `depth`, `heads`), the training, and the cluster. What gigaGPT's program fixes instead of its
 * files (GPT-2 with a tied output, bfloat16, AdamW, a warm-up and a cosine) is put beside. Most
 * keys become one key with the same value, which the row of that key checks; those with a field
 * become several keys, or one with another value. zoo_params.c calls; trainer_tree.c builds the
 * tree. */
#include "giga_gpt.h"
#include "params_passes.h"
#include "params_values.h"
#include "trainer_tree.h"

#include <wsc/mem.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* State of a conversion, and the values of the rows with a field. */
struct giga {
    struct zoo_trainer tree;
    const struct conf_node *value[CONF_MAX_KEYS]; /* by row; gigaGPT's default if not in the file */
    bool bias;
    char *dataset; /* owned */
    double init_std, learning_rate;
    int64_t batch_size, sequence_length, warmup_steps, decay_steps, seed;
};

/* A key that becomes key `t`; `d` is gigaGPT's default, NULL: that of the runconfig style. */
#define ROW(p, t, d)                                                                               \
    {                                                                                              \
        .path = (p), .to = (t), .type = CONF_T_ANY, .fallback = (d)                                \
    }
/* A key from which other keys follow; `t` is one of them. */
#define FIELD(f, t, d, ...)                                                                        \
    {                                                                                              \
        .path = #f, .offset = offsetof(struct giga, f), .to = (t), .fallback = (d), __VA_ARGS__    \
    }
#define STEPS      .type = CONF_T_INT, .min = 1, .max = ZOO_MOST_STEPS
#define REAL       .type = CONF_T_DOUBLE, .max = DBL_MAX
#define CLUSTER(k) ROW(#k, "runconfig." #k, NULL)

/* clang-format off */
static const struct conf_key keys[] = {
    ROW("width", "model.hidden_size", "768"),
    ROW("depth", "model.num_hidden_layers", "12"),
    ROW("heads", "model.num_heads", "12"),
    ROW("vocab_size", "model.vocab_size", "50257"),
    ROW("max_position_embeddings", "model.max_position_embeddings", "2048"),
    FIELD(bias, "model.use_ffn_bias", "true", .type = CONF_T_BOOL,
          .doc = "of all linear layers but the output"),
    FIELD(init_std, "model.initializer", "0.02", REAL, .positive = true,
          .doc = "standard deviation; over sqrt(2 depth) in the output projections of the blocks"),
    {.path = "dropout", .type = CONF_T_CHOICE, .status = CONF_ONLY,
     .choices = CONF_CHOICES({"0", 0}), .doc = "`0`",
     .refusal = "only 0: gigaGPT has no dropout after the projection of attention, models of this "
                "program have it"},

    ROW("out_dir", "runconfig.model_dir", "out"),
    FIELD(dataset, "train_input.data_dir", "openwebtext", .type = CONF_T_STRING,
          .doc = "folder of train.bin, and of val.bin, which an evaluation reads"),
    FIELD(batch_size, "train_input.batch_size", "120", .type = CONF_T_INT, .min = 1, .max = 1e9,
          .doc = "of training and of evaluation"),
    FIELD(sequence_length, "train_input.max_sequence_length", "2048", .type = CONF_T_INT, .min = 1,
          .max = 1 << 20, .doc = "tokens of a sample"),
    ROW("num_steps", "runconfig.max_steps", "10000"),
    ROW("checkpoint_steps", "runconfig.checkpoint_steps", "1000"),
    ROW("checkpoint_path", "runconfig.checkpoint_path", NULL),
    FIELD(learning_rate, "optimizer.learning_rate", "6e-4", REAL, .doc = "after the warm-up"),
    FIELD(warmup_steps, "optimizer.learning_rate", "1500", STEPS,
          .doc = "from 0 to learning_rate"),
    FIELD(decay_steps, "optimizer.learning_rate", "null", STEPS, .nullable = true,
          .doc = "of a cosine down to a tenth; null: the steps after the warm-up"),
    ROW("weight_decay", "optimizer.weight_decay", "0.1"),
    ROW("max_gradient_norm", "optimizer.max_gradient_norm", "1.0"),
    ROW("adam_epsilon", "optimizer.eps", "1e-8"),
    FIELD(seed, "runconfig.seed", "0", .type = CONF_T_INT, .min = -DBL_MAX, .max = DBL_MAX,
          .doc = "of the order of samples, and of the initial weights"),
    {.path = "backend", .type = CONF_T_CHOICE, .status = CONF_ONLY,
     .choices = CONF_CHOICES({"CSX", 0}), .doc = "`CSX`"},

    ROW("num_systems", "runconfig.num_csx", NULL),
    CLUSTER(num_csx),
    ROW("max_wgt_servers", "runconfig.num_wgt_servers", NULL),
    ROW("max_act_per_csx", "runconfig.num_act_servers", NULL),
    CLUSTER(num_workers_per_csx),
    CLUSTER(precision_opt_level),
    CLUSTER(mgmt_address), CLUSTER(mgmt_namespace), CLUSTER(credentials_path),
    CLUSTER(mount_dirs), CLUSTER(python_paths), CLUSTER(job_labels), CLUSTER(job_priority),
    CLUSTER(job_time_sec), CLUSTER(disable_version_check), CLUSTER(debug_args),
    CLUSTER(transfer_processes),
};
/* clang-format on */
enum { N_KEYS = sizeof keys / sizeof *keys };

/* What gigaGPT's program does whatever its file says: configuration.py, data.py, model.py and
 * train.py of the release of 2023. Its loader has at most 8 processes. */
static const struct {
    const char *path, *value;
} fixed[] = {{"model.name", "gpt2"},
             {"model.position_embedding_type", "learned"},
             {"model.share_embedding_weights", "true"},
             {"model.layer_norm_epsilon", "1e-5"},
             {"model.nonlinearity", "gelu"},
             {"model.dropout_rate", "0"},
             {"model.attention_dropout_rate", "0"},
             {"model.use_bias_in_output", "false"},
             {"model.mixed_precision", "true"},
             {"model.fp16_type", "bfloat16"},
             {"optimizer.optimizer_type", "AdamW"},
             {"optimizer.correct_bias", "true"},
             {"train_input.data_processor", "NumpyMmapDataset"},
             {"train_input.shuffle", "true"},
             {"train_input.num_workers", "8"},
             {"eval_input.data_processor", "NumpyMmapDataset"},
             {"eval_input.num_workers", "8"},
             {"runconfig.log_steps", "1"}};

const struct conf_table *zoo_giga_table(void)
{
    static const struct conf_table table = {.key = keys, .n = N_KEYS};
    return &table;
}

bool zoo_giga_is(const struct conf_node *root)
{
    bool yes = false;
    for (int i = 0; i < ZOO_GIGA_SIZES; i++)
        yes = yes || conf_node_find(root, keys[i].path);
    for (int i = 0; root && i < root->n; i++)
        if (conf_keys_is_section(zoo_params_table(), root->entry[i].key)) return false;
    return yes;
}

/* ---- derived keys ---------------------------------------------------------------------------- */

/* The value of key @p path of the table, for its position and its text. */
static const struct conf_node *value_of(const struct giga *g, const char *path)
{
    return g->value[conf_keys_find(zoo_giga_table(), path)];
}

/* The value of a key that becomes one key, whose row reports what is wrong; 0 if it is no number.
 */
static double number_of(const struct giga *g, const char *path)
{
    const struct conf_node *node = value_of(g, path);
    int64_t n = 0;
    if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &n)) return 0;
    return n > 0 ? (double)n : 0;
}

/* Put a value that follows from key @p path. */
static void put(struct giga *g, const char *to, const char *path, const char *text)
{
    zoo_trainer_put_text(&g->tree, to, text, value_of(g, path)->pos);
    conf_diag_origin(g->tree.diag, to, path);
}

static void put_number(struct giga *g, const char *to, const char *path, double x)
{
    put(g, to, path, zoo_trainer_text(&g->tree, "%.17g", x));
}

static void put_model(struct giga *g)
{
    static const char *const biased[] = {"model.use_ffn_bias", "model.use_ffn_bias_in_attention",
                                         "model.use_projection_bias_in_attention"};
    const double width = number_of(g, "width"), depth = number_of(g, "depth");
    const struct {
        const char *name;
        double std;
    } normal[] = {{"model.initializer", g->init_std},
                  {"model.embedding_initializer", g->init_std},
                  {"model.output_layer_initializer", g->init_std / sqrt(2 * fmax(1, depth))}};
    for (size_t i = 0; i < sizeof biased / sizeof *biased; i++)
        put(g, biased[i], "bias", g->bias ? "true" : "false");
    if (width > 0) put_number(g, "model.filter_size", "width", 4 * width);
    for (size_t i = 0; g->init_std > 0 && i < sizeof normal / sizeof *normal; i++) {
        put(g, zoo_trainer_text(&g->tree, "%s.name", normal[i].name), "init_std", "normal");
        put_number(g, zoo_trainer_text(&g->tree, "%s.std", normal[i].name), "init_std",
                   normal[i].std);
    }
}

/* Add a number to a list, or to a map with its key. */
static void add_number(struct giga *g, struct conf_node *to, const char *key, double x)
{
    const char *text = zoo_trainer_text(&g->tree, "%.17g", x);
    const struct conf_pos pos = to ? to->pos : (struct conf_pos){0};
    const struct conf_entry e = {
        .key = key, .key_pos = pos, .value = conf_doc_scalar(g->tree.doc, text, strlen(text), pos)};
    if (!to || !e.value || !conf_doc_append(g->tree.doc, to, &e)) g->tree.diag->no_memory = true;
}

/* Add a scheduler from one rate to another in @p steps steps. */
static void add_schedule(struct giga *g, struct conf_node *list, const char *name, double from,
                         double to, double steps)
{
    const struct conf_pos pos = list ? list->pos : (struct conf_pos){0};
    struct conf_node *map = conf_doc_map(g->tree.doc, pos),
                     *arguments = conf_doc_map(g->tree.doc, pos);
    const struct conf_entry named = {.key = name, .key_pos = pos, .value = arguments},
                            entry = {.value = map};
    add_number(g, arguments, "initial_learning_rate", from);
    add_number(g, arguments, "end_learning_rate", to);
    add_number(g, arguments, "total_iters", steps);
    if (!list || !map || !arguments || !conf_doc_append(g->tree.doc, map, &named) ||
        !conf_doc_append(g->tree.doc, list, &entry))
        g->tree.diag->no_memory = true;
}

/* Here and below 1 stands for a number that is wrong, which is reported already. */
static void put_schedule(struct giga *g)
{
    struct conf_node *list = conf_doc_list(g->tree.doc, value_of(g, "learning_rate")->pos);
    const double rate = g->learning_rate, warmup = fmax(1, (double)g->warmup_steps),
                 rest = number_of(g, "num_steps") - warmup,
                 decay = g->decay_steps == CONF_NULL ? rest : (double)g->decay_steps;
    add_schedule(g, list, "Linear", 0, rate, warmup);
    add_schedule(g, list, "CosineDecay", rate, 0.1 * rate, fmax(1, decay));
    if (list) conf_doc_set(g->tree.doc, g->tree.diag, "optimizer.learning_rate", list);
}

/* The decay rates of the moments, which no key changes. */
static void put_betas(struct giga *g)
{
    struct conf_node *list = conf_doc_list(g->tree.doc, (struct conf_pos){0});
    add_number(g, list, NULL, 0.9);
    add_number(g, list, NULL, 0.95);
    if (list) conf_doc_set(g->tree.doc, g->tree.diag, "optimizer.betas", list);
}

/* An evaluation reads batches of the same form; a training does not open its file. */
static void put_data(struct giga *g)
{
    const char *dataset = g->dataset ? g->dataset : "";
    const char *seed = zoo_trainer_text(&g->tree, "%lld", (long long)g->seed);
    put(g, "train_input.data_dir", "dataset", zoo_trainer_text(&g->tree, "%s/train.bin", dataset));
    put(g, "eval_input.data_dir", "dataset", zoo_trainer_text(&g->tree, "%s/val.bin", dataset));
    for (int eval = 0; eval < 2; eval++) {
        const char *section = eval ? "eval_input" : "train_input";
        put_number(g, zoo_trainer_text(&g->tree, "%s.batch_size", section), "batch_size",
                   fmax(1, (double)g->batch_size));
        put_number(g, zoo_trainer_text(&g->tree, "%s.max_sequence_length", section),
                   "sequence_length", fmax(1, (double)g->sequence_length));
    }
    put(g, "train_input.shuffle_seed", "seed", seed);
    put(g, "runconfig.seed", "seed", seed);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Take one key of the file. */
static void take_row(struct conf_parse *p, int row, const struct conf_node *node)
{
    const struct conf_key *key = &p->table->key[row];
    conf_key_read(p, row, node);
    if (key->to) conf_diag_origin(p->diag, key->to, key->path);
    ((struct giga *)(void *)p->out)->value[row] = node;
}

/* Put the keys that become one key, those that the file leaves out, and what no key changes. */
static void put_rows(struct giga *g)
{
    for (int i = 0; i < N_KEYS; i++) {
        const struct conf_key *key = &keys[i];
        const char *text = key->fallback;
        if (!g->value[i] && text) {
            g->value[i] = conf_doc_scalar(g->tree.doc, text, strlen(text), (struct conf_pos){0});
            if (!g->value[i]) g->tree.diag->no_memory = true;
        }
        if (!g->value[i]) continue;
        if (key->to && key->type == CONF_T_ANY)
            zoo_trainer_put_over(&g->tree, key->to, g->value[i], key->path);
        if (key->to) conf_diag_origin(g->tree.diag, key->to, key->path);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        zoo_trainer_put_text(&g->tree, fixed[i].path, fixed[i].value, (struct conf_pos){0});
}

/* Divide the keys of the file: those of this program go into the new tree, the others are
 * gigaGPT's. */
static struct conf_node *own_keys(struct giga *g, const struct conf_node *root)
{
    struct conf_node *own = conf_doc_map(g->tree.doc, root->pos);
    for (int i = 0; own && i < root->n; i++) {
        const struct conf_entry *e = &root->entry[i];
        const bool other = conf_keys_find(zoo_giga_table(), e->key) < 0 &&
                           conf_keys_find(zoo_params_table(), e->key) >= 0;
        if (!conf_doc_append(g->tree.doc, other ? g->tree.doc->root : own, e))
            g->tree.diag->no_memory = true;
    }
    return own;
}

/* Convert the keys @p own of the file. */
static void convert(struct giga *g, const struct conf_node *own)
{
    struct conf_rows rows = {0};
    struct conf_parse p = {.table = zoo_giga_table(),
                           .diag = g->tree.diag,
                           .out = (char *)g,
                           .seen = rows.seen,
                           .given = rows.given};
    conf_keys_read(&p, own, take_row);
    conf_keys_defaults(&p, own);
    put_rows(g);
    if (g->tree.diag->no_memory) return;
    put_model(g);
    put_schedule(g);
    put_betas(g);
    put_data(g);
}

void zoo_giga_convert(struct conf_doc *doc, struct conf_diag *d)
{
    const struct conf_node *root = doc->root;
    struct giga g = {.tree = {.doc = doc, .diag = d}};
    doc->root = conf_doc_map(doc, (struct conf_pos){0});
    const struct conf_node *own = doc->root ? own_keys(&g, root) : NULL;
    if (own)
        convert(&g, own);
    else
        d->no_memory = true;
    wsc_free(g.dataset);
}
