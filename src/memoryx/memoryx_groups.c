// SPDX-License-Identifier: Apache-2.0
/* Groups of parameters as PyTorch's optimizers save them: a group lists numbers of parameters, and
 * states are saved under these numbers. The numbers are labels; the order of groups, and of
 * parameters in a group, identifies the tensors. */
#include "memoryx_groups.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 160 };

/* One group for each learning rate, groups with weight decay first; frozen tensors have none. */
static bool same_group(const struct model_tensor *a, const struct model_tensor *b)
{
    return a->decay == b->decay && a->lr_scale == b->lr_scale && !a->frozen && !b->frozen &&
           a->tagged_rate == b->tagged_rate && a->tagged_decay == b->tagged_decay;
}

static bool is_first(const struct model *model, int i)
{
    for (int k = 0; k < i; k++)
        if (same_group(&model->tensor[k], &model->tensor[i])) return false;
    return true;
}

/* Tensors in the order of the groups; group[k] is the group of tensor order[k]. */
struct groups {
    int *order, *group;
    int n, n_groups;
};

static void append_group(const struct model *model, int first, struct groups *g)
{
    for (int i = first; i < model->n_tensors; i++) {
        if (!same_group(&model->tensor[i], &model->tensor[first])) continue;
        g->order[g->n] = i;
        g->group[g->n++] = g->n_groups;
    }
    g->n_groups++;
}

static void free_groups(struct groups *g)
{
    wsc_free(g->order);
    wsc_free(g->group);
}

static enum wsc_err make_groups(const struct model *model, struct groups *g)
{
    const size_t n = (size_t)model->n_tensors;
    *g = (struct groups){.order = wsc_alloc(WSC_MEM_MEMORYX, n, sizeof *g->order),
                         .group = wsc_alloc(WSC_MEM_MEMORYX, n, sizeof *g->group)};
    if (!g->order || !g->group) {
        free_groups(g);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "groups of parameters");
    }
    for (int no_decay = 0; no_decay < 2; no_decay++)
        for (int i = 0; i < model->n_tensors; i++)
            if (!model->tensor[i].frozen && model->tensor[i].decay == !no_decay &&
                is_first(model, i))
                append_group(model, i, g);
    return WSC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_adam(const struct zoo_optimizer *o)
{
    return o->type == ZOO_ADAM || o->type == ZOO_ADAMW;
}

static bool corrects_bias(const struct zoo_optimizer *o)
{
    return o->type == ZOO_ADAM || (o->type == ZOO_ADAMW && o->correct_bias);
}

static enum wsc_err set_in_group(struct store_file *file, int group, const char *what,
                                 enum store_type type, double value)
{
    char key[NAME_BYTES];
    (void)snprintf(key, sizeof key, "optimizer.param_groups.%d.%s", group, what);
    return store_set_number(file, key, type, value);
}

static enum wsc_err set_rates(const struct memoryx *mx, struct store_file *file, int group,
                              const struct model_tensor *t)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    const struct zoo_tagged *tagged = o->groups.tagged;
    const struct zoo_schedule *lr =
        t->tagged_rate ? &tagged[t->tagged_rate - 1].learning_rate : &o->learning_rate;
    const struct zoo_schedule *wd =
        t->tagged_decay ? &tagged[t->tagged_decay - 1].weight_decay : &o->weight_decay;
    const double rate = model_schedule_value(lr, mx->schedule) * t->lr_scale;
    const double decay = t->decay ? model_schedule_value(wd, mx->schedule) : 0;
    TRY(set_in_group(file, group, "lr", STORE_F64, rate));
    TRY(set_in_group(file, group, "weight_decay", STORE_F64, decay));
    if (!is_adam(o)) return WSC_OK;
    TRY(set_in_group(file, group, "betas.0", STORE_F64, o->beta1));
    TRY(set_in_group(file, group, "betas.1", STORE_F64, o->beta2));
    TRY(set_in_group(file, group, "eps", STORE_F64, o->eps));
    TRY(set_in_group(file, group, "correct_bias", STORE_I64, corrects_bias(o)));
    return set_in_group(file, group, "amsgrad", STORE_I64, o->amsgrad);
}

