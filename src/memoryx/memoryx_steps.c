// SPDX-License-Identifier: Apache-2.0
/* The step of each optimizer over a block of elements; the table of memoryx_optimizer.c names them.
 * docs/TRAINING.md has the formulas. Loops have no branches, so that they vectorise; scalars are
 * computed in double and rounded once. */
#include "memoryx_steps.h"

#include <wsc/num_math.h>

#include <math.h>

/* The gradient as an optimizer uses it: clipped, and with the decay if the optimizer adds it to the
 * gradient. */
struct gradient {
    const float *g;
    float scale, limit, decay;
};

static struct gradient gradient_of(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    return (struct gradient){b->g, r->grad_scale, r->grad_limit, r->weight_decay};
}

static inline float clipped(const struct gradient *x, int64_t i)
{
    float g = x->g[i] * x->scale;
    g = g > x->limit ? x->limit : g;
    return g < -x->limit ? -x->limit : g;
}

static inline float decayed(const struct gradient *x, int64_t i, float w)
{
    return clipped(x, i) + x->decay * w;
}

/* 1 - share, rounded once; 1.0F - 0.999F would have only 13 correct bits. */
static float one_minus(double share)
{
    return (float)(1.0 - share);
}

/* 1 - beta^t */
static double uncorrected(double beta, double t)
{
    return 1.0 - pow(beta, t);
}

/* ---- Adam and its kin ------------------------------------------------------------------------ */

/* AdamW in the Model Zoo's form: u = m / (sqrt(v) + eps), then the bias correction
 * sqrt(1 - beta2^t) / (1 - beta1^t) as one factor (so eps is not corrected), then decoupled decay
 * (Loshchilov & Hutter 2019).  Adam adds the decay to the gradient instead. */
static float bias_correction(const struct memoryx_rule *r)
{
    const struct zoo_optimizer *o = r->o;
    if (!o->correct_bias) return 1.0F;
    return (float)(sqrt(uncorrected(o->beta2, r->t)) / uncorrected(o->beta1, r->t));
}

NUM_CLONES static void adam_with(const struct memoryx_rule *r, const struct memoryx_block *b,
                                 struct gradient x, float decay)
{
    float *restrict w = b->w, *restrict m = b->state[0], *restrict v = b->state[1];
    const float b1 = (float)r->o->beta1, b2 = (float)r->o->beta2, c1 = one_minus(r->o->beta1),
                c2 = one_minus(r->o->beta2);
    const float lr = r->lr, eps = (float)r->o->eps, correction = bias_correction(r);
    for (int64_t i = 0; i < b->n; i++) {
        float gi = clipped(&x, i);
        gi = x.decay != 0 ? gi + x.decay * w[i] : gi;
        float mi = b1 * m[i] + c1 * gi;
        float vi = b2 * v[i] + c2 * gi * gi;
        float u = correction * (mi / (sqrtf(vi) + eps)) + decay * w[i];
        m[i] = mi;
        v[i] = vi;
        w[i] -= lr * u;
    }
}

/* Reddi et al. 2018: the largest second moment so far. */
NUM_CLONES static void amsgrad_with(const struct memoryx_rule *r, const struct memoryx_block *b,
                                    struct gradient x, float decay)
{
    float *restrict w = b->w, *restrict m = b->state[0], *restrict v = b->state[1];
    float *restrict most = b->state[2];
    const float b1 = (float)r->o->beta1, b2 = (float)r->o->beta2, c1 = one_minus(r->o->beta1),
                c2 = one_minus(r->o->beta2);
    const float lr = r->lr, eps = (float)r->o->eps, correction = bias_correction(r);
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]);
        const float mi = b1 * m[i] + c1 * gi, vi = b2 * v[i] + c2 * gi * gi;
        const float top = most[i] > vi ? most[i] : vi;
        m[i] = mi;
        v[i] = vi;
        most[i] = top;
        w[i] -= lr * (correction * (mi / (sqrtf(top) + eps)) + decay * w[i]);
    }
}

void memoryx_adam(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    (r->o->amsgrad ? amsgrad_with : adam_with)(r, b, gradient_of(r, b), 0);
}

void memoryx_adamw(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    struct gradient x = gradient_of(r, b);
    x.decay = 0;
    (r->o->amsgrad ? amsgrad_with : adam_with)(r, b, x, r->weight_decay);
}

/* Kingma & Ba 2015, algorithm 2: the infinity norm in place of the second moment. */
NUM_CLONES void memoryx_adamax(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict m = b->state[0], *restrict u = b->state[1];
    const float b1 = (float)r->o->beta1, b2 = (float)r->o->beta2, eps = (float)r->o->eps;
    const float c1 = one_minus(r->o->beta1);
    const float rate = (float)(r->lr_exact / uncorrected(r->o->beta1, r->t));
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), mi = b1 * m[i] + c1 * gi;
        const float left = b2 * u[i], right = fabsf(gi) + eps, ui = left > right ? left : right;
        m[i] = mi;
        u[i] = ui;
        w[i] -= rate * mi / ui;
    }
}

