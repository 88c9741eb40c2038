/** Sparse matrices: computes products with weight matrices that have few non-zeros.
 *
 *  A sparse matrix W (rows, cols) = (out, in) arrives as one bit per element and its non-zeros in
 *  row-major order (struct num_packed). num_sparse_load() sorts them for the products; then
 *  num_sparse_product() computes a product, as num_gemm() does for a dense matrix, and
 *  num_sparse_gradient() computes only the gradients of the non-zeros (a sampled product of two
 *  dense matrices).
 *
 *      TRY(num_sparse_create(&w));
 *      TRY(num_sparse_load(w, &packed, NUM_FP32, true));
 *      num_sparse_product(NUM_FP32, &shape, x, w, y);
 *
 *  Invariant: only the operands determine the order of additions of a result. An element of a
 *  product is one chain of fused multiply-adds over the non-zeros of its row (of its column,
 *  transposed) in ascending order, from 0. A gradient is the sum over blocks of 64 tokens, in
 * order, of 16 chains (token t belongs to chain t mod 16) that are added along a tree. So the bits
 * do not depend on the vector unit (AVX-512, AVX2, none), the number of threads, the number of
 * other tokens, or the blocking of outputs. They differ from the bits of num_gemm() on the dense
 * matrix in the last places, because num_gemm() adds in another order.
 *
 *  16-bit operands are widened exactly; products and sums are fp32, as in num_gemm_16(). Functions
 *  without an error code take their scratch memory by themselves; lack of it is a check. */
#ifndef WSC_NUM_SPARSE_H
#define WSC_NUM_SPARSE_H
#include <wsc/err.h>
#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>

/** A sparse matrix as it is sent: its mask and its non-zeros. All borrowed. */
struct num_packed {
    int64_t rows, cols;
    /** One bit for each element, row-major: element e is bit e % 64 of word e / 64. */
    const uint64_t *bits;
    const void *values; /**< in row-major order, one for each bit that is set */
    int64_t n_kept;     /**< number of bits that are set, below 2^32 */
};
/** Number of bits of @p bits that are set among elements [first, first + n). */
int64_t num_packed_count(const uint64_t *bits, int64_t first, int64_t n);
/** Write the matrix to @p out (rows, cols) as a dense one, with its zeros; elements have
 *  num_format_bytes(format) bytes. Uses all threads. */
void num_packed_expand(enum num_format format, const struct num_packed *w, void *out);
/** Copy those of the @p n fp32 numbers @p x whose bits are set to @p out, in order; x[0] is element
 *  @p first of the mask. The arrays do not overlap. */
void num_packed_gather(const uint64_t *bits, int64_t first, int64_t n, const float *x, float *out);

/** A sparse matrix sorted for products; reused for one matrix after another. */
struct num_sparse;
/** Make an empty matrix; *@p out is owned by the caller.  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err num_sparse_create(struct num_sparse **out) WSC_CHECKED;
/** Release *@p w and null it; NULL inside is allowed. */
void num_sparse_destroy(struct num_sparse **w);
/** Copy and sort the mask and the non-zeros of @p packed, which is not read afterwards; uses all
 *  threads. @p transposed: also prepare products with the matrix itself (trans_b false), as in the
 *  backward pass. WSC_NOMEM: the matrix is empty then. */
enum wsc_err num_sparse_load(struct num_sparse *w, const struct num_packed *packed,
                             enum num_format format, bool transposed) WSC_CHECKED;
/** Number of non-zeros before row @p row, 0 .. rows: the index of its first gradient in the
 *  gradients of the whole matrix. */
int64_t num_sparse_first(const struct num_sparse *w, int64_t row);
/** C (m, n) = A (m, k) op(W) + beta C on the calling thread, with trans_a false. With trans_b, op
 * is the transpose, n = rows and k = cols (a linear layer); otherwise n = cols and k = rows (the
 *  gradient of its input). A is in @p format; ldb is not used. */
void num_sparse_product(enum num_format format, const struct num_product *p, const void *a,
                        const struct num_sparse *w, float *c);

/** Tokens of a block of a gradient. */
enum { NUM_SPARSE_TOKENS = 64 };
/** Number of floats of a panel of @p n_tokens rows of @p cols features, in whole blocks of tokens.
 */
static inline int64_t num_sparse_panel_size(int64_t n_tokens, int64_t cols)
{
    return (n_tokens + NUM_SPARSE_TOKENS - 1) / NUM_SPARSE_TOKENS * NUM_SPARSE_TOKENS * cols;
}
/** Transpose the operand @p x (n_tokens, cols at ld) into @p panel, (blocks of tokens, cols, 64) in
 *  fp32, zeros after the last token: an input of num_sparse_gradient(). */
void num_sparse_panel(enum num_format format, const void *x, int64_t n_tokens, int64_t cols,
                      int64_t ld, float *panel);
/** Some rows of a gradient: dy' x over tokens. */
struct num_sparse_outer {
    /** Rows [first_row, first_row + n_rows) of the matrix. */
    int64_t first_row, n_rows;
    int64_t n_tokens;
    const void *dy; /**< operand (n_tokens, n_rows at ld_dy): features of these rows */
    int64_t ld_dy;
    const float *x; /**< panel of the tokens, of all columns */
};
/** Write the gradients of the non-zeros of the rows of @p g to @p out, in row-major order, on the
 *  calling thread. */
void num_sparse_gradient(enum num_format format, const struct num_sparse *w,
                         const struct num_sparse_outer *g, float *out);
#endif