static enum wsc_err set_groups(const struct memoryx *mx, struct store_file *file,
                               const struct groups *g)
{
    const struct model *model = mx->net->model;
    char what[32];
    for (int k = 0, index = 0; k < g->n; k++) {
        const bool begins = !k || g->group[k] != g->group[k - 1];
        index = begins ? 0 : index + 1;
        if (begins) TRY(set_rates(mx, file, g->group[k], &model->tensor[g->order[k]]));
        (void)snprintf(what, sizeof what, "params.%d", index);
        TRY(set_in_group(file, g->group[k], what, STORE_I64, g->order[k]));
    }
    return WSC_OK;
}

/* cstorch saves beta^t of the next update for each parameter; all values are equal. */
static const char *const power_name[] = {"beta1_power", "beta2_power"};

static void power_of(char key[NAME_BYTES], int tensor, int k)
{
    (void)snprintf(key, NAME_BYTES, "optimizer.state.%d.%s", tensor, power_name[k]);
}

/* The first tensor that has states. */
static int first_trained(const struct model *model)
{
    int i = 0;
    while (model->tensor[i].frozen)
        i++;
    return i;
}

static enum wsc_err define_power(const struct memoryx *mx, struct store_file *file, int k)
{
    char first[NAME_BYTES], key[NAME_BYTES];
    const struct model *model = mx->net->model;
    const int from = first_trained(model);
    power_of(first, from, k);
    TRY(store_define(file, first, STORE_F32, 0, NULL));
    for (int i = from + 1; i < model->n_tensors; i++) {
        if (model->tensor[i].frozen) continue;
        power_of(key, i, k);
        TRY(store_link(file, first, key));
    }
    return WSC_OK;
}

static enum wsc_err define_powers(const struct memoryx *mx, struct store_file *file)
{
    for (int k = 0; k < 2 && corrects_bias(&mx->config.params->optimizer); k++)
        TRY(define_power(mx, file, k));
    return WSC_OK;
}

enum wsc_err memoryx_define_groups(const struct memoryx *mx, struct store_file *file)
{
    struct groups g;
    TRY(make_groups(mx->net->model, &g));
    enum wsc_err rc = set_groups(mx, file, &g);
    free_groups(&g);
    return rc ? rc : define_powers(mx, file);
}

enum wsc_err memoryx_save_powers(const struct memoryx *mx, struct store_file *file)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    char key[NAME_BYTES];
    for (int k = 0; k < 2 && corrects_bias(o) && mx->shard == 0; k++) {
        const float power = (float)pow(k ? o->beta2 : o->beta1, (double)(mx->updates + 1));
        power_of(key, first_trained(mx->net->model), k);
        TRY(store_write(file, key, 0, 1, &power));
    }
    return WSC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool parameter_key(const struct store_file *file, int group, int index, char key[NAME_BYTES])
{
    (void)snprintf(key, NAME_BYTES, "optimizer.param_groups.%d.params.%d", group, index);
    return store_has(file, key);
}

static enum wsc_err other_sizes(const struct store_file *file, int group)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT,
                  "%s: optimizer.param_groups.%d has other parameters than the params give",
                  store_path(file), group),
        "--set runconfig.load_checkpoint_states=model takes the weights alone");
}

/* Read group @p group: its tensors are those from *k of the order on. *k is moved to the first
 * tensor of the next group. */
static enum wsc_err read_group(struct store_file *file, const struct groups *g, int group, int *k,
                               int64_t *label)
{
    char key[NAME_BYTES];
    for (int index = 0; parameter_key(file, group, index, key); index++, (*k)++) {
        if (*k == g->n || g->group[*k] != group) return other_sizes(file, group);
        TRY(store_read_i64(file, key, 0, INT64_MAX, &label[g->order[*k]]));
    }
    return *k < g->n && g->group[*k] == group ? other_sizes(file, group) : WSC_OK;
}

static enum wsc_err read_labels(struct store_file *file, const struct groups *g, int64_t *label)
{
    int k = 0, group = 0;
    char key[NAME_BYTES];
    for (; parameter_key(file, group, 0, key); group++)
        TRY(read_group(file, g, group, &k, label));
    return k == g->n ? WSC_OK : other_sizes(file, group);
}

enum wsc_err memoryx_read_labels(struct store_file *file, const struct model *model, int64_t *label)
{
    struct groups g;
    char key[NAME_BYTES];
    for (int i = 0; i < model->n_tensors; i++)
        label[i] = i;
    if (!parameter_key(file, 0, 0, key)) return WSC_OK;
    TRY(make_groups(model, &g));
    enum wsc_err rc = read_labels(file, &g, label);
    free_groups(&g);
    return rc;
}
