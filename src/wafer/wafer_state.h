/** The state of a wafer, which the files of wafer share: its links, its clock, the run in progress
 *  and its values. */
#ifndef WSC_WAFER_STATE_H
#define WSC_WAFER_STATE_H
#include "wafer_cost.h"

/* The virtual time, and how the current step has spent it. */
struct wafer_clock {
    struct vtime now, step_start;
    struct vtime_breakdown spent; /* adds up to now - step_start */
};

/* The input of the wafer: its share of a micro-batch, or its texts in generation. */
struct wafer_micro {
    struct data_share share;
    /* number of sequences of `share`, whose values this host computes */
    int64_t n_own;
    /* number of sequences of the emulated wafer, which determines virtual time */
    int64_t n_samples;
    struct cycles_tokens tokens; /* in generation: tokens of each sequence */
    int64_t n_fed;               /* samples of the step so far, this micro-batch included */
};

/* A stage in progress; wafer_stage_fini() ends it. */
struct wafer_stage {
    struct stream_msg weights; /* owns its payload; without values there is no payload */
    /* owned, or NULL: gradients, one vector for each reduction subtree */
    struct comm_buf *sums;
    int n_sums;
    bool in_pieces; /* the stage is computed part by part (wafer_pieces.c) */
    /* owned: masks of each view in the payload; NULL: no tensor has a mask */
    struct model_weights *tensor;
    struct vtime begin;
    /* times at which the first and the last row of the gradients is ready */
    struct vtime_span ready;
};

/* Values, and the sizes for which they were created. */
struct wafer_values {
    struct kernels *kernels;  /* owned */
    struct data_batch *batch; /* owned */
    struct programs_room capacity;
    bool training;
};

struct wafer {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    int position;                     /* index among all wafers of the machine */
    int index;                        /* index among the wafers that are left, in the current run */
    struct wafer_clock clock;
    struct vtime_recorder *recorder; /* borrowed: recorder of the current stage, or NULL */
    const struct stream_pass *pass;  /* borrowed: the current run */
    struct wafer_work work;
    struct wafer_micro micro;
    struct wafer_prices *prices;    /* borrowed */
    struct wafer_deviates deviates; /* random deviates of the jitter of the current pair of steps */
    struct kernels *values;         /* owned; NULL without values */
    struct data_batch *batch;       /* owned; NULL without values */
    struct programs_room capacity;  /* sizes for which `values` and `batch` were created */
    bool capacity_training;
    /* On the mesh: the values of passes of the other kind, training or not, kept for the recordings
     * of their programs or of the current ones. */
    struct wafer_values parked;
    struct programs_row
        *rows; /* owned: cycles by kernel of training whose values are gone, or NULL */
    /* owned (n_squares): sums of squares of the current step (stream_scalars_join), or its struct
     * stream_score */
    double *squares;
    int64_t n_squares;                 /* number of `squares` so far */
    struct model_class_count *classes; /* owned (pass->n_classes): of the current step, or NULL */
};
#endif
