// SPDX-License-Identifier: Apache-2.0
/* Key names of older Model Zoo releases: a table of old and new names, applied to the tree before
 * its keys are read, with a warning for each. A boolean that became a value of another key has a
 * row for true and one for false. zoo_params.c calls, before and after --set. */
#include "params_passes.h"

#include <stdio.h>
#include <string.h>

/* `value` NULL: the value is moved unchanged. Otherwise the row is for the booleans `when`: the new
 * key gets `value`, or there is no new key. */
struct rename {
    const char *from, *to, *value;
    bool when;
    bool other_class; /* the name belongs to another class of the Model Zoo today: no warning */
};

static const struct rename renames[] = {
    {"optimizer.weight_decay_rate", "optimizer.weight_decay", NULL, false, false},
    {"optimizer.epsilon", "optimizer.eps", NULL, false, false},
    {"optimizer.use_bias_correction", "optimizer.correct_bias", NULL, false, false},
    {"model.precision_opt_level", "runconfig.precision_opt_level", NULL, false, false},
    {"model.scale_by_layer_index", "model.scale_qk_dot_by_layer_idx", NULL, false, false},
    {"model.model_name", "model.name", NULL, false, false},
    {"runconfig.save_checkpoint_steps", "runconfig.checkpoint_steps", NULL, false, false},
    {"runconfig.keep_checkpoint_max", "runconfig.max_checkpoints", NULL, false, false},
    {"model.use_bfloat16", "model.fp16_type", "bfloat16", true, false},
    {"model.use_bfloat16", "model.fp16_type", "float16", false, false},
    {"model.use_rms_norm", "model.norm_type", "rmsnorm", true, false},
    {"model.use_rms_norm", NULL, "", false, false},
    {"model.use_biasless_norm", "model.norm_type", "biasless-layernorm", true, false},
    {"model.use_biasless_norm", NULL, "", false, false},
    {"model.use_t5_layer_norm", "model.norm_type", "rmsnorm", true, false},
    {"model.use_t5_layer_norm", "model.norm_type", "layernorm", false, false},
    {"model.use_position_embedding", NULL, "", true, false},
    {"model.use_position_embedding", "model.position_embedding_type", "null", false, false},
    {"runconfig.is_pretrained_checkpoint", "runconfig.load_checkpoint_states", "model,dataloader",
     true, false},
    {"runconfig.is_pretrained_checkpoint", NULL, "", false, false},
    {"model.encoder_nonlinearity", "model.nonlinearity", NULL, false, true},
    {"model.use_output_bias_in_mlm", "model.use_bias_in_output", NULL, false, true},
    {"model.num_classes", "model.num_labels", NULL, false, true},
    {"model.encoder_output_dropout_rate", "model.task_dropout", NULL, false, true},
    {"model.classifier_dropout", "model.task_dropout", NULL, false, true},
    {"model.src_vocab_size", "model.vocab_size", NULL, false, true},
    {"model.d_model", "model.hidden_size", NULL, false, true},
    {"model.d_ff", "model.filter_size", NULL, false, true},
    {"model.encoder_num_hidden_layers", "model.num_hidden_layers", NULL, false, true},
    {"model.src_max_position_embeddings", "model.max_position_embeddings", NULL, false, true},
    {"model.lm_loss_weight", "model.loss_weight", NULL, false, true},
    {"model.mup_base_d_model", "model.mup_base_hidden_size", NULL, false, true},
    {"model.mup_base_d_ff", "model.mup_base_filter_size", NULL, false, true},
    {"model.embeddings_alpha", "model.embeddings_scale", NULL, false, true},
    {"model.encoder_attention_logits_alpha", "model.attention_logits_alpha", NULL, false, true},
    {"model.scale_encoder_qk_dot_by_d", "model.scale_qk_dot_by_d", NULL, false, true},
    {"model.num_relative_attention_buckets", "model.relative_attention_num_buckets", NULL, false,
     true},
    {"train_input.src_data_dir", "train_input.data_dir", NULL, false, true},
    {"train_input.src_vocab_file", "train_input.vocab_file", NULL, false, true},
    {"train_input.src_max_sequence_length", "train_input.max_sequence_length", NULL, false, true},
    {"eval_input.src_data_dir", "eval_input.data_dir", NULL, false, true},
    {"eval_input.src_vocab_file", "eval_input.vocab_file", NULL, false, true},
    {"eval_input.src_max_sequence_length", "eval_input.max_sequence_length", NULL, false, true},
};
enum { N_RENAMES = sizeof renames / sizeof *renames };

/* For --set with an old name. Booleans that became values are renamed in the tree, where their
 * value is known. */
