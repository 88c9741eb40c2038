/** Linear layers of a stage with their low-rank adapters (Hu et al. 2021): y = W x + s B A x with s
 *  = alpha / r, and embedding tables with theirs. The r features between A and B lie on the
 *  columns as all others; their products and gradients are those of matrices. The parts of a block
 *  call these functions for every matrix; a matrix without an adapter goes straight to
 *  program_stage.h. */
#ifndef WSC_PROGRAMS_ADAPTER_H
#define WSC_PROGRAMS_ADAPTER_H
#include "program_embedding.h"
#include "program_state.h"

#include <wsc/err.h>

/** Reserve memory for adapters, if the model has any. */
enum wsc_err programs_reserve_adapters(struct programs_model *k);
void programs_adapters_fini(struct programs_model *k);
/** Largest rank of an adapter; 0: there is none. */
int programs_most_rank(const struct programs_model *k);
/** Slots of scratch of the filter's features that adapters need; 0: none. */
int programs_adapted_filter(const struct programs_model *k);

/** out = in W', with adapters, for @p n matrices of one input. */
enum wsc_err programs_adapted_linears(struct programs_model *k,
                                      const enum model_tensor_kind *weight, int n,
                                      const struct programs_tile *in,
                                      const struct programs_tile *const *out);
/** dx = sum of dy W, with adapters, over @p n matrices. */
enum wsc_err programs_adapted_linears_back(struct programs_model *k,
                                           const enum model_tensor_kind *weight, int n,
                                           const struct programs_tile *const *dy,
                                           const struct programs_tile *dx);
/** out = in W', with the adapter of the matrix. */
enum wsc_err programs_adapted_linear(struct programs_model *k, enum model_tensor_kind weight,
                                     const struct programs_tile *in,
                                     const struct programs_tile *out);
/** dx = dy W, with the adapter of the matrix. */
enum wsc_err programs_adapted_linear_back(struct programs_model *k, enum model_tensor_kind weight,
                                          const struct programs_tile *dy,
                                          const struct programs_tile *dx);
/** Compute the gradients of W, unless it is frozen, and of its adapter, one sum for each leaf. Call
 *  it after programs_adapted_linear_back(). */
enum wsc_err programs_adapted_gradient(struct programs_model *k, enum model_tensor_kind weight,
                                       const struct programs_tile *dy,
                                       const struct programs_tile *x);
/** Add the adapter of a table (rows, C) to the embeddings: t->x += s B a, with the column a of A
 *  (r, rows) that each token selects, times the scale of the table. */
enum wsc_err programs_adapt_table(struct programs_model *k, const struct programs_table *t,
                                  enum model_tensor_kind kind);
/** Compute the gradients of A and B of a table's adapter from the gradient of the embeddings in
 *  t->x. */
enum wsc_err programs_adapted_table_gradients(struct programs_model *k,
                                              const struct programs_table *t,
                                              enum model_tensor_kind kind);
#endif
