// SPDX-License-Identifier: Apache-2.0
/* Sets elements to zero where a bit is 0: weights, gradients and states outside a mask
 * (memoryx_mask.c), and those of weights that do not train (memoryx_selected.c). */
#include "memoryx_bits.h"

#include <string.h>

enum { PARALLEL_BLOCK = 1 << 15 };

struct apply_job {
    const uint64_t *bits;
    int64_t n;
    float *x;
};

/* Bits are widened to words of ones or zeros, so that no NaN outside the mask is left. */
static void apply_block(void *ctx, int64_t i, int thread)
{
    const struct apply_job *job = ctx;
    const int64_t first = i * PARALLEL_BLOCK, n = job->n;
    const int64_t end = first + PARALLEL_BLOCK < n ? first + PARALLEL_BLOCK : n;
    (void)thread;
    for (int64_t at = first; at < end; at += MEMORYX_WORD_BITS) {
        const uint64_t word = job->bits[at / MEMORYX_WORD_BITS];
        const int m = end - at < MEMORYX_WORD_BITS ? (int)(end - at) : MEMORYX_WORD_BITS;
        for (int k = 0; k < m; k++) {
            uint32_t bits;
            memcpy(&bits, job->x + at + k, sizeof bits);
            bits &= -(uint32_t)(word >> k & 1);
            memcpy(job->x + at + k, &bits, sizeof bits);
        }
    }
}

void memoryx_bits_apply(const uint64_t *bits, int64_t n, float *x)
{
    struct apply_job job = {bits, n, x};
    num_parallel((n + PARALLEL_BLOCK - 1) / PARALLEL_BLOCK, apply_block, &job);
}
