/** The optimizers of PyTorch, on blocks of elements.
 *  They know neither shards nor virtual time; memoryx_update.c calls them on all threads.
 */
#ifndef WSC_MEMORYX_OPTIMIZER_H
#define WSC_MEMORYX_OPTIMIZER_H
#include <wsc/memoryx.h>

enum { MEMORYX_MAX_STATE = 3 };

/* What a step of an optimizer needs beside the elements. */
struct memoryx_rule {
    const struct zoo_optimizer *o;
    double t;                   /* number of this update, from 1 */
    int64_t schedule;           /* updates before it that the schedules count */
    double lr_exact, lr_before; /* of this update and the one before, for the tensor at hand */
    double mu_product;          /* NAdam: of the momenta so far, this one included */
    float lr, weight_decay;     /* for the tensor at hand */
    float grad_scale;           /* clipping by the norm; negative to go up */
    float grad_limit;           /* clipping by value */
};
/* Elements of one tensor; states that it lacks are NULL. */
struct memoryx_block {
    float *w;
    float *state[MEMORYX_MAX_STATE];
    const float *g;
    int64_t n;
};
/* A state is as large as the tensor, or has one number per row or column. */
enum memoryx_extent { MEMORYX_ELEMENTS, MEMORYX_ROWS, MEMORYX_COLS };
struct memoryx_state {
    const char *name; /* PyTorch's; NULL: the tensor has no such state */
    enum memoryx_extent extent;
    int n_dims;
    int64_t shape[2];
};
struct memoryx_state memoryx_state_of(const struct zoo_optimizer *o, const struct model_tensor *t,
                                      int k);
/* The whole update, or with Lamb and Adafactor what can be done without the whole tensor. */
void memoryx_step_block(const struct memoryx_rule *r, const struct memoryx_block *b);
/* Lamb: direction of the update before its trust ratio. */
void memoryx_lamb_direction(const struct memoryx_rule *r, const struct memoryx_block *b, float *u);
/* The gradient after clipping. */
void memoryx_clipped(const struct memoryx_rule *r, const struct memoryx_block *b, float *g);
double memoryx_nadam_momentum(const struct zoo_optimizer *o, double t);
double memoryx_adafactor_beta2(const struct zoo_optimizer *o, double t);
#endif
