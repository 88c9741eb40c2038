// SPDX-License-Identifier: Apache-2.0
/* The table of optimizers, one row each: the step over a block of elements, the states and numbers
 * that belong to a tensor, whether a bias is corrected, and the part of the update that needs whole
 * tensors. memoryx_steps.c has the steps, memoryx_tensorwise.c the updates of whole tensors, and
 * zoo_optimizers.c the names and defaults in params files. */
#include "memoryx_optimizer.h"

#include "memoryx_steps.h"
#include "memoryx_tensorwise.h"

/* Condition under which a tensor has a state. */
enum presence { ALWAYS, IF_AMSGRAD, IF_MOMENTUM, IF_CENTERED, IF_MATRIX, IF_VECTOR };

/* clang-format off */
#define ELEMENTS(name, presence) {name, presence, MEMORYX_ELEMENTS}
#define MOMENTS ELEMENTS("exp_avg", ALWAYS), ELEMENTS("exp_avg_sq", ALWAYS)
#define LARGEST ELEMENTS("max_exp_avg_sq", IF_AMSGRAD)

/* One optimizer: its step, its states and scalars under PyTorch's names. */
static const struct row {
    memoryx_step *step;
    struct {
        const char *name;
        enum presence presence;
        enum memoryx_extent extent;
    } state[MEMORYX_MAX_STATE];
    unsigned scalars; /* set of enum memoryx_scalar */
    bool has_bias; /* moments of Adam, whose bias `correct_bias` corrects */
    const struct memoryx_tensorwise *tensorwise;
} rows[ZOO_N_OPTIMIZERS] = {
    [ZOO_ADAMW] = {memoryx_adamw, {MOMENTS, LARGEST}, MEMORYX_STEP, true, NULL},
    [ZOO_ADAM] = {memoryx_adam, {MOMENTS, LARGEST}, MEMORYX_STEP, true, NULL},
    [ZOO_ADAFACTOR] = {memoryx_adafactor_moments,
                       {{"exp_avg_sq_row", IF_MATRIX, MEMORYX_ROWS},
                        {"exp_avg_sq_col", IF_MATRIX, MEMORYX_COLS},
                        ELEMENTS("exp_avg_sq", IF_VECTOR)}, MEMORYX_STEP, false, &memoryx_adafactor},
    [ZOO_LAMB] = {memoryx_lamb_moments, {MOMENTS}, 0, false, &memoryx_lamb},
    [ZOO_SGD] = {memoryx_sgd, {ELEMENTS("momentum_buffer", IF_MOMENTUM)}, 0, false, NULL},
    [ZOO_LION] = {memoryx_lion, {ELEMENTS("exp_avg", ALWAYS)}, 0, false, NULL},
    [ZOO_ADADELTA] = {memoryx_adadelta,
                      {ELEMENTS("square_avg", ALWAYS), ELEMENTS("acc_delta", ALWAYS)},
                      MEMORYX_STEP, false, NULL},
    [ZOO_ADAGRAD] = {memoryx_adagrad, {ELEMENTS("sum", ALWAYS)}, MEMORYX_STEP, false, NULL},
    [ZOO_ADAMAX] = {memoryx_adamax, {ELEMENTS("exp_avg", ALWAYS), ELEMENTS("exp_inf", ALWAYS)},
                    MEMORYX_STEP, false, NULL},
    [ZOO_ASGD] = {memoryx_asgd, {ELEMENTS("ax", ALWAYS)},
                  MEMORYX_STEP | MEMORYX_ETA | MEMORYX_MU, false, NULL},
    [ZOO_NADAM] = {memoryx_nadam, {MOMENTS}, MEMORYX_STEP | MEMORYX_MU_PRODUCT, false, NULL},
    [ZOO_RADAM] = {memoryx_radam, {MOMENTS}, MEMORYX_STEP, false, NULL},
    [ZOO_RMSPROP] = {memoryx_rmsprop,
                     {ELEMENTS("square_avg", ALWAYS), ELEMENTS("momentum_buffer", IF_MOMENTUM),
                      ELEMENTS("grad_avg", IF_CENTERED)}, MEMORYX_STEP, false, NULL},
    [ZOO_RPROP] = {memoryx_rprop, {ELEMENTS("prev", ALWAYS), ELEMENTS("step_size", ALWAYS)},
                   MEMORYX_STEP, false, NULL},
};
/* clang-format on */

static bool is_present(enum presence presence, const struct zoo_optimizer *o, bool matrix)
{
    switch (presence) {
    case ALWAYS:
        return true;
    case IF_AMSGRAD:
        return o->amsgrad;
    case IF_MOMENTUM:
        return o->momentum > 0;
    case IF_CENTERED:
        return o->centered;
    case IF_MATRIX:
        return matrix;
    case IF_VECTOR:
        return !matrix;
    }
    return false;
}

struct memoryx_state memoryx_state_of(const struct zoo_optimizer *o, const struct model_tensor *t,
                                      int k)
{
    const struct row *row = &rows[o->type];
    struct memoryx_state s = {.name = row->state[k].name, .extent = row->state[k].extent};
    if (t->frozen || !s.name || !is_present(row->state[k].presence, o, t->n_dims > 1))
        return (struct memoryx_state){.name = NULL};
    s.n_dims = s.extent == MEMORYX_ELEMENTS ? t->n_dims : 1;
    s.shape[0] = t->shape[s.extent == MEMORYX_COLS];
    s.shape[1] = s.n_dims > 1 ? t->shape[1] : 1;
    return s;
}

bool memoryx_has_scalar(const struct zoo_optimizer *o, enum memoryx_scalar scalar)
{
    return rows[o->type].scalars & scalar;
}

bool memoryx_corrects_bias(const struct zoo_optimizer *o)
{
    return rows[o->type].has_bias && o->correct_bias;
}

const struct memoryx_tensorwise *memoryx_tensorwise_of(const struct zoo_optimizer *o)
{
    return rows[o->type].tensorwise;
}

void memoryx_step_block(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    rows[r->o->type].step(r, b);
}

/* Bytes of w, g and the states by element; statistics by row and column are few. */
int64_t memoryx_host_bytes_per_param(const struct zoo_optimizer *o)
{
    int64_t n = 2;
    for (int k = 0; k < MEMORYX_MAX_STATE; k++)
        n += rows[o->type].state[k].name && rows[o->type].state[k].extent == MEMORYX_ELEMENTS &&
             is_present(rows[o->type].state[k].presence, o, true);
    return n * (int64_t)sizeof(float);
}

int64_t memoryx_state_bytes(const struct zoo_optimizer *o, const struct model *model)
{
    int64_t n = 0;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        n += t->n_elems;
        for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
            const struct memoryx_state s = memoryx_state_of(o, t, k);
            if (s.name) n += s.extent == MEMORYX_ELEMENTS ? t->n_elems : s.shape[0];
        }
    }
    return n * (int64_t)sizeof(float);
}
