/** Kernels: one interface to the operations of a transformer, on the host or on the emulated mesh.
 *
 *  The values of a wafer come from the CPU (<wsc/host.h>), from programs on the emulated mesh
 *  (<wsc/programs.h>), or are not computed. struct kernels hides the difference. Cycles come from
 *  the analytical model (<wsc/cycles.h>), or from the mesh when it computes the values. The second
 *  half of the header declares the table of single operations, which `wsc mesh`, `wsc validate
 *  --mesh`, the tests and the benchmarks use.
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
 *  There is one struct per wafer. Only one thread may use it at a time; it uses threads inside.
 *  Read next: docs/decisions/0017-kernel-table.md, docs/EXTENDING.md (adding a row). */
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

/** Where the values of a wafer are computed: nowhere (sizes and time only), on the host, on the
 *  mesh. */
enum kernels_numerics { KERNELS_NONE, KERNELS_HOST, KERNELS_MESH, KERNELS_N_NUMERICS };
/** Words of options for them, in their order. */
#define KERNELS_NUMERICS_OPTIONS "none host mesh"
/** The word of @p numerics in KERNELS_NUMERICS_OPTIONS. */
const char *kernels_numerics_option(enum kernels_numerics numerics);
/** Simulated cycles of a stage. `known` is false on the host, where the analytical model gives the
 *  cycles; the other members are then 0. */
struct kernels_simulated {
    bool known;
    /** Cycles of the stage, and from its start to the first gradient word at the edge. */
    int64_t cycles, first_gradient;
};
/** Activations, scratch and results of one wafer, on the host or on the mesh. */
struct kernels;
/** Allocate memory for micro-batches of @p model within @p room, of which the host reads only the
 *  samples. @p model and @p hw are borrowed. @p numerics is not KERNELS_NONE. On the mesh:
 *  WSC_CONFIG for a model that it cannot compute, WSC_CAPACITY when the memory of a PE is too
 *  small. *@p out is NULL after an error. */
