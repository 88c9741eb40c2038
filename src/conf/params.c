// SPDX-License-Identifier: Apache-2.0
#include "conf_impl.h"

#include <wsc/mem.h>

#include <string.h>

/* Apply the --set of params files to the tree; those of cluster files are only looked up. */
static void apply_sets(struct conf_doc *doc, struct conf_diag *d)
{
    for (int set = 1; set <= d->n_sets; set++) {
        char path[CONF_MAX_PATH];
        const char *value;
        struct conf_pos pos = {.line = -set};
        if (!conf_set_split(d, set, path, &value)) continue;
        const char *cluster = conf_set_cluster_path(path);
        if (cluster) {
            if (conf_keys_find(conf_cluster_table(), cluster) < 0)
                conf_keys_unknown(conf_cluster_table(), d, pos, cluster);
            continue;
        }
        struct conf_node *node = conf_doc_parse_value(doc, d, value, set);
        if (node) conf_doc_set(doc, d, conf_renames_path(path), node);
    }
}

/* The keys that nothing depends on, in one warning. */
static void warn_no_effect(struct conf_parse *p)
{
    struct conf_text list = {0};
    for (int i = 0; i < p->table->n; i++) {
        const struct conf_key *key = &p->table->key[i];
        if (key->status != CONF_NO_EFFECT || conf_node_is_null(p->given[i])) continue;
        if (list.n > 200) {
            conf_text_add(&list, ", ...");
            break;
        }
        conf_text_add(&list, "%s%s", list.n ? ", " : "", key->path);
    }
    if (list.n)
        conf_diag_warn(p->diag, (struct conf_pos){0}, NULL, "without effect here: %s", list.text);
    wsc_free(list.text);
}

static void read_tree(struct conf_params *out, struct conf_doc *doc, struct conf_diag *d)
{
    struct conf_parse p = {.table = conf_params_table(), .diag = d, .out = (char *)out};
    conf_renames_apply(doc, d);
    apply_sets(doc, d);
    conf_renames_apply(doc, d);
    const struct conf_node *trainer = conf_node_find(doc->root, "trainer");
    if (trainer) {
        conf_diag_error(d, trainer->pos, "trainer",
                        "files of the trainer style (release 2.3 and later) are not supported by "
                        "this release; supported: the runconfig style with train_input, "
                        "eval_input, model, optimizer, runconfig");
        return;
    }
    out->train_input.present = !conf_node_is_null(conf_node_find(doc->root, "train_input"));
    out->eval_input.present = !conf_node_is_null(conf_node_find(doc->root, "eval_input"));
    conf_keys_read(&p, doc->root, conf_key_read);
    conf_family_resolve(&p, &out->model);
    conf_keys_defaults(&p, doc->root);
    conf_params_check(&p, doc->root, out);
    warn_no_effect(&p);
}

enum wsc_err conf_params_parse(struct conf_params *out, const char *file, const char *bytes,
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

static void input_fini(struct conf_input *in)
{
    wsc_free(in->data_processor);
    for (int i = 0; i < in->n_data_dirs; i++)
        wsc_free(in->data_dir[i]);
}

void conf_params_fini(struct conf_params *params)
{
    input_fini(&params->train_input);
    input_fini(&params->eval_input);
    wsc_free(params->optimizer.optimizer_type);
    wsc_free(params->runconfig.model_dir);
    wsc_free(params->runconfig.checkpoint_path);
    wsc_free(params->runconfig.load_checkpoint_states);
    for (int i = 0; i < params->n_warnings; i++)
        wsc_free(params->warning[i].text);
    wsc_free(params->warning);
    wsc_free(params->file);
    memset(params, 0, sizeof *params);
}
