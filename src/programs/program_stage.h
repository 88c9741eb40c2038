/** Operations from which the parts of a stage are built on the mesh: norms, products with the
 *  stage's matrices, biases, their gradients leaf by leaf, and the record of cycles beside the
 *  analytical model's. program_parts.c builds parts from these. */
#ifndef WSC_PROGRAMS_STAGE_H
#define WSC_PROGRAMS_STAGE_H
#include "program_product.h"
#include "program_state.h"
#include "program_vector_ops.h"

#include <wsc/err.h>

/** Number of rounds in which the leaves of the share are summed; round i sums leaf i of a lane. */
int programs_leaf_rounds(const struct programs_model *k);
/** First sample of each lane in round @p i (@p first), and number of samples of the lane that has
 *  most (@p n). */
void programs_round_samples(const struct programs_model *k, int i, int *first, int *n);
/** Gradient of a tensor of the stage for the leaf of the first lane in round @p i; the gradients of
 *  the other lanes follow, n_elems apart. NULL if the stage has none. */
float *programs_stage_gradient(const struct programs_model *k, enum model_tensor_kind kind, int i);

/** Select the tensors of expert @p expert for the kinds of tensors that experts have; -1: no
 *  expert. */
void programs_stage_enter(struct programs_model *k, int expert);
/** Select the data of the next operations: the places of network @p network and its tensors, in
 *  tiles of places; PROGRAMS_ALL_PLACES: the places of all networks; PROGRAMS_ALL_TOKENS: tokens.
 */
void programs_stage_network(struct programs_model *k, int network);
/** The layout of the analytical model for the data of the next operations, of all samples or of a
 *  leaf. */
const struct cycles_layout *programs_stage_layout(const struct programs_model *k, bool leaf);

/** Add @p cycles, those of the last program, to kernel @p row. */
void programs_stage_book(struct programs_model *k, enum programs_row_kind row, int64_t cycles);
/** Add @p cycles of the analytical model to kernel @p row; the kernel table of a run shows them
 *  next to those of programs_stage_book(). */
void programs_stage_expect(struct programs_model *k, enum programs_row_kind row, double cycles);

/** An empty script over all samples of the micro-batch. */
struct programs_script programs_stage_script(const struct programs_model *k,
                                             const struct programs_features *f);
/** Run a script, book its cycles and free it. The first script whose vectors leave sets the cycle
 *  of the stage in which the first gradient word leaves. */
enum wsc_err programs_stage_run(struct programs_model *k, struct programs_script *s,
                                enum programs_row_kind row);

/** Let the script load a vector of the stage, which must exist, in the layout of tile @p tile. */
struct programs_view programs_stage_vector(const struct programs_model *k,
                                           struct programs_script *s, enum model_tensor_kind kind,
                                           const struct programs_tile *tile);
/** out (+ residual) += bias; NULL: no residual. */
enum wsc_err programs_stage_bias(struct programs_model *k, enum model_tensor_kind bias,
                                 const struct programs_tile *out,
                                 const struct programs_tile *residual);
/** Gradients of @p n biases, one for each tile: sums over the tokens of each leaf. */
enum wsc_err programs_stage_bias_gradients(struct programs_model *k,
                                           const enum model_tensor_kind *bias,
                                           const struct programs_tile *const *dy, int n);

/** A norm of the stage over @c x, given by the kind of its gain; the next kind is its bias. The
 *  statistics stay at @c stats for the gradient. A norm of queries or keys is separate for each
 *  head. */
struct programs_stage_norm {
    enum model_tensor_kind gain;
    const struct programs_tile *x;
    int stats;
};
/** out = norm of x. */
enum wsc_err programs_stage_norm(struct programs_model *k, const struct programs_stage_norm *n,
                                 const struct programs_tile *out);
/** out = norm of x, recomputed from kept statistics for weight gradients: outputs of most norms are
 *  not kept. */
enum wsc_err programs_stage_norm_again(struct programs_model *k,
                                       const struct programs_stage_norm *n,
                                       const struct programs_tile *out);
/** Compute the gradients of gain and bias from that of the norm's output in dxn, which is
 *  overwritten; the gradient of x is added to @p to. */
enum wsc_err programs_stage_norm_backward(struct programs_model *k,
                                          const struct programs_stage_norm *n,
                                          const struct programs_tile *to);
/** Replace the gradient @p d of the output of a norm by heads by that of x. */
enum wsc_err programs_stage_head_norm_backward(struct programs_model *k,
                                               const struct programs_stage_norm *n,
                                               const struct programs_tile *d);

/** out = in W' for @p n matrices W (n_out, n_in), as one product: the input is used once for
 *  all. */
enum wsc_err programs_stage_linears(struct programs_model *k, const enum model_tensor_kind *weight,
                                    int n, const struct programs_tile *in,
                                    const struct programs_tile *const *out);
/** dx = sum of dy W over @p n matrices, as one product. */
enum wsc_err programs_stage_linears_back(struct programs_model *k,
                                         const enum model_tensor_kind *weight, int n,
                                         const struct programs_tile *const *dy,
                                         const struct programs_tile *dx);
/** out = in W'. */
enum wsc_err programs_stage_linear(struct programs_model *k, enum model_tensor_kind weight,
                                   const struct programs_tile *in, const struct programs_tile *out);
/** dx = dy W. */
enum wsc_err programs_stage_linear_back(struct programs_model *k, enum model_tensor_kind weight,
                                        const struct programs_tile *dy,
                                        const struct programs_tile *dx);
/** dW of each leaf in turn, written to the gradient of the leaf on the host, unless W is frozen.
 *  The operand that is sent along the rows is chosen by cycles_gradient_way(), as in the analytical
 *  model. */
enum wsc_err programs_stage_weight_gradient(struct programs_model *k, enum model_tensor_kind weight,
                                            const struct programs_tile *dy,
                                            const struct programs_tile *x);
#endif
