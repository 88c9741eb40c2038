// SPDX-License-Identifier: Apache-2.0
/* Looks for NaN and infinity in the weights. A step reports the loss and the norm of the gradient
 * from the weights before its update, so the weights of the last step, and those of a checkpoint,
 * are looked at here. The optimizer's state may be infinite: a second moment beyond 32 bits makes
 * its updates 0. The exponents are compared in blocks on all threads, at the
 * speed of memory. job_checkpoint.c calls. */
#include "memoryx_state.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

struct search {
    const float *x;
    int64_t n;
    atomic_bool found;
};

static void search_block(void *ctx, int64_t i, int thread)
{
    static const uint32_t exponent = 0x7f800000;
    struct search *s = ctx;
    const int64_t end = s->n < (i + 1) * BLOCK ? s->n : (i + 1) * BLOCK;
    uint32_t bits, found = 0;
    (void)thread;
    for (int64_t k = i * BLOCK; k < end; k++) {
        memcpy(&bits, s->x + k, sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    if (found) atomic_store(&s->found, true);
}

static bool is_finite(const float *x, int64_t n)
{
    struct search s = {.x = x, .n = n};
    num_parallel((n + BLOCK - 1) / BLOCK, search_block, &s);
    return !atomic_load(&s.found);
}

int memoryx_first_nonfinite(const struct memoryx *memoryx)
{
    int i = 0;
    while (i < memoryx->net->model->n_tensors && is_finite(memoryx->part[i].w, memoryx->part[i].n))
        i++;
    return i;
}