enum wsc_err kernels_create(struct kernels **out, enum kernels_numerics numerics,
                            const struct hw *hw, const struct model *model,
                            const struct programs_room *room, bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void kernels_destroy(struct kernels **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void kernels_begin(struct kernels *k, const struct data_share *share,
                   const struct data_batch *batch);
/** Start a step of generation instead of a micro-batch. Sample i of @p batch is a text, and the
 *  forward passes compute its positions [first, end) of @p step. Earlier positions are in the cache
 *  of the host (see host_begin_cached()); the mesh has no cache and computes them again. The logits
 *  of the last position are kept. */
enum wsc_err kernels_begin_cached(struct kernels *k, const struct data_batch *batch,
                                  const struct data_step *step) WSC_CHECKED;
/** Forward of one stage. @p weights: the stage's vector (n_elems) in model->format. The values are
 *  kept until the backward pass. Errors occur only on the mesh: a deadlock of the program, or too
 *  little memory in a PE. */
enum wsc_err kernels_forward(struct kernels *k, int stage, const void *weights,
                             struct kernels_simulated *simulated) WSC_CHECKED;
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves), contiguous: sums over the
 *  node's leaves of d(sum over masked tokens of the cross entropy)/d(weight), not normalised.
 *  Bit-identical for any division of the batch over wafers, ranks and threads. */
enum wsc_err kernels_backward(struct kernels *k, int stage, const void *weights, float *grads,
                              struct kernels_simulated *simulated) WSC_CHECKED;
/** True when dense stages may be computed part by part while weights arrive and gradients are sent:
 *  on the host. False for NULL. */
bool kernels_has_parts(const struct kernels *k);
/** Part @p part of a stage's forward pass, as host_forward_part(). */
void kernels_forward_part(struct kernels *k, int stage, int part, const void *weights);
/** Part @p part of a stage's backward pass, as host_backward_part(). */
void kernels_backward_part(struct kernels *k, int stage, int part, const void *weights,
                           float *grads);
/** Elements at the end of each vector of gradients that are final, as host_final_gradients(). */
int64_t kernels_final_gradients(const struct kernels *k);
/** Forward of a stage whose tensors have masks; @p weights is that of host_forward_sparse(). On the
 *  mesh zeros are not streamed when arriving data trigger the multiply-adds. */
enum wsc_err kernels_forward_sparse(struct kernels *k, int stage,
                                    const struct model_weights *weights,
                                    struct kernels_simulated *simulated) WSC_CHECKED;
/** Backward of a stage whose tensors have masks; @p grads is that of host_backward_sparse(). */
enum wsc_err kernels_backward_sparse(struct kernels *k, int stage,
                                     const struct model_weights *weights, float *grads,
                                     struct kernels_simulated *simulated) WSC_CHECKED;
/** True when forward and backward may run on one worker thread beside those of other wafers: on the
 *  host. The mesh has threads of its own. False for NULL. */
bool kernels_share_threads(const struct kernels *k);
/** Scale the gradients: from now on they are @p scale times those of the summed loss (loss
 * scaling). */
void kernels_scale_gradients(struct kernels *k, double scale);
/** Losses after the last forward stage, one entry per leaf of the share, in order; borrowed until
 *  the next begin. */
const struct model_loss *kernels_losses(const struct kernels *k);
/** Add the labelled tokens of the micro-batch to @p count, by class, after the last forward stage;
 *  its length is the outputs of the model's only head. Of a head of sequences: add the sequences,
 * by set; its length is DATA_MNLI_SETS. */
void kernels_count_classes(struct kernels *k, struct model_class_count *count);
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
/** True on the mesh when programs have been recorded (mesh_repeat()), which kernels_destroy()
 *  forgets; @p k may be NULL. */
bool kernels_have_recordings(const struct kernels *k);

/* ---- the table of kernels -------------------------------------------------------------------- */

/** Operands of a reference: those of the mesh program (struct programs_operands) in double. */
struct kernels_reference {
    /** Inputs, NULL where the operation has none. */
    const double *x[PROGRAMS_MAX_INPUTS];
    /** Rows of a table, or labels, one per token; or NULL. */
    const int32_t *ids;
    double *scratch; /**< kernels_sizes.scratch numbers, overwritten; NULL: none */
};
/** Sizes of the inputs and of the result of an operation for one case. */
struct kernels_sizes {
    int64_t in[PROGRAMS_MAX_INPUTS]; /**< numbers of each input; 0: no such input */
    int64_t ids, below;              /**< numbers of tokens' rows or labels, each in [0, below) */
    int masked; /**< number of the sparse input, from 1, with c->density non-zeros; 0: none */
    /** Numbers of the result, and that the reference needs besides. */
    int64_t out, scratch;
};
/** Source of random numbers of one comparison, which depend only on seed and number of the
 *  comparison. */
struct kernels_sampler;
struct kernels_strip;
/** Sampling of shapes for a family of operations, to test the analytical model on random shapes. */
struct kernels_shapes {
    /** Set the sizes that the family needs besides fabric, samples and tokens; may change those
     *  too. */
    void (*sample)(struct kernels_sampler *s, struct programs_case *c);
    /** "B 2 T 40, 96 x 64" */
    void (*describe)(const struct programs_case *c, char *text, size_t size);
};

/** Rounding of a format to nearest. */
struct kernels_rounding {
    double roundoff; /**< largest relative error of a normal number, u */
    double smallest; /**< positive number, subnormal */
};

/** One operation with its program, its analytical model, its reference and its tolerance. `wsc
 *  mesh`, `wsc validate --mesh`, the tests and the benchmarks of the mesh iterate over the rows; no
 *  other list of operations exists. A collective has only the column @c collective and compares its
 *  own result; it is not part of a model. A row with a sparse matrix has shapes and is sampled with
 *  other sparse ones.
 *
 *      {.name = "silu", .summary = "elementwise", .options = "--features --pass",
 *       .parts = 1 << MODEL_PART_FFN1, .tolerance = 1e-4, .gradient = true, .sizes = row_sizes,
 *       .shapes = &kernels_feature_shapes, .program = programs_silu,
 *       .cycles = activation_cycles, .reference = silu_reference, .host = silu_host}, */
struct kernels_row {
    /** Name for `wsc mesh NAME`, unique; one line for `wsc mesh list`. */
    const char *name, *summary;
    const char *algos;   /**< values of --algo, the default first; NULL: none */
    const char *options; /**< options that set its sizes */
    /** Options of one algorithm only, "stream: --half --density"; NULL: none. */
    const char *algo_options;
    unsigned parts;       /**< set of 1 << enum model_part: parts of a model that use it; 0: none */
    double tolerance;     /**< of values, |difference| / (1 + |expected|) */
    bool rounds_products; /**< in 16 bits with a density, each product of a sum over tokens */
    bool gradient;        /**< has a backward pass; false: the row is itself a gradient */
    /** Where its sizes lie on the fabric, for plans: n, k, features and heads are along the
     * columns, tokens along the rows; m and vocab along the columns where these say so, else m is
     * along the rows, and a vocabulary passes all PEs. */
    bool m_on_columns, vocab_on_columns;
    /** Numbers of inputs and result of a case; both passes. */
    struct kernels_sizes (*sizes)(const struct programs_case *c);
    /** Family of shapes that comparisons sample; NULL: not sampled. */
    const struct kernels_shapes *shapes;
    const struct kernels_strip *strips; /**< cases at real size; NULL: none */
    programs_op_fn program;             /**< on the mesh, forward and backward by the case */
    /** Cycles by the analytical model, forward or backward. */
    double (*cycles)(const struct cycles_layout *l, const struct programs_case *c);
    /** Compute the definition in double precision and add it to @p want, which is 0. */
    void (*reference)(const struct programs_case *c, const struct kernels_reference *o,
                      double *want);
    /** What roundings of a format can do to each result at most, |difference|; NULL: no more than
     *  the tolerance. */
    void (*bound)(const struct programs_case *c, const struct kernels_reference *o,
                  const struct kernels_rounding *by, double *bound);
    /** Compute the values with the host's functions, in fp32; NULL: the host has the operation only
     *  inside a model (docs/decisions/0017-kernel-table.md). */
    void (*host)(const struct programs_case *c, const struct programs_operands *o);
    /** Program of a collective: it makes its operands and compares its result. The columns from
     *  `sizes` to `host` are then NULL. */
    enum wsc_err (*collective)(const struct programs_case *c, struct programs_result *r);
    /** Cycles of a collective by its formula, before it runs; NULL: there is none. */
    double (*expected)(const struct programs_case *c);
};
/** Row @p i of the table, NULL after the last one. */
const struct kernels_row *kernels_row_at(int i);
/** The row called @p name, or an error that lists the names. WSC_USAGE; *@p out is NULL then. */
enum wsc_err kernels_row_find(const char *name, const struct kernels_row **out) WSC_CHECKED;
/** Run the row's program on the mesh and compare with the reference. The operands are sampled with
 *  the case's seed. r->analytical has the cycles of the analytical model, negative when there is
 *  none, as for collectives on WSE-3. r->max_error above the row's tolerance is not an error code.
 *  A result whose row has a bound above the tolerance counts by difference / bound x tolerance.
 *  WSC_USAGE for sizes that cannot be run; WSC_DEADLOCK and WSC_CAPACITY of the mesh. */
enum wsc_err kernels_row_run(const struct kernels_row *row, const struct programs_case *c,
                             struct programs_result *r) WSC_CHECKED;
/** Cycles of case @p c by the row's analytical model or its formula; negative where there is none.
 */
double kernels_row_cycles(const struct kernels_row *row, const struct programs_case *c);
/** Tolerance of the values of case @p c against the definition. In fp32 it is the row's tolerance.
 *  In a 16-bit format with unit roundoff u, four roundings u are added, because results pass
 *  through sums, products and a map that each round. When each product of a sum over n tokens is
 *  rounded (rounds_products), 3 / 4 sqrt(n) roundings are added instead of four, if that is more.
 *  This is 5.3 standard deviations of the sum of n roundings. The rounding of a product m 2^e is
 *  uniform up to u 2^e; its standard deviation is u / sqrt(3) times 0.74 |product| (1 / m in root
 *  mean square, with log m uniform). Products of two uniform numbers in (-1, 1) have a root mean
 *  square of 1 / 3. The standard deviation of the sum is thus 0.142 u sqrt(n). In a result of 10^5
 *  numbers, one exceeds the tolerance in one of a hundred cases. */
double kernels_row_tolerance(const struct kernels_row *row, const struct programs_case *c);
/** Compute the row's values on the host with the operands of kernels_row_run(), and compare with
 * the reference; WSC_USAGE when the row has no host column. */
enum wsc_err kernels_row_run_host(const struct kernels_row *row, const struct programs_case *c,
                                  double *max_error) WSC_CHECKED;

/* ---- the analytical model against the mesh --------------------------------------------------- */

/** Comparison of one operation on one fabric: simulated cycles and those of the analytical model.
 */
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
/** Compare @p n random operations, shapes and grids, forward and backward, on fabrics with the
 *  rates of @p hw. @p report is called for each after its simulation. The rows of the table are
 *  taken in turn, two pairs each. @p seed determines the pairs, on every host. */
enum wsc_err kernels_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                           void *ctx) WSC_CHECKED;
/** Simulate pair number @p i of @p seed, for @p row only. */
enum wsc_err kernels_pair_of(const struct kernels_row *row, const struct hw *hw, uint64_t seed,
                             int i, struct kernels_pair *pair) WSC_CHECKED;

