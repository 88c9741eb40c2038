// SPDX-License-Identifier: Apache-2.0
#include "host_impl.h"
#include "host_math.h"

struct each_block {
    struct kernels_host *k;
    void (*rows)(struct kernels_host *k, const struct host_span *b, int thread);
};

static void run_block(void *ctx, int64_t i, int thread)
{
    const struct each_block *each = ctx;
    each->rows(each->k, &each->k->block[i], thread);
}

void kernels_host_each_block(struct kernels_host *k,
                             void (*rows)(struct kernels_host *k, const struct host_span *b,
                                          int thread))
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

void kernels_host_norm_again(const struct kernels_host *k, const struct host_span *b,
                             enum model_tensor_kind weight, const float *x, const float *stats,
                             void *out, int thread)
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

/* Ba, Kiros, Hinton 2016, eq. 3 and 4; the variance around the mean, in a second pass. */
void kernels_host_norm_forward(const struct kernels_host *k, const struct host_span *b,
                               enum model_tensor_kind weight, const float *x, float *stats,
                               void *out, int thread)
{
    int64_t C = k->model->C;
    float eps = (float)k->model->norm_eps;
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        float mean = host_sum(x + i * C, C) / (float)C;
        float variance = host_sum_deviations(x + i * C, mean, C) / (float)C;
        stats[2 * i] = mean;
        stats[2 * i + 1] = 1.0F / sqrtf(variance + eps);
    }
    kernels_host_norm_again(k, b, weight, x, stats, out, thread);
}

/* With xhat = (x - mean) rstd and g = dy w: dx = rstd (g - mean(g) - xhat mean(g xhat)). */
static void norm_row_backward(float *dx, const float *dy, const float *x, const float *w,
                              const float *stats, int64_t n)
{
    float mean = stats[0], rstd = stats[1];
    float lane_g[HOST_LANES] = {0}, lane_gx[HOST_LANES] = {0};
    int64_t c = 0;
    for (; c + HOST_LANES <= n; c += HOST_LANES) {
        for (int j = 0; j < HOST_LANES; j++) {
            float g = dy[c + j] * w[c + j];
            lane_g[j] += g;
            lane_gx[j] += g * ((x[c + j] - mean) * rstd);
        }
    }
    for (int j = 0; c < n; c++, j++) {
        lane_g[j] += dy[c] * w[c];
        lane_gx[j] += dy[c] * w[c] * ((x[c] - mean) * rstd);
    }
    float mean_g = host_lanes_sum(lane_g) / (float)n, mean_gx = host_lanes_sum(lane_gx) / (float)n;
    for (c = 0; c < n; c++)
        dx[c] += rstd * (dy[c] * w[c] - mean_g - (x[c] - mean) * rstd * mean_gx);
}

void kernels_host_norm_backward(const struct kernels_host *k, const struct host_span *b,
                                enum model_tensor_kind weight, const float *x, const float *stats,
                                bool first)
{
    int64_t C = k->model->C;
    float *dres = k->buffer[HOST_DRES];
    const float *dxn = k->buffer[HOST_DXN];
    if (first) memset(dres + b->row * C, 0, (size_t)(b->n * C) * sizeof *dres);
    for (int64_t i = b->row; i < b->row + b->n; i++)
        norm_row_backward(dres + i * C, dxn + i * C, x + i * C, k->stage.vector[weight],
                          stats + 2 * i, C);
}

static void add_bias(float *out, const float *in, const float *bias, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        out[c] = in[c] + bias[c];
}

void kernels_host_store_linear(const struct kernels_host *k, const struct host_span *b, float *in,
                               int64_t cols, const float *bias, void *out, int64_t ld_out)
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

const void *kernels_host_dres_operands(const struct kernels_host *k, const struct host_span *b)
{
    int64_t C = k->model->C;
    void *operands = host_at(k, k->buffer[HOST_DRES_OP], b->row * C);
    if (!k->fp32)
        host_narrow(k, operands, (const float *)k->buffer[HOST_DRES] + b->row * C, b->n * C);
    return operands;
}
