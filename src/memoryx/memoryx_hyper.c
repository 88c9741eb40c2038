// SPDX-License-Identifier: Apache-2.0
/* Hyper-parameters of groups and scalar states of parameters, under the names of PyTorch's state
 * dicts. Both are numbers of the file: MemoryX reads none of them, since params and the number of
 * updates determine them. The first table has a row for each hyper-parameter, the second one for
 * each scalar. memoryx_groups.c calls; the table of memoryx_optimizer.c says which scalars an
 * optimizer has. */
#include "memoryx_hyper.h"

#include "memoryx_optimizer.h"

#include <wsc/zoo_optimizers.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { NAME_BYTES = 160 };

/* ---- hyper-parameters ------------------------------------------------------------------------ */

/* Optimizers that have one eps, or two. */
enum by_eps { ANY, ONE_EPS, TWO_EPS };

/* clang-format off */
#define NUMBER(key, name, f) {key, name, ANY, false, offsetof(struct zoo_optimizer, f)}
#define FLAG(name)           {#name, #name, ANY, true, offsetof(struct zoo_optimizer, name)}
#define SAME(name)           NUMBER(#name, #name, name)
#define EPS(name, which, f)  {"eps", name, which, false, offsetof(struct zoo_optimizer, f)}

static const struct {
    const char *key; /* of `optimizer` in params, which says what optimizers take it */
    const char *name;
    enum by_eps eps;
    bool is_flag;
    size_t offset; /* in struct zoo_optimizer */
} parameters[] = {
    NUMBER("betas", "betas.0", beta1), NUMBER("betas", "betas.1", beta2),
    EPS("eps", ONE_EPS, eps), EPS("eps.0", TWO_EPS, eps), EPS("eps.1", TWO_EPS, eps_rms),
    FLAG(correct_bias), FLAG(amsgrad), FLAG(maximize),
    SAME(momentum), SAME(dampening), FLAG(nesterov),
    SAME(rho), SAME(alpha), SAME(lambd), SAME(t0), SAME(momentum_decay), FLAG(centered),
    NUMBER("etas", "etas.0", eta_minus), NUMBER("etas", "etas.1", eta_plus),
    NUMBER("step_sizes", "step_sizes.0", step_min), NUMBER("step_sizes", "step_sizes.1", step_max),
    SAME(lr_decay), SAME(initial_accumulator_value), SAME(decay_rate), FLAG(scale_parameter),
    FLAG(adam)};
/* clang-format on */

static bool takes(const struct zoo_optimizer *o, const char *key, enum by_eps eps)
{
    char path[NAME_BYTES];
    const enum by_eps own = o->two_eps ? TWO_EPS : ONE_EPS;
    (void)snprintf(path, sizeof path, "optimizer.%s", key);
    return (eps == ANY || eps == own) && zoo_optimizer_takes(o, path);
}

static enum wsc_err set_in_group(struct store_file *file, int group, const char *name,
                                 enum store_type type, double value)
{
    char key[NAME_BYTES];
    (void)snprintf(key, sizeof key, "optimizer.param_groups.%d.%s", group, name);
    return store_set_number(file, key, type, value);
}

/* An optimizer that always corrects the bias has no argument that says so. */
enum wsc_err memoryx_set_hyper(const struct zoo_optimizer *o, struct store_file *file, int group)
{
    if (memoryx_corrects_bias(o) && !takes(o, "correct_bias", ANY))
        TRY(set_in_group(file, group, "correct_bias", STORE_I64, 1));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const void *field = (const char *)o + parameters[i].offset;
        if (!takes(o, parameters[i].key, parameters[i].eps)) continue;
        if (parameters[i].is_flag)
            TRY(set_in_group(file, group, parameters[i].name, STORE_I64, *(const bool *)field));
        else
            TRY(set_in_group(file, group, parameters[i].name, STORE_F64, *(const double *)field));
    }
    return WSC_OK;
}

/* ---- scalar states --------------------------------------------------------------------------- */

/* Values after the updates so far; those of a tensor are filled in for each. */
struct scalars {
    double step, mu_product, eta, mu;
};

static const struct {
    enum memoryx_scalar scalar;
    const char *name;
    size_t offset; /* in struct scalars */
} scalars[] = {
    {MEMORYX_STEP, "step", offsetof(struct scalars, step)},
    {MEMORYX_MU_PRODUCT, "mu_product", offsetof(struct scalars, mu_product)},
    {MEMORYX_ETA, "eta", offsetof(struct scalars, eta)},
    {MEMORYX_MU, "mu", offsetof(struct scalars, mu)},
};

/* The values that all tensors have. mu of ASGD is the part of the next weights in the average. */
static struct scalars scalars_of(const struct memoryx *mx)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    struct scalars s = {.step = (double)mx->updates, .mu_product = 1, .mu = 1};
    for (int64_t t = 1; memoryx_has_scalar(o, MEMORYX_MU_PRODUCT) && t <= mx->updates; t++)
        s.mu_product *= memoryx_nadam_momentum(o, (double)t);
    if (mx->updates) s.mu = 1.0 / fmax(1.0, s.step - o->t0);
    return s;
}

/* ASGD: the rate of the next update, which follows from the learning rate of the last one. */
static double eta_of(const struct memoryx *mx, const struct model_tensor *t)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    const struct zoo_schedule *rate =
        t->tagged_rate ? &o->groups.tagged[t->tagged_rate - 1].learning_rate : &o->learning_rate;
    const double lr = model_schedule_value(rate, mx->schedule ? mx->schedule - 1 : 0) * t->lr_scale;
    return lr / pow(1.0 + o->lambd * lr * (double)mx->updates, o->alpha);
}

static enum wsc_err set_scalars_of(const struct memoryx *mx, struct store_file *file, int tensor,
                                   const struct scalars *s)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    char key[NAME_BYTES];
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (!memoryx_has_scalar(o, scalars[i].scalar)) continue;
        const double value = *(const double *)(const void *)((const char *)s + scalars[i].offset);
        (void)snprintf(key, sizeof key, "optimizer.state.%d.%s", tensor, scalars[i].name);
        TRY(store_set_number(file, key, STORE_F64, value));
    }
    return WSC_OK;
}

enum wsc_err memoryx_set_scalars(const struct memoryx *mx, struct store_file *file)
{
    const struct model *model = mx->net->model;
    struct scalars s = scalars_of(mx);
    for (int i = 0; i < model->n_tensors; i++) {
        if (model->tensor[i].frozen) continue;
        s.eta = eta_of(mx, &model->tensor[i]);
        TRY(set_scalars_of(mx, file, i, &s));
    }
    return WSC_OK;
}
