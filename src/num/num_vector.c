// SPDX-License-Identifier: Apache-2.0
/* Element-wise sums and reductions of fp32 vectors in an order that is fixed: sixteen lanes, then a
 * tree over them. */
#include "num_impl.h"

#include <string.h>

enum { N_LANES = 16 };

void num_add(float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

void num_scale(float *restrict y, float s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= s;
}

double num_sum_squares(const float *x, int64_t n)
{
    double lane[N_LANES] = {0};
    int64_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES) {
        for (int j = 0; j < N_LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    }
    for (int j = 0; i < n; i++, j++)
        lane[j] += (double)x[i] * (double)x[i];
    for (int width = N_LANES / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; j++)
            lane[j] += lane[j + width];
    }
    return lane[0];
}
