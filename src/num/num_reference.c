// SPDX-License-Identifier: Apache-2.0
/* Defines the operations of a transformer in plain loops in double precision, with the equations
 * of the papers. kernel_run.c compares mesh programs with these definitions operation by operation;
 * tests assemble a whole model from them and compare it with the host. */
#include <wsc/num_reference.h>

#include <float.h>
#include <math.h>

/* ---- products -------------------------------------------------------------------------------- */

void num_ref_product(const struct num_ref_linear *s, const double *x, const double *w, double *y)
{
    for (int64_t i = 0; i < s->rows * s->out; i++)
        for (int64_t l = 0; l < s->in; l++)
            y[i] += x[i / s->out * s->in + l] * w[i % s->out * s->in + l];
}

void num_ref_input_gradient(const struct num_ref_linear *s, const double *dy, const double *w,
                            double *dx)
{
    for (int64_t i = 0; i < s->rows * s->out; i++)
        for (int64_t l = 0; l < s->in; l++)
            dx[i / s->out * s->in + l] += dy[i] * w[i % s->out * s->in + l];
}

void num_ref_weight_gradient(const struct num_ref_linear *s, const double *dy, const double *x,
                             double *dw)
{
    for (int64_t i = 0; i < s->rows * s->out; i++)
        for (int64_t l = 0; l < s->in; l++)
            dw[i % s->out * s->in + l] += dy[i] * x[i / s->out * s->in + l];
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void moments(const struct num_ref_norm *r, const double *x, double *mean, double *rstd)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < r->n; i++)
        sum += x[i];
    *mean = r->rms ? 0 : sum / (double)r->n;
    for (int64_t i = 0; i < r->n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *rstd = 1 / sqrt(squares / (double)r->n + r->eps);
}

void num_ref_norm(const struct num_ref_norm *r, const double *x, double *y)
{
    for (int64_t row = 0; row < r->rows; row++) {
        const double *from = x + row * r->n;
        double mean, rstd;
        moments(r, from, &mean, &rstd);
        for (int64_t i = 0; i < r->n; i++)
            y[row * r->n + i] = (from[i] - mean) * rstd * r->gain[i] + (r->bias ? r->bias[i] : 0);
    }
}

/* With g_c = dy_c gain_c and d xhat_c / d x_e = rstd (delta_ce - 1/n - xhat_c xhat_e / n): dx_e =
 * rstd (g_e - sum g / n - xhat_e sum(g xhat) / n); RMSNorm has no term sum g / n. */
void num_ref_norm_gradient(const struct num_ref_norm *r, const double *x, const double *dy,
                           double *dx, double *dgain, double *dbias)
{
    for (int64_t row = 0; row < r->rows; row++) {
        const double *from = x + row * r->n, *d = dy + row * r->n;
        double mean, rstd, sum = 0, along = 0;
        moments(r, from, &mean, &rstd);
        for (int64_t c = 0; c < r->n; c++) {
            const double hat = (from[c] - mean) * rstd;
            if (dgain) dgain[c] += d[c] * hat;
            if (dbias) dbias[c] += d[c];
            if (!r->rms) sum += d[c] * r->gain[c];
            along += d[c] * r->gain[c] * hat;
        }
        for (int64_t e = 0; e < r->n; e++)
            dx[row * r->n + e] +=
                rstd * (d[e] * r->gain[e] - (sum + (from[e] - mean) * rstd * along) / (double)r->n);
    }
}

/* ---- softmax, nonlinearities, positions ------------------------------------------------------ */

void num_ref_softmax(double *row, int64_t n)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmax(max, row[i]);
    for (int64_t i = 0; i < n; i++)
        sum += row[i] = exp(row[i] - max);
    for (int64_t i = 0; i < n; i++)
        row[i] /= sum;
}

double num_ref_activation(enum num_ref_function f, double x)
{
    switch (f) {
    case NUM_REF_GELU:
        return x * (1 + erf(x / sqrt(2))) / 2;
    case NUM_REF_GELU_TANH:
        return x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
    case NUM_REF_SILU:
        return x / (1 + exp(-x));
    case NUM_REF_RELU:
        return x > 0 ? x : 0;
    }
    return NAN;
}

