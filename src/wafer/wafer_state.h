/** The state of a wafer, which the files of wafer share.
 *  Its links, its clock, the run in progress and its values; no functions.
 */
#ifndef WSC_WAFER_STATE_H
#define WSC_WAFER_STATE_H
#include "wafer_cost.h"

/* Now, and where the time of the step in progress went. */
struct wafer_clock {
    struct vtime now, step_start;
    struct vtime_breakdown spent; /* adds up to now - step_start */
};

/* What the wafer computes on: its share of a micro-batch, or in generation its texts. */
struct wafer_micro {
    struct data_share share;
    int64_t n_own;               /* sequences of `share`, which this host computes */
    int64_t n_samples;           /* sequences of the emulated wafer: virtual time follows them */
    struct cycles_tokens tokens; /* of each of them, in generation */
    int64_t n_fed;               /* samples of the step so far, those of this micro-batch too */
};

/* A stage in progress; wafer_stage_fini() ends it. */
struct wafer_stage {
    struct stream_msg weights; /* owns its payload; no payload without values */
    struct comm_buf *sums;     /* owned, or NULL: gradients, one vector for each subtree */
    int n_sums;
    bool in_pieces;               /* computed part by part, see wafer_pieces.c */
    struct model_weights *tensor; /* owned, of each view in the payload; NULL: they have no masks */
    struct vtime begin;
    struct vtime_span ready; /* first and last row of the gradients */
};

struct wafer {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    int position;                     /* which one of the machine */
    int index;                        /* among those that are left, in the run in progress */
    struct wafer_clock clock;
    struct vtime_recorder *recorder; /* borrowed, of the stage in progress; or NULL */
    const struct stream_pass *pass;  /* borrowed, of the run in progress */
    struct wafer_work work;
    struct wafer_micro micro;
    struct wafer_prices *prices;    /* borrowed */
    struct wafer_deviates deviates; /* of the jitter of the pair of steps in progress */
    struct kernels *values;         /* owned; NULL without values */
    struct data_batch *batch;       /* owned; NULL without values */
    struct programs_room capacity;  /* of values and batch */
    bool capacity_training;
    double *squares;   /* owned (n_squares): of the step in progress, see stream_scalars_join; or
                          its struct stream_score */
    int64_t n_squares; /* so far */
};
#endif
