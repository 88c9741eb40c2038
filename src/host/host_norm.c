// SPDX-License-Identifier: Apache-2.0
/* Computes LayerNorm (Ba, Kiros, Hinton 2016, eq. 3 and 4) and RMSNorm (Zhang and Sennrich 2019,
 * eq. 4) of one row, and their gradients. A second pass over the row takes the variance around the
 * mean, which is more accurate. host_row_blocks.c calls for the rows of a block. */
#include <wsc/host_rows.h>

#include <wsc/num_math.h>

#include <math.h>

/* The statistics of RMSNorm are mean 0 and 1 / sqrt(mean(x^2) + eps). */
NUM_CLONES void host_row_norm_stats(const struct host_row_norm *r, const float *x, float stats[2])
{
    const float n = (float)r->n, mean = r->rms ? 0 : num_sum(x, r->n) / n;
    const float variance = r->rms ? num_dot(x, x, r->n) / n : num_sum_deviations(x, mean, r->n) / n;
    stats[0] = mean;
    stats[1] = 1.0F / sqrtf(variance + r->eps);
}

NUM_CLONES void host_row_norm(const struct host_row_norm *r, const float *x, const float *stats,
                              float *out)
{
    const float mean = stats[0], rstd = stats[1], *gain = r->gain, *bias = r->bias;
    const int64_t n = r->n;
    if (bias) {
        for (int64_t c = 0; c < n; c++)
            out[c] = (x[c] - mean) * rstd * gain[c] + bias[c];
    } else {
        for (int64_t c = 0; c < n; c++)
            out[c] = (x[c] - mean) * rstd * gain[c];
    }
}

/* With xhat = (x - mean) rstd and g = dy gain: dx = rstd (g - mean(g) - xhat mean(g xhat));
 * RMSNorm has no term mean(g). */
NUM_CLONES void host_row_norm_gradient(const struct host_row_norm *r, const float *x,
                                       const float *stats, const float *dy, float *dx)
{
    const float mean = stats[0], rstd = stats[1], *w = r->gain;
    const int64_t n = r->n;
    num_lanes sum_g = {0}, sum_gx = {0}, at_x, at_dy, at_w;
    int64_t c = 0;
    for (; c + NUM_LANES <= n; c += NUM_LANES) {
        num_lanes_load(&at_x, x + c);
        num_lanes_load(&at_dy, dy + c);
        num_lanes_load(&at_w, w + c);
        at_dy *= at_w;
        sum_g += at_dy;
        sum_gx += at_dy * ((at_x - mean) * rstd);
    }
    if (c < n) {
        num_lanes_load_some(&at_x, x + c, n - c, mean);
        num_lanes_load_some(&at_dy, dy + c, n - c, 0);
        num_lanes_load_some(&at_w, w + c, n - c, 0);
        at_dy *= at_w;
        sum_g += at_dy;
        sum_gx += at_dy * ((at_x - mean) * rstd);
    }
    float mean_g = num_lanes_total(&sum_g) / (float)n,
          mean_gx = num_lanes_total(&sum_gx) / (float)n;
    if (r->rms) mean_g = 0;
    for (c = 0; c < n; c++)
        dx[c] += rstd * (dy[c] * w[c] - mean_g - (x[c] - mean) * rstd * mean_gx);
}