double num_ref_activation_slope(enum num_ref_function f, double x)
{
    const double th = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)), s = 1 / (1 + exp(-x));
    switch (f) {
    case NUM_REF_GELU:
        return (1 + erf(x / sqrt(2))) / 2 + x * exp(-x * x / 2) / sqrt(2 * M_PI);
    case NUM_REF_GELU_TANH:
        return (1 + th) / 2 + x * (1 - th * th) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x) / 2;
    case NUM_REF_SILU:
        return s + x * s * (1 - s);
    case NUM_REF_RELU:
        return x > 0;
    }
    return NAN;
}

void num_ref_rotary(double *x, int64_t T, int64_t heads, int64_t d, bool back)
{
    const int64_t n = heads * d;
    for (int64_t i = 0; i < T * n; i += 2) {
        const int64_t token = i / n, pair = i % d;
        const double angle = (double)token * pow(10000, -(double)pair / (double)d);
        const double c = cos(angle), s = back ? -sin(angle) : sin(angle), even = x[i];
        x[i] = even * c - x[i + 1] * s;
        x[i + 1] = x[i + 1] * c + even * s;
    }
}

/* ---- attention and loss ---------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* tanh(score / cap) of the query at @p at and the key at @p key; without a cap, the score. */
static double capped(const struct num_ref_attention *a, int64_t at, int64_t key)
{
    const double score = a->scale * dot(a->q + at, a->k + key, a->d);
    return a->cap > 0 ? tanh(score / a->cap) : score;
}

/* Vaswani et al. 2017, eq. 1, for query t = ht mod T of head ht / T over keys 0 .. t. */
void num_ref_attend(const struct num_ref_attention *a, double *p, double *out)
{
    const int64_t n = a->heads * a->d;
    for (int64_t ht = 0; ht < a->heads * a->T; ht++) {
        const int64_t t = ht % a->T, at = t * n + ht / a->T * a->d;
        const int64_t seen = a->both_ways ? a->T : t + 1;
        const double slope = a->slope ? (double)a->slope[ht / a->T] : 0;
        double *row = p + ht * a->T;
        for (int64_t s = 0; s < seen; s++)
            row[s] = (a->cap > 0 ? a->cap : 1) * capped(a, at, at + (s - t) * n) +
                     slope * (double)(s - t);
        num_ref_softmax(row, seen);
        for (int64_t i = at; i < at + a->d; i++) {
            out[i] = 0;
            for (int64_t s = 0; s < seen; s++)
                out[i] += row[s] * a->v[i + (s - t) * n];
        }
    }
}

/* Add the part of one key and query to the gradients: dq += ds k, dk += ds q, dv += p dout. */
static void add_key(const struct num_ref_attention *a, int64_t at, int64_t key, double ds, double p,
                    const double *dout, double *const grad[3])
{
    for (int64_t i = 0; i < a->d; i++) {
        grad[0][at + i] += ds * a->k[key + i];
        grad[1][key + i] += ds * a->q[at + i];
        grad[2][key + i] += p * dout[at + i];
    }
}

/* dP_s = dout . v_s, dS = P (dP - sum P dP). */
void num_ref_attend_gradient(const struct num_ref_attention *a, const double *p, const double *dout,
                             double *dq, double *dk, double *dv)
{
    double *const grad[] = {dq, dk, dv};
    const int64_t n = a->heads * a->d;
    for (int64_t ht = 0; ht < a->heads * a->T; ht++) {
        const int64_t t = ht % a->T, at = t * n + ht / a->T * a->d;
        const int64_t seen = a->both_ways ? a->T : t + 1;
        const double *row = p + ht * a->T;
        double mean = 0;
        for (int64_t s = 0; s < seen; s++)
            mean += row[s] * dot(dout + at, a->v + at + (s - t) * n, a->d);
        for (int64_t s = 0; s < seen; s++) {
            const int64_t key = at + (s - t) * n;
            const double x = a->cap > 0 ? capped(a, at, key) : 0;
            const double ds = a->scale * row[s] * (dot(dout + at, a->v + key, a->d) - mean);
            add_key(a, at, key, ds * (1 - x * x), row[s], dout, grad);
        }
    }
}

double num_ref_nats(const double *row, int64_t n, int64_t label)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmax(max, row[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(row[i] - max);
    return log(fmax(sum, DBL_MIN)) + max - row[label];
}

double num_ref_cross_entropy(double *row, int64_t n, int64_t label)
{
    const double nats = num_ref_nats(row, n, label);
    num_ref_softmax(row, n);
    row[label] -= 1;
    return nats;
}
