// SPDX-License-Identifier: Apache-2.0
/* Computes element-wise sums and reductions of fp32 vectors in a fixed order: sixteen lanes, then
 * a tree over them. */
#include "num_impl.h"

#include <wsc/num_math.h>

NUM_CLONES void num_add(float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

NUM_CLONES void num_sum_of(float *out, const float *x, const float *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

NUM_CLONES void num_scale(float *restrict y, float s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= s;
}

NUM_CLONES void num_scaled(float *restrict out, const float *restrict x, float s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * s;
}

NUM_CLONES void num_add_scaled(float *restrict y, const float *restrict x, float s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i] * s;
}

NUM_CLONES double num_sum_squares(const float *x, int64_t n)
{
    double lane[NUM_LANES] = {0};
    int64_t i = 0;
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        for (int j = 0; j < NUM_LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    }
    for (int j = 0; i < n; i++, j++)
        lane[j] += (double)x[i] * (double)x[i];
    for (int width = NUM_LANES / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; j++)
            lane[j] += lane[j + width];
    }
    return lane[0];
}