double memoryx_nadam_momentum(const struct zoo_optimizer *o, double t)
{
    return o->beta1 * (1.0 - 0.5 * pow(0.96, t * o->momentum_decay));
}

/* Dozat 2016; the rule has the product of the momenta so far. */
NUM_CLONES void memoryx_nadam(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict m = b->state[0], *restrict v = b->state[1];
    const float b1 = (float)o->beta1, b2 = (float)o->beta2, eps = (float)o->eps;
    const float c1 = one_minus(o->beta1), c2 = one_minus(o->beta2);
    const double mu = memoryx_nadam_momentum(o, r->t), next = memoryx_nadam_momentum(o, r->t + 1);
    const float of_g = (float)(r->lr_exact * (1.0 - mu) / (1.0 - r->mu_product));
    const float of_m = (float)(r->lr_exact * next / (1.0 - r->mu_product * next));
    const float root = (float)sqrt(uncorrected(o->beta2, r->t));
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), mi = b1 * m[i] + c1 * gi;
        const float vi = b2 * v[i] + c2 * gi * gi, denominator = sqrtf(vi) / root + eps;
        m[i] = mi;
        v[i] = vi;
        w[i] -= (of_g * gi + of_m * mi) / denominator;
    }
}

/* Liu et al. 2020, algorithm 2: the second moment is not used while its variance is too large. */
NUM_CLONES void memoryx_radam(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict m = b->state[0], *restrict v = b->state[1];
    const float b1 = (float)o->beta1, b2 = (float)o->beta2, eps = (float)o->eps;
    const float c1 = one_minus(o->beta1), c2 = one_minus(o->beta2);
    const double root = uncorrected(o->beta2, r->t), last = 2.0 / (1.0 - o->beta2) - 1.0;
    const double rho = last - 2.0 * r->t * (1.0 - root) / root;
    const double top = (rho - 4) * (rho - 2) * last, bottom = (last - 4) * (last - 2) * rho;
    const bool rectified = rho > 5;
    const double unrectified = r->lr_exact / uncorrected(o->beta1, r->t);
    const float rate =
        (float)(rectified ? unrectified * sqrt(top / bottom) * sqrt(root) : unrectified);
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), mi = b1 * m[i] + c1 * gi;
        const float vi = b2 * v[i] + c2 * gi * gi;
        m[i] = mi;
        v[i] = vi;
        w[i] -= rate * (rectified ? mi / (sqrtf(vi) + eps) : mi);
    }
}

/* Chen et al. 2023, algorithm 2. */
NUM_CLONES void memoryx_lion(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict m = b->state[0];
    const float b1 = (float)r->o->beta1, b2 = (float)r->o->beta2, lr = r->lr;
    const float c1 = one_minus(r->o->beta1), c2 = one_minus(r->o->beta2);
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = clipped(&x, i), u = b1 * m[i] + c1 * gi;
        const float sign = u > 0 ? 1.0F : u < 0 ? -1.0F : 0.0F;
        m[i] = b2 * m[i] + c2 * gi;
        w[i] -= lr * (sign + x.decay * w[i]);
    }
}

/* ---- gradient descent ------------------------------------------------------------------------ */

/* PyTorch: the first momentum is the gradient, without dampening. */
NUM_CLONES void memoryx_sgd(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict buffer = b->state[0];
    const float lr = r->lr, keep = (float)o->momentum;
    const float take = r->t > 1 ? (float)(1.0 - o->dampening) : 1.0F;
    const float of_g = o->nesterov ? 1.0F : 0.0F, of_buffer = o->nesterov ? keep : 1.0F;
    for (int64_t i = 0; i < b->n && !buffer; i++)
        w[i] -= lr * decayed(&x, i, w[i]);
    for (int64_t i = 0; i < b->n && buffer; i++) {
        const float gi = decayed(&x, i, w[i]), bi = keep * buffer[i] + take * gi;
        buffer[i] = bi;
        w[i] -= lr * (of_g * gi + of_buffer * bi);
    }
}

/* Polyak & Juditsky 1992, as in PyTorch: the average is stored beside the weights. */
NUM_CLONES void memoryx_asgd(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict average = b->state[0];
    const double before = r->t - 1; /* the rate follows from the number of the step before */
    const double shrink = pow(1.0 + o->lambd * r->lr_before * before, o->alpha);
    const double eta = before > 0 ? r->lr_before / shrink : r->lr_exact;
    const float rate = (float)eta, keep = (float)(1.0 - o->lambd * eta);
    const float mu = before > 0 ? (float)(1.0 / fmax(1.0, before - o->t0)) : 1.0F;
    for (int64_t i = 0; i < b->n; i++) {
        const float wi = w[i] * keep - rate * decayed(&x, i, w[i]);
        w[i] = wi;
        average[i] = mu == 1.0F ? wi : average[i] + (wi - average[i]) * mu;
    }
}

