// SPDX-License-Identifier: Apache-2.0
/* Defines the rows of the table for operations over rows of features: norms, softmax,
 * nonlinearities. Their inputs are X and dY (rows, features), for the norms also gain and bias;
 * the results are Y, or backward dX. */
#include "kernel_rows.h"
#include "kernel_shapes.h"
#include "kernel_strips.h"

#include <wsc/host_rows.h>
#include <wsc/num_math.h>
#include <wsc/num_reference.h>

#include <string.h>

/* Numbers of X. */
static int64_t count(const struct programs_case *c)
{
    return kernels_tokens_of(c) * c->features;
}

static struct kernels_sizes row_sizes(const struct programs_case *c)
{
    return (struct kernels_sizes){.in = {count(c), count(c)}, .out = count(c)};
}

/* ---- norms ----------------------------------------------------------------------------------- */

static struct kernels_sizes layernorm_sizes(const struct programs_case *c)
{
    return (struct kernels_sizes){.in = {count(c), count(c), c->features, c->features},
                                  .out = count(c)};
}

static struct kernels_sizes rmsnorm_sizes(const struct programs_case *c)
{
    return (struct kernels_sizes){.in = {count(c), count(c), c->features}, .out = count(c)};
}

/* Backward includes the forward, whose statistics it needs. */
static double layernorm_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    return cycles_norm(l) + (c->backward ? cycles_norm_input_gradient(l) : 0);
}

/* The formulas read the kind of norm from the model, so a copy says RMSNorm. */
static double rmsnorm_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    struct model m = *l->model;
    struct cycles_layout rms = *l;
    m.zoo.norm_type = ZOO_RMSNORM;
    rms.model = &m;
    return layernorm_cycles(&rms, c);
}

/* A norm without a bias is an RMSNorm here. */
static void norm_reference(const struct programs_case *c, const struct kernels_reference *o,
                           double *want)
{
    const struct num_ref_norm norm = {.rows = kernels_tokens_of(c),
                                      .n = c->features,
                                      .eps = (double)PROGRAMS_NORM_EPS,
                                      .rms = !o->x[3],
                                      .gain = o->x[2],
                                      .bias = o->x[3]};
    if (c->backward)
        num_ref_norm_gradient(&norm, o->x[0], o->x[1], want, NULL, NULL);
    else
        num_ref_norm(&norm, o->x[0], want);
}

/* Row by row, as host_forward() and host_backward() do it. */
static void norm_host(const struct programs_case *c, const struct programs_operands *o)
{
    const struct host_row_norm norm = {.n = c->features,
                                       .eps = PROGRAMS_NORM_EPS,
                                       .rms = !o->x[3],
                                       .gain = o->x[2],
                                       .bias = o->x[3]};
    memset(o->out, 0, (size_t)count(c) * sizeof *o->out);
    for (int64_t at = 0; at < count(c); at += c->features) {
        float stats[2];
        host_row_norm_stats(&norm, o->x[0] + at, stats);
        if (c->backward)
            host_row_norm_gradient(&norm, o->x[0] + at, stats, o->x[1] + at, o->out + at);
        else
            host_row_norm(&norm, o->x[0] + at, stats, o->out + at);
    }
}

/* ---- softmax --------------------------------------------------------------------------------- */

static double softmax_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    const double k = cycles_side_of(l, c->features).k;
    return cycles_softmax(l, k) + (c->backward ? cycles_softmax_gradient(l, k) : 0);
}

/* With y = softmax(x): dx = y (dy - sum y dy). */
static void softmax_reference(const struct programs_case *c, const struct kernels_reference *o,
                              double *want)
{
    const int64_t n = c->features;
    for (int64_t at = 0; at < count(c); at += n) {
        double sum = 0;
        memcpy(want + at, o->x[0] + at, (size_t)n * sizeof *want);
        num_ref_softmax(want + at, n);
        if (!c->backward) continue;
        for (int64_t i = at; i < at + n; i++)
            sum += want[i] * o->x[1][i];
        for (int64_t i = at; i < at + n; i++)
            want[i] *= o->x[1][i] - sum;
    }
}

/* In the order of the host's attention: maximum, exponentials, one division. */
static void softmax_host(const struct programs_case *c, const struct programs_operands *o)
{
    const int64_t n = c->features;
    for (int64_t at = 0; at < count(c); at += n) {
        float *y = o->out + at;
        const float inverse = 1.0F / num_exp_row(y, o->x[0] + at, num_max(o->x[0] + at, n), n);
        for (int64_t i = 0; i < n; i++)
            y[i] *= inverse;
        if (!c->backward) continue;
        const float sum = num_dot(y, o->x[1] + at, n);
        for (int64_t i = 0; i < n; i++)
            y[i] *= o->x[1][at + i] - sum;
    }
}

/* ---- nonlinearities -------------------------------------------------------------------------- */

static double activation_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    return cycles_nonlinearity(l, l->model->nonlinearity, cycles_side_of(l, c->features).k);
}

/* Algo "tanh" is the form of GPT-2; "erf", the default, the definition. */
static bool by_tanh(const struct programs_case *c)
{
    return c->algo && !strcmp(c->algo, "tanh");
}

