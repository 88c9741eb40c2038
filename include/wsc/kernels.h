/** Kernels: the operations of a transformer, wherever they are computed.  Layer 5.
 *
 *  A wafer gets its values from the CPU (<wsc/host.h>) or from programs on the emulated mesh
 *  (<wsc/programs.h>), or not at all; struct kernels is the one face of both.  Cycles come from the
 *  analytical model (<wsc/cycles.h>), or from the mesh where it computes the values.
 *  Start reading at kernels_create().
 */
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
 *  gives them. */
struct kernels_simulated {
    bool known;
    int64_t cycles, first_gradient;
};
/** Activations, scratch and results of one wafer, on the host or on the mesh. */
struct kernels;
/** Make room for micro-batches of at most @p max_samples samples of @p model (borrowed, as @p hw).
 *  @p numerics is not KERNELS_NONE.  On the mesh a model that it cannot compute is WSC_CONFIG, and
 *  memory that does not fit a PE WSC_CAPACITY.  *@p out is NULL after an error. */
enum wsc_err kernels_create(struct kernels **out, enum kernels_numerics numerics,
                            const struct hw *hw, const struct model *model, int64_t max_samples,
                            bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void kernels_destroy(struct kernels **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void kernels_begin(struct kernels *k, const struct data_share *share,
                   const struct data_batch *batch);
/** Start a step of generation instead of a micro-batch: sample i of @p batch is a text, of which
 * the forwards compute @p positions [first, end); earlier ones are cached on the host (see
 *  host_begin_cached()), and computed again on the mesh, which has no cache.  The logits of the
 *  last position are kept. */
enum wsc_err kernels_begin_cached(struct kernels *k, const struct data_batch *batch,
                                  const struct data_range *positions) WSC_CHECKED;
/** Forward of one stage.  @p weights: the stage's vector (n_elems) in model->format. */
enum wsc_err kernels_forward(struct kernels *k, int stage, const void *weights,
                             struct kernels_simulated *simulated) WSC_CHECKED;
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves), contiguous: sums over
 *  the node's leaves of d(sum over masked tokens of the cross entropy)/d(weight), not normalised.
 */
enum wsc_err kernels_backward(struct kernels *k, int stage, const void *weights, float *grads,
                              struct kernels_simulated *simulated) WSC_CHECKED;
/** Scale the gradients: from now on they are @p scale times those of the summed loss (loss
 * scaling).  On the mesh @p scale is 1: fp32 needs no other. */
void kernels_scale_gradients(struct kernels *k, double scale);
/** Losses after the last forward stage, one entry per leaf of the share, in order; borrowed until
 *  the next begin. */
const struct model_loss *kernels_losses(const struct kernels *k);
/** From the next micro-batch on sum the squares of each leaf's gradient too.  Host only: the
 *  programs of the mesh add up leaves as they go. */
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
    const double *x[PROGRAMS_MAX_INPUTS];
    const int32_t *ids;
};
/** How many numbers an operation takes and gives for a case. */
struct kernels_sizes {
    int64_t in[PROGRAMS_MAX_INPUTS]; /**< of each input; 0: there is none */
    int64_t ids, below;              /**< numbers of tokens' rows or labels, each in [0, below) */
    int64_t out;
};
struct kernels_sampler;
/** Shapes of a family of operations, for comparisons over sampled shapes. */
struct kernels_shapes {
    /** Fill in what the family needs beside fabric, samples and tokens, or change those. */
    void (*sample)(struct kernels_sampler *s, struct programs_case *c);
    /** "B 2 T 40, 96 x 64" */
    void (*describe)(const struct programs_case *c, char *text, size_t size);
};

/** One operation: everything that the project knows about it.  `wsc mesh`, `wsc validate --mesh`,
 *  the tests and the benchmarks of the mesh walk the rows; nothing else lists operations.  A
 *  collective has @c collective alone and checks itself; it is no part of a model. */
