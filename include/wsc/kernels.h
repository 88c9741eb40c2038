/** Kernels: the transformer's operations, their values on the host and their cycles.  Layer 4.
 *
 *  Two halves that meet only in the list of parts (<wsc/model.h>).  *Cycles* are closed forms over
 *  the layout on the processing elements (docs/MODEL.md).  *Host* computes values, leaf by leaf:
 *  each leaf's gradient comes from products of the same shapes wherever it is computed, and leaf
 *  gradients are added along the canonical tree (<wsc/num.h>), so that values do not depend on
 *  how leaves are spread over wafers, ranks or threads.
 */
#ifndef WSC_KERNELS_H
#define WSC_KERNELS_H
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/mesh.h>
#include <wsc/model.h>
#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- cycles ---------------------------------------------------------------------------------- */

/** What stays between forward and backward of a block; the rest is computed again.  x block input,
 *  q k v projections, a attention output, h input of the feed-forward half, p filter before the
 *  nonlinearity.  Norms and nonlinearities are always computed again. */
enum kernels_keep {
    KERNELS_KEEP_ALL,          /**< x q k v a h p: no product twice */
    KERNELS_KEEP_NO_ATTENTION, /**< x q k v h p: attention twice */
    KERNELS_KEEP_PROJECTIONS,  /**< x q k v h: attention and first feed-forward product twice */
    KERNELS_KEEP_FILTER,       /**< x h p: projections and attention twice */
    KERNELS_KEEP_INPUT,        /**< x: everything but the last product twice */
    KERNELS_N_KEEPS
};

/** How a micro-batch lies on a wafer. */
struct kernels_plan {
    int lanes;           /**< batch replicas side by side, pe_cols / lanes columns each */
    int64_t micro_batch; /**< largest number of sequences of one micro-batch on a wafer */
    int64_t n_micro;     /**< micro-batches of a step; they differ by at most one sequence
                              unless the size was given by number */
    enum kernels_keep keep;
    bool recompute;                   /**< keep != KERNELS_KEEP_ALL */
    int64_t act_bytes_per_sequence;   /**< kept between forward and backward, all blocks */
    int64_t work_bytes_per_sequence;  /**< live at the peak of one block, beside the kept ones */
    int64_t act_bytes_available;      /**< on the wafer */
    int64_t spill_bytes_per_sequence; /**< of the kept ones, how much lies on activation servers;
                                           with an explicit micro-batch also what of the working
                                           set must make room.  Goes out once and in once a step */
    double step_cycles;               /**< estimate the choice was made by: compute and the wafer's
                                           own I/O, no waiting for the cluster */
};

/** Choose lanes, micro-batch and what to keep for @p share sequences per wafer and step, by the
 *  shortest step: compute overlapped with I/O, stage by stage.
 *  @p micro_batch is a number, CONF_AUTO (the largest whose working set fits, evened out) or
 *  CONF_NULL (the whole share).  What is kept lies in the SRAM or, where that is faster, on the
 *  activation servers.  Too large a number spills; one sequence whose working set does not fit is
 *  WSC_CAPACITY.  A share of 0 plans as 1. */
enum wsc_err kernels_plan_wafer(struct kernels_plan *plan, const struct hw *hw,
                                const struct model *model, int64_t share, int64_t micro_batch,
                                bool training) WSC_CHECKED;
/** Cycles of one stage for @p n_sequences sequences on a wafer; 0 sequences cost 0.  Pure and
 *  cheap (microseconds). */
int64_t kernels_stage_cycles(const struct hw *hw, const struct model *model,
                             const struct kernels_plan *plan, int stage, bool backward,
                             int64_t n_sequences);
/** What a step of generation does with each of its texts: @c n_new tokens behind @c n_cached ones,
 *  whose keys and values lie on the wafer.  n_new 0: no generation, whole sequences. */
struct kernels_tokens {
    int64_t n_new, n_cached;
};
/** Cycles of the forward of one stage in such a step, for @p n_texts texts on a wafer; the head
 *  computes one token of each.  Texts of different lengths take as long as the longest. */
int64_t kernels_generate_cycles(const struct hw *hw, const struct model *model,
                                const struct kernels_plan *plan, int stage,
                                const struct kernels_tokens *tokens, int64_t n_texts);
/** Cycles from the start of a backward stage to its first finished gradient row; at most the
 *  stage's cycles. */
int64_t kernels_first_gradient_cycles(const struct hw *hw, const struct model *model,
                                      const struct kernels_plan *plan, int stage,
                                      int64_t n_sequences);
/** Bytes that one stage moves to (forward) or from (backward) the activation servers, beside its
 *  weights or gradients.  The transfer is planned ahead, so it overlaps with the computation. */
int64_t kernels_spill_bytes(const struct model *model, const struct kernels_plan *plan, int stage,
                            int64_t n_sequences);
/** A stage's cycles by what they are spent on, for tables; the parts add up to the stage. */
struct kernels_cycles {
    double products, attention, elementwise, recompute;
};
struct kernels_cycles kernels_stage_breakdown(const struct hw *hw, const struct model *model,
                                              const struct kernels_plan *plan, int stage,
                                              bool backward, int64_t n_sequences);

