/** The state of a MemoryX shard, which the files of memoryx share: weights, gradients, virtual
 * times and the run in progress. */
#ifndef WSC_MEMORYX_STATE_H
#define WSC_MEMORYX_STATE_H
#include "memoryx_steps.h"

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
    float *g;         /* owned (n): sum of the gradients of the step, later their mean */
    /* Owned, or NULL: optimizer state of the part (n), or statistics of the whole tensor
     * (memoryx_state_of). */
    float *state[MEMORYX_MAX_STATE];
    /* Owned (memoryx_mask_words(n)): bits of the kept weights; NULL: the tensor is dense. */
    uint64_t *mask;
    bool mask_due; /* the tensor has no mask yet */
    /* owned, bits as in `mask`: weights that train (model.selective_grad); NULL: all */
    uint64_t *chosen;
    bool chosen_due; /* the weights that train are not chosen yet */
    float *held;     /* owned (n), if `chosen` is set: weights before an update */
    /* owned (n): g before masking, in an update before a new mask that needs it */
    float *dense;
    bool g_started;  /* a stage has contributed to g in this step */
    bool updated;    /* the part was updated in this step (memoryx_update_stage()) */
    bool update_due; /* the part is updated after the step (memoryx_update_due()) */
};

/* Virtual times between steps, from which a restart resumes exactly. */
struct memoryx_times {
    struct vtime step_end; /* end of the newest batch on the slowest wafer */
    struct vtime reduced;  /* time at which its last gradient was complete on this shard */
    struct vtime updating; /* time until which the optimizer is busy */
    /* owned (n_stages): time at which the updated weights of a stage are ready */
    struct vtime *ready;
};

/* Loss scaling; the state is that of the Model Zoo's grad_scaler. */
struct memoryx_scaler {
    double scale;
    int64_t good_steps; /* steps without overflow since the scale changed */
    int64_t overflows;  /* overflows since the scale grew */
    int64_t skipped;    /* number of skipped steps */
};

struct memoryx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    struct memoryx_config config;
    int shard, n_shards;
    struct memoryx_part *part; /* owned (n_tensors) */
    struct comm_kept packed;   /* weights of the current step as they are sent, by stage */
    struct memoryx_times times;
    struct memoryx_scaler scaler;
    int64_t updates;   /* updates of the optimizer so far, without skipped steps */
    int64_t schedule;  /* updates that the schedules count; a restart may set it to 0 */
    int64_t mask_step; /* updates that the schedules of masks count */
    double mu_product; /* NAdam: product of the momenta of the updates up to mu_updates */
    int64_t mu_updates;
    /* rule of the last update, for the tensors that are not updated yet */
    struct memoryx_rule rule;
    const struct stream_pass *pass; /* borrowed, of the run in progress */
    struct stream_window *window;   /* owned, of the run in progress */
    /* owned (n_stages): sums of the gradients of the micro-batches so far */
    struct stream_sums *sums;
    struct stream_losses losses;
    struct memoryx_batch batch; /* results of the current batch */
    int64_t *kept;              /* owned (n_tensors), with add_summaries: number of kept elements */
    double *layer_norm;         /* owned (L), shard 0 with log_summaries; else NULL */
    double micro_shard_squares; /* sum of the squares of the gradients of micro-shards */
    struct memoryx_noise noise; /* gradient noise scale: running means over noise_steps steps */
    int64_t noise_steps;
    /* Owned (n_stages): time at which the gradients of a stage of the current batch arrived. The
     * times are copied to times.reduced and times.ready only after the sending program has sent
     * everything, so that it never reads some of the new times. */
    struct vtime *arrived;
};
#endif
