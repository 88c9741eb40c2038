/** The state of a shard, which the files of memoryx share.
 *  Weights, gradients, virtual times and the run in progress; no functions.
 */
#ifndef WSC_MEMORYX_STATE_H
#define WSC_MEMORYX_STATE_H
#include "memoryx_optimizer.h"

#include <wsc/memoryx.h>

/* Masks have a bit per element: bit i % 64 of word i / 64 is element memoryx_part.first + i; bits
 * past the end are 0.  Parts begin at whole blocks of 1024 elements, so the bits of a block are 16
 * whole words. */
enum { MEMORYX_WORD_BITS = 64 };
/* Words of the mask of @p n elements. */
static inline int64_t memoryx_mask_words(int64_t n)
{
    return (n + MEMORYX_WORD_BITS - 1) / MEMORYX_WORD_BITS;
}

/* This shard's part of one tensor. */
struct memoryx_part {
    int64_t first, n; /* elements [first, first + n) of the tensor */
    float *w;         /* owned (n): master weight */
    float *g;         /* owned (n): sum, then mean gradient of the step */
    /* Owned, as memoryx_state_of says: of the part (n), or statistics of the whole tensor; or NULL.
     */
    float *state[MEMORYX_MAX_STATE];
    /* Owned (memoryx_mask_words(n)): the weights that are kept; NULL: the tensor is
     * dense. */
    uint64_t *mask;
    bool mask_due;    /* it has no mask yet */
    uint64_t *chosen; /* owned, as `mask`, of model.selective_grad: weights that train; NULL: all */
    bool chosen_due;  /* they are not chosen yet */
    float *held;      /* owned (n), with `chosen`: weights before an update */
    float *dense;     /* owned (n), in an update before a mask that needs it: g before masking */
    bool g_started;   /* a stage has contributed to g in this step */
    bool updated;     /* already, in this step: see memoryx_update_stage() */
    bool update_due;  /* not yet, after it: see memoryx_update_due() */
};

/* Virtual times between steps: all that a restart needs to resume exactly. */
struct memoryx_times {
    struct vtime step_end; /* the newest batch's, on the slowest wafer */
    struct vtime reduced;  /* its last gradient was complete here */
    struct vtime updating; /* the optimizer is busy until then */
    struct vtime *ready;   /* owned (n_stages): updated weights of a stage */
};

/* Loss scaling; the state is that of the Model Zoo's grad_scaler. */
struct memoryx_scaler {
    double scale;
    int64_t good_steps; /* since the scale changed */
    int64_t overflows;  /* since it grew */
    int64_t skipped;    /* steps in all */
};

struct memoryx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    struct memoryx_config config;
    int shard, n_shards;
    struct memoryx_part *part; /* owned (n_tensors) */
    struct comm_kept packed;   /* weights as they travel, by stage; of the present step */
    struct memoryx_times times;
    struct memoryx_scaler scaler;
    int64_t updates;   /* of the optimizer so far; steps that were skipped do not count */
    int64_t schedule;  /* updates that the schedules count: a restart may begin them again */
    int64_t mask_step; /* updates that the schedules of masks count */
    double mu_product; /* NAdam: of the momenta up to mu_updates */
    int64_t mu_updates;
    struct memoryx_rule rule;       /* of the last update, for the tensors where it is due */
    const struct stream_pass *pass; /* borrowed, of the run in progress */
    struct stream_window *window;   /* owned, of the run in progress */
    struct stream_sums *sums;       /* owned (n_stages): micro-batches so far */
    struct stream_losses losses;
    struct memoryx_batch batch; /* in the making */
    int64_t *kept;              /* owned (n_tensors), with add_summaries: elements of masks */
    double *layer_norm;         /* owned (L), shard 0 with log_summaries; else NULL */
    double micro_shard_squares; /* squares of their gradients, summed */
    struct memoryx_noise noise; /* running means over noise_steps steps */
    int64_t noise_steps;
    /* Gradients of the batch in the making.  They become times.reduced and times.ready only when
     * the sending half has sent everything, so that it never sees half of them. */
    struct vtime *arrived; /* owned (n_stages) */
};
#endif
