// SPDX-License-Identifier: Apache-2.0
/* Computes relative positions: distances are divided into buckets (Raffel et al. 2020, 2.1;
 * model_positions.c). Trained slopes of ALiBi (Press et al. 2022) are one bucket, whose weight is
 * multiplied by minus the distance. When the stage of the embedding arrives, its tensor is
 * expanded to tables by distance. host_attention.c adds them to scores and sums their gradients;
 * one thread computes each sum, in the order of layers, queries and keys. */
#include "host_relative.h"
#include "host_buffers.h"

#include <stdlib.h>
#include <string.h>

/* Number of elements of a table by distance. */
static int64_t n_distances(const struct host *k)
{
    return 2 * model_longest(k->model);
}

static int64_t stack_number(const struct host *k)
{
    return k->stack - k->model->stack;
}

void host_relative_create(struct host *k)
{
    const struct model *m = k->model;
    int32_t *bucket = k->buffer[HOST_BUCKETS];
    for (int i = 0; m->buckets && i < m->n_stacks; i++)
        for (int64_t d = 0; d < n_distances(k); d++)
            bucket[i * n_distances(k) + d] = (int32_t)model_bucket(m, i, d - model_longest(m));
}

void host_relative_begin(struct host *k)
{
    const struct model *m = k->model;
    const int64_t n = (int64_t)m->n_stacks * k->max_samples * m->H * m->buckets;
    if (k->buffer[HOST_DRELATIVE]) memset(k->buffer[HOST_DRELATIVE], 0, (size_t)n * sizeof(double));
}

double host_relative_factor(const struct host *k, int64_t distance)
{
    return k->model->slopes ? -(double)llabs(distance) / k->model->position_scale : 1;
}

const int32_t *host_relative_buckets(const struct host *k)
{
    const int32_t *bucket = k->buffer[HOST_BUCKETS];
    return bucket + stack_number(k) * n_distances(k) + model_longest(k->model);
}

static float *table_of(const struct host *k, int64_t h)
{
    return (float *)k->buffer[HOST_RELATIVE] +
           (stack_number(k) * k->model->H + h) * n_distances(k) + model_longest(k->model);
}

void host_relative_load(struct host *k)
{
    const struct model *m = k->model;
    const int32_t *bucket = host_relative_buckets(k);
    for (int64_t h = 0; h < m->H; h++) {
        float *table = table_of(k, h);
        for (int64_t d = -model_longest(m); d < model_longest(m); d++) {
            const void *at =
                host_const_at(k, k->stage.weight[MODEL_RELATIVE_W], bucket[d] * m->H + h);
            if (k->fp32)
                table[d] = *(const float *)at;
            else
                num_widen(m->format, &table[d], at, 1);
            if (m->slopes) table[d] *= (float)host_relative_factor(k, d);
        }
    }
}

const float *host_relative_scores(const struct host *k, int64_t h)
{
    return k->model->buckets && !k->crosses ? table_of(k, h) : NULL;
}

double *host_relative_sums(const struct host *k, int64_t sample, int64_t h)
{
    const struct model *m = k->model;
    const int64_t sequence = stack_number(k) * k->max_samples + sample;
    return (double *)k->buffer[HOST_DRELATIVE] + (sequence * m->H + h) * m->buckets;
}

/* Rows [r0, r0 + n) of the gradient of the table for one leaf, sample after sample. */
static void relative_leaf(const struct host *k, const struct host_grad *g,
                          const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    const int64_t first = leaf->row / k->T, end = (leaf->row + leaf->n) / k->T;
    for (int64_t b = 0; b < n; b++)
        for (int64_t h = 0; h < g->cols; h++) {
            double sum = 0;
            for (int64_t sample = first; sample < end; sample++)
                sum += host_relative_sums(k, sample, h)[r0 + b];
            dst[b * g->cols + h] = (float)sum;
        }
}

struct host_grad host_relative_grad(const struct host *k)
{
    return (struct host_grad){.kind = MODEL_RELATIVE_W,
                              .rows = k->model->buckets,
                              .cols = k->model->H,
                              .leaf = relative_leaf};
}
