// SPDX-License-Identifier: Apache-2.0
/* Groups of parameters as PyTorch's optimizers save them: a group lists numbers of parameters, and
 * states are saved under these numbers. The numbers are labels: in files of this program they are
 * indices of tensors; in those of cstorch the order of groups, and of parameters in a group,
 * identifies the tensors. Groups and order are those of the Model Zoo
 * (common/optim_utils.py): parameters with equal tags, of these the ones with weight decay before
 * the others, of these one group for each factor on the learning rate. */
#include "memoryx_groups.h"
#include "memoryx_hyper.h"
#include "memoryx_optimizer.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 160, PLAIN = 2 };

/* ---- groups ---------------------------------------------------------------------------------- */

/** What sorts the trained tensors, from the first member to the last one. */
struct member {
    int tags; /**< place of the first tensor with these tags in the order of registration */
    bool no_decay;
    int lr_group; /**< first one with this factor; a factor of 1 comes last */
    int64_t registered;
    int tensor;
};

/** Tensors in the order of the groups. A group is a run of members; it can be empty. */
struct groups {
    struct member *member;
    int n, n_groups;
    int *first; /**< n_groups + 1: group k has the members first[k] to first[k + 1] - 1 */
};

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_registration(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    const int order = COMPARE(a->registered, b->registered);
    return order ? order : COMPARE(a->tensor, b->tensor);
}

/* Order of two groups; 0: members of one group. */
static int compare_groups(const struct member *a, const struct member *b)
{
    int order = COMPARE(a->tags, b->tags);
    if (!order) order = COMPARE(a->no_decay, b->no_decay);
    return order ? order : COMPARE(a->lr_group, b->lr_group);
}

static int by_group(const void *x, const void *y)
{
    const int order = compare_groups(x, y);
    return order ? order : by_registration(x, y);
}

/* There are few sets of tags, so that most tensors find theirs early. */
static void number_tags(const struct model *model, struct groups *g)
{
    qsort(g->member, (size_t)g->n, sizeof *g->member, by_registration);
    for (int k = 0; k < g->n; k++) {
        int first = 0;
        while (model->tensor[g->member[first].tensor].tags !=
               model->tensor[g->member[k].tensor].tags)
            first++;
        g->member[k].tags = first;
    }
}

/* True without tags and factors: there are two groups, with decay and without, even empty ones. */
static bool are_plain(const struct model *model, const struct groups *g)
{
    for (int k = 0; k < g->n; k++) {
        const struct model_tensor *t = &model->tensor[g->member[k].tensor];
        if (t->tags || t->lr_scale != 1) return false;
    }
    return true;
}

static void cut(const struct model *model, struct groups *g)
{
    qsort(g->member, (size_t)g->n, sizeof *g->member, by_group);
    for (int k = 0; k < g->n; k++)
        if (!k || compare_groups(&g->member[k - 1], &g->member[k])) g->first[g->n_groups++] = k;
    if (are_plain(model, g) && g->n_groups < PLAIN) {
        const bool no_decay = g->n && g->member[0].no_decay;
        g->n_groups = PLAIN;
        g->first[0] = 0;
        g->first[1] = no_decay ? 0 : g->n;
    }
    g->first[g->n_groups] = g->n;
}

static void free_groups(struct groups *g)
{
    wsc_free(g->member);
    wsc_free(g->first);
}

static enum wsc_err make_groups(const struct model *model, struct groups *g)
{
    const size_t n = (size_t)model->n_tensors;
    *g = (struct groups){.member = wsc_alloc(WSC_MEM_MEMORYX, n, sizeof *g->member),
                         .first = wsc_alloc(WSC_MEM_MEMORYX, n + PLAIN + 1, sizeof *g->first)};
    if (!g->member || !g->first) {
        free_groups(g);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "groups of parameters");
    }
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        if (t->frozen) continue;
        g->member[g->n++] = (struct member){.no_decay = !t->decay,
                                            .lr_group = t->lr_group,
                                            .registered = t->registered,
                                            .tensor = i};
    }
    number_tags(model, g);
    cut(model, g);
    return WSC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum wsc_err set_in_group(struct store_file *file, int group, const char *what,
                                 enum store_type type, double value)
{
    char key[NAME_BYTES];
    (void)snprintf(key, sizeof key, "optimizer.param_groups.%d.%s", group, what);
    return store_set_number(file, key, type, value);
}

