// SPDX-License-Identifier: Apache-2.0
#include "program_cases.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>

/* The definitions, written out, in double precision. */

double *programs_ref_alloc(int64_t n)
{
    double *x = wsc_alloc(WSC_MEM_KERNELS, (size_t)(n > 0 ? n : 1), sizeof *x);
    WSC_CHECK(x, "no memory for a reference of %lld numbers", (long long)n);
    return x;
}

double *programs_ref_product(const float *x, const float *w, int64_t rows, int64_t out, int64_t in)
{
    double *y = programs_ref_alloc(rows * out);
    for (int64_t i = 0; i < rows * out; i++)
        for (int64_t l = 0; l < in; l++)
            y[i] += (double)x[i / out * in + l] * (double)w[i % out * in + l];
    return y;
}

double *programs_ref_weight_gradient(const float *dy, const float *x, int64_t rows, int64_t out,
                                     int64_t in)
{
    double *w = programs_ref_alloc(out * in);
    for (int64_t i = 0; i < out * in; i++)
        for (int64_t r = 0; r < rows; r++)
            w[i] += (double)dy[r * out + i / in] * (double)x[r * in + i % in];
    return w;
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void norm_row(const struct programs_ref_norm *r, const float *x, double *mean, double *rstd)
{
    double squares = 0;
    *mean = 0;
    for (int64_t i = 0; r->bias && i < r->n; i++)
        *mean += (double)x[i] / (double)r->n;
    for (int64_t i = 0; i < r->n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean) / (double)r->n;
    *rstd = 1 / sqrt(squares + r->eps);
}

static void norm_row_backward(const struct programs_ref_norm *r, int64_t row, double *dx)
{
    const float *x = r->x + row * r->n, *dy = r->dy + row * r->n;
    double mean, rstd, mean_g = 0, mean_gx = 0;
    norm_row(r, x, &mean, &rstd);
    for (int64_t i = 0; i < r->n; i++) {
        const double g = (double)dy[i] * (double)r->gain[i] / (double)r->n;
        mean_g += r->bias ? g : 0;
        mean_gx += g * ((double)x[i] - mean) * rstd;
    }
    for (int64_t i = 0; i < r->n; i++)
        dx[i] = rstd * ((double)dy[i] * (double)r->gain[i] - mean_g -
                        ((double)x[i] - mean) * rstd * mean_gx);
}

double *programs_ref_norm(const struct programs_ref_norm *r)
{
    double *out = programs_ref_alloc(r->rows * r->n), mean, rstd;
    for (int64_t row = 0; row < r->rows; row++) {
        const float *x = r->x + row * r->n;
        if (r->dy) {
            norm_row_backward(r, row, out + row * r->n);
            continue;
        }
        norm_row(r, x, &mean, &rstd);
        for (int64_t i = 0; i < r->n; i++)
            out[row * r->n + i] = ((double)x[i] - mean) * rstd * (double)r->gain[i] +
                                  (r->bias ? (double)r->bias[i] : 0);
    }
    return out;
}

/* ---- softmax and nonlinearities -------------------------------------------------------------- */

static void softmax_row(const float *x, int64_t n, double *y)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmax(max, (double)x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - max);
    for (int64_t i = 0; i < n; i++)
        y[i] = exp((double)x[i] - max) / sum;
}

double *programs_ref_softmax(const float *x, const float *dy, int64_t rows, int64_t n)
{
    double *y = programs_ref_alloc(rows * n);
    for (int64_t r = 0; r < rows; r++) {
        double *row = y + r * n, sum = 0;
        softmax_row(x + r * n, n, row);
        for (int64_t i = 0; dy && i < n; i++)
            sum += row[i] * (double)dy[r * n + i];
        for (int64_t i = 0; dy && i < n; i++)
            row[i] *= (double)dy[r * n + i] - sum;
    }
    return y;
}

static double activation(enum programs_nonlinearity f, double x)
{
    const double u = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
    switch (f) {
    case PROGRAMS_GELU:
        return x * (1 + erf(x / sqrt(2))) / 2;
    case PROGRAMS_GELU_NEW:
        return x * (1 + tanh(u)) / 2;
    case PROGRAMS_SILU:
        return x / (1 + exp(-x));
    case PROGRAMS_RELU:
        return x > 0 ? x : 0;
    }
    return 0;
}

