/** Declarations shared by the files of sparse products: the sorted matrix, the block sizes, and the
 *  loops over non-zeros, of which each vector unit has its own. sparse.c chooses the vector unit;
 *  sparse_loops.h has the bodies of the loops. */
#ifndef WSC_NUM_SPARSE_KERNELS_H
#define WSC_NUM_SPARSE_KERNELS_H
#include <wsc/num_sparse.h>

enum {
    NUM_SPARSE_LANES = 16,                                     /**< numbers of a vector */
    NUM_SPARSE_VECTORS = NUM_SPARSE_TOKENS / NUM_SPARSE_LANES, /**< vectors of a token block */
    NUM_SPARSE_INPUTS = 128, /**< inputs of a block: 64 tokens of them fill 32 KiB, an L1 cache */
    NUM_SPARSE_OUTPUTS = 512 /**< outputs of a block, which share the inputs in the cache */
};

/** Number of elements from @p at on that are in one word of the mask, at most up to @p end. */
static inline int64_t num_mask_length(int64_t at, int64_t end)
{
    const int64_t in_word = 64 - at % 64;
    return end - at < in_word ? end - at : in_word;
}
/** The bits of @p n elements from @p at on, the first one lowest; @p n is at least 1. */
static inline uint64_t num_mask_bits(const uint64_t *bits, int64_t at, int64_t n)
{
    return bits[at / 64] >> at % 64 & ~UINT64_C(0) >> (64 - n);
}

/** Non-zeros in the order of (output block, input block, output, input). The non-zeros of one
 *  output in one input block are a segment. */
struct num_sparse_order {
    int64_t n_out, n_in;
    int64_t n_in_blocks;
    uint32_t *start; /**< owned: first non-zero of each segment in that order, and the end; output
                          blocks have NUM_SPARSE_OUTPUTS segments for each input block */
    uint8_t *input;  /**< owned: index in the input block */
    float *value;    /**< owned */
};
/** Index of the segment of output @p out and input block @p block; the segment of the next output
 *  follows it. */
static inline int64_t num_sparse_segment(const struct num_sparse_order *o, int64_t out,
                                         int64_t block)
{
    return (out / NUM_SPARSE_OUTPUTS * o->n_in_blocks + block) * NUM_SPARSE_OUTPUTS +
           out % NUM_SPARSE_OUTPUTS;
}

/** Arguments of the loops: segments of consecutive outputs with one input block, on one block of
 *  tokens. */
struct num_sparse_job {
    const uint32_t *start; /**< n_out + 1 */
    int64_t n_out;
    const uint8_t *input; /**< of all non-zeros of the matrix; likewise value */
    const float *value;
    const float *x; /**< (inputs of the block, tokens) */
    float *y;       /**< (n_out, tokens): the sums of a product, or dy of a gradient */
    float *g;       /**< gradients from start[0] on */
    bool first;     /**< gradients are written, otherwise added to */
};
/** The loops for one vector unit; the bits are equal for all units. */
struct num_sparse_unit {
    const char *name;
    /** True when this processor has the unit. */
    bool (*here)(void);
    /** y += sum over each segment of value times x, for @p n_vectors vectors of tokens (1 to
     *  NUM_SPARSE_VECTORS), which are the rows of x and y. */
    void (*multiply)(const struct num_sparse_job *j, int n_vectors);
    /** g of each non-zero (+)= dot product of its rows of y and x over NUM_SPARSE_TOKENS tokens. */
    void (*dots)(const struct num_sparse_job *j);
};
/** For any processor; for AVX2 with FMA; for AVX-512. */
extern const struct num_sparse_unit num_sparse_portable, num_sparse_avx2, num_sparse_avx512;

/** See <wsc/num_sparse.h>. */
struct num_sparse {
    const struct num_sparse_unit *unit; /**< the fastest one on this processor */
    struct num_sparse_order forward;    /**< outputs are rows */
    struct num_sparse_order back;       /**< outputs are columns */
    int64_t rows, cols;
    int64_t *first; /**< owned (rows + 1): non-zeros before each row */
    float *wide;    /**< owned: values of a 16-bit format as fp32 */
};
#endif
