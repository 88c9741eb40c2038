/** Num: matrix products, sums along the canonical tree, 16-bit formats and threads. It owns oneDNN
 *  and OpenMP.
 *
 *  The one invariant: a result depends only on the operands and their shape, never on the number of
 *  threads, the alignment or the caller. Every product therefore runs on one thread (threads work
 *  on different products), and every sum over micro-shards or blocks follows the canonical tree.
 *  The library chooses its order of additions by the shape, so equal numbers in another shape may
 *  differ in the last bits; num_gemm_rows() is the exception. The project is compiled with
 *  -ffp-contract=off. Arithmetic functions cannot fail: preconditions are checked with WSC_CHECK,
 *  and the caller must pass correct shapes.
 *
 *      num_init(1);
 *      const struct num_product p = {.trans_b = true, .m = rows, .n = out, .k = in,
 *                                    .lda = in, .ldb = in, .ldc = out};
 *      num_gemm(&p, x, w, y);
 *
 *  This is Y (rows, out) = X (rows, in) W' with W (out, in). Read next: <wsc/num_math.h> for
 *  functions of one number and of rows, <wsc/num_reference.h> for the definitions that all kernels
 *  are measured against. */
#ifndef WSC_NUM_H
#define WSC_NUM_H
#include <wsc/err.h>
#include <wsc/num_formats.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- threads --------------------------------------------------------------------------------- */

/** Most worker threads. */
enum { NUM_MAX_THREADS = 1024 };
/** Set the number of worker threads, 1 to NUM_MAX_THREADS; a larger number is reduced to this
 *  maximum. It also makes the product library run each product on the calling thread. Call it
 *  before use; it may be called again between loops. The default is one worker thread. Values do
 *  not depend on the number. */
void num_init(int n_threads);
/** Worker threads that num_parallel uses, at least 1. */
int num_threads(void);
/** Run body(ctx, i, thread) for i = 0 .. n-1, each once, on num_threads() threads; returns when all
 *  are done. A free thread takes the next item, so results must not depend on which thread runs an
 *  item. Two bodies must not write the same data. thread is in [0, num_threads()) and selects
 *  scratch memory. A body that calls num_parallel runs all items of the inner loop on its own
 *  thread, one after the other. */
void num_parallel(int64_t n, void (*body)(void *ctx, int64_t i, int thread), void *ctx);

/* ---- formats --------------------------------------------------------------------------------- */

/** Round @p n fp32 numbers to a 16-bit format, to nearest even (IEEE 754-2019, 4.3.1), overflow to
 *  infinity, NaN stays NaN.  @p format is not NUM_FP32; the arrays do not overlap. */
void num_narrow(enum num_format format, uint16_t *restrict out, const float *restrict in,
                int64_t n);
/** Convert @p n numbers of a 16-bit format to fp32; exact, because fp32 represents all of them. @p
 *  format is not NUM_FP32. */
void num_widen(enum num_format format, float *restrict out, const uint16_t *restrict in, int64_t n);
/** True for a 16-bit format that the product library multiplies as it is, on processors for which
 *  it can. Operands in other 16-bit formats are always widened, which costs more than the product
 *  in fp32. */
bool num_multiplies_16(enum num_format format);

/* ---- products -------------------------------------------------------------------------------- */

/** A product C (M, N) = op(A) (M, K) op(B) (K, N) + beta C, row-major.  With k = 0 the product is
 *  0: C becomes 0, or stays as it is with beta 1. */
struct num_product {
    bool trans_a, trans_b; /**< op is the transpose: A is stored (K, M), B (N, K) */
    int64_t m, n, k;       /**< each may be 0 */
    /** Row strides in elements of A, B, C as stored, at least the length of a stored row. */
    int64_t lda, ldb, ldc;
    float beta; /**< 0 (C is only written) or 1 */
};
/** Name and version of the product library, for example "oneDNN 2.6.0". The bits of values depend
 *  on it. Static storage. */
