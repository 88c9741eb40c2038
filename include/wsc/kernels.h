/** Kernels: the operations of a transformer, wherever they are computed.
 *
 *  A wafer gets its values from the CPU (<wsc/host.h>) or from programs on the emulated mesh
 *  (<wsc/programs.h>), or not at all; struct kernels is the one face of both.  Cycles come from the
 *  analytical model (<wsc/cycles.h>), or from the mesh where it computes the values.  The second
 *  half of the header is the table of single operations, which `wsc mesh`, `wsc validate --mesh`,
 *  the tests and the benchmarks walk.
 *
 *      TRY(kernels_create(&k, KERNELS_HOST, hw, model, &room, true));
 *      kernels_begin(k, &share, batch);
 *      for (int s = 0; s < model->n_stages; s++)
 *          TRY(kernels_forward(k, s, weights[s], &simulated));
 *      losses = kernels_losses(k);
 *      for (int s = model->n_stages - 1; s >= 0; s--)
 *          TRY(kernels_backward(k, s, weights[s], grads[s], &simulated));
 *      kernels_destroy(&k);
 *
 *  One struct per wafer, for one thread at a time; threads are used inside.  Read next:
 *  docs/decisions/0017-kernel-table.md, docs/CONTRIBUTING.md (adding a row). */
#ifndef WSC_KERNELS_H
#define WSC_KERNELS_H
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/model.h>
#include <wsc/programs.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- values of a wafer ----------------------------------------------------------------------- */

/** How a wafer gets its values: not at all (sizes and time only), on the host, on the mesh. */
enum kernels_numerics { KERNELS_NONE, KERNELS_HOST, KERNELS_MESH };
/** Cycles of a stage that the mesh has simulated; not known on the host, where the analytical model
 *  gives them. With `known` false the other members are 0. */
struct kernels_simulated {
    bool known;
    /** Cycles of the stage, and from its start to the first gradient word at the edge. */
    int64_t cycles, first_gradient;
};
/** Activations, scratch and results of one wafer, on the host or on the mesh. */
struct kernels;
/** Make room for micro-batches of @p model (borrowed, as @p hw) within @p room, of which the host
 *  needs the samples alone.  @p numerics is not KERNELS_NONE.  On the mesh a model that it cannot
 * compute is WSC_CONFIG, and memory that does not fit a PE WSC_CAPACITY.  *@p out is NULL after an
 * error. */
