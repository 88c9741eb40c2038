/** Stages whose tensors have masks: which products leave zeros out, which expanded tensors the
 *  other products take, and gradients of the kept elements. host.c loads a stage, the parts of the
 *  stage multiply through host_linear(), host_grad.c sums the gradients. */
#ifndef WSC_HOST_SPARSE_H
#define WSC_HOST_SPARSE_H
#include "host_adapter.h"
#include "host_buffers.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_state.h"

#include <wsc/num_sparse.h>

/** Prepare the tensors of @p stage: matrices are sorted, other tensors expanded. @p backward: for
 *  the products and gradients of the backward pass. WSC_NOMEM. */
enum wsc_err host_sparse_load(struct host *k, int stage, const struct model_weights *weights,
                              bool backward) WSC_CHECKED;
/** After host_sparse_load(): view @p v of the stage as a dense tensor; NULL when products leave its
 *  zeros out. */
const void *host_sparse_dense(const struct host *k, int v);
/** After host_sparse_load(): the sorted matrix of tensors of @p kind; NULL when they are dense. */
const struct num_sparse *host_sparse_matrix(const struct host *k, enum model_tensor_kind kind);
void host_sparse_destroy(struct host *k);

/** A linear layer, or the gradient of its input: host_product() with the stage's matrix @p kind of
 *  @p expert (0 without experts), plus its adapter if it has one. @p at: the rows, for the adapter;
 *  NULL for experts, which have no adapters. */
static inline void host_linear(const struct host *k, const struct num_product *p, const void *a,
                               enum model_tensor_kind kind, int64_t expert,
                               const struct host_lines *at, float *c)
{
    const void *arranged = k->stage.arranged[kind];
    if (k->stage.sparse[kind])
        num_sparse_product(k->model->format, p, a, k->stage.sparse[kind], c);
    else if (!arranged || !num_gemm_arranged(k->model->format, p, a, arranged, c))
        host_product(k, p, a, host_expert_weight(k, kind, expert), c);
    if (host_has_adapter(k, kind)) host_adapter_add(k, p, a, kind, at, c);
}

/** Number of rows of a gradient that are computed together; it depends on the shape and on whether
 *  the gradient is sampled. */
int64_t host_sparse_block_rows(const struct host *k, const struct host_grad *g);
/** Number of elements, as transmitted, of the gradient's rows before row @p row. */
int64_t host_sparse_first(const struct host *k, const struct host_grad *g, int64_t row);
/** Prepare the inputs of these gradients, and memory for partial sums, before their blocks are
 *  computed. Missing memory violates a WSC_CHECK, since it belongs to the activations of a
 *  micro-batch. */
void host_sparse_prepare(struct host *k, const struct host_grad *grad, int n);
/** Compute rows [r0, r0 + n) of a leaf's gradient, as transmitted, in @p dst. */
void host_sparse_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                      int64_t n, float *dst, int thread);
/** The kept ones of @p *n elements of a gradient, from row @p r0 on; sets *@p n to their number.
 *  Returns @p rows itself, unless all elements of a tensor with a mask are transmitted. */
const float *host_sparse_kept(const struct host *k, const struct host_grad *g, int64_t r0,
                              const float *rows, int64_t *n, int thread);
#endif