const char *num_library(void);
/** Compute the product in fp32 with the product library, on the calling thread. Equal shapes and
 *  operands give equal bits on any thread of one kind of processor. */
void num_gemm(const struct num_product *p, const float *a, const float *b, float *c);
/** Compute the product of operands in a 16-bit format; sums and result are fp32. bfloat16 uses the
 *  product library (with oneDNN each thread keeps a primitive per shape). Other formats, and
 *  processors or libraries without bfloat16, widen both operands; lack of memory fails a WSC_CHECK.
 */
void num_gemm_16(enum num_format format, const struct num_product *p, const uint16_t *a,
                 const uint16_t *b, float *c);
/** Compute the product of operands of @p format (trans_a false) with results independent of the
 *  number of rows: the bits of an element depend only on its row of A and its column of B, not on
 *  m, n or the position. The library guarantees this only for equal shapes. It is slower with many
 *  rows. Generation uses it, so that the logits of a text do not depend on how it is cut into
 *  steps. */
void num_gemm_rows(enum num_format format, const struct num_product *p, const void *a,
                   const void *b, float *c);
/** Arranged operand: an operand B that many products share can be written once in the layout of the
 *  library, which saves transposing and packing it in each product. The results are those of
 *  num_gemm() and num_gemm_16() to the bit when the library adds in the same order. oneDNN 2.6 does
 *  so with 64, 256 and 1024 terms, but not with some other numbers of bfloat16 terms. Callers must
 *  choose by shapes only, so that results do not depend on this.
 *
 *  num_arranges() is true when products of this format, shape and strides are faster with it on
 *  this processor. */
bool num_arranges(enum num_format format, const struct num_product *p);
/** Bytes of an arranged operand op(B) (k, n); 0 for a format that never has one. */
int64_t num_arranged_bytes(enum num_format format, int64_t k, int64_t n);
/** Write B of the product @p p, for which num_arranges() is true, to @p out, of
 *  num_arranged_bytes() and at a multiple of 64 bytes; on all threads. */
void num_arrange(enum num_format format, const struct num_product *p, const void *b, void *out);
/** Compute the product @p p with B from num_arrange(), for any m, beta and strides of A and C, on
 *  the calling thread. Returns false when num_arranges() is false; C is then undefined and the
 *  caller must use B itself. */
bool num_gemm_arranged(enum num_format format, const struct num_product *p, const void *a,
                       const void *arranged, float *c);
/** Row stride, at least @p n, at which products with fp32 rows of @p n numbers are fastest. */
int64_t num_row_stride(int64_t n);
/** True when products with fp32 rows at stride @p ld are slower than at num_row_stride(), because
 *  the rows map to few sets of a cache and the library does not pack them. */
bool num_is_crowded(int64_t ld);
/** Copy a matrix (rows, cols at stride @p ld) to @p out, at stride num_row_stride(cols). */
void num_set_apart(float *restrict out, const float *restrict x, int64_t ld, int64_t rows,
                   int64_t cols);
/** Write the transpose (cols, rows at ld_out) of a matrix (rows, cols at ld) of a 16-bit format. */
void num_transpose_16(uint16_t *restrict out, int64_t ld_out, const uint16_t *restrict in,
                      int64_t ld, int64_t rows, int64_t cols);
/** Reference implementation of all products, the specification for tests: fp32 operands, one sum
 *  for each element in the order of k. */
void num_gemm_ref(const struct num_product *p, const float *a, const float *b, float *c);

/* ---- the canonical tree ------------------------------------------------------------------------
 * Over items 0 .. n-1: node (level, index) covers [index 2^level, min((index + 1) 2^level, n)).
 * The sum of a node is sum(left child) + sum(right child); an empty right child adds nothing.  A
 * contiguous range of items is a list of its maximal nodes, from left to right; two lists of
 * adjacent ranges merge into the list of the joint range by adding siblings.  So a total does not
 * depend on who owned which range. */