/** Compare @p n random products and weight gradients with sparse matrices, streamed or in tiles,
 *  with densities of 1 to 0.05; otherwise as kernels_pairs() compares dense operations. */
enum wsc_err kernels_sparse_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                                  void *ctx) WSC_CHECKED;
/** Comparison of one operation in the plan of a published model, simulated on a strip of the wafer:
 *  simulated cycles and those of the analytical model. */
struct kernels_wafer_pair {
    const char *kernel, *pass;
    const char *plan; /**< the model */
    enum num_format format;
    int lanes;             /**< lanes of the plan; the strip is as wide as one lane */
    int w, h;              /**< PEs that were simulated */
    char shape[64];        /**< "B 1 T 372, 5120 x 5120", of the plan */
    const char *continued; /**< dimension in which cycles of two sizes were extrapolated, or "" */
    /** No accuracy is claimed: sums over tokens in blocks of many columns, whose waiting for each
     *  other is not in the model. */
    bool open;
    int64_t simulated; /**< cycles of the runs */
    double cycles;     /**< cycles of the shape: simulated, or extrapolated from two sizes */
    double model;      /**< of the shape, by the analytical model */
    double max_error;  /**< of the values, as in struct programs_result */
    double tolerance;  /**< of the values */
};
/** Number of comparisons of kernels_wafer_pair(). */
int kernels_wafer_count(void);
/** Name of the operation of comparison @p i; NULL after the last one. */
const char *kernels_wafer_kernel(int i);
/** Simulate comparison @p i, 0 .. kernels_wafer_count() - 1, on PEs with the rates of @p hw. */
enum wsc_err kernels_wafer_pair(const struct hw *hw, int i,
                                struct kernels_wafer_pair *pair) WSC_CHECKED;
#endif
