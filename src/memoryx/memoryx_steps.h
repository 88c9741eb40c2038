/** Steps of optimizers, one function each, over a block of elements.
 *  The table of memoryx_optimizer.c has a row for each; formulas: docs/TRAINING.md. */
#ifndef WSC_MEMORYX_STEPS_H
#define WSC_MEMORYX_STEPS_H
#include <wsc/memoryx.h>

enum { MEMORYX_MAX_STATE = 3 };

/* The data of an update of an optimizer besides the elements. */
struct memoryx_rule {
    const struct zoo_optimizer *o;
    double t;         /* number of this update, from 1 */
    int64_t schedule; /* number of earlier updates that the schedules count */
    /* learning rates of this update and of the one before, for the current tensor */
    double lr_exact, lr_before;
    double mu_product;      /* NAdam: product of the momenta so far, this update included */
    float lr, weight_decay; /* of the current tensor */
    float grad_scale;       /* factor of clipping by norm; negative: maximize */
    float grad_limit;       /* limit of clipping by value */
};
/* Elements of one tensor; a state that the tensor does not have is NULL. */
struct memoryx_block {
    float *w;
    float *state[MEMORYX_MAX_STATE];
    const float *g;
    int64_t n;
};

/* A step: the elements of @p b and their states after the update of @p r. */
typedef void memoryx_step(const struct memoryx_rule *r, const struct memoryx_block *b);
memoryx_step memoryx_adam, memoryx_adamw, memoryx_adamax, memoryx_nadam, memoryx_radam;
memoryx_step memoryx_lion, memoryx_sgd, memoryx_asgd, memoryx_rprop;
memoryx_step memoryx_adagrad, memoryx_adadelta, memoryx_rmsprop;
/* Moments alone; the weights follow from sums over whole tensors. */
memoryx_step memoryx_lamb_moments, memoryx_adafactor_moments;

/* Lamb: direction of the update before its trust ratio. */
void memoryx_lamb_direction(const struct memoryx_rule *r, const struct memoryx_block *b, float *u);
/* The gradient after clipping. */
void memoryx_clipped(const struct memoryx_rule *r, const struct memoryx_block *b, float *g);
/* Momentum of update @p t, from 1, of NAdam. */
double memoryx_nadam_momentum(const struct zoo_optimizer *o, double t);
/* Adafactor's share of the earlier second moments at update @p t, from 1. */
double memoryx_adafactor_beta2(const struct zoo_optimizer *o, double t);
#endif
