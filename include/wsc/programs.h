/** Programs: code for the emulated mesh (<wsc/mesh.h>), from collectives, products and single
 *  operations of a transformer to a whole model on the mesh of one wafer.
 *
 *  A program sets the routes and tasks of a fabric, feeds operands, runs the simulation and
 *  compares the results with a reference on the host. Cycles are simulated wavelet by wavelet. The
 *  result also has the cycles of the analytical model (<wsc/cycles_ops.h>) or of a published
 *  formula. The one invariant: the values of a sequence do not depend on other sequences on the
 *  wafer, nor on the number of host threads.
 *
 *      struct programs_case c = {.algo = "tree", .w = 16, .h = 1, .words = 256};
 *      struct programs_result r;
 *      TRY(programs_run_reduce(&c, &r));
 *      printf("%lld cycles, formula %.0f\n", (long long)r.stats.cycles, r.analytical);
 *
 *  Operations of a transformer are called through the table of <wsc/kernels.h>, which samples
 *  operands and compares. Errors are those of the mesh, and WSC_USAGE for sizes that a program does
 *  not take. Start reading at struct programs_case and at programs_model_create(); docs/MESH.md
 *  describes the programs. */
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

/** Case: the fabric, sizes and options with which a program runs. 0 and NULL select the program's
 *  defaults. Each program reads only the members that it uses. */
struct programs_case {
    /** Algorithm, a word of the row's `algos`; NULL: the default, or the best by its formula. */
    const char *algo;
    /** PEs of the fabric, 1 to 2048 each. */
    int w, h;
    /** Generation and 16-bit format, as in struct mesh_config. */
    enum mesh_arch arch;
    enum num_half half;     /**< 16-bit format of a gemm with algo stream */
    enum num_format format; /**< format of tiles, for operations of a transformer */
    /** Collectives: 32-bit words of a vector or block; gemv, gemm, linear, wgrad: m, n, k; fmacs:
     *  length and number of calls. */
    int64_t words, m, n, k, length, calls;
    /** Sizes of operations of a transformer. */
    int64_t tokens, samples, features, heads, head_dim, vocab;
    bool backward;  /**< run the backward pass */
    bool both_ways; /**< attention without a causal mask, as in encoders */
    double softcap; /**< c of c tanh(score / c) of attention's scores; 0: none */
    bool alibi;     /**< ALiBi: scores decrease with distance; not with both_ways */
    /** Sums over tokens: 32-bit words of a PE that are free for sums; 0: computed from the features
     *  of the case. */
    int64_t room;
    int64_t groups;      /**< of a ktree; 0: the divisor of the width below its square root */
    double density;      /**< fraction of non-zero weights; only these stream; 0: all stream */
    const struct hw *hw; /**< borrowed; rates of the analytical model and of scalar code */
    int threads;         /**< host threads, as in struct mesh_config */
    const struct mesh_share *share; /**< borrowed: processes that share the fabric; NULL: one */
    /** Seed of the operands. */
    uint64_t seed;
    struct mesh_watch *watch; /**< borrowed; NULL: none */
    /** Called while the fabric runs (struct mesh_config); each program of a case counts from 0. */
    void (*progress)(void *ctx, int64_t cycle);
    bool (*stop)(void *ctx); /**< as in struct mesh_config */
    void *progress_ctx;
    struct mesh_snapshots *snapshots; /**< borrowed, of all programs of the case; NULL: none */
};
/** Results of a run of a program. */
struct programs_result {
    /** Simulated cycles, wavelets, hops, elements. */
    struct mesh_stats stats;
    const char *algo;    /**< the chosen algorithm */
    int64_t words;       /**< words of the main vector, block or call */
    double host_seconds; /**< of mesh_run */
    double max_error;    /**< against the host, |difference| / (1 + |expected|); NaN stays */
    double analytical;   /**< analytical model or formula, cycles; negative: there is none */
    /** Cycles that a PE spends on its own tile: mean and slowest PE; 0: not measured. */
    double tile_mean, tile_most;
    double built; /**< max(C, E/N + L) + (2 T_R + 1) D of HPDC'24 on the tree that was built */
    /** Schedule of its messages one by one (docs/MESH.md), cycles; both negative: none. */
    double schedule;
};
/* Collectives and products on blocks of words, which make their own operands and compare with exact
 * sums. */