/* The derivative by central differences: its error is of the order of h squared. */
double *programs_ref_activation(enum programs_nonlinearity f, const float *x, const float *dy,
                                int64_t n)
{
    const double h = 1e-5;
    double *y = programs_ref_alloc(n);
    for (int64_t i = 0; i < n; i++) {
        const double at = (double)x[i];
        y[i] = dy ? (double)dy[i] * (activation(f, at + h) - activation(f, at - h)) / (2 * h)
                  : activation(f, at);
    }
    return y;
}

/* Su et al. 2021, eq. 34: pair i of a head turns by position 10000^(-2 i / d). */
double *programs_ref_rotary(const float *x, int64_t T, int64_t heads, int64_t d, bool back)
{
    const int64_t n = heads * d;
    double *y = programs_ref_alloc(T * n);
    for (int64_t i = 0; i < T * n; i += 2) {
        const int64_t token = i / n, pair = i % d;
        const double angle = (double)token * pow(10000, -(double)pair / (double)d);
        const double c = cos(angle), s = back ? -sin(angle) : sin(angle);
        y[i] = (double)x[i] * c - (double)x[i + 1] * s;
        y[i + 1] = (double)x[i + 1] * c + (double)x[i] * s;
    }
    return y;
}

/* ---- attention ------------------------------------------------------------------------------- */

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Probabilities of query @p i of head @p h over keys 0 .. i. */
static void attend_row(const struct programs_ref_attention *r, int64_t h, int64_t i, double *p)
{
    const int64_t n = r->heads * r->d;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j <= i; j++) {
        p[j] = dot(r->q + i * n + h * r->d, r->k + j * n + h * r->d, r->d) / sqrt((double)r->d);
        max = fmax(max, p[j]);
    }
    for (int64_t j = 0; j <= i; j++)
        sum += p[j] = exp(p[j] - max);
    for (int64_t j = 0; j <= i; j++)
        p[j] /= sum;
}

static void attend_row_backward(const struct programs_ref_attention *r, int64_t h, int64_t i,
                                double *p, double *grad)
{
    const int64_t n = r->heads * r->d, at = i * n + h * r->d;
    double *dq = grad, *dk = grad + r->T * n, *dv = dk + r->T * n, sum = 0;
    for (int64_t j = 0; j <= i; j++)
        sum += p[j] * dot(r->dout + at, r->v + j * n + h * r->d, r->d);
    for (int64_t j = 0; j <= i; j++) {
        const int64_t key = j * n + h * r->d;
        const double ds = p[j] * (dot(r->dout + at, r->v + key, r->d) - sum) / sqrt((double)r->d);
        for (int64_t c = 0; c < r->d; c++) {
            dq[at + c] += ds * (double)r->k[key + c];
            dk[key + c] += ds * (double)r->q[at + c];
            dv[key + c] += p[j] * (double)r->dout[at + c];
        }
    }
}

double *programs_ref_attention(const struct programs_ref_attention *r)
{
    const int64_t n = r->heads * r->d;
    double *out = programs_ref_alloc((r->dout ? 3 : 1) * r->T * n), *p = programs_ref_alloc(r->T);
    for (int64_t ih = 0; ih < r->T * r->heads; ih++) {
        const int64_t i = ih / r->heads, h = ih % r->heads;
        attend_row(r, h, i, p);
        if (r->dout) {
            attend_row_backward(r, h, i, p, out);
            continue;
        }
        for (int64_t jc = 0; jc < (i + 1) * r->d; jc++)
            out[i * n + h * r->d + jc % r->d] +=
                p[jc / r->d] * (double)r->v[jc / r->d * n + h * r->d + jc % r->d];
    }
    wsc_free(p);
    return out;
}

double *programs_ref_loss(const float *logits, const int32_t *labels, int64_t rows, int64_t n,
                          bool gradient)
{
    double *out = programs_ref_softmax(logits, NULL, rows, n);
    for (int64_t r = 0; r < rows; r++) {
        if (gradient)
            out[r * n + labels[r]] -= 1;
        else
            out[r] = -log(out[r * n + labels[r]]);
    }
    return out;
}