/* f(x), or backward dy f'(x). */
static void activation_reference(const struct programs_case *c, const struct kernels_reference *o,
                                 enum num_ref_function f, double *want)
{
    for (int64_t i = 0; i < count(c); i++)
        want[i] = c->backward ? o->x[1][i] * num_ref_activation_slope(f, o->x[0][i])
                              : num_ref_activation(f, o->x[0][i]);
}

static void gelu_reference(const struct programs_case *c, const struct kernels_reference *o,
                           double *want)
{
    activation_reference(c, o, by_tanh(c) ? NUM_REF_GELU_TANH : NUM_REF_GELU, want);
}

static void silu_reference(const struct programs_case *c, const struct kernels_reference *o,
                           double *want)
{
    activation_reference(c, o, NUM_REF_SILU, want);
}

/* The host's value and slope come from one call. */
static void activation_host(const struct programs_case *c, const struct programs_operands *o,
                            struct num_activation (*f)(float x))
{
    for (int64_t i = 0; i < count(c); i++) {
        const struct num_activation a = f(o->x[0][i]);
        o->out[i] = c->backward ? o->x[1][i] * a.slope : a.value;
    }
}

static void gelu_host(const struct programs_case *c, const struct programs_operands *o)
{
    activation_host(c, o, by_tanh(c) ? num_gelu_new : num_gelu);
}

static void silu_host(const struct programs_case *c, const struct programs_operands *o)
{
    activation_host(c, o, num_silu);
}

enum { NORM_PARTS = 1 << MODEL_PART_QKV | 1 << MODEL_PART_FFN0 | 1 << MODEL_PART_HEAD };

static const struct kernels_strip layernorm_strips[] = {
    {.bf16 = KERNELS_ALL & ~KERNELS_IN(LLAMA), .fp32 = KERNELS_IN(256M)},
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(1P3B) | KERNELS_IN(20B),
     .fp32 = KERNELS_IN(13B),
     .backward = true},
    {.bf16 = KERNELS_IN(590M), .backward = true, .tall = true},
    {.bf16 = 0},
};

static const struct kernels_strip rmsnorm_strips[] = {
    {.bf16 = KERNELS_IN(LLAMA), .fp32 = KERNELS_IN(LLAMA), .backward = true},
    {.bf16 = 0},
};

static const struct kernels_strip softmax_strips[] = {
    {.bf16 = KERNELS_IN(1P3B), .fp32 = KERNELS_IN(1P3B), .backward = true},
    {.bf16 = 0},
};

static const struct kernels_strip gelu_strips[] = {
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(13B),
     .fp32 = KERNELS_IN(590M),
     .side = KERNELS_FILTER,
     .backward = true},
    {.bf16 = 0},
};

static const struct kernels_strip silu_strips[] = {
    {.bf16 = KERNELS_IN(LLAMA), .side = KERNELS_FILTER, .backward = true},
    {.bf16 = 0},
};

const struct kernels_row kernels_feature_rows[] = {
    {.name = "layernorm",
     .summary = "over features",
     KERNELS_OPERATION("--features --pass", NORM_PARTS, kernels_feature_shapes),
     .gradient = true,
     .sizes = layernorm_sizes,
     .strips = layernorm_strips,
     .program = programs_layernorm,
     .cycles = layernorm_cycles,
     .reference = norm_reference,
     .bound = kernels_norm_bound,
     .host = norm_host},
    {.name = "rmsnorm",
     .summary = "root mean square norm: scales rows without subtracting their mean",
     KERNELS_OPERATION("--features --pass", NORM_PARTS, kernels_feature_shapes),
     .gradient = true,
     .sizes = rmsnorm_sizes,
     .strips = rmsnorm_strips,
     .program = programs_rmsnorm,
     .cycles = rmsnorm_cycles,
     .reference = norm_reference,
     .bound = kernels_norm_bound,
     .host = norm_host},
    {.name = "softmax",
     .summary = "over features",
     /* of a mixture's router */
     KERNELS_OPERATION("--features --pass", 1 << MODEL_PART_FFN0, kernels_feature_shapes),
     .gradient = true,
     .sizes = row_sizes,
     .strips = softmax_strips,
     .program = programs_row_softmax,
     .cycles = softmax_cycles,
     .reference = softmax_reference,
     .host = softmax_host},
    {.name = "gelu",
     .summary = "elementwise",
     .algos = "erf tanh",
     KERNELS_OPERATION("--features --pass", 1 << MODEL_PART_FFN1, kernels_feature_shapes),
     .gradient = true,
     .sizes = row_sizes,
     .strips = gelu_strips,
     .program = programs_gelu,
     .cycles = activation_cycles,
     .reference = gelu_reference,
     .host = gelu_host},
    {.name = "silu",
     .summary = "elementwise",
     KERNELS_OPERATION("--features --pass", 1 << MODEL_PART_FFN1, kernels_feature_shapes),
     .gradient = true,
     .sizes = row_sizes,
     .strips = silu_strips,
     .program = programs_silu,
     .cycles = activation_cycles,
     .reference = silu_reference,
     .host = silu_host},
    {.name = NULL},
};