/* Riedmiller & Braun 1993: only signs of the gradient; no step where the sign has changed. */
NUM_CLONES void memoryx_rprop(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict previous = b->state[0], *restrict size = b->state[1];
    const float shrink = (float)o->eta_minus, grow = (float)o->eta_plus;
    const float least = (float)o->step_min, most = (float)o->step_max;
    for (int64_t i = 0; i < b->n; i++) {
        float gi = clipped(&x, i), si = r->t > 1 ? size[i] : r->lr;
        const float sign_product = gi * previous[i];
        si *= sign_product > 0 ? grow : sign_product < 0 ? shrink : 1.0F;
        si = si < least ? least : si > most ? most : si;
        gi = sign_product < 0 ? 0 : gi;
        w[i] -= gi > 0 ? si : gi < 0 ? -si : 0;
        size[i] = si;
        previous[i] = gi;
    }
}

/* ---- second moments alone -------------------------------------------------------------------- */

/* Duchi, Hazan & Singer 2011. */
NUM_CLONES void memoryx_adagrad(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict sum = b->state[0];
    const float eps = (float)o->eps, start = r->t > 1 ? 0 : (float)o->initial_accumulator_value;
    const float rate = (float)(r->lr_exact / (1.0 + (r->t - 1) * o->lr_decay));
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), si = sum[i] + start + gi * gi;
        sum[i] = si;
        w[i] -= rate * gi / (sqrtf(si) + eps);
    }
}

/* Zeiler 2012. */
NUM_CLONES void memoryx_adadelta(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict square = b->state[0], *restrict moved = b->state[1];
    const float rho = (float)r->o->rho, take = one_minus(r->o->rho), eps = (float)r->o->eps,
                lr = r->lr;
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), si = rho * square[i] + take * gi * gi;
        const float u = sqrtf(moved[i] + eps) / sqrtf(si + eps) * gi;
        square[i] = si;
        moved[i] = rho * moved[i] + take * u * u;
        w[i] -= lr * u;
    }
}

/* Tieleman & Hinton 2012; centered: Graves 2013. */
NUM_CLONES void memoryx_rmsprop(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    const struct zoo_optimizer *o = r->o;
    const struct gradient x = gradient_of(r, b);
    float *restrict w = b->w, *restrict square = b->state[0];
    float *buffer = b->state[1], *average = b->state[2];
    const float alpha = (float)o->alpha, eps = (float)o->eps, lr = r->lr;
    const float keep = (float)o->momentum, take = one_minus(o->alpha);
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = decayed(&x, i, w[i]), si = alpha * square[i] + take * gi * gi;
        float spread = si;
        if (average) {
            average[i] = alpha * average[i] + take * gi;
            spread -= average[i] * average[i];
        }
        float u = gi / (sqrtf(spread) + eps);
        if (buffer) u = buffer[i] = keep * buffer[i] + u;
        square[i] = si;
        w[i] -= lr * u;
    }
}

/* ---- rules that need a whole tensor ---------------------------------------------------------- */

/* You et al. 2020 without bias correction, first part: moments, from which u follows. */
NUM_CLONES void memoryx_lamb_moments(const struct memoryx_rule *r, const struct memoryx_block *b)
{
    struct gradient x = gradient_of(r, b);
    float *restrict m = b->state[0], *restrict v = b->state[1];
    const float b1 = (float)r->o->beta1, b2 = (float)r->o->beta2;
    const float c1 = one_minus(r->o->beta1), c2 = one_minus(r->o->beta2);
    for (int64_t i = 0; i < b->n; i++) {
        const float gi = clipped(&x, i);
        m[i] = b1 * m[i] + c1 * gi;
        v[i] = b2 * v[i] + c2 * gi * gi;
    }
}

NUM_CLONES void memoryx_lamb_direction(const struct memoryx_rule *r, const struct memoryx_block *b,
                                       float *u)
{
    const float *m = b->state[0], *v = b->state[1];
    const float eps = (float)r->o->eps, decay = r->weight_decay;
    for (int64_t i = 0; i < b->n; i++)
        u[i] = m[i] / (sqrtf(v[i]) + eps) + decay * b->w[i];
}

double memoryx_adafactor_beta2(const struct zoo_optimizer *o, double t)
{
    return 1.0 - pow(t, o->decay_rate);
}

/* Shazeer & Stern 2018: one-dimensional tensors keep the whole second moment. */
NUM_CLONES void memoryx_adafactor_moments(const struct memoryx_rule *r,
                                          const struct memoryx_block *b)
{
    struct gradient x = gradient_of(r, b);
    float *restrict v = b->state[2];
    const double share = memoryx_adafactor_beta2(r->o, r->t);
    const float keep = (float)share, take = one_minus(share), eps = (float)r->o->eps;
    for (int64_t i = 0; v && i < b->n; i++) {
        const float gi = clipped(&x, i);
        v[i] = keep * v[i] + take * (gi * gi + eps);
    }
}

NUM_CLONES void memoryx_clipped(const struct memoryx_rule *r, const struct memoryx_block *b,
                                float *g)
{
    const struct gradient x = gradient_of(r, b);
    for (int64_t i = 0; i < b->n; i++)
        g[i] = clipped(&x, i);
}