struct kernels_row {
    const char *name, *summary;
    const char *algos;   /**< words for --algo, the default first; "" for none */
    const char *options; /**< that size it */
    /** Options that one algorithm alone takes, "stream: --half --zeros"; NULL: none. */
    const char *algo_options;
    unsigned parts;   /**< set of 1 << enum model_part: where a model has it; 0: nowhere */
    double tolerance; /**< of values, |difference| / (1 + |expected|) */
    bool gradient;    /**< has a backward pass; a row without one is a gradient of its own */
    struct kernels_sizes (*sizes)(const struct programs_case *c);
    const struct kernels_shapes *shapes;
    programs_op_fn program; /**< on the mesh, forward and backward by the case */
    /** Cycles by the analytical model, forward or backward. */
    double (*cycles)(const struct cycles_layout *l, const struct programs_case *c);
    /** The definition in double precision, added to @p want, which is 0. */
    void (*reference)(const struct programs_case *c, const struct kernels_reference *o,
                      double *want);
    /** The values by the host's own arithmetic, in fp32; NULL: the host has it only as a part of a
     *  model (docs/decisions/0017-kernel-table.md). */
    void (*host)(const struct programs_case *c, const struct programs_operands *o);
    enum wsc_err (*collective)(const struct programs_case *c, struct programs_result *r);
};
/** Row @p i of the table, NULL after the last one. */
const struct kernels_row *kernels_row_at(int i);
/** The row called @p name, or an error that lists the names. */
enum wsc_err kernels_row_find(const char *name, const struct kernels_row **out) WSC_CHECKED;
/** Run the row's program on the mesh with operands that the case's seed samples, and compare with
 *  the reference; the analytical model's cycles are in r->form. */
enum wsc_err kernels_row_run(const struct kernels_row *row, const struct programs_case *c,
                             struct programs_result *r) WSC_CHECKED;
/** What values of @p format may be off the definition: the row's tolerance, and for a 16-bit format
 *  four roundings to it, since results pass through sums, products and a map that round each. */
double kernels_row_tolerance(const struct kernels_row *row, enum num_format format);
/** Compute the row's values on the host with the operands of kernels_row_run(), and compare with
 * the reference; WSC_USAGE when the row has no host column. */
enum wsc_err kernels_row_run_host(const struct kernels_row *row, const struct programs_case *c,
                                  double *max_error) WSC_CHECKED;

/* ---- the analytical model against the mesh --------------------------------------------------- */

/** An operation on one fabric: simulated cycles beside the analytical model's. */
struct kernels_pair {
    const char *kernel, *pass;
    int w, h;
    char shape[64]; /**< "B 2 T 40, 96 x 64" */
    int64_t cycles;
    double form;
    double max_error; /**< of the values, as in struct programs_result */
    double tolerance; /**< of the values, the row's */
};
/** Called for every pair as it is simulated. */
typedef enum wsc_err (*kernels_pair_fn)(void *ctx, const struct kernels_pair *pair);
/** @p n operations, shapes and grids that @p seed samples, forward and backward, on fabrics of the
 *  rates of @p hw; @p report is called for each as it is simulated. */
enum wsc_err kernels_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                           void *ctx) WSC_CHECKED;
/** Pair number @p i of those that @p seed samples, of @p row alone. */
enum wsc_err kernels_pair_of(const struct kernels_row *row, const struct hw *hw, uint64_t seed,
                             int i, struct kernels_pair *pair) WSC_CHECKED;

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
    int64_t simulated;     /**< cycles of the runs */
    double cycles;         /**< of the shape: simulated, or continued from two sizes */
    double model;          /**< of the shape, by the analytical model */
    double max_error;      /**< of the values, as in struct programs_result */
    double tolerance;      /**< of the values */
};
/** How many there are. */
int kernels_wafer_count(void);
/** Simulate number @p i, 0 .. kernels_wafer_count() - 1, on PEs of @p hw's rates. */
enum wsc_err kernels_wafer_pair(const struct hw *hw, int i,
                                struct kernels_wafer_pair *pair) WSC_CHECKED;
#endif
