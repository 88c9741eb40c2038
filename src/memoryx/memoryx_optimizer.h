/** The optimizers of PyTorch, on blocks of elements, independent of shards and virtual time.
 *  memoryx_update.c calls them on all threads. */
#ifndef WSC_MEMORYX_OPTIMIZER_H
#define WSC_MEMORYX_OPTIMIZER_H
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
/* A state is as large as the tensor, or has one number per row or column. */
enum memoryx_extent { MEMORYX_ELEMENTS, MEMORYX_ROWS, MEMORYX_COLS };
struct memoryx_state {
    const char *name; /* name in PyTorch; NULL: the tensor has no such state */
    enum memoryx_extent extent;
    int n_dims;
    int64_t shape[2];
};
struct memoryx_state memoryx_state_of(const struct zoo_optimizer *o, const struct model_tensor *t,
                                      int k);
/* The whole update; for Lamb and Adafactor the part that does not need the whole tensor. */
void memoryx_step_block(const struct memoryx_rule *r, const struct memoryx_block *b);
/* Lamb: direction of the update before its trust ratio. */
void memoryx_lamb_direction(const struct memoryx_rule *r, const struct memoryx_block *b, float *u);
/* The gradient after clipping. */
void memoryx_clipped(const struct memoryx_rule *r, const struct memoryx_block *b, float *g);
double memoryx_nadam_momentum(const struct zoo_optimizer *o, double t);
double memoryx_adafactor_beta2(const struct zoo_optimizer *o, double t);
#endif
