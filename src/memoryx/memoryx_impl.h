/** What the files of memoryx share. */
#ifndef WSC_MEMORYX_IMPL_H
#define WSC_MEMORYX_IMPL_H
#include <wsc/memoryx.h>

enum { MEMORYX_MAX_STATE = 3 };

/* This shard's slice of one tensor. */
struct memoryx_slice {
    int64_t first, n; /* elements [first, first + n) of the tensor */
    float *w;         /* owned (n): master weight */
    float *g;         /* owned (n): sum, then mean gradient of the step */
    /* Owned, as memoryx_state_of says: slices (n), or statistics of the whole tensor; or NULL. */
    float *state[MEMORYX_MAX_STATE];
    bool g_started; /* a stage has contributed to g in this step */
};

/* Virtual times between steps: all that a restart needs to go on exactly. */
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
    struct memoryx_slice *slice; /* owned (n_tensors) */
    struct memoryx_times times;
    struct memoryx_scaler scaler;
    int64_t updates;   /* of the optimizer so far; steps that were skipped do not count */
    int64_t schedule;  /* the same for the schedules: a restart may begin them anew */
    double mu_product; /* NAdam: of the momenta up to mu_updates */
    int64_t mu_updates;
    const struct stream_pass *pass; /* borrowed, of the run in progress */
    struct stream_window *window;   /* owned, of the run in progress */
    struct stream_sums *sums;       /* owned (n_stages): micro-batches so far */
    struct stream_losses losses;
    struct memoryx_batch batch; /* in the making */
    double *layer_norm;         /* owned (L), shard 0 with log_summaries; else NULL */
    double leaf_squares;        /* its gradients', as they are added up */
    struct memoryx_noise noise; /* running means over noise_steps steps */
    int64_t noise_steps;
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
/* norms.c: the gradient's norm, with log_summaries on shard 0 the others of the batch too */
enum wsc_err memoryx_share_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at);
enum wsc_err memoryx_share_hash(struct memoryx *mx, int64_t step, uint64_t *hash);
/* Shard 0: collect a message of every other shard. */
enum wsc_err memoryx_gather(struct memoryx *mx, int32_t kind, int64_t step, int index,
                            struct comm_msg *msg);
/* One round of an exchange: to shard 0, which combines, and back. */
struct memoryx_round {
    int64_t step;
    int index;
    int64_t bytes; /* on the emulated links, each way */
    /* Shard 0: *total of the parts of all shards. */
    enum wsc_err (*combine)(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                            struct comm_buf **total);
    void *ctx;
};
/* @p take_own NULL: time alone; *total is then NULL.  *at: ready here, then known here. */
enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at);

/* loss_scale.c */
void memoryx_scale_start(struct memoryx *mx);
/* Once the norm is known: batch.loss_scale, batch.skipped, and the scale of the next step. */
enum wsc_err memoryx_scale_after(struct memoryx *mx, int64_t step);
/* Mean over @p n_tokens, or loss_weight / batch: the factor of both loss and gradient. */
double memoryx_loss_factor(const struct memoryx *mx, int64_t n_tokens);
/* The factor that the gradients of this step carry. */
double memoryx_gradient_scale(const struct memoryx *mx);

/* noise_scale.c: once the norm is known, before the loss scale moves */
void memoryx_noise_after(struct memoryx *mx);

/* sums.c: sums over whole tensors that do not depend on who holds which part */

/* What is summed: one block of STREAM_BLOCK_ELEMS elements, from @p first of the slice of @p
 * tensor. */
struct memoryx_summand {
    double (*block)(const void *ctx, int tensor, int64_t first, int64_t n);
    const void *ctx;
};
/* Numbers of a shard's part. */
int64_t memoryx_count_sums(const struct memoryx *mx, int shard);
/* This shard's part, tensor after tensor. */
enum wsc_err memoryx_own_sums(const struct memoryx *mx, const struct memoryx_summand *what,
                              double *out);
/* @p part[m]: shard m's; @p total: one per tensor. */
void memoryx_joint_sums(const struct memoryx *mx, const double *const *part, double *total);

/* optimizer.c */

/* What a step of an optimizer needs beside the elements. */
struct memoryx_rule {
    const struct zoo_optimizer *o;
    double t;                   /* number of this update, from 1 */
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

/* groups.c: how PyTorch numbers parameters */

/* Groups of parameters and powers of beta; then the latter's values. */
enum wsc_err memoryx_define_groups(const struct memoryx *mx, struct store_file *file) WSC_CHECKED;
enum wsc_err memoryx_save_powers(const struct memoryx *mx, struct store_file *file) WSC_CHECKED;
/* label[i]: the number of tensor i in the names of states in @p file. */
enum wsc_err memoryx_read_labels(struct store_file *file, const struct model *model,
                                 int64_t *label) WSC_CHECKED;

/* tensorwise.c: the rest of the update of Lamb and Adafactor */

/* @p rule NULL: nothing is computed, the exchange takes its time.  *at as in memoryx_exchange. */
enum wsc_err memoryx_update_tensorwise(struct memoryx *mx, const struct memoryx_rule *rule,
                                       int64_t step, struct vtime *at);
/* update.c: @p rule for tensor @p i */
struct memoryx_rule memoryx_rule_of_tensor(const struct memoryx *mx,
                                           const struct memoryx_rule *rule, int i);
#endif
