// SPDX-License-Identifier: Apache-2.0
/* Cuts a gradient (rows, cols) into even blocks, which depend on its shape alone, because each
 * block is one product. host_grad.c sums the blocks over leaves, host_layout.c allocates memory
 * for the largest one. */
#include "host_grad_blocks.h"

/* Size of a block of a weight gradient: rows enough for the product library, few enough that one
 * matrix gives work to several threads, small enough that the tree's partial sums stay in the
 * cache. */
enum { GRAD_ROWS = 96, GRAD_ROWS_MIN = 16, GRAD_VECTOR = 512, GRAD_ELEMS = 1 << 18 };

/* Largest number of rows of a block of @p cols columns. */
static int64_t most_rows(int64_t cols)
{
    if (cols <= 1) return GRAD_VECTOR;
    const int64_t most = GRAD_ELEMS / cols;
    if (most < GRAD_ROWS_MIN) return GRAD_ROWS_MIN;
    return most < GRAD_ROWS ? most : GRAD_ROWS;
}

int64_t host_grad_block_rows(int64_t rows, int64_t cols)
{
    const int64_t most = most_rows(cols), n_blocks = (rows + most - 1) / most;
    return n_blocks > 0 ? (rows + n_blocks - 1) / n_blocks : 1;
}

int64_t host_grad_block_max(const struct model *m)
{
    int64_t most = GRAD_VECTOR;
    for (int i = 0; i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        const int64_t rows = t->shape[0] < GRAD_ROWS ? t->shape[0] : GRAD_ROWS;
        int64_t n;
        if (__builtin_mul_overflow(rows, t->n_dims == 2 ? t->shape[1] : 1, &n)) return INT64_MAX;
        if (n > most) most = n;
    }
    return most;
}
