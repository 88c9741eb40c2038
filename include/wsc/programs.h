/** Programs that run on the emulated mesh (<wsc/mesh.h>): collectives, products, the transformer's
 *  operations, and a whole model on the mesh of one wafer.
 *
 *  A program lays routes and tasks on a fabric, feeds it, runs it and compares the results with a
 *  reference on the host.  Its cycles are simulated, wavelet by wavelet; beside them stands what
 *  the analytical model (<wsc/cycles_ops.h>) or a published formula says for the same operation.
 *  The one invariant: what is computed for a sequence does not depend on which others lie on the
 *  wafer, nor on the number of host threads.
 *
 *      struct programs_case c = {.algo = "tree", .w = 16, .h = 1, .words = 256};
 *      struct programs_result r;
 *      TRY(programs_run_reduce(&c, &r));
 *      printf("%lld cycles, formula %.0f\n", (long long)r.stats.cycles, r.analytical);
 *
 *  Operations of a transformer are called through the table of <wsc/kernels.h>, which samples
 *  operands and compares.  Errors are those of the mesh, and WSC_USAGE for sizes that a program
 *  does not take.  Start reading at struct programs_case and at programs_model_create();
 *  docs/MESH.md describes the programs. */
#ifndef WSC_PROGRAMS_H
#define WSC_PROGRAMS_H
#include <wsc/cycles_ops.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/mesh.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- single programs ------------------------------------------------------------------------- */

/** What a program runs on; 0 and NULL take the program's defaults.  Members that a program does not
 *  use are not read. */
struct programs_case {
    /** Algorithm, a word of the row's `algos`; NULL: the default, or the best by its formula. */
    const char *algo;
    /** PEs of the fabric, 1 to 2048 each. */
    int w, h;
    /** Generation and 16-bit format, as in struct mesh_config. */
    enum mesh_arch arch;
    enum mesh_half half;    /**< of a gemm by stream */
    enum num_format format; /**< of the tiles of a transformer's operation */
    /** Collectives: 32-bit words of a vector or block; gemv, gemm, linear, wgrad: m, n, k; fmacs:
     *  length and number of calls. */
    int64_t words, m, n, k, length, calls;
    int64_t tokens, samples, features, heads, head_dim, vocab; /**< of a transformer's operations */
    bool backward;                                             /**< the gradient instead */
    bool both_ways;      /**< attention without a causal mask, as encoders have it */
    double softcap;      /**< c of c tanh(score / c) of attention's scores; 0: none */
    bool alibi;          /**< scores fall with the distance by slopes of ALiBi; not both ways */
    int64_t room;        /**< 32-bit sums that fit a PE beside its tiles, for sums over tokens; 0:
                              by the features of the case */
    int64_t groups;      /**< of a ktree; 0: the divisor of the width below its square root */
    double density;      /**< fraction of the weights that are not 0, which alone stream; 0: all */
    const struct hw *hw; /**< borrowed; the rates of the analytical model, and of scalar code */
    int threads;         /**< of the host, as in struct mesh_config */
    const struct mesh_share *share; /**< borrowed: processes that run the fabric; NULL: one */
    /** Seed of the operands. */
    uint64_t seed;
    struct mesh_watch *watch; /**< borrowed; NULL: nobody watches */
    /** Called while the fabric runs (struct mesh_config); each program of a case counts from 0. */
    void (*progress)(void *ctx, int64_t cycle);
    bool (*stop)(void *ctx); /**< as in struct mesh_config */
    void *progress_ctx;
    struct mesh_snapshots *snapshots; /**< borrowed, of all programs of the case; NULL: none */
};
/** What a run of a program gave. */
struct programs_result {
    /** Simulated cycles, wavelets, hops, elements. */
    struct mesh_stats stats;
    const char *algo;    /**< as chosen */
    int64_t words;       /**< of the main vector, block or call */
    double host_seconds; /**< of mesh_run */
    double max_error;    /**< against the host, |difference| / (1 + |expected|); NaN stays */
    double analytical;   /**< analytical model or formula, cycles; negative: there is none */
    /** Cycles of a PE over its own tile: mean and slowest; 0: the program does not measure them. */
    double tile_mean, tile_most;
    double built;    /**< max(C, E/N + L) + (2 T_R + 1) D of HPDC'24 on the tree that was built */
    double schedule; /**< its messages one by one (docs/MESH.md), cycles; both negative: none */
};
/* Collectives and products on blocks of words, which make their own operands and compare with exact
 * sums. */
