// SPDX-License-Identifier: Apache-2.0
/* Optimizers of the Model Zoo: their names, the defaults that differ from those of the keys, and
 * checks between the keys of `optimizer`.  Which keys an optimizer takes is in the rows of
 * params_keys.c (conf_key.kinds); a key that it does not take is ignored with a warning.  Called by
 * params_check.c and params_dump.c; docs/TRAINING.md has the update rules. */
#include "params_passes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the table ------------------------------------------------------------------------------- */

/* Names by type, and defaults that differ from the keys' own; 0: they do not.  Which keys a type
 * takes is in their rows, conf_key.kinds. */
static const struct row {
    const char *name;
    struct {
        double beta2, eps, alpha;
    } standard;
} rows[ZOO_N_OPTIMIZERS] = {
    [ZOO_ADAMW] = {"AdamW", {0, 0, 0}},
    [ZOO_ADAM] = {"Adam", {0, 0, 0}},
    [ZOO_ADAFACTOR] = {"Adafactor", {0, 1e-30, 0}},
    [ZOO_LAMB] = {"Lamb", {0, 0, 0}},
    [ZOO_SGD] = {"SGD", {0, 0, 0}},
    [ZOO_LION] = {"Lion", {0.99, 0, 0}},
    [ZOO_ADADELTA] = {"Adadelta", {0, 0, 0}},
    [ZOO_ADAGRAD] = {"Adagrad", {0, 0, 0}},
    [ZOO_ADAMAX] = {"Adamax", {0, 0, 0}},
    [ZOO_ASGD] = {"ASGD", {0, 0, 0.75}},
    [ZOO_NADAM] = {"NAdam", {0, 1e-8, 0}},
    [ZOO_RADAM] = {"RAdam", {0, 0, 0}},
    [ZOO_RMSPROP] = {"RMSprop", {0, 1e-8, 0}},
    [ZOO_RPROP] = {"Rprop", {0, 0, 0}},
};

/* ---- checks ---------------------------------------------------------------------------------- */

/* The node of a key of `optimizer`; NULL when the file has none or null. */
static const struct conf_node *given(const struct conf_parse *p, const char *key)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "optimizer.%s", key);
    const int row = conf_keys_find(p->table, path);
    return row < 0 || conf_node_is_null(p->given[row]) ? NULL : p->given[row];
}

/* Position of @p key, or of @p other where the file has no @p key. */
static struct conf_pos where(const struct conf_parse *p, const char *key, const char *other)
{
    const struct conf_node *node = given(p, key);
    if (!node) node = given(p, other);
    return node ? node->pos : (struct conf_pos){0};
}

/* Type by name, whatever the case; -1. */
static int find(const char *name)
{
    for (int i = 0; i < ZOO_N_OPTIMIZERS; i++)
        if (!strcasecmp(rows[i].name, name)) return i;
    return -1;
}

/* A key without a set of types is of all. */
static bool takes(const struct conf_key *key, int type)
{
    return !key->kinds || (key->kinds >> type & 1);
}

/* The Model Zoo ignores arguments of other optimizers; here each gets a warning. */
static void warn_unused(struct conf_parse *p, int type)
{
    for (int i = 0; i < p->table->n; i++) {
        const struct conf_key *key = &p->table->key[i];
        if (conf_node_is_null(p->given[i]) || takes(key, type)) continue;
        conf_diag_warn(p->diag, p->given[i]->pos, key->path, "ignored: not an argument of %s",
                       rows[type].name);
    }
}

/* Defaults of this optimizer where the file has no value. */
static void set_defaults(struct conf_parse *p, const struct row *row, struct zoo_optimizer *o)
{
    const bool has_beta2 = given(p, "betas") || given(p, "beta2");
    if (row->standard.beta2 > 0 && !has_beta2) o->beta2 = row->standard.beta2;
    if (row->standard.eps > 0 && !given(p, "eps")) o->eps = row->standard.eps;
    if (row->standard.alpha > 0 && !given(p, "alpha")) o->alpha = row->standard.alpha;
}