enum wsc_err kernels_create(struct kernels **out, enum kernels_numerics numerics,
                            const struct hw *hw, const struct model *model,
                            const struct programs_room *room, bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void kernels_destroy(struct kernels **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void kernels_begin(struct kernels *k, const struct data_share *share,
                   const struct data_batch *batch);
/** Start a step of generation instead of a micro-batch: sample i of @p batch is a text, of which
 * the forwards compute positions [first, end) of @p step; earlier ones are cached on the host (see
 *  host_begin_cached()), and computed again on the mesh, which has no cache.  The logits of the
 *  last position are kept. */
enum wsc_err kernels_begin_cached(struct kernels *k, const struct data_batch *batch,
                                  const struct data_step *step) WSC_CHECKED;
/** Forward of one stage.  @p weights: the stage's vector (n_elems) in model->format. The values are
 *  kept until the backward pass.  Errors on the mesh alone: a deadlock of the program, memory of a
 *  PE; the host cannot fail. */
enum wsc_err kernels_forward(struct kernels *k, int stage, const void *weights,
                             struct kernels_simulated *simulated) WSC_CHECKED;
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves), contiguous: sums over the
 *  node's leaves of d(sum over masked tokens of the cross entropy)/d(weight), not normalised.
 *  Bit-identical for any division of the batch over wafers, ranks and threads. */
enum wsc_err kernels_backward(struct kernels *k, int stage, const void *weights, float *grads,
                              struct kernels_simulated *simulated) WSC_CHECKED;
/** True where dense stages may be computed part by part, while their weights come and their
 *  gradients leave: on the host.  False for NULL. */
bool kernels_has_parts(const struct kernels *k);
/** Part @p part of a stage's forward pass, as host_forward_part(). */
void kernels_forward_part(struct kernels *k, int stage, int part, const void *weights);
/** Part @p part of a stage's backward pass, as host_backward_part(). */
void kernels_backward_part(struct kernels *k, int stage, int part, const void *weights,
                           float *grads);
/** Elements at the end of each vector of gradients that are final, as host_final_gradients(). */
int64_t kernels_final_gradients(const struct kernels *k);
/** Forward of a stage whose tensors have masks: @p weights as host_forward_sparse() takes them. On
 *  the mesh zeros do not stream where arriving data start multiply-adds. */
enum wsc_err kernels_forward_sparse(struct kernels *k, int stage,
                                    const struct model_weights *weights,
                                    struct kernels_simulated *simulated) WSC_CHECKED;
/** Backward of such a stage: @p grads as host_backward_sparse() gives them. */
enum wsc_err kernels_backward_sparse(struct kernels *k, int stage,
                                     const struct model_weights *weights, float *grads,
                                     struct kernels_simulated *simulated) WSC_CHECKED;
/** True when forward and backward may run on a worker thread while others compute on theirs: on the
 *  host.  The mesh has threads of its own.  False for NULL. */
bool kernels_share_threads(const struct kernels *k);
/** Scale the gradients: from now on they are @p scale times those of the summed loss (loss
 * scaling). */
void kernels_scale_gradients(struct kernels *k, double scale);
/** Losses after the last forward stage, one entry per leaf of the share, in order; borrowed until
 *  the next begin. */
const struct model_loss *kernels_losses(const struct kernels *k);
/** From the next micro-batch on sum the squares of each leaf's gradient too.  WSC_NOMEM. */
enum wsc_err kernels_measure_leaves(struct kernels *k) WSC_CHECKED;
/** Sums of squares as host_leaf_squares() gives them, one per leaf of the share; borrowed until the
 *  next begin. */
const double *kernels_leaf_squares(const struct kernels *k);
/** Logits (V) of the last position of text @p i in a step of generation, scaled.  Borrowed until
 * the next begin. */
const float *kernels_logits(const struct kernels *k, int64_t i);
/** Simulated cycles by kind of operation, PROGRAMS_ROWS rows, or NULL on the host. */
const struct programs_row *kernels_rows(const struct kernels *k);

/* ---- the table of kernels -------------------------------------------------------------------- */

/** Operands of a reference: those of the mesh program (struct programs_operands) in double. */
struct kernels_reference {
    /** Inputs, NULL where the operation has none. */
    const double *x[PROGRAMS_MAX_INPUTS];
    /** Rows of a table, or labels, one per token; or NULL. */
    const int32_t *ids;
};
/** How many numbers an operation takes and gives for a case. */
struct kernels_sizes {
    int64_t in[PROGRAMS_MAX_INPUTS]; /**< of each input; 0: there is none */
    int64_t ids, below;              /**< numbers of tokens' rows or labels, each in [0, below) */
    int masked; /**< input, counted from 1, of which c->density of the elements are not zero; 0 */
    /** Numbers of the result. */
    int64_t out;
};
/** Numbers in turn from one random stream, so that a comparison depends on its seed and number
 *  alone. */
struct kernels_sampler;
struct kernels_strip;
/** Shapes of a family of operations, for comparisons over sampled shapes that the formulas were not
 *  written for. */
struct kernels_shapes {
    /** Fill in what the family needs beside fabric, samples and tokens, or change those. */
    void (*sample)(struct kernels_sampler *s, struct programs_case *c);
    /** "B 2 T 40, 96 x 64" */
    void (*describe)(const struct programs_case *c, char *text, size_t size);
};

/** One operation: everything that the project knows about it.  `wsc mesh`, `wsc validate --mesh`,
 *  the tests and the benchmarks of the mesh walk the rows; nothing else lists operations.  A
 *  collective has @c collective alone and checks itself; it is no part of a model.  One with shapes
 *  has a sparse matrix and is sampled with those.
 *
 *      {.name = "silu", .summary = "elementwise", .options = "--features --pass",
 *       .parts = 1 << MODEL_PART_FFN1, .tolerance = 1e-4, .gradient = true, .sizes = row_sizes,
 *       .shapes = &kernels_feature_shapes, .program = programs_silu,
 *       .cycles = activation_cycles, .reference = silu_reference, .host = silu_host}, */
struct kernels_row {
    /** Name for `wsc mesh NAME`, unique; one line for `wsc mesh list`. */
    const char *name, *summary;
    const char *algos;   /**< words for --algo, the default first; NULL for none */
    const char *options; /**< that size it */
    /** Options that one algorithm alone takes, "stream: --half --density"; NULL: none. */
    const char *algo_options;
    unsigned parts;       /**< set of 1 << enum model_part: where a model has it; 0: nowhere */
    double tolerance;     /**< of values, |difference| / (1 + |expected|) */
    bool rounds_products; /**< in 16 bits with a density, each product of a sum over tokens */
    bool gradient;        /**< has a backward pass; a row without one is a gradient of its own */
    /** Numbers of inputs and result of a case; both passes. */
    struct kernels_sizes (*sizes)(const struct programs_case *c);
    /** Family of shapes that comparisons sample; NULL: not sampled. */
    const struct kernels_shapes *shapes;
    const struct kernels_strip *strips; /**< cases at real size; NULL: none */
    programs_op_fn program;             /**< on the mesh, forward and backward by the case */
    /** Cycles by the analytical model, forward or backward. */
    double (*cycles)(const struct cycles_layout *l, const struct programs_case *c);
    /** The definition in double precision, added to @p want, which is 0. */
    void (*reference)(const struct programs_case *c, const struct kernels_reference *o,
                      double *want);
    /** The values by the host's own arithmetic, in fp32; NULL: the host has it only as a part of a
     *  model (docs/decisions/0017-kernel-table.md). */
    void (*host)(const struct programs_case *c, const struct programs_operands *o);
    /** A program that makes its own operands and compares its own result; then the columns from
     *  `sizes` to `host` are NULL. */
    enum wsc_err (*collective)(const struct programs_case *c, struct programs_result *r);
    /** Cycles of a collective by its formula, before it runs; NULL: there is none. */
    double (*expected)(const struct programs_case *c);
};
/** Row @p i of the table, NULL after the last one. */
const struct kernels_row *kernels_row_at(int i);
/** The row called @p name, or an error that lists the names. WSC_USAGE; *@p out is NULL then. */
enum wsc_err kernels_row_find(const char *name, const struct kernels_row **out) WSC_CHECKED;
/** Run the row's program on the mesh with operands that the case's seed samples, and compare with
 *  the reference; the analytical model's cycles are in r->analytical, negative where there is none,
 *  as for collectives on WSE-3. An error above the row's
 * tolerance is reported in r->max_error, not by the code: WSC_USAGE for sizes that cannot be run,
 *  WSC_DEADLOCK and WSC_CAPACITY of the mesh. */
enum wsc_err kernels_row_run(const struct kernels_row *row, const struct programs_case *c,
                             struct programs_result *r) WSC_CHECKED;
/** Cycles of case @p c by the row's analytical model or its formula; negative where there is none.
 */
double kernels_row_cycles(const struct kernels_row *row, const struct programs_case *c);
/** What the values of case @p c may be off the definition: the row's tolerance, and in a 16-bit
 *  format four roundings to it, since results pass through sums, products and a map that round
 *  each; where each product of a sum over n tokens is rounded, 3 / 4 sqrt(n) if that is more.
 *  That is 5.3 deviations of the sum of n roundings: of a product m 2^e the rounding is uniform up
 *  to u 2^e, whose deviation is u / sqrt(3) times 0.74 |product| (1 / m in root mean square, m
 *  spread as a logarithm), and products of two uniform numbers in (-1, 1) have 1 / 3 in root mean
 *  square: 0.142 u sqrt(n).  A result of 10^5 then is beyond it once in a hundred cases. */
double kernels_row_tolerance(const struct kernels_row *row, const struct programs_case *c);
/** Compute the row's values on the host with the operands of kernels_row_run(), and compare with
 * the reference; WSC_USAGE when the row has no host column. */
enum wsc_err kernels_row_run_host(const struct kernels_row *row, const struct programs_case *c,
                                  double *max_error) WSC_CHECKED;

/* ---- the analytical model against the mesh --------------------------------------------------- */

/** An operation on one fabric: simulated cycles beside the analytical model's. */
struct kernels_pair {
    /** Name of the row; "forward" or "backward"; static. */
    const char *kernel, *pass;
    /** PEs of the fabric. */
    int w, h;
    char shape[64]; /**< "B 2 T 40, 96 x 64" */
    /** Simulated cycles. */
    int64_t cycles;
    /** Cycles by the analytical model. */
    double analytical;
    double max_error; /**< of the values, as in struct programs_result */
    double tolerance; /**< of the values, the row's */
};
/** Called for every pair as it is simulated. An error that it returns ends the comparison and is
 *  passed on. */
typedef enum wsc_err (*kernels_pair_fn)(void *ctx, const struct kernels_pair *pair);
/** Compare @p n operations, shapes and grids that @p seed samples, forward and backward, on fabrics
 *  of the rates of @p hw; @p report is called for each as it is simulated.  The rows take turns,
 *  two pairs each; the same seed gives the same pairs on every host. */
enum wsc_err kernels_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                           void *ctx) WSC_CHECKED;
/** Pair number @p i of those that @p seed samples, of @p row alone. */
enum wsc_err kernels_pair_of(const struct kernels_row *row, const struct hw *hw, uint64_t seed,
                             int i, struct kernels_pair *pair) WSC_CHECKED;