/** Send a vector of PE (0, 0) to all PEs. */
enum wsc_err programs_run_broadcast(const struct programs_case *c, struct programs_result *r);
/** Reduce the vectors of all PEs to PE (0, 0), first along rows, then along a column. Algorithms:
 *  star, chain, tree, two-phase, auto (Luczynski et al., HPDC'24). */
enum wsc_err programs_run_reduce(const struct programs_case *c, struct programs_result *r);
/** Add the vectors of all PEs and send the sum to all of them (all-reduce). Algorithms: reduce and
 *  broadcast, a ring, or a tree from the middle of a row (ktree). */
enum wsc_err programs_run_allreduce(const struct programs_case *c, struct programs_result *r);
/** Predict the cycles of programs_run_broadcast() with the formula of HPDC'24. */
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
/** Compute C (m, n) = A (m, k) B (k, n), by SUMMA, or with weights A streamed from the edge without
 *  zeros. */
enum wsc_err programs_run_gemm(const struct programs_case *c, struct programs_result *r);
/** Compute C (m, n) = A (m, k) B (k, n) with tiles of A in the memories of the PEs. Algorithms:
 *  csc, compressed sparse columns with c->density non-zeros, or dense. B flows down the columns of
 *  PEs, sums flow along the rows (pr0f3ss/SpMM_Cerebras). r->analytical is cycles_tiles_product().
 */
enum wsc_err programs_run_spmm(const struct programs_case *c, struct programs_result *r);
/** Run calls of fp32 fmacs on one PE, to measure the rate and the set-up time of an operation. */
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
/** Trial: a fabric with the layout of one operation, as its program sees it. */
struct programs_trial;
/** Program of one operation on the fabric of a trial; the case's @c backward selects the backward
 *  pass. */
typedef enum wsc_err (*programs_op_fn)(struct programs_trial *t, const struct programs_operands *o);
/** Run @p op on a new fabric; simulated cycles are in @p r, values in o->out. A case with a watch
 *  runs twice: the second run watches the fabric program that took longest in the first. */
enum wsc_err programs_operate(const struct programs_case *c, programs_op_fn op,
                              const struct programs_operands *o,
                              struct programs_result *r) WSC_CHECKED;
/** Layout of a case for the analytical model. Do not copy it: `layout` points to `model`. */
struct programs_layout {
    struct model model;
    struct cycles_layout layout;
};
/** Find the generation of the fabric of @p hw by its cycles from router to router. WSC_CONFIG when
 *  no generation matches. */
enum wsc_err programs_arch_of(const struct hw *hw, enum mesh_arch *arch) WSC_CHECKED;
/** Set @p l to the layout that operations use on a fabric of the case's size. */
void programs_layout_init(struct programs_layout *l, const struct programs_case *c);
/** Features per PE when @p heads heads of @p d features are distributed over @p w columns and
 *  groups of @p unit features of a head stay in one PE. */
int programs_head_slots(int heads, int d, int w, int unit);

/** Y (rows, m) = X W' from X (rows, k), W (m, k); backward dX (rows, k) = dY W from dY (rows, m),
 *  W. With a density, only the non-zeros of W stream, each with its index. */
enum wsc_err programs_linear(struct programs_trial *t, const struct programs_operands *o);
/** dW (m, k) = dY' X from X (rows, k), dY (rows, m); With a density the third input is W (m, k),
 *  and gradients are computed only for its non-zeros; the others are 0. */
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
    double reference;       /**< expected cycles */
    double built, schedule; /**< as in struct programs_result; negative: none */
    double tolerance;       /**< relative, stated for this formula */
    double slack;           /**< absolute tolerance, cycles */
    bool at_most;           /**< the reference is an upper limit */
    const char *reason;     /**< reason why the formula is only an estimate; NULL: it is exact */
};
/** Called for every point after its simulation. */
typedef enum wsc_err (*programs_point_fn)(void *ctx, const struct programs_point *point);
/** Compare collectives on rows of 4 .. @p max_p PEs (squares of at most 64 x 64) and 1 .. @p
 *  max_words words with the formulas of HPDC'24 (Luczynski et al., arXiv 2404.15888), and the
 *  chosen tree with the best fixed one. */
enum wsc_err programs_survey(int max_p, int64_t max_words, programs_point_fn point,
                             void *ctx) WSC_CHECKED;
/** Compare simulated cycles with published ones: fp32 fmacs calls, the parts of a message,
 *  all-reduce. */
