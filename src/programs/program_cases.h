/** What the kernels of `wsc mesh` that a transformer needs share: pe_cases.c, pe_references.c. */
#ifndef WSC_PROGRAMS_CASES_H
#define WSC_PROGRAMS_CASES_H
#include "program_ops.h"
#include <wsc/cycles_ops.h>

/** One run of one kernel. */
struct programs_trial {
    const struct programs_case *shape;
    struct programs_result *result;
    struct programs_grid grid;
    struct cycles_layout layout; /**< for closed forms */
    struct model model;          /**< what they need of one */
    uint64_t n_drawn;            /**< streams of random numbers */
};
/** @p n floats in (-1, 1), owned by the caller. */
enum wsc_err programs_trial_floats(struct programs_trial *c, int64_t n, float **out);
/** @p got (n) against @p want (n), freed here, into the result. */
void programs_trial_compare(struct programs_trial *c, const float *got, double *want, int64_t n);

/* References in double precision, (rows, n) row-major; results are owned by the caller. */
double *programs_ref_alloc(int64_t n);
double *programs_ref_product(const float *x, const float *w, int64_t rows, int64_t out, int64_t in);
double *programs_ref_weight_gradient(const float *dy, const float *x, int64_t rows, int64_t out,
                                     int64_t in);
/** Normalisation with gain and bias (NULL: RMS), or with @p dy the gradient of x. */
struct programs_ref_norm {
    const float *x, *gain, *bias, *dy;
    int64_t rows, n;
    double eps;
};
double *programs_ref_norm(const struct programs_ref_norm *r);
/** Of softmax, or with @p dy of its gradient. */
double *programs_ref_softmax(const float *x, const float *dy, int64_t rows, int64_t n);
double *programs_ref_activation(enum programs_nonlinearity f, const float *x, const float *dy,
                                int64_t n);
double *programs_ref_rotary(const float *x, int64_t T, int64_t heads, int64_t d, bool back);
/** One sequence of T tokens: output, or with @p dout gradients of q, k, v one after the other. */
struct programs_ref_attention {
    const float *q, *k, *v, *dout;
    int64_t T, heads, d;
};
double *programs_ref_attention(const struct programs_ref_attention *r);
/** nats of each token, or with @p gradient d(nats)/d(logits). */
double *programs_ref_loss(const float *logits, const int32_t *labels, int64_t rows, int64_t n,
                          bool gradient);
#endif