/* ---- values on the host ---------------------------------------------------------------------- */

/** Activations, scratch and results of one wafer. */
struct kernels_host;

/** The leaves that a wafer computes in one micro-batch. */
struct kernels_share {
    int64_t first_leaf, end_leaf; /**< global leaf indices; empty when equal */
    int64_t n_leaves;             /**< leaves of the whole global batch */
    int64_t leaf_samples;         /**< samples of a leaf; the batch's last leaf may have fewer */
    int64_t batch_size;           /**< samples of the global batch */
    int64_t step;                 /**< from 0, counted from the first run: dropout differs by it */
};

/** @param max_samples  most samples of one micro-batch on this wafer */
enum wsc_err kernels_host_create(struct kernels_host **out, const struct model *model,
                                 int64_t max_samples, bool training) WSC_CHECKED;
void kernels_host_destroy(struct kernels_host **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void kernels_host_begin(struct kernels_host *k, const struct kernels_share *share,
                        const struct data_batch *batch);
/** Positions [first, end) of a text; none when equal. */
struct kernels_positions {
    int64_t first, end;
};
/** Start a step of generation instead: sample i of @p batch is a text whose positions [0, first[i])
 *  earlier steps have been through, so that their keys and values are in the cache; the forwards
 *  compute positions [first, end) alone, and the head the last of them, whose logits are kept.
 *  Logits have the same bits however a text was cut into steps, whatever else is in the batch; they
 *  are those of kernels_host_begin and _want_logits but for the last bits, because a product of few
 *  rows is another one to the library (num_gemm_rows).  WSC_NOMEM: no room for the cache. */
enum wsc_err kernels_host_begin_cached(struct kernels_host *k, const struct data_batch *batch,
                                       const struct kernels_positions *positions) WSC_CHECKED;
/** Bytes of the keys and values of @p n_tokens of one text, in all layers, in the model's format.
 */
int64_t kernels_cache_bytes(const struct model *model, int64_t n_tokens);
/** Forward of one stage.  @p weights: the stage's vector (n_elems) in model->format. */
void kernels_host_forward(struct kernels_host *k, int stage, const void *weights);
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves), contiguous: sums over
 *  the node's leaves of d(sum over masked tokens of the cross entropy)/d(weight), not normalised.
 */
void kernels_host_backward(struct kernels_host *k, int stage, const void *weights, float *grads);
/** All gradients from now on are @p scale times those of the summed loss (loss scaling); 1 until
 *  said otherwise. */
void kernels_host_scale_gradients(struct kernels_host *k, double scale);
/** From the next micro-batch on sum the squares of each leaf's gradient as well. */
enum wsc_err kernels_host_measure_leaves(struct kernels_host *k) WSC_CHECKED;
/** After the last backward stage: one sum per leaf of the share, of the gradient that
 *  kernels_host_backward adds up, over all parameters; the two parts of a tied tensor count as
 * their sum.  Borrowed until the next begin. */
const double *kernels_host_leaf_squares(const struct kernels_host *k);
/** Results of one leaf after the last forward stage. */
struct kernels_leaf_loss {
    double loss_sum;   /**< nats, over masked tokens */
    int64_t n_tokens;  /**< masked tokens */
    int64_t n_correct; /**< of them, argmax equals the label */
};
/** One entry per leaf of the share, in order; borrowed until the next begin. */
const struct kernels_leaf_loss *kernels_host_losses(const struct kernels_host *k);
/** Choose one position per sample of the share whose logits to keep; call after _begin and before
 *  the head's forward (the head keeps no logits of a whole batch).  @p position_of_sample is read
 *  at once, each in [0, T).  The next _begin forgets the choice. */
enum wsc_err kernels_host_want_logits(struct kernels_host *k,
                                      const int64_t *position_of_sample) WSC_CHECKED;
/** Logits (V) of the chosen position of the share's sample @p i, scaled, after the last forward
 *  stage; of a step of generation those of the sample's last position, or what was there when it
 * had none.  Borrowed until the next begin. */
const float *kernels_host_logits(const struct kernels_host *k, int64_t i);
/** Bytes that activations of @p n_samples occupy on the host. */
int64_t kernels_host_act_bytes(const struct model *model, int64_t n_samples, bool training);

/* ---- values on the mesh ------------------------------------------------------------------------
 * The same, but every kernel is a program of processing elements on an emulated fabric
 * (<wsc/mesh.h>): activations and partial sums lie in the memories of the PEs, weights enter and
 * gradients leave through the edge, cycles are counted.  32-bit floats. */

struct kernels_mesh;

/** The fabric is that of the cluster file: wafer.pe_cols x wafer.pe_rows PEs.  Memory that does not
 *  fit a PE is WSC_CAPACITY, said with the tensor; a model that is not fp32 WSC_CONFIG. */
enum wsc_err kernels_mesh_create(struct kernels_mesh **out, const struct hw *hw,
                                 const struct model *model, int64_t max_samples,
                                 bool training) WSC_CHECKED;
