// SPDX-License-Identifier: Apache-2.0
/* Implements masks and packed non-zeros: counting, expanding to a dense matrix, gathering from
 * one. Elements are processed by words of the mask; the loops over a word have no branch that
 * depends on a bit. Called by senders and receivers of packed tensors (memoryx_send.c,
 * memoryx_take.c, stream_packed.c) and by host_sparse.c. */
#include <wsc/num_sparse.h>

#include "sparse_kernels.h"

#include <wsc/check.h>

#include <string.h>

int64_t num_packed_count(const uint64_t *bits, int64_t first, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = first, len; i < first + n; i += len) {
        len = num_mask_length(i, first + n);
        count += __builtin_popcountll(num_mask_bits(bits, i, len));
    }
    return count;
}

/* Copy packed values to elements of two or four bytes, a constant where this is inlined. The index
 * of the packed values advances by the bit of each element, so a value may be read for an element
 * that is not kept; it lies inside the buffer. */
static inline __attribute__((always_inline)) void expand(int64_t bytes, const uint64_t *bits,
                                                         int64_t first, int64_t n, const void *from,
                                                         int64_t n_from, void *out)
{
    int64_t at = 0;
    for (int64_t i = 0, len; i < n; i += len) {
        len = num_mask_length(first + i, first + n);
        const uint64_t word = num_mask_bits(bits, first + i, len);
        for (int64_t b = 0; b < len; b++) {
            const uint32_t bit = word >> b & 1;
            const int64_t k = at < n_from ? at : n_from - 1;
            if (bytes == 4)
                ((uint32_t *)out)[i + b] = ((const uint32_t *)from)[k] & (0 - bit);
            else
                ((uint16_t *)out)[i + b] = (uint16_t)(((const uint16_t *)from)[k] & (0 - bit));
            at += bit;
        }
    }
}

struct expand_job {
    enum num_format format;
    const struct num_packed *w;
    char *out;
};
enum { EXPAND_BLOCK = 1 << 16 };

static void expand_block(void *ctx, int64_t i, int thread)
{
    const struct expand_job *job = ctx;
    const struct num_packed *w = job->w;
    const int64_t first = i * EXPAND_BLOCK, left = w->rows * w->cols - first;
    const int64_t n = left < EXPAND_BLOCK ? left : EXPAND_BLOCK;
    const int64_t bytes = num_format_bytes(job->format),
                  before = num_packed_count(w->bits, 0, first);
    const char *from = (const char *)w->values + before * bytes;
    void *out = job->out + first * bytes;
    (void)thread;
    if (before == w->n_kept)
        memset(out, 0, (size_t)(n * bytes));
    else if (bytes == 4)
        expand(4, w->bits, first, n, from, w->n_kept - before, out);
    else
        expand(2, w->bits, first, n, from, w->n_kept - before, out);
}

void num_packed_expand(enum num_format format, const struct num_packed *w, void *out)
{
    struct expand_job job = {format, w, out};
    num_parallel((w->rows * w->cols + EXPAND_BLOCK - 1) / EXPAND_BLOCK, expand_block, &job);
}

void num_packed_gather(const uint64_t *bits, int64_t first, int64_t n, const float *x, float *out)
{
    for (int64_t i = 0, len; i < n; i += len) {
        len = num_mask_length(first + i, first + n);
        for (uint64_t word = num_mask_bits(bits, first + i, len); word; word &= word - 1)
            *out++ = x[i + __builtin_ctzll(word)];
    }
}
