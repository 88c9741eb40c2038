// SPDX-License-Identifier: Apache-2.0
/* Sets the initial state of a shard. Initial weights follow the rules of the tensor table: element
 * i of tensor k is a function of (seed, k, i), on any shard. job_checkpoint.c initializes all
 * tensors if there is no checkpoint; memoryx_checkpoint.c if weights are not taken from one, and
 * with memoryx_vocabulary.c if the file has only a part of a tensor. */
#include "memoryx_init.h"
#include "memoryx_optimizer.h"

#include "memoryx_loss_scale.h"

#include <wsc/rng.h>

#include <string.h>

enum { INIT_BLOCK = 4096 };

/* Elements [first, first + n) of a tensor with @p cols columns, at most INIT_BLOCK of them. */
static void initial_values(float *w, const struct zoo_init *init, uint64_t seed, uint64_t stream,
                           int64_t first, int64_t n, int64_t cols)
{
    double x[INIT_BLOCK], shift = 0, scale = 1;
    const uint64_t from = (uint64_t)first;
    switch (init->kind) {
    case ZOO_INIT_NORMAL:
        wsc_rng_normals(x, seed, stream, from, n);
        shift = init->mean;
        scale = init->std;
        break;
    case ZOO_INIT_TRUNCATED_NORMAL:
        wsc_rng_truncated_normals(x, seed, stream, from, n, (init->a - init->mean) / init->std,
                                  (init->b - init->mean) / init->std);
        shift = init->mean;
        scale = init->std;
        break;
    case ZOO_INIT_UNIFORM:
        wsc_rng_uniforms(x, seed, stream, from, n);
        shift = init->a;
        scale = init->b - init->a;
        break;
    case ZOO_INIT_EYE:
        for (int64_t i = 0; i < n; i++)
            x[i] = (first + i) / cols == (first + i) % cols;
        break;
    case ZOO_INIT_ONES:
    case ZOO_INIT_CONSTANT:
    case ZOO_INIT_ZEROS:
    case ZOO_INIT_DEFAULT:
    case ZOO_INIT_VARIANCE_SCALING:
        memset(x, 0, (size_t)n * sizeof *x);
        shift = init->kind == ZOO_INIT_ONES ? 1 : init->kind == ZOO_INIT_CONSTANT ? init->value : 0;
        break;
    }
    for (int64_t i = 0; i < n; i++)
        w[i] = (float)(shift + scale * x[i]);
}

/* Set row @p row of a tensor with @p cols columns to 0, in elements [first, first + n) of it. */
static void zero_row(float *w, int64_t row, int64_t first, int64_t n, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        if ((first + i) / cols == row) w[i] = 0;
}

struct init_job {
    const struct memoryx *mx;
    int tensor;
    uint64_t seed;
};
static void init_block(void *ctx, int64_t b, int thread)
{
    const struct init_job *job = ctx;
    const struct memoryx *mx = job->mx;
    const struct memoryx_part *s = &mx->part[job->tensor];
    const struct model_tensor *t = &mx->net->model->tensor[job->tensor];
    const uint64_t stream = wsc_rng_stream(WSC_RNG_INIT, (uint64_t)t->init_stream);
    const int64_t i = b * INIT_BLOCK, left = s->n - i, n = left < INIT_BLOCK ? left : INIT_BLOCK;
    (void)thread;
    initial_values(s->w + i, &t->init, job->seed, stream, s->first + i, n, t->shape[1]);
    if (t->zero_row) zero_row(s->w + i, t->zero_row, s->first + i, n, t->shape[1]);
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