/** WSC_CONFIG, naming the key, when @p model has features beyond GPT-2's, or is trained with
 * dropout: the programs of the mesh have neither. */
enum wsc_err kernels_mesh_check(const struct model *model, bool training) WSC_CHECKED;
void kernels_mesh_destroy(struct kernels_mesh **k);
/** As kernels_host_begin. */
void kernels_mesh_begin(struct kernels_mesh *k, const struct kernels_share *share,
                        const struct data_batch *batch);
/** As kernels_host_forward and _backward; *@p cycles: counted.  *@p first: cycles from the start
 *  of a backward stage to the first gradient word at the edge. */
enum wsc_err kernels_mesh_forward(struct kernels_mesh *k, int stage, const void *weights,
                                  int64_t *cycles) WSC_CHECKED;
enum wsc_err kernels_mesh_backward(struct kernels_mesh *k, int stage, const void *weights,
                                   float *grads, int64_t *cycles, int64_t *first) WSC_CHECKED;
const struct kernels_leaf_loss *kernels_mesh_losses(const struct kernels_mesh *k);
enum wsc_err kernels_mesh_want_logits(struct kernels_mesh *k,
                                      const int64_t *position_of_sample) WSC_CHECKED;
const float *kernels_mesh_logits(const struct kernels_mesh *k, int64_t i);

/** Cycles of one kind of kernel so far: counted, and by its closed form for the same shapes. */
struct kernels_mesh_row {
    const char *kernel, *pass;
    int64_t calls, cycles;
    double form;
};
enum { KERNELS_MESH_ROWS = 15 };
const struct kernels_mesh_row *kernels_mesh_rows(const struct kernels_mesh *k);
/** Name of row @p i, and its pass. */
const char *kernels_mesh_row_name(int i, const char **pass);

/* ---- single kernels on the mesh -------------------------------------------------------------- */

/** Kernel @p i of the transformer's, NULL behind the last one.  They run on random numbers and are
 *  compared with the definition in double precision; the case's machine is a struct hw, whose
 *  closed forms are taken for a fabric of the case's size. */
const struct mesh_kernel *kernels_mesh_kernel_at(int i);

/** A kernel on one fabric: counted cycles beside its closed form. */
struct kernels_pair {
    const char *kernel, *pass;
    int w, h;
    char shape[64]; /**< "B 2 T 40, 96 x 64" */
    int64_t cycles;
    double form;
    double max_error; /**< of the values, as in struct mesh_result */
};
typedef enum wsc_err (*kernels_pair_fn)(void *ctx, const struct kernels_pair *pair);
/** @p n kernels, shapes and grids that @p seed draws, forward and backward, on fabrics of the rates
 *  of @p hw; @p tell is called for each as it is counted. */
enum wsc_err kernels_mesh_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn tell,
                                void *ctx) WSC_CHECKED;

/* ---- values, wherever they are computed ------------------------------------------------------ */

/** How a wafer gets its values: not at all (sizes and time only), on the host, on the mesh. */
enum kernels_numerics { KERNELS_NONE, KERNELS_HOST, KERNELS_MESH };
/** Cycles of a stage that the mesh has counted; not known on the host, where closed forms hold. */
struct kernels_counted {
    bool known;
    int64_t cycles, first_gradient;
};
struct kernels_values;
/** As the functions of the same names above. */
enum wsc_err kernels_values_create(struct kernels_values **out, enum kernels_numerics numerics,
                                   const struct hw *hw, const struct model *model,
                                   int64_t max_samples, bool training) WSC_CHECKED;
void kernels_values_destroy(struct kernels_values **k);
void kernels_values_begin(struct kernels_values *k, const struct kernels_share *share,
                          const struct data_batch *batch);
/** As kernels_host_begin_cached; the mesh has no cache and computes whole texts. */
enum wsc_err kernels_values_begin_cached(struct kernels_values *k, const struct data_batch *batch,
                                         const struct kernels_positions *positions) WSC_CHECKED;
enum wsc_err kernels_values_forward(struct kernels_values *k, int stage, const void *weights,
                                    struct kernels_counted *counted) WSC_CHECKED;
enum wsc_err kernels_values_backward(struct kernels_values *k, int stage, const void *weights,
                                     float *grads, struct kernels_counted *counted) WSC_CHECKED;
/** On the mesh @p scale is 1: fp32 needs no other. */
void kernels_values_scale_gradients(struct kernels_values *k, double scale);
const struct kernels_leaf_loss *kernels_values_losses(const struct kernels_values *k);
/** Host only: the programs of the mesh add up leaves as they go. */
enum wsc_err kernels_values_measure_leaves(struct kernels_values *k) WSC_CHECKED;
const double *kernels_values_leaf_squares(const struct kernels_values *k);
enum wsc_err kernels_values_want_logits(struct kernels_values *k,
                                        const int64_t *position_of_sample) WSC_CHECKED;
const float *kernels_values_logits(const struct kernels_values *k, int64_t i);
/** KERNELS_MESH_ROWS rows, or NULL on the host. */
const struct kernels_mesh_row *kernels_values_rows(const struct kernels_values *k);
#endif