enum wsc_err programs_calibration(programs_point_fn point, void *ctx) WSC_CHECKED;
/** True when the cycles are within the tolerance or the slack of the point. A formula with a reason
 *  sums terms that overlap in time; when the simulation is faster, it is compared with the schedule
 *  instead. */
bool programs_point_holds(const struct programs_point *point);
/** True when the point is compared with its schedule. */
bool programs_point_scheduled(const struct programs_point *point);

/* ---- a model on the mesh --------------------------------------------------------------------- */

/** A model on the mesh of one wafer. Activations and partial sums are in the memories of the PEs;
 *  weights enter and gradients leave through the edge; cycles are simulated. Activations have the
 *  model's format; sums, scores, logits and gradients of weights have 32 bits. It is called like
 *  struct host, through <wsc/kernels.h>. */
struct programs_model;
/** Check that the mesh has programs for @p model. WSC_CONFIG, naming the key, when the model is not
 *  a decoder, rotates heads of an odd width, or uses more than 16 expert networks per token.
 *  programs_model_create() calls it first. */
enum wsc_err programs_model_check(const struct model *model) WSC_CHECKED;
/** Capacity of a model on the mesh. */
struct programs_room {
    int64_t samples;      /**< most sequences of a micro-batch */
    int64_t leaf_samples; /**< sequences of a leaf; leaf i is on lane i mod lanes */
    /** Lanes side by side, pe_cols / lanes columns each; 0: one. Values depend on the columns of a
     *  lane, not on the number of lanes. */
    int lanes;
};
/** Map @p model to the fabric of the machine file, wafer.pe_cols x wafer.pe_rows PEs, for
 *  micro-batches within @p room. More lanes than columns are WSC_CONFIG; memory that does not fit a
 *  PE is WSC_CAPACITY, with the tensor in the message. *@p out is NULL after an error. */
enum wsc_err programs_model_create(struct programs_model **out, const struct hw *hw,
                                   const struct model *model, const struct programs_room *room,
                                   bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void programs_model_destroy(struct programs_model **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void programs_model_begin(struct programs_model *k, const struct data_share *share,
                          const struct data_batch *batch);
/** Multiply the gradients of the following backward passes by @p scale (loss scaling); initially 1.
 *  It is applied to the gradient of the logits, before rounding to the format. */
void programs_model_scale_gradients(struct programs_model *k, double scale);
/** Set the masks of the next forward or backward, one for each view of its stage (borrowed until
 *  then). Weights outside a mask are not streamed. Their gradients are 0, and are not computed when
 *  computing only the others is faster. With loops of scalar code zeros are streamed too. */
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
/** From the next micro-batch on, also sum the squares of each leaf's gradient. This is done at the
 *  edge, where gradients arrive leaf by leaf, and takes no cycles. WSC_NOMEM. */
enum wsc_err programs_model_measure_leaves(struct programs_model *k) WSC_CHECKED;
/** Sums of squares as host_leaf_squares() gives them, one per leaf of the share; borrowed until the
 *  next begin. */
const double *programs_model_leaf_squares(const struct programs_model *k);
/** Losses after the last forward stage, one entry per leaf of the share; borrowed until the next
 *  begin. */
const struct model_loss *programs_model_losses(const struct programs_model *k);
/** Programs that were played from recordings (mesh_repeat()) since programs_model_create(). */
struct mesh_repeat_counts programs_model_repeats(const struct programs_model *k);
/** Choose one position per sample of the share whose logits to keep, each in [0, T), before the
 a model with one head. */
void programs_model_count_classes(const struct programs_model *k, struct model_class_count *count);
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
    /** Number of runs so far, and their simulated cycles. */
    int64_t calls, cycles;
    /** Cycles of the same shapes by the analytical model. */
    double analytical;
};
/** Cycles of a random number in the scalar code of a PE. Assumed, because no document gives a
 *  number; decision 30 uses 20 for a mask. The ten rounds of Philox (<wsc/rng.h>) would be more in
 *  16-bit integer code. The analytical model has no term for dropout. */
enum { PROGRAMS_RANDOM_CYCLES = 20 };
enum { PROGRAMS_ROWS = 25 }; /**< kinds of operations that are counted separately */
/** Simulated cycles by kind of operation, PROGRAMS_ROWS rows; borrowed. */
const struct programs_row *programs_model_rows(const struct programs_model *k);
/** Name of row @p i, and its pass. */
const char *programs_row_name(int i, const char **pass);
#endif
