// SPDX-License-Identifier: Apache-2.0
/* Computes the nonlinearity of a feed-forward network, plain or gated, one row at a time: the
 * value, and the derivative times the gradient. The functions themselves are in
 * <wsc/num_math.h>. */
#include "host_activation.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

struct activation {
    void (*forward)(float *out, const float *x, int64_t n);
    /* out = f(x), dx = dout f'(x); dx may be dout. */
    void (*backward)(float *out, float *dx, const float *dout, const float *x, int64_t n);
};

/* A separate loop for every function, so that the compiler vectorises each. */
#define LOOPS(name, function)                                                                      \
    NUM_CLONES static void name##_row(float *out, const float *x, int64_t n)                       \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = function(x[i]).value;                                                         \
    }                                                                                              \
    NUM_CLONES static void name##_row_backward(float *out, float *dx, const float *dout,           \
                                               const float *x, int64_t n)                          \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            struct num_activation a = function(x[i]);                                              \
            out[i] = a.value;                                                                      \
            dx[i] = dout[i] * a.slope;                                                             \
        }                                                                                          \
    }

#define XX(name, word, function, operations) LOOPS(word, function)
ZOO_FUNCTION_MAP(XX)
#undef XX

static const struct activation activations[ZOO_N_FUNCTIONS] = {
#define XX(name, word, function, operations) {word##_row, word##_row_backward},
    ZOO_FUNCTION_MAP(XX)
#undef XX
};

static const struct activation *row_of_function(enum zoo_nonlinearity function)
{
    WSC_CHECK(function >= 0 && function < ZOO_N_FUNCTIONS, "nonlinearity %d", (int)function);
    return &activations[function];
}

/* The model's function. */
static const struct activation *row_of(const struct model *m)
{
    return row_of_function(m->nonlinearity);
}

void host_function(enum zoo_nonlinearity function, float *out, const float *x, int64_t n)
{
    row_of_function(function)->forward(out, x, n);
}

void host_function_backward(enum zoo_nonlinearity function, float *out, float *dx,
                            const float *dout, const float *x, int64_t n)
{
    row_of_function(function)->backward(out, dx, dout, x, n);
}

/* A gated network has F features of the first linear layer, then F of the gate: Shazeer 2020,
 * "GLU variants improve Transformer", equations 5 and 6. */
NUM_CLONES static void multiply(float *restrict out, const float *restrict x,
                                const float *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * y[i];
}

/* dlinear = dout f(gate), out = linear f(gate); @p out has f(gate). */
NUM_CLONES static void gate_backward(float *restrict dlinear, float *restrict out,
                                     const float *restrict dout, const float *restrict linear,
                                     int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        dlinear[i] = dout[i] * out[i];
        out[i] *= linear[i];
    }
}

NUM_CLONES static void gate(float *restrict out, const float *restrict linear, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] *= linear[i];
}

void host_activate(const struct model *m, float *out, const float *pre)
{
    const int64_t F = m->F;
    row_of(m)->forward(out, m->gated ? pre + F : pre, F);
    if (m->gated) gate(out, pre, F);
}

void host_activate_backward(const struct model *m, float *out, float *dpre, const float *dout,
                            const float *pre)
{
    const int64_t F = m->F;
    if (!m->gated) {
        row_of(m)->backward(out, dpre, dout, pre, F);
        return;
    }
    multiply(dpre + F, dout, pre, F);
    row_of(m)->backward(out, dpre + F, dpre + F, pre + F, F);
    gate_backward(dpre, out, dout, pre, F);
}
