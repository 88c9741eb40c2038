// SPDX-License-Identifier: Apache-2.0
#include "host_impl.h"
#include <wsc/num_math.h>

struct each_block {
    struct host *k;
    void (*rows)(struct host *k, const struct host_span *b, int thread);
};

static void run_block(void *ctx, int64_t i, int thread)
{
    const struct each_block *each = ctx;
    each->rows(each->k, &each->k->block[i], thread);
}

void host_each_block(struct host *k,
                     void (*rows)(struct host *k, const struct host_span *b, int thread))
{
    struct each_block each = {.k = k, .rows = rows};
    num_parallel(k->n_blocks, run_block, &each);
}

static void normalise(float *out, const float *x, const float *stats, const float *weight,
                      const float *bias, int64_t n)
{
    float mean = stats[0], rstd = stats[1];
    if (bias) {
        for (int64_t c = 0; c < n; c++)
            out[c] = (x[c] - mean) * rstd * weight[c] + bias[c];
    } else {
        for (int64_t c = 0; c < n; c++)
            out[c] = (x[c] - mean) * rstd * weight[c];
    }
}

void host_norm_again(const struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                     const float *x, const float *stats, void *out, int thread)
{
    int64_t C = k->model->C;
    const float *w = k->stage.vector[weight], *bias = k->stage.vector[weight + 1];
    float *row = host_thread(k, thread, HOST_ROW);
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, out, i * C);
        const float *from = x + (b->row + i) * C;
        normalise(k->fp32 ? to : row, from, stats + 2 * (b->row + i), w, bias, C);
        if (!k->fp32) host_narrow(k, to, row, C);
    }
}

/* Ba, Kiros, Hinton 2016, eq. 3 and 4; the variance around the mean, in a second pass.  RMSNorm
 * (Zhang and Sennrich 2019, eq. 4) has a mean of 0. */
static void row_stats(const struct model *m, const float *x, float stats[2])
{
    float n = (float)m->C, eps = (float)m->norm_eps;
    float mean = m->norm == ZOO_RMSNORM ? 0 : num_sum(x, m->C) / n;
    float variance =
        m->norm == ZOO_RMSNORM ? num_dot(x, x, m->C) / n : num_sum_deviations(x, mean, m->C) / n;
    stats[0] = mean;
    stats[1] = 1.0F / sqrtf(variance + eps);
}

void host_norm_forward(const struct host *k, const struct host_span *b,
                       enum model_tensor_kind weight, const float *x, float *stats, void *out,
                       int thread)
{
    for (int64_t i = b->row; i < b->row + b->n; i++)
        row_stats(k->model, x + i * k->model->C, stats + 2 * i);
    host_norm_again(k, b, weight, x, stats, out, thread);
}

void host_norm_row(const struct host *k, enum model_tensor_kind weight, float *out, const float *x,
                   float *stats)
{
    row_stats(k->model, x, stats);
    normalise(out, x, stats, k->stage.vector[weight], k->stage.vector[weight + 1], k->model->C);
}

/* With xhat = (x - mean) rstd and g = dy w: dx = rstd (g - mean(g) - xhat mean(g xhat)); without a
 * mean the second term falls away. */
static void norm_row_backward(float *dx, const float *dy, const float *x, const float *w,
                              const float *stats, int64_t n, bool has_mean)
{
    float mean = stats[0], rstd = stats[1];
    float lane_g[NUM_LANES] = {0}, lane_gx[NUM_LANES] = {0};
    int64_t c = 0;
    for (; c + NUM_LANES <= n; c += NUM_LANES) {
        for (int j = 0; j < NUM_LANES; j++) {
            float g = dy[c + j] * w[c + j];
            lane_g[j] += g;
            lane_gx[j] += g * ((x[c + j] - mean) * rstd);
        }
    }
    for (int j = 0; c < n; c++, j++) {
        lane_g[j] += dy[c] * w[c];
        lane_gx[j] += dy[c] * w[c] * ((x[c] - mean) * rstd);
    }
    float mean_g = num_lanes_sum(lane_g) / (float)n, mean_gx = num_lanes_sum(lane_gx) / (float)n;
    if (!has_mean) mean_g = 0;
    for (c = 0; c < n; c++)
        dx[c] += rstd * (dy[c] * w[c] - mean_g - (x[c] - mean) * rstd * mean_gx);
}

void host_norm_row_backward(const struct host *k, enum model_tensor_kind weight, float *dx,
                            const float *dy, const float *x, const float *stats)
{
    const struct model *m = k->model;
    memset(dx, 0, (size_t)m->C * sizeof *dx);
    norm_row_backward(dx, dy, x, k->stage.vector[weight], stats, m->C, m->norm != ZOO_RMSNORM);
}

void host_norm_backward(const struct host *k, const struct host_span *b,
                        enum model_tensor_kind weight, const float *x, const float *stats,
                        float *dx, bool first)
{
    int64_t C = k->model->C;
    const float *dxn = k->buffer[HOST_DXN];
    const bool has_mean = k->model->norm != ZOO_RMSNORM;
    if (first) memset(dx + b->row * C, 0, (size_t)(b->n * C) * sizeof *dx);
    for (int64_t i = b->row; i < b->row + b->n; i++)
        norm_row_backward(dx + i * C, dxn + i * C, x + i * C, k->stage.vector[weight],
                          stats + 2 * i, C, has_mean);
}

static void add_bias(float *out, const float *in, const float *bias, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        out[c] = in[c] + bias[c];
}

void host_store_linear(const struct host *k, const struct host_span *b, float *in, int64_t cols,
                       const float *bias, void *out, int64_t ld_out)
{
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, out, (b->row + i) * ld_out);
        float *row = in + i * cols;
        if (k->fp32 && bias) {
            add_bias(to, row, bias, cols);
        } else if (k->fp32) {
            memcpy(to, row, (size_t)cols * sizeof *row);
        } else {
            if (bias) num_add(row, bias, cols);
            host_narrow(k, to, row, cols);
        }
    }
}

const void *host_dres_operands(const struct host *k, const struct host_span *b)
{
    int64_t C = k->model->C;
    void *operands = host_at(k, k->buffer[HOST_DRES_OP], b->row * C);
    if (!k->fp32)
        host_narrow(k, operands, (const float *)k->buffer[HOST_DRES] + b->row * C, b->n * C);
    return operands;
}
