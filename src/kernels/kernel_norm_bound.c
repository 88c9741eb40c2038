// SPDX-License-Identifier: Apache-2.0
/* Bound of the rounding errors of LayerNorm and RMSNorm on the mesh, forward and backward, by
 * running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 3.3).
 *
 * Each number carries a bound of its error through the operations of program_norm.c in their order:
 * fl(a op b) = (a op b)(1 + d) + t, |d| <= u, |t| <= half the smallest number of the format. Sums
 * along a row are in fp32. The mean m of a row is rounded by u |m|, which moves xhat by
 * u |m| / sigma: for rows of small variance that is more than any multiple of u. */
#include "kernel_rows.h"

#include <math.h>

/* Unit roundoff of fp32, in which rows are summed. */
#define FP32_ROUNDOFF 0x1p-24

/* A number of the definition, and how far the mesh may be off it. */
struct bounded {
    double value, error;
};

/* One row of the operands. */
struct bounded_row {
    const struct kernels_rounding *by;
    int64_t n;
    const double *x, *dy, *gain, *bias; /* (n); bias NULL: RMSNorm */
    struct bounded mean, rstd;          /* as narrowed */
};

static struct bounded exactly(double value)
{
    return (struct bounded){value, 0};
}

static struct bounded rounded(const struct bounded_row *r, struct bounded a)
{
    a.error += r->by->roundoff * (fabs(a.value) + a.error) + r->by->smallest / 2;
    return a;
}

static struct bounded sum(const struct bounded_row *r, struct bounded a, struct bounded b)
{
    return rounded(r, (struct bounded){a.value + b.value, a.error + b.error});
}

static struct bounded difference(const struct bounded_row *r, struct bounded a, struct bounded b)
{
    return rounded(r, (struct bounded){a.value - b.value, a.error + b.error});
}

static struct bounded product(const struct bounded_row *r, struct bounded a, struct bounded b)
{
    const double error = fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error;
    return rounded(r, (struct bounded){a.value * b.value, error});
}

/* Mean over the row of item(r, i), summed in fp32, then narrowed. */
static struct bounded mean_of(const struct bounded_row *r,
                              struct bounded (*item)(const struct bounded_row *r, int64_t i))
{
    const double n = (double)r->n;
    struct bounded all = {0, 0};
    double size = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const struct bounded a = item(r, i);
        all.value += a.value / n;
        all.error += a.error / n;
        size += (fabs(a.value) + a.error) / n;
    }
    all.error += (n + 1) * FP32_ROUNDOFF * size;
    return rounded(r, all);
}

static struct bounded x_at(const struct bounded_row *r, int64_t i)
{
    return exactly(r->x[i]);
}

static struct bounded centred_at(const struct bounded_row *r, int64_t i)
{
    return r->bias ? difference(r, exactly(r->x[i]), r->mean) : exactly(r->x[i]);
}

static struct bounded xhat_at(const struct bounded_row *r, int64_t i)
{
    return product(r, centred_at(r, i), r->rstd);
}

/* g = dy gain */
static struct bounded gradient_at(const struct bounded_row *r, int64_t i)
{
    return product(r, exactly(r->dy[i]), exactly(r->gain[i]));
}

static struct bounded along_at(const struct bounded_row *r, int64_t i)
{
    return product(r, xhat_at(r, i), gradient_at(r, i));
}

/* 1 / sqrt(variance + eps). With c the numbers less their mean, the mesh squares c + s + d: s, the
 * error of the mean, is equal for all numbers of the row, so that the mean of 2 c s is 0. */
static struct bounded rstd_of(const struct bounded_row *r)
{
    const double n = (double)r->n, eps = (double)PROGRAMS_NORM_EPS;
    const double shift = r->mean.error;
    double variance = 0, off = shift * shift;
    for (int64_t i = 0; i < r->n; i++) {
        const struct bounded c = centred_at(r, i);
        const double own = c.error - shift;
        const struct bounded square = product(r, c, c);
        variance += c.value * c.value / n;
        off += (square.error - 2 * fabs(c.value) * shift - shift * shift + 2 * own * shift) / n;
    }
    off += (n + 3) * FP32_ROUNDOFF * (variance + off + eps);
    const double root = 1 / sqrt(variance + eps);
    const double highest = 1 / sqrt(fmax(variance - off, 0) + eps);
    return rounded(r, (struct bounded){root, highest - root + 4 * FP32_ROUNDOFF * highest});
}

static void bound_forward(const struct bounded_row *r, double *bound)
{
    for (int64_t i = 0; i < r->n; i++) {
        const struct bounded y = product(r, xhat_at(r, i), exactly(r->gain[i]));
        bound[i] = r->bias ? sum(r, y, exactly(r->bias[i])).error : y.error;
    }
}

/* dx = (g - mean(g) - xhat mean(g xhat)) / sigma; without mean(g) for RMSNorm */
static void bound_backward(const struct bounded_row *r, double *bound)
{
    const struct bounded mean_g = mean_of(r, gradient_at), mean_gx = mean_of(r, along_at);
    for (int64_t i = 0; i < r->n; i++) {
        struct bounded g = gradient_at(r, i);
        if (r->bias) g = difference(r, g, mean_g);
        g = difference(r, g, product(r, xhat_at(r, i), mean_gx));
        bound[i] = product(r, g, r->rstd).error;
    }
}

void kernels_norm_bound(const struct programs_case *c, const struct kernels_reference *o,
                        const struct kernels_rounding *by, double *bound)
{
    struct bounded_row r = {.by = by, .n = c->features, .gain = o->x[2], .bias = o->x[3]};
    for (int64_t at = 0; at < kernels_tokens_of(c) * r.n; at += r.n) {
        r.x = o->x[0] + at;
        r.dy = o->x[1] + at;
        r.mean = r.bias ? mean_of(&r, x_at) : exactly(0);
        r.rstd = rstd_of(&r);
        if (c->backward)
            bound_backward(&r, bound + at);
        else
            bound_forward(&r, bound + at);
    }
}
