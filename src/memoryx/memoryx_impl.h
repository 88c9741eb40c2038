/** What the files of memoryx share. */
#ifndef WSC_MEMORYX_IMPL_H
#define WSC_MEMORYX_IMPL_H
#include <wsc/memoryx.h>

/* This shard's slice of one tensor. */
struct memoryx_slice {
    int64_t first, n; /* elements [first, first + n) of the tensor */
    float *w, *m, *v; /* owned (n): master weight, first and second moment */
    float *g;         /* owned (n): sum, then mean gradient of the step */
    bool g_started;   /* a stage has contributed to g in this step */
};

/* Virtual times between steps: all that a restart needs to go on exactly. */
struct memoryx_times {
    struct vtime step_end; /* the newest batch's, on the slowest wafer */
    struct vtime reduced;  /* its last gradient was complete here */
    struct vtime updating; /* the optimizer is busy until then */
    struct vtime *ready;   /* owned (n_stages): updated weights of a stage */
};

struct memoryx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    struct memoryx_config config;
    int shard, n_shards;
    struct memoryx_slice *slice; /* owned (n_tensors) */
    struct memoryx_times times;
    const struct stream_pass *pass; /* borrowed, of the run in progress */
    struct stream_window *window;   /* owned, of the run in progress */
    struct stream_sums *sums;       /* owned (n_stages): micro-batches so far */
    struct stream_losses losses;
    struct memoryx_batch batch; /* in the making */
    /* Gradients of the batch in the making.  They become times.reduced and times.ready only when
     * the sending half has sent everything, so that it never sees half of them. */
    struct vtime *arrived; /* owned (n_stages) */
};

/* down.c */
enum wsc_err memoryx_run_down(void *arg);
/* up.c */
enum wsc_err memoryx_run_up(void *arg);
/* update.c: after the last micro-batch of a step */
enum wsc_err memoryx_update(struct memoryx *mx, int64_t step);
/* Add the finished sum of a stage's gradient (this shard's slices in view order) to the tensors. */
void memoryx_take_gradient(struct memoryx *mx, int stage, const float *sum);
/* peers.c: what all shards have to agree on; each shard gives its part and gets the whole */
enum wsc_err memoryx_share_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at);
enum wsc_err memoryx_share_hash(struct memoryx *mx, int64_t step, uint64_t *hash);
/* optimizer.c */
struct memoryx_adamw {
    float lr, beta1, beta2, eps, weight_decay, correction, grad_scale, grad_limit;
};
void memoryx_adamw(const struct memoryx_adamw *rule, float *restrict w, float *restrict m,
                   float *restrict v, const float *restrict g, int64_t n);
#endif
