/** Host: computes the values of the transformer's operations on the CPU.
 *
 *  Numerics. With model->format fp32 everything is fp32. With a 16-bit format the operands of
 *  products are rounded to this format and the products are summed in fp32; residual stream, norms,
 *  softmax, loss and weight gradients are fp32.
 *
 *  The one invariant: values do not depend on how leaves (micro-shards of the global batch) are
 *  spread over wafers, ranks or threads. Each leaf's gradient comes from products of the same
 *  shapes wherever it is computed, and leaf gradients are added along the canonical tree
 *  (<wsc/num.h>).
 *
 *  Calls of a micro-batch: host_begin(); host_forward() of every stage in order; host_losses(); in
 *  training host_backward() of every stage in reverse order. The wafer makes them through
 *  <wsc/kernels.h>.
 *
 *      host_begin(k, &share, batch);
 *      for (int s = 0; s < model->n_stages; s++)
 *          host_forward(k, s, weights[s]);
 *      for (int s = model->n_stages - 1; s >= 0; s--)
 *          host_backward(k, s, weights[s], grads[s]);
 *
 *  The functions use num_threads() threads inside; only one thread may call them at a time.
 *  Arithmetic cannot fail; a wrong shape or order of calls fails a WSC_CHECK. */
#ifndef WSC_HOST_H
#define WSC_HOST_H
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Activations, scratch and results of one wafer; its fields are private to src/host. */
struct host;

/** Make room for micro-batches of at most @p max_samples samples; @p model is borrowed for the life
 *  of the struct.  A share that is too large for the memory of this host is WSC_NOMEM; *@p out is
 *  NULL then.  @p training: activations of all layers are kept. */
enum wsc_err host_create(struct host **out, const struct model *model, int64_t max_samples,
                         bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void host_destroy(struct host **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void host_begin(struct host *k, const struct data_share *share, const struct data_batch *batch);
/** Start a step of generation instead of a micro-batch. Sample i of @p batch is a text. @p step
 *  gives its new positions [first, end); earlier steps have computed the positions before them and
 *  put their keys and values into the cache. The forward passes compute only the new positions, and
 *  the head only the last one, whose logits are kept. Logits are bit-identical however a text is
 *  cut into steps and whatever else is in the batch. They differ from those of host_begin() with
 *  host_want_logits() in the last bits only, because the library computes a product of few rows in
 *  another way (num_gemm_rows).
 *
 *  With an encoder and a decoder, the positions are those of the target. The step that computes
 *  position 0 of the first text of a prompt runs the encoder on the whole source; all texts of the
 *  prompt then use the keys and values of its output. WSC_NOMEM: no room for the cache. */
enum wsc_err host_begin_cached(struct host *k, const struct data_batch *batch,
                               const struct data_step *step) WSC_CHECKED;
/** Bytes of the keys and values of @p n_tokens of one text, in all layers of a decoder, in the
 *  model's format. A source of @p n_tokens that the decoder attends to needs the same number of
 *  bytes. */
int64_t host_cache_bytes(const struct model *model, int64_t n_tokens);
/** Forward of one stage.  @p weights: the stage's vector (n_elems) in model->format. The vector has
 *  its tensors in the order of the stage's views; it is not read after the call. */
void host_forward(struct host *k, int stage, const void *weights);
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves), contiguous: sums over
 *  the node's leaves of d(sum over masked tokens of the cross entropy)/d(weight), not normalised.
 */
void host_backward(struct host *k, int stage, const void *weights, float *grads);
/** Compute one part of a stage's forward pass while weights of later parts are still arriving. Call
 *  it for each of the stage's parts, from 0 on, with the same @p weights. It reads only views of
 *  the parts up to @p part: those before first_view[part + 1]. */
void host_forward_part(struct host *k, int stage, int part, const void *weights);
/** Compute one part of a stage's backward pass. Call it for each part, from the last one to 0, with
 *  the same pointers. It reads only views of the parts from @p part on: those from first_view[part]
 *  on. Results of both passes by parts are bit-identical to host_forward() and host_backward(). */
void host_backward_part(struct host *k, int stage, int part, const void *weights, float *grads);
/** Number of elements at the end of each gradient vector that are final; called after a part of a
 *  dense stage's backward pass. */
int64_t host_final_gradients(const struct host *k);
/** Forward of a stage some of whose tensors have arrived with a mask. @p weights: one for each view
 *  of the stage, in order, borrowed until the return. Products with a matrix of few non-zeros skip
 *  the zeros (<wsc/num_sparse.h>); a rule on tensor, format and n_kept selects these matrices
 *  (docs/decisions/0026-sparse-products.md). WSC_NOMEM. */
enum wsc_err host_forward_sparse(struct host *k, int stage,
                                 const struct model_weights *weights) WSC_CHECKED;
/** Backward of such a stage.  @p grads is as in host_backward(), but a vector has
 *  model_gradient_elems() elements for each view: of a tensor with a mask the gradients of its
 *  n_kept elements, in order.  WSC_NOMEM. */
enum wsc_err host_backward_sparse(struct host *k, int stage, const struct model_weights *weights,
                                  float *grads) WSC_CHECKED;
/** Explain why the products of tensor @p tensor multiply its zeros too when @p n_kept of its
 *  weights are not zero; static text. NULL: the products skip the zeros. This is the rule of
 *  host_forward_sparse() for the matrix alone. */
const char *host_dense_reason(const struct model *model, int tensor, int64_t n_kept);
/** Scale the gradients: from now on they are @p scale times those of the summed loss (loss
 * scaling); 1 until it is called. */
void host_scale_gradients(struct host *k, double scale);
/** From the next micro-batch on sum the squares of each leaf's gradient too, for the gradient noise
 *  scale.  WSC_NOMEM. */
enum wsc_err host_measure_leaves(struct host *k) WSC_CHECKED;
/** After the last backward stage: one sum of squares per leaf of the share, of the gradient that
 *  host_backward() adds up, over all parameters; the two parts of a tied tensor count as their
 *  sum.  Borrowed until the next begin. */
const double *host_leaf_squares(const struct host *k);
/** Losses, one entry per leaf of the share, in order; valid after the last forward stage, borrowed
 *  until the next begin. */
const struct model_loss *host_losses(const struct host *k);
/** Add the tokens of the micro-batch that have a label of the first head to @p count, by class;
 *  valid as host_losses().  Labels are below the head's outputs, which is the length of @p count.
 */
void host_count_classes(struct host *k, struct model_class_count *count);
/** Choose one position per sample of the share whose logits to keep; call after host_begin() and
 *  before the head's forward (the head keeps no logits of a whole batch).  @p position_of_sample is
 *  read at once, each in [0, T).  The next host_begin() forgets the choice. */
enum wsc_err host_want_logits(struct host *k, const int64_t *position_of_sample) WSC_CHECKED;
/** Logits (V) of the chosen position of the share's sample @p i, scaled, after the last forward
 *  stage; of a step of generation those of the sample's last position, or what was there when it
 *  had none.  Borrowed until the next begin. */
const float *host_logits(const struct host *k, int64_t i);
/** Bytes of host memory that activations of @p n_samples occupy, with those for the backward pass
 *  when @p training. */
int64_t host_act_bytes(const struct model *model, int64_t n_samples, bool training);
#endif
