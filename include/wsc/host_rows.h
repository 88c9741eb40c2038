/** Operations of the host on one row of features, in fp32.  Layer 5.
 *
 *  host_forward() and host_backward() are made of them; the table of kernels measures them one by
 *  one against the definition.  A row is summed in 16 lanes and a fixed tree over them
 *  (<wsc/num_math.h>), so that its bits do not depend on anything else.
 */
#ifndef WSC_HOST_ROWS_H
#define WSC_HOST_ROWS_H
#include <stdbool.h>
#include <stdint.h>

/** A norm over @c n features. */
struct host_row_norm {
    int64_t n;
    float eps;
    bool rms;          /**< RMSNorm: the mean counts as 0 */
    const float *gain; /**< (n) */
    const float *bias; /**< (n), or NULL */
};
/** Mean and 1/sigma of a row. */
void host_row_norm_stats(const struct host_row_norm *r, const float *x, float stats[2]);
/** out = gain (x - mean) / sigma + bias. */
void host_row_norm(const struct host_row_norm *r, const float *x, const float *stats, float *out);
/** Add the gradient of a row @p x to @p dx, from that of the norm's output @p dy. */
void host_row_norm_gradient(const struct host_row_norm *r, const float *x, const float *stats,
                            const float *dy, float *dx);
#endif
