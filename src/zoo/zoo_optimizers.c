// SPDX-License-Identifier: Apache-2.0
/* Checks the section `optimizer` of params: names of optimizers, their defaults that differ from
 * those of the keys, and values that depend on several keys. The rows of params_keys.c say which
 * keys an optimizer takes (conf_key.kinds); any other key is ignored with a warning. Called by
 * params_check.c and params_dump.c; docs/TRAINING.md has the update rules. */
#include "params_passes.h"

#include <wsc/zoo_optimizers.h>

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- the table ------------------------------------------------------------------------------- */

/* Name of each type of optimizer, its defaults that differ from those of the keys (0: the default
 * of the key), and what is special about its arguments.  The key table has the keys that a type
 * takes (conf_key.kinds). */
static const struct row {
    const char *name;
    struct {
        double beta2, eps, alpha;
    } standard;
    bool two_eps, always_corrects_bias;
    struct {
        const char *path, *why; /* a key that the Model Zoo takes, and this program does not */
    } refused;
} rows[ZOO_N_OPTIMIZERS] = {
    [ZOO_ADAMW] = {.name = "AdamW"},
    [ZOO_ADAM] = {.name = "Adam", .always_corrects_bias = true},
    [ZOO_ADAFACTOR] = {.name = "Adafactor",
                       .standard.eps = 1e-30,
                       .two_eps = true,
                       .refused = {"optimizer.beta1",
                                   "the first moment of Adafactor is not supported; hint: leave it "
                                   "out"}},
    [ZOO_LAMB] = {.name = "Lamb"},
    [ZOO_SGD] = {.name = "SGD"},
    [ZOO_LION] = {.name = "Lion", .standard.beta2 = 0.99},
    [ZOO_ADADELTA] = {.name = "Adadelta"},
    [ZOO_ADAGRAD] = {.name = "Adagrad"},
    [ZOO_ADAMAX] = {.name = "Adamax"},
    [ZOO_ASGD] = {.name = "ASGD", .standard.alpha = 0.75},
    [ZOO_NADAM] = {.name = "NAdam", .standard.eps = 1e-8},
    [ZOO_RADAM] = {.name = "RAdam"},
    [ZOO_RMSPROP] = {.name = "RMSprop", .standard.eps = 1e-8},
    [ZOO_RPROP] = {.name = "Rprop"},
};

/* ---- checks ---------------------------------------------------------------------------------- */

/* Position of the value of @p path; of that of @p other where the file has none or null for
 * @p path. conf_parse_place() alone would take the null. */
static struct conf_pos position_of(const struct conf_parse *p, const char *path, const char *other)
{
    if (conf_parse_given(p, path)) return conf_parse_place(p, path, NULL);
    if (conf_parse_given(p, other)) return conf_parse_place(p, other, NULL);
    return (struct conf_pos){0};
}

/* Type of the optimizer @p name, upper or lower case; -1: there is none. */
static int find(const char *name)
{
    for (int i = 0; i < ZOO_N_OPTIMIZERS; i++)
        if (!strcasecmp(rows[i].name, name)) return i;
    return -1;
}

/* True when an optimizer of type @p type takes @p key; a key without a set of types is for all. */
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

/* A decay of tagged tensors is ignored where the optimizer has no decay. */
static void warn_tagged_decays(struct conf_parse *p, int type)
{
    static const char tagged[] = "optimizer.tagged_schedules", decay[] = "weight_decay";
    const struct conf_node *list = p->given[conf_keys_find(p->table, tagged)];
    const bool used =
        takes(&p->table->key[conf_keys_find(p->table, "optimizer.weight_decay")], type);
    if (used || conf_node_is_null(list)) return;
    for (int i = 0; i < (list->kind == CONF_NODE_LIST ? list->n : 1); i++) {
        const struct conf_node *map = list->kind == CONF_NODE_LIST ? list->entry[i].value : list;
        const int k = conf_node_index(map, decay);
        if (k < 0 || conf_node_is_null(map->entry[k].value)) continue;
        conf_diag_warn(p->diag, map->entry[k].key_pos, tagged,
                       "entry %d: %s is ignored: not an argument of %s", i + 1, decay,
                       rows[type].name);
    }
}