/** Send a vector of PE (0, 0) to all PEs. */
enum wsc_err programs_run_broadcast(const struct programs_case *c, struct programs_result *r);
/** Add a vector of every PE at PE (0, 0), rows first, then a column, by algo star, chain, tree,
 *  two-phase or auto (Luczynski et al., HPDC'24). */
enum wsc_err programs_run_reduce(const struct programs_case *c, struct programs_result *r);
/** Add a vector of every PE and give the sum to all: reduce and broadcast, a ring, or a tree from
 *  the middle of a row (ktree). */
enum wsc_err programs_run_allreduce(const struct programs_case *c, struct programs_result *r);
/** Cycles of programs_run_broadcast() by the formula of HPDC'24, before it runs. */
double programs_expect_broadcast(const struct programs_case *c);
/** Cycles of programs_run_reduce() by the formula of HPDC'24; `auto`: its lower bound. */
double programs_expect_reduce(const struct programs_case *c);
/** Cycles of programs_run_allreduce() by the formula of HPDC'24; negative for a ktree. */
double programs_expect_allreduce(const struct programs_case *c);
/** Send a block of PE (0, 0) to each PE. */
enum wsc_err programs_run_scatter(const struct programs_case *c, struct programs_result *r);
/** Send a block of each PE to PE (0, 0). */
enum wsc_err programs_run_gather(const struct programs_case *c, struct programs_result *r);
/** Exchange blocks of a square fabric over its diagonal. */
enum wsc_err programs_run_transpose(const struct programs_case *c, struct programs_result *r);
/** Compute y (m) = A (m, n) x (n), A spread in blocks over the fabric. */
enum wsc_err programs_run_gemv(const struct programs_case *c, struct programs_result *r);
/** Compute C (m, n) = A (m, k) B (k, n), by SUMMA or with weights A from the edge, of which those
 *  that are zero are left out. */
enum wsc_err programs_run_gemm(const struct programs_case *c, struct programs_result *r);
/** Compute C (m, n) = A (m, k) B (k, n) with tiles of A in the PEs, by algo csc, compressed columns
 *  of which c->density are not zero, or dense.  B comes down the columns of PEs, the sums go along
 *  the rows (pr0f3ss/SpMM_Cerebras).  The model in r->analytical is cycles_tiles_product(). */
enum wsc_err programs_run_spmm(const struct programs_case *c, struct programs_result *r);
/** Run calls of fp32 fmacs on one PE, for the rate and the set-up of an operation. */
enum wsc_err programs_run_fmacs(const struct programs_case *c, struct programs_result *r);

/* ---- operations of a transformer ------------------------------------------------------------- */

#define PROGRAMS_NORM_EPS 1e-5F   /**< of the norms among the operations */
enum { PROGRAMS_MAX_INPUTS = 4 }; /**< most inputs of an operation */
/** Operands of one operation, row-major and borrowed; rows are the tokens of all samples. */
struct programs_operands {
    const float *x[PROGRAMS_MAX_INPUTS]; /**< inputs, in the order that the operation states */
    const int32_t *ids;                  /**< rows of a table, or labels: one per token */
    float *out;                          /**< result */
};
/** A fabric with the layout of one operation on it, as its program sees it. */
struct programs_trial;
/** An operation on the fabric of a trial; the case's @c backward asks for the gradient. */
typedef enum wsc_err (*programs_op_fn)(struct programs_trial *t, const struct programs_operands *o);
/** Run @p op on a fabric of its own; simulated cycles go to @p r, the result to o->out.  A case
 * that is watched runs twice: it is watched in the program that took longest. */
enum wsc_err programs_operate(const struct programs_case *c, programs_op_fn op,
                              const struct programs_operands *o,
                              struct programs_result *r) WSC_CHECKED;
/** What the analytical model needs about a case; not to be copied (the layout points to the
 *  model). */
struct programs_layout {
    struct model model;
    struct cycles_layout layout;
};
/** The generation of fabric that @p hw describes, by its cycles from router to router.  WSC_CONFIG:
 *  neither. */
enum wsc_err programs_arch_of(const struct hw *hw, enum mesh_arch *arch) WSC_CHECKED;
/** The layout that the operations use on a fabric of the case's size. */
void programs_layout_init(struct programs_layout *l, const struct programs_case *c);
/** Features of a PE when @p heads heads of @p d features lie on @p w columns, of which each @p unit
 *  neighbours share a PE. */
int programs_head_slots(int heads, int d, int w, int unit);

