/** References: operations of a transformer, computed by their definitions in double precision.
 *
 *  Results of host and mesh are compared with them; finite differences check the references. They
 *  are slow, and share nothing with the tested code: no lanes, no polynomials, no blocking.
 * Matrices are row-major. Gradients are added to the output, so the caller sets it to zero. No
 * function allocates memory or fails.
 *
 *  The table of kernels (<wsc/kernels.h>) has one reference per row; tests build a whole model from
 *  them. */
#ifndef WSC_NUM_REFERENCE_H
#define WSC_NUM_REFERENCE_H
#include <stdbool.h>
#include <stdint.h>

/** Shape of a linear layer: X (rows, in), W (out, in), Y (rows, out). */
struct num_ref_linear {
    int64_t rows, out, in;
};
/** Y += X W' for the shape @p s: the forward of a linear layer without bias. */
void num_ref_product(const struct num_ref_linear *s, const double *x, const double *w, double *y);
/** dX += dY W: the gradient of the input of a linear layer. */
void num_ref_input_gradient(const struct num_ref_linear *s, const double *dy, const double *w,
                            double *dx);
/** dW += dY' X: the gradient of the weights of a linear layer. */
void num_ref_weight_gradient(const struct num_ref_linear *s, const double *dy, const double *x,
                             double *dw);

/** A norm over rows of @c n features: LayerNorm (Ba, Kiros, Hinton 2016), or RMSNorm (Zhang and
 *  Sennrich 2019). */
struct num_ref_norm {
    int64_t rows, n;
    double eps;
    bool rms;           /**< without the mean */
    const double *gain; /**< (n) */
    const double *bias; /**< (n), or NULL */
};
/** Y = gain (X - mean) / sigma + bias, row by row, sigma = sqrt(variance + eps); X and Y are (rows,
 *  n). */
void num_ref_norm(const struct num_ref_norm *r, const double *x, double *y);
/** dX += and, where they are not NULL, dgain +=, dbias +=, from dY; by the full Jacobian of each
 *  row: dx = rstd (g - mean(g) - xhat mean(g xhat)), g = dy gain. */
void num_ref_norm_gradient(const struct num_ref_norm *r, const double *x, const double *dy,
                           double *dx, double *dgain, double *dbias);

/** Softmax of one row of @p n numbers, in place; the maximum is subtracted first. */
void num_ref_softmax(double *row, int64_t n);
/** Elementwise functions that have a reference. */
enum num_ref_function { NUM_REF_GELU, NUM_REF_GELU_TANH, NUM_REF_SILU, NUM_REF_RELU };
/** The function at @p x: GELU by the error function and by tanh (Hendrycks and Gimpel 2016), SiLU
 *  (Elfwing et al. 2017), ReLU. NaN for any other value of @p f. */
double num_ref_activation(enum num_ref_function f, double x);
/** Derivative of the function at @p x; the derivative of ReLU at 0 is 0. */
double num_ref_activation_slope(enum num_ref_function f, double x);
/** Rotate adjacent pairs of features of X (T, heads, d) in place by their position: pair i of a
 * head by the angle position 10000^(-2 i / d) (Su et al. 2021, eq. 34). With @p back, rotate by the
 *  opposite angle, which is the gradient. */
void num_ref_rotary(double *x, int64_t T, int64_t heads, int64_t d, bool back);

/** Causal attention of one sequence: Q, K, V and the output are (T, heads, d), the probabilities
 *  (heads, T, T). */
struct num_ref_attention {
    int64_t T, heads, d;
    double scale;   /**< factor of the scores */
    bool both_ways; /**< a query attends to all keys; otherwise to keys up to its own position */
    double cap;     /**< c of c tanh(scaled score / c); 0: none */
    /** (heads): slope times (key position - query position) is added to a score (Press et al.
     * 2022); NULL: none. */
    const float *slope;
    const double *q, *k, *v;
};
/** out = softmax(S) V with the scores S = scale Q K', after cap and slope (Vaswani et al. 2017, eq.
 *  1). @p p gets the probabilities; those of masked keys are not written. */
void num_ref_attend(const struct num_ref_attention *a, double *p, double *out);
/** dQ +=, dK +=, dV += from the gradient @p dout of the output and the probabilities @p p of
 *  num_ref_attend(): dP = dout V', dS = P (dP - sum P dP) times the derivative of the cap, dQ =
 *  scale dS K, dK = scale dS' Q, dV = P' dout. */
void num_ref_attend_gradient(const struct num_ref_attention *a, const double *p, const double *dout,
                             double *dq, double *dk, double *dv);

/** Cross entropy of one row of @p n logits with the label @p label, nats: log(sum exp(row)) -
 *  row[label]. */
double num_ref_nats(const double *row, int64_t n, int64_t label);
/** Cross entropy of one row of @p n logits, nats; the row becomes its gradient, softmax(row) minus
 *  1 at the label. */
double num_ref_cross_entropy(double *row, int64_t n, int64_t label);
#endif