/* Defaults of this optimizer where the file has no value, and what is no choice. */
static void set_defaults(struct conf_parse *p, const struct row *row, struct zoo_optimizer *o)
{
    const bool has_beta2 =
        conf_parse_given(p, "optimizer.betas") || conf_parse_given(p, "optimizer.beta2");
    if (row->standard.beta2 > 0 && !has_beta2) o->beta2 = row->standard.beta2;
    if (row->standard.eps > 0 && !conf_parse_given(p, "optimizer.eps")) o->eps = row->standard.eps;
    if (row->standard.alpha > 0 && !conf_parse_given(p, "optimizer.alpha"))
        o->alpha = row->standard.alpha;
    o->two_eps = row->two_eps;
    o->correct_bias |= row->always_corrects_bias;
}

/* `betas` and `beta1` or `beta2` are two ways to write one value, of which one would be lost. */
static void check_one_spelling(struct conf_parse *p)
{
    static const char *const old[] = {"optimizer.beta1", "optimizer.beta2"};
    for (int i = 0; conf_parse_given(p, "optimizer.betas") && i < 2; i++)
        if (conf_parse_given(p, old[i]))
            conf_diag_error(p->diag, conf_parse_place(p, old[i], NULL), old[i],
                            "not together with betas, which has its value; hint: write betas "
                            "alone");
}

/* Defaults of the Model Zoo, by format. The greatest factor also bounds the first one. */
struct zoo_loss_scales zoo_loss_scales(const struct zoo_params *params)
{
    const struct zoo_optimizer *o = &params->optimizer;
    const enum num_format format = num_format_of(params->model.fp16_type);
    const double usual = ldexp(1, num_formats[format].loss_scale);
    const double initial = o->initial_loss_scale > 0 ? o->initial_loss_scale : usual;
    const double most = o->max_loss_scale > 0 ? o->max_loss_scale : usual;
    return (struct zoo_loss_scales){.first = initial < most ? initial : most,
                                    .least = o->min_loss_scale > 0 ? o->min_loss_scale : 0x1p-14,
                                    .most = most};
}

static void check_refused(struct conf_parse *p, const struct row *row)
{
    const char *path = row->refused.path;
    if (path && conf_parse_given(p, path))
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path, "%s", row->refused.why);
}

/* A list is a value of the key, for optimizers with two eps; any other one would lose the second
 * number. */
static void check_one_eps(struct conf_parse *p, int type)
{
    static const char path[] = "optimizer.eps";
    const int row = conf_keys_find(p->table, path);
    const struct conf_node *eps = p->given[row];
    if (rows[type].two_eps || !takes(&p->table->key[row], type)) return;
    if (eps && eps->kind == CONF_NODE_LIST)
        conf_diag_error(p->diag, eps->pos, path,
                        "expected a number, got a list; hint: Adafactor alone has two eps, %s one",
                        rows[type].name);
}

/* Ranges that involve several keys, or members of a list. */
static void check_values(struct conf_parse *p, const struct zoo_optimizer *o)
{
    const struct {
        const char *old;
        double value;
    } betas[] = {{"optimizer.beta1", o->beta1}, {"optimizer.beta2", o->beta2}};
    for (int i = 0; i < 2; i++)
        if (!(betas[i].value >= 0 && betas[i].value < 1))
            conf_diag_error(p->diag, position_of(p, "optimizer.betas", betas[i].old),
                            "optimizer.betas", "must be at least 0 and less than 1, got %.15g",
                            betas[i].value);
    if (o->nesterov && (o->momentum <= 0 || o->dampening != 0))
        conf_diag_error(p->diag, position_of(p, "optimizer.nesterov", "optimizer.momentum"),
                        "optimizer.nesterov", "needs a momentum and no dampening");
    if (!(o->eta_minus > 0 && o->eta_minus < 1 && o->eta_plus > 1))
        conf_diag_error(p->diag, conf_parse_place(p, "optimizer.etas", NULL), "optimizer.etas",
                        "expected 0 < first < 1 < second");
    if (!(o->step_min > 0 && o->step_min <= o->step_max))
        conf_diag_error(p->diag, conf_parse_place(p, "optimizer.step_sizes", NULL),
                        "optimizer.step_sizes", "expected 0 < least <= greatest");
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
                                       .pos =
                                           conf_parse_place(p, "optimizer.optimizer_type", NULL)};
        for (int k = 0; k < ZOO_N_OPTIMIZERS; k++)
            names[k] = (struct conf_choice){rows[k].name, k};
        conf_key_unsupported(p, "optimizer.optimizer_type", &name, names);
        return;
    }
    o->type = (enum zoo_optimizer_type)i;
    set_defaults(p, &rows[i], o);
    warn_unused(p, i);
    warn_tagged_decays(p, i);
    check_one_spelling(p);
    check_one_eps(p, i);
    check_refused(p, &rows[i]);
    check_values(p, o);
}