/* Two ways to say one thing, of which one would be lost. */
static void check_one_spelling(struct conf_parse *p)
{
    static const char *const old[] = {"beta1", "beta2"};
    for (int i = 0; given(p, "betas") && i < 2; i++) {
        const struct conf_node *node = given(p, old[i]);
        char path[CONF_MAX_PATH];
        (void)snprintf(path, sizeof path, "optimizer.%s", old[i]);
        if (node)
            conf_diag_error(p->diag, node->pos, path,
                            "not together with betas, which has its value; hint: write betas "
                            "alone");
    }
}

/* Ranges that involve several keys, or members of a list. */
static void check_values(struct conf_parse *p, const struct zoo_optimizer *o)
{
    const struct {
        const char *old;
        double value;
    } betas[] = {{"beta1", o->beta1}, {"beta2", o->beta2}};
    for (int i = 0; i < 2; i++)
        if (!(betas[i].value >= 0 && betas[i].value < 1))
            conf_diag_error(p->diag, where(p, "betas", betas[i].old), "optimizer.betas",
                            "must be at least 0 and less than 1, got %.15g", betas[i].value);
    if (o->max_loss_scale > 0 && o->min_loss_scale > o->max_loss_scale)
        conf_diag_error(p->diag, where(p, "min_loss_scale", "max_loss_scale"),
                        "optimizer.min_loss_scale", "is greater than max_loss_scale");
    if (o->nesterov && (o->momentum <= 0 || o->dampening != 0))
        conf_diag_error(p->diag, where(p, "nesterov", "momentum"), "optimizer.nesterov",
                        "needs a momentum and no dampening");
    if (!(o->eta_minus > 0 && o->eta_minus < 1 && o->eta_plus > 1))
        conf_diag_error(p->diag, where(p, "etas", "etas"), "optimizer.etas",
                        "expected 0 < first < 1 < second");
    if (!(o->step_min > 0 && o->step_min <= o->step_max))
        conf_diag_error(p->diag, where(p, "step_sizes", "step_sizes"), "optimizer.step_sizes",
                        "expected 0 < least <= greatest");
}

/* Two groups contain others, which would count twice. */
static void check_lr_groups(struct conf_parse *p, const struct zoo_lr_scale *s)
{
    const bool projections = s->decoder_qkv_projection != 1 || s->decoder_output_projection != 1;
    const bool parts = s->decoder_attention != 1 || s->decoder_input_ffn != 1 ||
                       s->decoder_output_ffn != 1 || projections;
    if (s->decoder_attention != 1 && projections)
        conf_diag_error(p->diag, where(p, "adjust_learning_rate.decoder_attention", "betas"),
                        "optimizer.adjust_learning_rate",
                        "decoder_attention contains decoder_qkv_projection and "
                        "decoder_output_projection; hint: give either the one or the two");
    if (s->decoder_kernel != 1 && parts)
        conf_diag_error(p->diag, where(p, "adjust_learning_rate.decoder_kernel", "betas"),
                        "optimizer.adjust_learning_rate",
                        "decoder_kernel contains decoder_attention, decoder_input_ffn and "
                        "decoder_output_ffn; hint: give either the one or the three");
}

void zoo_optimizer_init(struct zoo_optimizer *o)
{
    o->eps_rms = 1e-3;
    o->eta_minus = 0.5;
    o->eta_plus = 1.2;
    o->step_min = 1e-6;
    o->step_max = 50;
}

bool zoo_optimizer_takes(const struct zoo_optimizer *o, const char *path)
{
    return takes(&zoo_params_table()->key[conf_keys_find(zoo_params_table(), path)], (int)o->type);
}

void zoo_optimizer_check(struct conf_parse *p, struct zoo_optimizer *o)
{
    const int i = find(o->optimizer_type);
    if (i < 0) {
        struct conf_choice names[CONF_MAX_CHOICES] = {0};
        const struct conf_node name = {.kind = CONF_NODE_SCALAR,
                                       .text = o->optimizer_type,
                                       .pos = where(p, "optimizer_type", "betas")};
        for (int k = 0; k < ZOO_N_OPTIMIZERS; k++)
            names[k] = (struct conf_choice){rows[k].name, k};
        conf_key_unsupported(p, "optimizer.optimizer_type", &name, names);
        return;
    }
    o->type = (enum zoo_optimizer_type)i;
    set_defaults(p, &rows[i], o);
    warn_unused(p, i);
    check_one_spelling(p);
    check_values(p, o);
    check_lr_groups(p, &o->adjust_learning_rate);
}
