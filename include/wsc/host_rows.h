/** Operations of the host on one row of features, in fp32.
 *
 *  host_forward() and host_backward() use them; the table of kernels compares each one with its
 *  definition (<wsc/num_reference.h>). A row is summed in 16 lanes and a fixed tree over them
 *  (<wsc/num_math.h>), so that the bits of a result depend only on the row, not on the number of
 *  rows or threads or the width of vector registers. Inputs and outputs do not overlap. No function
 *  allocates memory or fails. */
#ifndef WSC_HOST_ROWS_H
#define WSC_HOST_ROWS_H
#include <stdbool.h>
#include <stdint.h>

/** A norm over @c n features: LayerNorm (Ba, Kiros, Hinton 2016) or RMSNorm (Zhang and Sennrich
 *  2019). */
struct host_row_norm {
    int64_t n;
    float eps;
    bool rms;          /**< RMSNorm: the mean is taken as 0 */
    const float *gain; /**< (n) */
    const float *bias; /**< (n), or NULL */
};
/** Write the mean (0 for RMSNorm) and 1/sigma of the row @p x (n) to @p stats, sigma = sqrt(mean((x
 *  - mean)^2) + eps). The backward pass uses both numbers. */
void host_row_norm_stats(const struct host_row_norm *r, const float *x, float stats[2]);
/** out = gain (x - mean) / sigma + bias, elementwise over n features, with the @p stats of
 *  host_row_norm_stats(). */
void host_row_norm(const struct host_row_norm *r, const float *x, const float *stats, float *out);
/** Add the gradient of the row @p x to @p dx, from the gradient @p dy of the norm's output: dx +=
 * (g
 *  - mean(g) - xhat mean(g xhat)) / sigma with g = dy gain and xhat the normalised row; without
 *  mean(g) for RMSNorm. All arrays are (n). */
void host_row_norm_gradient(const struct host_row_norm *r, const float *x, const float *stats,
                            const float *dy, float *dx);
#endif