/** Y (rows, m) = X W' from X (rows, k), W (m, k); backward dX (rows, k) = dY W from dY (rows, m),
 * W. With a density zeros of W do not stream, and the others come with their places. */
enum wsc_err programs_linear(struct programs_trial *t, const struct programs_operands *o);
/** dW (m, k) = dY' X from X (rows, k), dY (rows, m); with a density the third input is W (m, k),
 * and only where it is not zero a gradient is wanted, elsewhere it is 0. */
enum wsc_err programs_wgrad(struct programs_trial *t, const struct programs_operands *o);
/** LayerNorm from X, dY (rows, features), gain, bias (features): Y, or backward dX. */
enum wsc_err programs_layernorm(struct programs_trial *t, const struct programs_operands *o);
/** RMSNorm from X, dY (rows, features), gain (features): Y, or backward dX. */
enum wsc_err programs_rmsnorm(struct programs_trial *t, const struct programs_operands *o);
/** Softmax over features from X, dY (rows, features): Y, or backward dX. */
enum wsc_err programs_row_softmax(struct programs_trial *t, const struct programs_operands *o);
/** GELU, by tanh with algo "tanh", from X, dY (rows, features): Y, or backward dX. */
enum wsc_err programs_gelu(struct programs_trial *t, const struct programs_operands *o);
/** SiLU from X, dY (rows, features): Y, or backward dX. */
enum wsc_err programs_silu(struct programs_trial *t, const struct programs_operands *o);
/** Rotary positions of X (rows, heads, head_dim), adjacent pairs; backward rotates the other way.
 */
enum wsc_err programs_rotate_heads(struct programs_trial *t, const struct programs_operands *o);
/** Attention from Q, K, V (rows, heads, head_dim), causal or both ways: the output, or backward,
 * from its gradient as the fourth input, dQ, dK, dV one after the other. */
enum wsc_err programs_attend(struct programs_trial *t, const struct programs_operands *o);
/** Rows of the table (vocab, features), the second input, by ids; backward: sums of the rows of the
 *  first input (rows, features) for each row of the table. */
enum wsc_err programs_embedding(struct programs_trial *t, const struct programs_operands *o);
/** Cross entropy of the logits (rows, vocab), the first input (the second is scratch), with ids as
 *  labels: nats (rows); backward: after them the gradient of the logits. */
enum wsc_err programs_cross_entropy(struct programs_trial *t, const struct programs_operands *o);

/* ---- simulated cycles against references ----------------------------------------------------- */

/** One comparison of simulated cycles with a formula, a published count or another program. */
struct programs_point {
    char what[64], algo[16];
    int p, h; /**< PEs of a row, rows */
    /** Words of the message, and simulated cycles. */
    int64_t words, cycles;
    double reference;       /**< cycles that are expected */
    double built, schedule; /**< as in struct programs_result; negative: none */
    double tolerance;       /**< relative, stated for this formula */
    double slack;           /**< cycles allowed besides */
    bool at_most;           /**< the reference is a limit: to be below it is right */
    const char *reason;     /**< where the formula is only an estimate, why; otherwise NULL */
};
/** Called for every point as it is simulated. */
typedef enum wsc_err (*programs_point_fn)(void *ctx, const struct programs_point *point);
/** Collectives on rows of 4 .. @p max_p PEs (squares of at most 64 x 64) and 1 .. @p max_words
 *  words against the formulas of HPDC'24 (Luczynski et al., arXiv 2404.15888), and the tree that is
 *  chosen against the best of the fixed ones. */
enum wsc_err programs_survey(int max_p, int64_t max_words, programs_point_fn point,
                             void *ctx) WSC_CHECKED;
/** Simulated cycles against published ones: fp32 fmacs calls, the parts of a message, all-reduce.
 */
enum wsc_err programs_calibration(programs_point_fn point, void *ctx) WSC_CHECKED;
/** True within the tolerance or the slack of the point.  A formula with a reason adds up terms that
 *  overlap: where the simulation is below it, the schedule counts. */
bool programs_point_holds(const struct programs_point *point);
/** True when the point is compared with its schedule. */
bool programs_point_scheduled(const struct programs_point *point);

/* ---- a model on the mesh --------------------------------------------------------------------- */

/** A model on the mesh of one wafer: activations and partial sums lie in the memories of the PEs,
 *  weights enter and gradients leave through the edge, cycles are simulated.  Activations have the
 *  model's format; sums, scores, logits and gradients of weights 32 bits.  Called like struct host,
 *  through <wsc/kernels.h>. */
