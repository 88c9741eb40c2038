// SPDX-License-Identifier: Apache-2.0
/* What a shard begins with.  Initial weights by the rules of the tensor table: element i of tensor
 * k is a function of (seed, k, i), whoever holds it.  job_checkpoint.c asks for all tensors where
 * there is no checkpoint, memoryx_checkpoint.c where weights are not taken from one, and with
 * memoryx_vocabulary.c for a tensor of which the file lacks a part. */
#include "memoryx_init.h"

#include "memoryx_loss_scale.h"

#include <wsc/rng.h>

#include <string.h>

static float initial_value(const struct zoo_init *init, uint64_t seed, int64_t number, int64_t i,
                           int64_t cols)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_INIT, (uint64_t)number);
    const uint64_t at = (uint64_t)i;
    switch (init->kind) {
    case ZOO_INIT_ONES:
        return 1.0F;
    case ZOO_INIT_CONSTANT:
        return (float)init->value;
    case ZOO_INIT_NORMAL:
        return (float)(init->mean + init->std * wsc_rng_normal(seed, stream, at));
    case ZOO_INIT_TRUNCATED_NORMAL:
        return (float)(init->mean +
                       init->std * wsc_rng_truncated_normal(seed, stream, at,
                                                            (init->a - init->mean) / init->std,
                                                            (init->b - init->mean) / init->std));
    case ZOO_INIT_UNIFORM:
        return (float)(init->a + (init->b - init->a) * wsc_rng_uniform(seed, stream, at));
    case ZOO_INIT_EYE:
        return i / cols == i % cols ? 1.0F : 0.0F;
    case ZOO_INIT_ZEROS:
    case ZOO_INIT_DEFAULT:
    case ZOO_INIT_VARIANCE_SCALING:
        return 0.0F;
    }
    return 0.0F;
}

struct init_job {
    const struct memoryx *mx;
    int tensor;
    uint64_t seed;
};
enum { INIT_BLOCK = 4096 };

static void init_block(void *ctx, int64_t b, int thread)
{
    const struct init_job *job = ctx;
    const struct memoryx *mx = job->mx;
    const struct memoryx_part *s = &mx->part[job->tensor];
    const struct model_tensor *t = &mx->net->model->tensor[job->tensor];
    (void)thread;
    for (int64_t i = b * INIT_BLOCK; i < (b + 1) * INIT_BLOCK && i < s->n; i++)
        s->w[i] = initial_value(&t->init, job->seed, t->init_stream, s->first + i, t->shape[1]);
}

void memoryx_init_tensor(struct memoryx *mx, int tensor)
{
    const int64_t own = mx->config.params->model.weight_initialization_seed;
    struct init_job job = {mx, tensor, own > 0 ? (uint64_t)own : mx->config.seed};
    num_parallel((mx->part[tensor].n + INIT_BLOCK - 1) / INIT_BLOCK, init_block, &job);
}

void memoryx_init_weights(struct memoryx *memoryx)
{
    for (int i = 0; i < memoryx->net->model->n_tensors && memoryx->config.values; i++)
        memoryx_init_tensor(memoryx, i);
}

static void states_begin(struct memoryx *mx, int i)
{
    const struct memoryx_part *s = &mx->part[i];
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state state =
            memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[i], k);
        const int64_t n = state.extent == MEMORYX_ELEMENTS ? s->n : state.shape[0];
        if (s->state[k]) memset(s->state[k], 0, (size_t)n * sizeof *s->state[k]);
    }
}

void memoryx_begin(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct memoryx_part *s = &mx->part[i];
        s->mask_due = s->mask != NULL;
        s->chosen_due = s->chosen != NULL;
        states_begin(mx, i);
    }
    mx->updates = mx->schedule = mx->mask_step = 0;
    mx->noise = (struct memoryx_noise){.scale = NAN};
    mx->noise_steps = 0;
    memoryx_scale_start(mx);
}