/** A node of the canonical tree: it covers the existing items among the 2^level ones from index
 *  2^level on. */
struct num_node {
    /** 0: a single item, index is its number. */
    int level;
    int64_t index;
};
/** Upper bound of the maximal nodes of two adjacent ranges: each range has at most two nodes on
 *  each of the 31 levels of 2^30 items. */
enum { NUM_MAX_NODES = 128 };
/** The maximal nodes of a range, left to right: at most one sum is sent for each. */
struct num_nodes {
    int n;
    struct num_node node[NUM_MAX_NODES];
};
/** Compute the maximal nodes of the range [first, end) among @p n_items (at most 2^30); none for
 *  first >= end.  With 5 items, [1, 4) has the nodes {1} and {2, 3}: item 1 waits for its sibling
 *  0. */
void num_nodes_of_range(struct num_nodes *out, int64_t first, int64_t end, int64_t n_items);

/** One addition of a merge: slot[into] += slot[from], slots numbered in the concatenation of the
 *  left list and the right list. */
struct num_merge_step {
    int into, from;
};
/** Plan to merge the lists of two adjacent ranges: additions in order, then the slots of the
 *  results. */
struct num_merge {
    int n_steps;
    struct num_merge_step step[NUM_MAX_NODES];
    struct num_nodes result; /**< nodes of the joint range */
    int slot[NUM_MAX_NODES]; /**< slot of the concatenation that ends as result.node[i] */
};
/** Plan the merge of @p left and @p right (right starts where left ends; both may be empty) among
 *  @p n_items. Siblings are always added left += right, so a total over all items does not depend
 *  on the ranges from which it was built.
 *
 *      num_merge_plan(&m, &left, &right, n_items);
 *      for (int i = 0; i < m.n_steps; i++)
 *          num_add(slot[m.step[i].into], slot[m.step[i].from], n_elems);
 *
 *  The vector of result.node[i] is then slot[m.slot[i]]. Read next: stream_sums_append() of
 *  <wsc/stream.h>, which does this with buffers. */
void num_merge_plan(struct num_merge *out, const struct num_nodes *left,
                    const struct num_nodes *right, int64_t n_items);

/** y += x, elementwise, fp32; the arrays do not overlap. */
void num_add(float *restrict y, const float *restrict x, int64_t n);
/** out = x + y, elementwise, fp32; out may be x. */
void num_sum_of(float *out, const float *x, const float *restrict y, int64_t n);
/** Add @p rows rows of x to y (n) one after the other, fp32; bit-identical to one num_add() per
 *  row. The rows are in @p format, @p ld elements apart, and are widened exactly. */
void num_add_rows(enum num_format format, float *restrict y, const void *x, int64_t rows,
                  int64_t ld, int64_t n);
/** Sum of x[i] y[i] of two vectors (n) in @p format, widened exactly, in the order of num_dot(). */
float num_dot_of(enum num_format format, const void *x, const void *y, int64_t n);
/** y *= s, elementwise, fp32. */
void num_scale(float *restrict y, float s, int64_t n);
/** out = s x, elementwise, fp32; the arrays do not overlap. */
void num_scaled(float *restrict out, const float *restrict x, float s, int64_t n);
/** y += s x, elementwise, fp32, the product rounded before the sum; the arrays do not overlap. */
void num_add_scaled(float *restrict y, const float *restrict x, float s, int64_t n);
/** Sum of squares of one block of @p n numbers in double, in a fixed order (16 lanes, then a tree):
 *  the same bits on every call. */
double num_sum_squares(const float *x, int64_t n);
/** The larger of the maximum so far and one more error, both not negative. It propagates NaN: when
 *  @p max or @p error is NaN the result is NaN, so that it exceeds every bound. (fmax and a plain
 *  comparison would drop NaN.) Every maximum over errors in the project uses it. */
static inline double num_max_error(double max, double error)
{
    return isnan(max) || max >= error ? max : error;
}
#endif