const char *zoo_renames_path(const char *path)
{
    for (int i = 0; i < N_RENAMES; i++)
        if (!renames[i].value && !strcmp(renames[i].from, path)) return renames[i].to;
    return path;
}

/* Name of a key without its section. */
static const char *last_part(const char *path)
{
    return strchr(path, '.') + 1;
}

/* The section of a two-part path as a writable map; NULL when it is not a map. */
static struct conf_node *section_of(struct conf_doc *doc, const char *path)
{
    char section[CONF_MAX_PATH];
    (void)snprintf(section, sizeof section, "%.*s", (int)strcspn(path, "."), path);
    return conf_doc_own(doc, doc->root, section);
}

/* The map for the new key; its section is created if needed. */
static struct conf_node *target_of(struct conf_doc *doc, const char *path, struct conf_pos pos)
{
    struct conf_node *map = section_of(doc, path);
    if (map) return map;
    map = conf_doc_map(doc, pos);
    char *section = conf_doc_text(doc, path, strcspn(path, "."));
    struct conf_entry entry = {.key = section, .key_pos = pos, .value = map};
    return map && section && conf_doc_put(doc, doc->root, &entry) ? map : NULL;
}

/* Let messages use the name of the key in the user's file. */
static void keep_name(struct conf_doc *doc, struct conf_diag *d, const struct rename *r)
{
    char user[CONF_MAX_PATH];
    const char *name = conf_diag_name(d, r->from, user);
    const char *kept = conf_doc_text(doc, name, strlen(name));
    if (kept)
        conf_diag_origin(d, r->to, kept);
    else
        d->no_memory = true;
}

/* Move the value to the new key. A new key in the file overrides the old one; a `--set` with the
 * old name (line < 0) overrides both. */
static void move(struct conf_doc *doc, struct conf_diag *d, const struct rename *r,
                 const struct conf_entry *old)
{
    if (!r->to) {
        conf_diag_warn(d, old->key_pos, r->from, "ignored: no longer a key");
        return;
    }
    struct conf_node *target = target_of(doc, r->to, old->key_pos);
    struct conf_entry entry = {
        .key = last_part(r->to), .key_pos = old->key_pos, .value = old->value};
    if (r->value) entry.value = conf_doc_scalar(doc, r->value, strlen(r->value), old->value->pos);
    bool both = conf_node_index(target, entry.key) >= 0;
    char user[CONF_MAX_PATH];
    if (!r->other_class || both)
        conf_diag_warn(d, old->key_pos, r->from, "old spelling: write %s%s%s%s",
                       conf_diag_name(d, r->to, user), r->value ? ": " : "",
                       r->value ? r->value : "",
                       both && old->key_pos.line > 0 ? "; the new one, given as well, counts" : "");
    if (both && old->key_pos.line > 0) return;
    if (!r->value) keep_name(doc, d, r);
    if (!target || !entry.value || !conf_doc_put(doc, target, &entry)) d->no_memory = true;
}

/* Rename one key if the tree has it; a row for booleans is applied to its own value alone. */
static void apply(struct conf_doc *doc, struct conf_diag *d, const struct rename *r)
{
    bool truth = false;
    if (!conf_node_at(doc->root, r->from)) return;
    struct conf_node *map = section_of(doc, r->from);
    int i = conf_node_index(map, last_part(r->from));
    if (i < 0) return;
    struct conf_entry old = map->entry[i];
    if (r->value) {
        bool is_bool =
            old.value->kind == CONF_NODE_SCALAR && conf_parse_bool(old.value->text, &truth);
        if (!is_bool || truth != r->when) return;
    }
    conf_node_remove(map, old.key);
    move(doc, d, r, &old);
}

void zoo_renames_apply(struct conf_doc *doc, struct conf_diag *d)
{
    for (int i = 0; i < N_RENAMES && doc->root; i++)
        apply(doc, d, &renames[i]);
}

const char *zoo_renames_old(int i)
{
    return i < N_RENAMES ? renames[i].from : NULL;
}

void zoo_renames_write(struct wsc_text *out)
{
    wsc_text_add(out, "| old | now |\n|---|---|\n");
    for (int i = 0; i < N_RENAMES; i++) {
        const struct rename *r = &renames[i];
        wsc_text_add(out, "| `%s%s` | ", r->from, !r->value ? "" : r->when ? ": true" : ": false");
        if (r->to)
            wsc_text_add(out, "`%s%s%s` |\n", r->to, r->value ? ": " : "",
                         r->value ? r->value : "");
        else
            wsc_text_add(out, "nothing: it is the default |\n");
    }
}

const char *zoo_renames_new(int i)
{
    return renames[i].to;
}
