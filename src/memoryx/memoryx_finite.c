// SPDX-License-Identifier: Apache-2.0
/* Looks for NaN and infinity in weights and optimizer state. A step reports the loss and the norm
 * of the gradient from the weights before its update, so the weights of the last step, and those of
 * a checkpoint, are looked at here. The exponents are compared in blocks on all threads, at the
 * speed of memory. job_checkpoint.c calls. */
#include "memoryx_state.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Values of a tensor are numbered: its weights, then its states. */
enum { KINDS = 1 + MEMORYX_MAX_STATE, BLOCK = 1 << 16 };

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

static bool state_is_finite(const struct memoryx *mx, int tensor, int k)
{
    const struct memoryx_state s =
        memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[tensor], k);
    const struct memoryx_part *part = &mx->part[tensor];
    return !s.name ||
           is_finite(part->state[k], s.extent == MEMORYX_ELEMENTS ? part->n : s.shape[0]);
}

int memoryx_first_nonfinite(const struct memoryx *memoryx)
{
    const int n = memoryx->net->model->n_tensors;
    for (int i = 0; i < n; i++) {
        if (!is_finite(memoryx->part[i].w, memoryx->part[i].n)) return i * KINDS;
        for (int k = 0; k < MEMORYX_MAX_STATE; k++)
            if (!state_is_finite(memoryx, i, k)) return i * KINDS + 1 + k;
    }
    return n * KINDS;
}

int memoryx_n_values(const struct model *model)
{
    return model->n_tensors * KINDS;
}

void memoryx_value_name(char name[MEMORYX_VALUE_BYTES], const struct zoo_optimizer *optimizer,
                        const struct model *model, int value)
{
    const struct model_tensor *t = &model->tensor[value / KINDS];
    const int k = value % KINDS - 1;
    (void)snprintf(name, MEMORYX_VALUE_BYTES, "%s%s%s",
                   k < 0 ? "" : memoryx_state_of(optimizer, t, k).name, k < 0 ? "" : " of ",
                   t->name);
}
