/** What the files of wafer share. */
#ifndef WSC_WAFER_IMPL_H
#define WSC_WAFER_IMPL_H
#include <wsc/wafer.h>

/* Now, and where the time of the batch in progress went. */
struct wafer_clock {
    struct vtime now;
    int64_t compute_ps, weights_wait_ps, reduce_wait_ps, boundary_ps, input_wait_ps;
    struct vtime step_start;
};

struct wafer {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    int place;                        /* which one of the machine */
    int index;                        /* among those that are left, in the run in progress */
    struct wafer_clock clock;
    struct vtime_recorder *recorder; /* borrowed, of the stage in progress; or NULL */
    const struct stream_pass *pass;  /* borrowed, of the run in progress */
    struct wafer_work work;
    struct wafer_price *price;     /* owned, of each stage forward and backward */
    struct kernels_values *values; /* owned; NULL without values */
    struct data_batch *batch;      /* owned; NULL without values */
    double *squares;   /* owned (n_squares): of the step in progress, see stream_scalars_join */
    int64_t n_squares; /* so far */
    int64_t capacity_samples; /* of values and batch */
    bool capacity_training;
};

/* One stage of one micro-batch on this wafer. */
struct wafer_visit {
    int64_t step;
    int index; /* of the transfer within the batch */
    int stage;
    bool backward;
    int64_t n_samples;
    struct kernels_tokens tokens; /* of each of them, in generation */
    int64_t n_fed; /* samples of the step that must have come in, those of this micro-batch too */
};

/* time.c: the stage's place in virtual time.  begin: weights are arriving; end: the stage is done
 * but for its gradients; leave: its gradients have left; record: the stage from @p begin to now as
 * a bar of the record of virtual time. */
struct vtime wafer_clock_begin(struct wafer *w, const struct comm_msg *weights,
                               const struct wafer_visit *v);
struct vtime_span wafer_clock_end(struct wafer *w, const struct comm_msg *weights,
                                  const struct wafer_visit *v,
                                  const struct kernels_counted *counted);
void wafer_clock_leave(struct wafer *w);
void wafer_clock_record(struct wafer *w, struct vtime begin, const struct wafer_visit *v);

/* generate.c */
enum wsc_err wafer_generate(struct wafer *w);
/* wafer.c: one stage with weights in and credits out, forward only when not training. */
enum wsc_err wafer_visit_stage(struct wafer *w, const struct kernels_share *share,
                               const struct wafer_visit *v);
enum wsc_err wafer_send_times(struct wafer *w, int64_t step);
enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, bool training);
#endif