/* The schedule of the weight decay of a tensor that has one. */
static const struct zoo_schedule *decay_of(const struct zoo_optimizer *o,
                                           const struct model_tensor *t)
{
    return t->tagged_decay ? &o->groups.tagged[t->tagged_decay - 1].weight_decay : &o->weight_decay;
}

/* Rates, decay and hyper-parameters of a group; @p t is one of its tensors, or what an empty group
 * would have. */
static enum wsc_err set_rates(const struct memoryx *mx, struct store_file *file, int group,
                              const struct model_tensor *t)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    const struct zoo_tagged *tagged = o->groups.tagged;
    const struct zoo_schedule *lr =
        t->tagged_rate ? &tagged[t->tagged_rate - 1].learning_rate : &o->learning_rate;
    const double rate = model_schedule_value(lr, mx->schedule) * t->lr_scale;
    const double decay = t->decay ? model_schedule_value(decay_of(o, t), mx->schedule) : 0;
    TRY(set_in_group(file, group, "lr", STORE_F64, rate));
    TRY(set_in_group(file, group, "weight_decay", STORE_F64, decay));
    return memoryx_set_hyper(o, file, group);
}

static enum wsc_err set_group(const struct memoryx *mx, struct store_file *file,
                              const struct groups *g, int group)
{
    const int first = g->first[group], n = g->first[group + 1] - first;
    const struct model_tensor empty = {.decay = group == 0, .lr_scale = 1};
    char what[32];
    TRY(set_rates(mx, file, group, n ? &mx->net->model->tensor[g->member[first].tensor] : &empty));
    for (int k = 0; k < n; k++) {
        (void)snprintf(what, sizeof what, "params.%d", k);
        TRY(set_in_group(file, group, what, STORE_I64, g->member[first + k].tensor));
    }
    return WSC_OK;
}

static enum wsc_err set_groups(const struct memoryx *mx, struct store_file *file,
                               const struct groups *g)
{
    for (int group = 0; group < g->n_groups; group++)
        TRY(set_group(mx, file, g, group));
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
    for (int k = 0; k < 2 && memoryx_corrects_bias(&mx->config.params->optimizer); k++)
        TRY(define_power(mx, file, k));
    return WSC_OK;
}

enum wsc_err memoryx_define_groups(const struct memoryx *mx, struct store_file *file)
{
    struct groups g;
    TRY(make_groups(mx->net->model, &g));
    enum wsc_err rc = set_groups(mx, file, &g);
    free_groups(&g);
    if (!rc) rc = memoryx_set_scalars(mx, file);
    return rc ? rc : define_powers(mx, file);
}

enum wsc_err memoryx_save_powers(const struct memoryx *mx, struct store_file *file)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    char key[NAME_BYTES];
    for (int k = 0; k < 2 && memoryx_corrects_bias(o) && mx->shard == 0; k++) {
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

/* The labels of a group are those of its members in their order. */
static enum wsc_err read_group(struct store_file *file, const struct groups *g, int group,
                               int64_t *label)
{
    char key[NAME_BYTES];
    const int first = g->first[group], n = g->first[group + 1] - first;
    for (int k = 0; k < n; k++) {
        if (!parameter_key(file, group, k, key)) return other_sizes(file, group);
        TRY(store_read_i64(file, key, 0, INT64_MAX, &label[g->member[first + k].tensor]));
    }
    return parameter_key(file, group, n, key) ? other_sizes(file, group) : WSC_OK;
}

static enum wsc_err read_groups(struct store_file *file, const struct groups *g, int64_t *label)
{
    char key[NAME_BYTES];
    for (int group = 0; group < g->n_groups; group++)
        TRY(read_group(file, g, group, label));
    return parameter_key(file, g->n_groups, 0, key) ? other_sizes(file, g->n_groups) : WSC_OK;
}

static enum wsc_err other_tensor(const struct store_file *file, const struct model_tensor *t)
{
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: has %s states of %s, which the params %s",
                                  store_path(file), t->frozen ? "optimizer" : "no optimizer",
                                  t->name, t->frozen ? "freeze" : "train"),
                        "--set runconfig.load_checkpoint_states=model takes the weights alone");
}