/** Compare @p n products and weight gradients with sparse matrices, streamed or in tiles, densities
 *  of 1 to 0.05, that @p seed samples, as kernels_pairs() does operations with dense ones. */
enum wsc_err kernels_sparse_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                                  void *ctx) WSC_CHECKED;
/** An operation of a published model's plan on a strip of the wafer: simulated cycles beside the
 *  analytical model's. */
struct kernels_wafer_pair {
    const char *kernel, *pass;
    const char *plan; /**< the model */
    enum num_format format;
    int lanes;             /**< of the plan: the strip is as wide as one of them */
    int w, h;              /**< PEs that were simulated */
    char shape[64];        /**< "B 1 T 372, 5120 x 5120", of the plan */
    const char *continued; /**< dimension in which cycles of two sizes were continued, or "" */
    bool open;         /**< no error is claimed: sums over tokens in blocks of many columns, where
                            what the columns wait for in turns is not in the model */
    int64_t simulated; /**< cycles of the runs */
    double cycles;     /**< of the shape: simulated, or continued from two sizes */
    double model;      /**< of the shape, by the analytical model */
    double max_error;  /**< of the values, as in struct programs_result */
    double tolerance;  /**< of the values */
};
/** How many there are. */
int kernels_wafer_count(void);
/** Operation of number @p i; NULL after the last one. */
const char *kernels_wafer_kernel(int i);
/** Simulate number @p i, 0 .. kernels_wafer_count() - 1, on PEs of @p hw's rates. */
enum wsc_err kernels_wafer_pair(const struct hw *hw, int i,
                                struct kernels_wafer_pair *pair) WSC_CHECKED;
#endif
