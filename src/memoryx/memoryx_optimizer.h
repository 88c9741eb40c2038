/** The table of optimizers: what MemoryX keeps for each tensor, and how an update goes, independent
 *  of shards and virtual time.  memoryx_update.c takes steps on all threads. */
#ifndef WSC_MEMORYX_OPTIMIZER_H
#define WSC_MEMORYX_OPTIMIZER_H
#include "memoryx_steps.h"

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
/* Numbers of a tensor in a state dict of PyTorch that follow from the number of updates; an
 * optimizer has a set of them. */
enum memoryx_scalar {
    MEMORYX_STEP = 1,
    MEMORYX_MU_PRODUCT = 2, /* product of the momenta so far */
    MEMORYX_ETA = 4,        /* rate of the next update */
    MEMORYX_MU = 8          /* part of the next weights in their average */
};
bool memoryx_has_scalar(const struct zoo_optimizer *o, enum memoryx_scalar scalar);
/* True when the optimizer corrects the bias of Adam's moments. */
bool memoryx_corrects_bias(const struct zoo_optimizer *o);
/* The whole update of a block; where it needs whole tensors, the part that does not. */
void memoryx_step_block(const struct memoryx_rule *r, const struct memoryx_block *b);
/* The part of the update that needs whole tensors (memoryx_tensorwise.h); NULL: there is none. */
struct memoryx_tensorwise;
const struct memoryx_tensorwise *memoryx_tensorwise_of(const struct zoo_optimizer *o);
#endif