/* In files of this program the label of a tensor is its index, whatever its group is: tags,
 * factors on learning rates and the order of the groups (another one in version 1 of the layout)
 * may differ from those of the params. The trained tensors must be those of the file. */
static enum wsc_err read_indices(struct store_file *file, const struct model *model, int64_t *label)
{
    char key[NAME_BYTES];
    int64_t i;
    for (i = 0; i < model->n_tensors; i++)
        label[i] = -1;
    for (int group = 0; group < PLAIN || parameter_key(file, group, 0, key); group++)
        for (int k = 0; parameter_key(file, group, k, key); k++) {
            TRY(store_read_i64(file, key, 0, INT64_MAX, &i));
            if (i >= model->n_tensors) return other_sizes(file, group);
            if (model->tensor[i].frozen) return other_tensor(file, &model->tensor[i]);
            label[i] = i;
        }
    for (i = 0; i < model->n_tensors; i++)
        if (label[i] < 0 && !model->tensor[i].frozen) return other_tensor(file, &model->tensor[i]);
    return WSC_OK;
}

/* The version of the layout whose runs decayed other tensors (decision 60). */
enum { FORMER_DECAY = 1 };

/* Runs of version 1 spared what starts from 0 or 1, biases and all norms. */
static bool decayed_formerly(const struct model_tensor *t)
{
    const bool constant = t->init.kind == ZOO_INIT_ZEROS || t->init.kind == ZOO_INIT_ONES;
    return t->n_dims > 1 || !constant;
}

/* Set *@p any when a group of @p file has a weight decay: that of its step. */
static enum wsc_err find_any_decay(struct store_file *file, bool *any)
{
    char key[NAME_BYTES];
    *any = false;
    for (int group = 0; group < PLAIN || parameter_key(file, group, 0, key); group++) {
        double decay = 0;
        (void)snprintf(key, sizeof key, "optimizer.param_groups.%d.weight_decay", group);
        if (store_has(file, key)) TRY(store_read(file, key, STORE_F64, 0, 1, &decay));
        *any |= decay != 0;
    }
    return WSC_OK;
}

/* Is the weight decay 0 at every step?  Arguments that a scheduler does not have are 0. */
static bool is_zero(const struct zoo_schedule *s)
{
    bool zero = true;
    for (int i = 0; i < s->n; i++) {
        const struct zoo_schedule_node *node = &s->node[i];
        zero &= node->initial == 0 && node->end == 0 && node->max == 0;
        for (int k = 0; k < node->n_values; k++)
            zero &= s->value[node->first_value + k] == 0;
    }
    return zero;
}

enum wsc_err memoryx_find_changed_decay(struct store_file *file, const struct model *model,
                                        const struct zoo_optimizer *optimizer, int64_t step,
                                        const char **first)
{
    bool any;
    *first = NULL;
    if (store_version(file) != FORMER_DECAY) return WSC_OK;
    TRY(find_any_decay(file, &any));
    for (int i = 0; i < model->n_tensors && !*first; i++) {
        const struct model_tensor *t = &model->tensor[i];
        const struct zoo_schedule *decay = decay_of(optimizer, t);
        if (t->frozen || t->decay == decayed_formerly(t) || is_zero(decay)) continue;
        /* A file without any is of a run without decay, unless it has none at this step. */
        if (any || model_schedule_value(decay, step) == 0) *first = t->name;
    }
    return WSC_OK;
}

enum wsc_err memoryx_read_labels(struct store_file *file, const struct model *model, int64_t *label)
{
    struct groups g;
    char key[NAME_BYTES];
    for (int i = 0; i < model->n_tensors; i++)
        label[i] = i;
    if (!parameter_key(file, 0, 0, key) && !parameter_key(file, 1, 0, key)) return WSC_OK;
    if (store_version(file)) return read_indices(file, model, label);
    TRY(make_groups(model, &g));
    enum wsc_err rc = read_groups(file, &g, label);
    free_groups(&g);
    return rc;
}
