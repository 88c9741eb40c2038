// SPDX-License-Identifier: Apache-2.0
/* Computes the softmax of attention scores by tiles of keys: exponentials with a running maximum
 * and sum (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"), and the
 * gradient of the scores from the stored maximum and sum (Dao et al. 2022, appendix B). The loops
 * process one row, which stays in the first-level cache. host_attention.c calls. */
#include "host_softmax.h"

#include <wsc/num_math.h>

/* Round up to whole vectors, so that loops have no remainder. */
static int64_t whole(int64_t n)
{
    return (n + NUM_LANES - 1) / NUM_LANES * NUM_LANES;
}

NUM_CLONES void host_softmax_shape(const struct host_shape *s, float *row, float nearest, int64_t n)
{
    const float scale = s->scale, cap = s->cap, slope = s->slope;
    for (int64_t j = 0; j < n; j++)
        row[j] *= scale;
    if (cap > 0) {
        for (int64_t j = 0; j < n; j++)
            row[j] = cap * num_tanh(row[j] / cap);
    }
    if (slope != 0) {
        for (int64_t j = 0; j < n; j++)
            row[j] -= slope * (nearest - (float)j);
    }
}

NUM_CLONES void host_softmax_cap_slopes(float cap, const float *restrict row,
                                        float *restrict slopes, int64_t n)
{
    const float per_cap = 1.0F / cap;
    for (int64_t j = 0; j < n; j++) {
        const float share = row[j] * per_cap;
        slopes[j] = 1.0F - share * share;
    }
}

/* row *= scale, padded with -inf to a whole vector; returns the largest element. */
static inline float scale_and_find_max(float *row, float scale, int64_t n)
{
    num_lanes most, at;
    int64_t j = 0;
    num_lanes_load_some(&most, row, 0, -INFINITY);
    for (; j + NUM_LANES <= n; j += NUM_LANES) {
        num_lanes_load(&at, row + j);
        at *= scale;
        num_lanes_store(row + j, &at);
        num_lanes_max(&most, &at);
    }
    if (j < n) {
        for (int64_t i = j; i < j + NUM_LANES; i++)
            row[i] = i < n ? row[i] * scale : -INFINITY;
        num_lanes_load(&at, row + j);
        num_lanes_max(&most, &at);
    }
    return num_lanes_largest(&most);
}

/* A row in which every key is hidden leaves the maximum at -inf; its exponentials are 0. */
NUM_CLONES void host_softmax_add(struct host_softmax *s, float *row, float scale, int64_t n,
                                 float *out, int64_t d)
{
    const float max = scale_and_find_max(row, scale, n);
    if (max > s->max) {
        const float factor = num_exp(s->max - max);
        for (int64_t i = 0; s->sum > 0 && i < d; i++)
            out[i] *= factor;
        s->sum *= factor;
        s->max = max;
    }
    s->sum += num_exp_row(row, row, s->max == -INFINITY ? 0 : s->max, whole(n));
}

NUM_CLONES void host_softmax_backward(const struct host_softmax_stats *s, float scale,
                                      float *restrict row, float *restrict drow, int64_t n)
{
    const float max = s->max, inv_sum = s->inv_sum, dot = s->dot;
    for (int64_t j = 0; j < n; j++) {
        float p = num_exp(row[j] * scale - max) * inv_sum;
        row[j] = p;
        drow[j] = p * (drow[j] - dot) * scale;
    }
}

NUM_CLONES void host_softmax_shaped_backward(const struct host_softmax_stats *s,
                                             const struct host_shape *shape, float *restrict row,
                                             float *restrict drow, int64_t n)
{
    const float max = s->max, inv_sum = s->inv_sum, dot = s->dot, scale = shape->scale;
    const float per_cap = shape->cap > 0 ? 1.0F / shape->cap : 0;
    for (int64_t j = 0; j < n; j++) {
        float p = num_exp(row[j] - max) * inv_sum, share = row[j] * per_cap;
        row[j] = p;
        drow[j] = p * (drow[j] - dot) * (1.0F - share * share) * scale;
    }
}