struct programs_model;
/** WSC_CONFIG, naming the key, when @p model is no decoder, turns heads of an odd width or has more
 *  than 16 networks a token: the mesh has no programs for these.  programs_model_create() calls it
 * first. */
enum wsc_err programs_model_check(const struct model *model) WSC_CHECKED;
/** What a model on the mesh has room for. */
struct programs_room {
    int64_t samples;      /**< most sequences of a micro-batch */
    int64_t leaf_samples; /**< of a leaf; leaf i lies on lane i mod lanes */
    int lanes;            /**< side by side, pe_cols / lanes columns each; values depend on the
                               columns of a lane, not on how many lanes there are; 0: one */
};
/** Lay @p model on the fabric of the cluster file, wafer.pe_cols x wafer.pe_rows PEs, for
 *  micro-batches within @p room.  More lanes than columns are WSC_CONFIG; memory that does not fit
 *  a PE is WSC_CAPACITY, with the tensor in the message.  *@p out is NULL after an error. */
enum wsc_err programs_model_create(struct programs_model **out, const struct hw *hw,
                                   const struct model *model, const struct programs_room *room,
                                   bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void programs_model_destroy(struct programs_model **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void programs_model_begin(struct programs_model *k, const struct data_share *share,
                          const struct data_batch *batch);
/** Multiply the gradients of the backward passes from now on by @p scale (loss scaling): that of
 * the logits, before it is rounded to the format.  1 at first. */
void programs_model_scale_gradients(struct programs_model *k, double scale);
/** Let the next forward or backward have masks, one for each view of its stage (borrowed until
 * then): weights outside do not stream, and their gradients, whose values are then 0, are not
 * formed where the others alone are faster.  With loops of scalar code zeros stream. */
void programs_model_mask(struct programs_model *k, const struct model_weights *masks);
/** Forward of one stage with its weights (n_elems numbers of the model's format); *@p cycles:
 * simulated. */
enum wsc_err programs_model_forward(struct programs_model *k, int stage, const void *weights,
                                    int64_t *cycles) WSC_CHECKED;
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves).  *@p cycles: simulated;
 *  *@p first: from the start to the first gradient word at the edge. */
enum wsc_err programs_model_backward(struct programs_model *k, int stage, const void *weights,
                                     float *grads, int64_t *cycles, int64_t *first) WSC_CHECKED;
/** From the next micro-batch on sum the squares of each leaf's gradient too, at the edge, where
 * they come leaf by leaf: no cycles pass.  WSC_NOMEM. */
enum wsc_err programs_model_measure_leaves(struct programs_model *k) WSC_CHECKED;
/** Sums of squares as host_leaf_squares() gives them, one per leaf of the share; borrowed until the
 *  next begin. */
const double *programs_model_leaf_squares(const struct programs_model *k);
/** Losses after the last forward stage, one entry per leaf of the share; borrowed until the next
 *  begin. */
const struct model_loss *programs_model_losses(const struct programs_model *k);
/** Choose one position per sample of the share whose logits to keep, each in [0, T), before the
 *  head's forward. */
enum wsc_err programs_model_want_logits(struct programs_model *k,
                                        const int64_t *position_of_sample) WSC_CHECKED;
/** Logits (V) of the chosen position of the share's sample @p i, scaled.  Borrowed until the next
 *  begin. */
const float *programs_model_logits(const struct programs_model *k, int64_t i);

/** Cycles of one kind of operation so far: simulated, and by the analytical model for the same
 *  shapes. */
struct programs_row {
    /** Name of the kind, and "forward" or "backward"; static. */
    const char *kernel, *pass;
    /** Runs of it so far, and their simulated cycles. */
    int64_t calls, cycles;
    /** Cycles of the same shapes by the analytical model. */
    double analytical;
};
/** Cycles of a random number in the scalar code of a PE; assumed, no document gives any: decision
 * 30 takes 20 for a mask.  The ten rounds of Philox (<wsc/rng.h>) would be more in 16-bit integer
 *  code.  The analytical model has no term for dropout. */
enum { PROGRAMS_RANDOM_CYCLES = 20 };
enum { PROGRAMS_ROWS = 25 }; /**< kinds of operations that a model books */
/** Simulated cycles by kind of operation, PROGRAMS_ROWS rows; borrowed. */
const struct programs_row *programs_model_rows(const struct programs_model *k);
/** Name of row @p i, and its pass. */
const char *programs_row_name(int i, const char **pass);
#endif
