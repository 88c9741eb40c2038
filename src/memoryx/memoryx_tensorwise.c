// SPDX-License-Identifier: Apache-2.0
/* The part of an update that needs whole tensors: Lamb's trust ratio, Adafactor's statistics by row
 * and column and its root mean squares. Shards have stripes of tensors, so sums are sent to shard 0
 * and back. Sums over all elements follow the canonical tree. Stripes cut rows and columns
 * anywhere, so sums over these are added in fixed point, where the order does not matter. */
#include "memoryx_tensorwise.h"

#include "memoryx_exchange.h"
#include "memoryx_rule.h"
#include "memoryx_tensor_sums.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Bits below the sign of the fixed-point numbers; the sum of all numbers fits. */
enum { FIXED_BITS = 124 };
__extension__ typedef __int128 fixed;

struct tensorwise;

/* How an optimizer updates whole tensors. */
struct memoryx_tensorwise {
    /* Direction of the update of elements [first, first + n) of tensor @p i, before its factor. */
    void (*direction)(const struct tensorwise *t, const struct memoryx_rule *rule, int i,
                      int64_t first, int64_t n, float *u);
    /* The rounds and the update, for memoryx_update_tensorwise(). */
    enum wsc_err (*update)(struct tensorwise *t, int64_t step, struct vtime *at);
    bool sums_weights; /* sums of weights go with those of the directions */
};

/* State of an update. */
struct tensorwise {
    const struct memoryx_tensorwise *how;
    struct memoryx *mx;
    const struct memoryx_rule *rule;
    double *squares;  /* owned (n_tensors): sum of w^2 */
    double *row_mean; /* owned (n_tensors): Adafactor, mean of the row statistics of a matrix */
    double unit;      /* unit of the fixed-point numbers: one is 1 / unit */
};

static const struct model_tensor *tensor_of(const struct tensorwise *t, int i)
{
    return &t->mx->net->model->tensor[i];
}

static int n_tensors(const struct tensorwise *t)
{
    return t->mx->net->model->n_tensors;
}

static bool has_statistics(const struct model_tensor *t)
{
    return t->n_dims > 1 && !t->frozen;
}

static int64_t n_statistics(const struct model *model)
{
    int64_t n = 0;
    for (int i = 0; i < model->n_tensors; i++)
        if (has_statistics(&model->tensor[i]))
            n += model->tensor[i].shape[0] + model->tensor[i].shape[1];
    return n;
}

static struct memoryx_block block_of(const struct memoryx_part *s, int64_t first, int64_t n)
{
    struct memoryx_block b = {.w = s->w + first, .g = s->g + first, .n = n};
    for (int k = 0; k < MEMORYX_MAX_STATE; k++)
        b.state[k] = s->state[k] ? s->state[k] + first : NULL;
    return b;
}

/* ---- directions ------------------------------------------------------------------------------ */

/* Shazeer & Stern 2018, algorithm 4: g / sqrt(row col / mean of the rows). */
static void divide_by_statistics(const struct tensorwise *t, int i, int64_t first, int64_t n,
                                 float *u)
{
    const struct memoryx_part *s = &t->mx->part[i];
    const int64_t cols = tensor_of(t, i)->shape[1];
    const float *row = s->state[0], *col = s->state[1];
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = s->first + first + k;
        const float r = row[at / cols] / (float)t->row_mean[i];
        u[k] = u[k] * (1.0F / sqrtf(r)) * (1.0F / sqrtf(col[at % cols]));
    }
}

static void adafactor_direction(const struct tensorwise *t, const struct memoryx_rule *rule, int i,
                                int64_t first, int64_t n, float *u)
{
    const struct memoryx_part *s = &t->mx->part[i];
    const struct memoryx_block b = {.g = s->g + first, .n = n};
    memoryx_clipped(rule, &b, u);
    if (has_statistics(tensor_of(t, i)))
        divide_by_statistics(t, i, first, n, u);
    else
        for (int64_t k = 0; k < n; k++)
            u[k] = u[k] / sqrtf(s->state[2][first + k]);
}

static void lamb_direction(const struct tensorwise *t, const struct memoryx_rule *rule, int i,
                           int64_t first, int64_t n, float *u)
{
    const struct memoryx_block b = block_of(&t->mx->part[i], first, n);
    memoryx_lamb_direction(rule, &b, u);
}

static void direction(const struct tensorwise *t, int i, int64_t first, int64_t n, float *u)
{
    const struct memoryx_rule rule = memoryx_rule_of_tensor(t->mx, t->rule, i);
    t->how->direction(t, &rule, i, first, n, u);
}

static double direction_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct tensorwise *t = ctx;
    float u[STREAM_BLOCK_ELEMS];
    if (tensor_of(t, tensor)->frozen) return 0;
    direction(ctx, tensor, first, n, u);
    return num_sum_squares(u, n);
}

static double weight_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct tensorwise *t = ctx;
    return num_sum_squares(t->mx->part[tensor].w + first, n);
}

/* ---- the last step --------------------------------------------------------------------------- */

struct apply_job {
    const struct tensorwise *t;
    int tensor;
    float rate, shrink;
};

static void apply_block(void *ctx, int64_t b, int thread)
{
    const struct apply_job *job = ctx;
    const struct memoryx_part *s = &job->t->mx->part[job->tensor];
    const int64_t first = b * STREAM_BLOCK_ELEMS, left = s->n - first;
    const int64_t n = left < STREAM_BLOCK_ELEMS ? left : STREAM_BLOCK_ELEMS;
    float u[STREAM_BLOCK_ELEMS], *w = s->w + first;
    (void)thread;
    direction(job->t, job->tensor, first, n, u);
    for (int64_t i = 0; i < n; i++)
        w[i] -= job->rate * u[i] + job->shrink * w[i];
}

/* w -= rate u + shrink w, on this shard's part of tensor @p i. */
static void apply(const struct tensorwise *t, int i, double rate, double shrink)
{
    struct apply_job job = {t, i, (float)rate, (float)shrink};
    if (tensor_of(t, i)->frozen) return;
    const int64_t n = t->mx->part[i].n;
    num_parallel((n + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS, apply_block, &job);
}

/* Trust ratio: norm of the weights, at most 10, divided by the norm of the direction. */
static double trust_ratio(const struct zoo_optimizer *o, double w2, double u2)
{
    const double most = 10, norm = fmin(sqrt(w2), most);
    return o->adam || norm == 0 || u2 == 0 ? 1.0 : norm / sqrt(u2);
}

static void apply_lamb(const struct tensorwise *t, const double *u2)
{
    for (int i = 0; i < n_tensors(t); i++) {
        const struct memoryx_rule rule = memoryx_rule_of_tensor(t->mx, t->rule, i);
        apply(t, i, rule.lr_exact * trust_ratio(rule.o, t->squares[i], u2[i]), 0);
    }
}

static void apply_adafactor(const struct tensorwise *t, const double *u2)
{
    for (int i = 0; i < n_tensors(t); i++) {
        const struct memoryx_rule rule = memoryx_rule_of_tensor(t->mx, t->rule, i);
        const double n = (double)tensor_of(t, i)->n_elems;
        const double size = fmax(rule.o->eps_rms, sqrt(t->squares[i] / n));
        const double lr = rule.lr_exact * (rule.o->scale_parameter ? size : 1.0);
        apply(t, i, lr / fmax(1.0, sqrt(u2[i] / n)), lr * (double)rule.weight_decay);
    }
}

/* ---- statistics of rows and columns ---------------------------------------------------------- */

/* The largest power of two with which the squares of all gradients, whose sum is the square of the
 * norm, stay below 2^FIXED_BITS. */
static double choose_unit(const struct tensorwise *t)
{
    const double norm = t->mx->batch.grad_norm * fabs((double)t->rule->grad_scale);
    int exponent = 0;
    if (norm == 0) return 1;
    (void)frexp(norm * norm * (1 + 1e-6), &exponent);
    return ldexp(1.0, FIXED_BITS - exponent < 1000 ? FIXED_BITS - exponent : 1000);
}

static void add_statistics(const struct tensorwise *t, int i, fixed *row, fixed *col)
{
    const struct memoryx_part *s = &t->mx->part[i];
    const int64_t cols = tensor_of(t, i)->shape[1];
    float g[STREAM_BLOCK_ELEMS];
    for (int64_t first = 0; first < s->n; first += STREAM_BLOCK_ELEMS) {
        const int64_t left = s->n - first;
        const struct memoryx_block b = {.g = s->g + first,
                                        .n = left < STREAM_BLOCK_ELEMS ? left : STREAM_BLOCK_ELEMS};
        memoryx_clipped(t->rule, &b, g);
        for (int64_t k = 0; k < b.n; k++) {
            const int64_t at = s->first + first + k;
            const fixed square = (fixed)((double)g[k] * (double)g[k] * t->unit);
            row[at / cols] += square;
            col[at % cols] += square;
        }
    }
}

/* A shard's part of the first round of Adafactor: statistics, then sums of weights. */
static enum wsc_err own_statistics(const struct tensorwise *t, struct comm_buf **out)
{
    const struct model *model = t->mx->net->model;
    const struct memoryx_summand what = {weight_squares, t};
    const int64_t n = n_statistics(model), n_sums = memoryx_count_sums(t->mx, t->mx->shard);
    TRY(comm_buf_create(t->mx->net->comm, out,
                        n * (int64_t)sizeof(fixed) + n_sums * (int64_t)sizeof(double)));
    fixed *at = comm_buf_data(*out);
    memset(at, 0, (size_t)n * sizeof *at);
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *tensor = &model->tensor[i];
        if (!has_statistics(tensor)) continue;
        add_statistics(t, i, at, at + tensor->shape[0]);
        at += tensor->shape[0] + tensor->shape[1];
    }
    return memoryx_own_sums(t->mx, &what, (double *)(void *)at);
}

/* The totals in double: sums of weights, then statistics. */
static enum wsc_err join_statistics(const struct memoryx *mx, void *ctx,
                                    struct comm_buf *const *part, struct comm_buf **total)
{
    const struct tensorwise *t = ctx;
    const struct model *model = mx->net->model;
    const int64_t n = n_statistics(model);
    const double *sums[HW_MAX_SHARDS];
    TRY(comm_buf_create(mx->net->comm, total, (model->n_tensors + n) * (int64_t)sizeof(double)));
    double *out = comm_buf_data(*total);
    for (int m = 0; m < mx->n_shards; m++)
        sums[m] = (const double *)(void *)((fixed *)comm_buf_data(part[m]) + n);
    memoryx_joint_sums(mx, sums, out);
    for (int64_t k = 0; k < n; k++) {
        fixed sum = 0;
        for (int m = 0; m < mx->n_shards; m++)
            sum += ((const fixed *)comm_buf_data(part[m]))[k];
        out[model->n_tensors + k] = (double)sum / t->unit;
    }
    return WSC_OK;
}

/* Update the moving averages of the means; every shard has all of them. Returns the mean of the
 * averages. */
static double take_means(const struct tensorwise *t, float *state, const double *sum, int64_t n,
                         int64_t n_each)
{
    const double keep = memoryx_adafactor_beta2(t->rule->o, t->rule->t);
    double total = 0;
    for (int64_t k = 0; k < n; k++) {
        const double mean = sum[k] / (double)n_each + t->rule->o->eps;
        state[k] = (float)(keep * (double)state[k] + (1.0 - keep) * mean);
        total += (double)state[k];
    }
    return total / (double)n;
}

static void take_statistics(struct tensorwise *t, const double *total)
{
    memcpy(t->squares, total, (size_t)n_tensors(t) * sizeof *total);
    total += n_tensors(t);
    for (int i = 0; i < n_tensors(t); i++) {
        const int64_t rows = tensor_of(t, i)->shape[0], cols = tensor_of(t, i)->shape[1];
        float *const *state = t->mx->part[i].state;
        if (!has_statistics(tensor_of(t, i))) continue;
        t->row_mean[i] = take_means(t, state[0], total, rows, cols);
        (void)take_means(t, state[1], total + rows, cols, rows);
        total += rows + cols;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int64_t bytes_of_sums(const struct model *model)
{
    return model->n_tensors * (int64_t)sizeof(double);
}

/* Sums of the directions, and those of the weights before them. */
static enum wsc_err own_directions(const struct tensorwise *t, struct comm_buf **out)
{
    const struct memoryx_summand w2 = {weight_squares, t}, u2 = {direction_squares, t};
    const int64_t n = memoryx_count_sums(t->mx, t->mx->shard);
    const int lists = t->how->sums_weights ? 2 : 1;
    TRY(comm_buf_create(t->mx->net->comm, out, lists * n * (int64_t)sizeof(double)));
    double *at = comm_buf_data(*out);
    if (t->how->sums_weights) {
        TRY(memoryx_own_sums(t->mx, &w2, at));
        at += n;
    }
    return memoryx_own_sums(t->mx, &u2, at);
}

static enum wsc_err join_directions(const struct memoryx *mx, void *ctx,
                                    struct comm_buf *const *part, struct comm_buf **total)
{
    const struct tensorwise *t = ctx;
    const int n = mx->net->model->n_tensors, lists = t->how->sums_weights ? 2 : 1;
    const double *sums[HW_MAX_SHARDS];
    TRY(comm_buf_create(mx->net->comm, total, (int64_t)lists * n * (int64_t)sizeof(double)));
    for (int k = 0; k < lists; k++) {
        for (int m = 0; m < mx->n_shards; m++)
            sums[m] = (const double *)comm_buf_data(part[m]) + k * memoryx_count_sums(mx, m);
        memoryx_joint_sums(mx, sums, (double *)comm_buf_data(*total) + (int64_t)k * n);
    }
    return WSC_OK;
}

static enum wsc_err update_lamb(struct tensorwise *t, int64_t step, struct vtime *at)
{
    struct comm_buf *own = NULL, *total = NULL;
    const int64_t bytes = 2 * bytes_of_sums(t->mx->net->model);
    const struct memoryx_round round = {step, MEMORYX_ROUND_FIRST, bytes, join_directions, t};
    if (t->rule) TRY(own_directions(t, &own));
    TRY(memoryx_exchange(t->mx, &round, own, &total, at));
    if (total) {
        const double *sums = comm_buf_data(total);
        memcpy(t->squares, sums, (size_t)n_tensors(t) * sizeof *sums);
        apply_lamb(t, sums + n_tensors(t));
    }
    comm_buf_unref(&total);
    return WSC_OK;
}

static enum wsc_err update_adafactor(struct tensorwise *t, int64_t step, struct vtime *at)
{
    struct comm_buf *own = NULL, *total = NULL;
    const struct model *model = t->mx->net->model;
    const int64_t sums = bytes_of_sums(model);
    const int64_t statistics = n_statistics(model) * (int64_t)sizeof(float);
    const struct memoryx_round first = {step, MEMORYX_ROUND_FIRST, sums + statistics,
                                        join_statistics, t};
    const struct memoryx_round second = {step, MEMORYX_ROUND_SECOND, sums, join_directions, t};
    if (t->rule) {
        t->unit = choose_unit(t);
        TRY(own_statistics(t, &own));
    }
    TRY(memoryx_exchange(t->mx, &first, own, &total, at));
    if (total) take_statistics(t, comm_buf_data(total));
    comm_buf_unref(&total);
    own = NULL;
    if (t->rule) TRY(own_directions(t, &own));
    TRY(memoryx_exchange(t->mx, &second, own, &total, at));
    if (total) apply_adafactor(t, comm_buf_data(total));
    comm_buf_unref(&total);
    return WSC_OK;
}

/* ---- the updates ----------------------------------------------------------------------------- */

const struct memoryx_tensorwise memoryx_lamb = {
    .direction = lamb_direction, .update = update_lamb, .sums_weights = true};

const struct memoryx_tensorwise memoryx_adafactor = {.direction = adafactor_direction,
                                                     .update = update_adafactor};

enum wsc_err memoryx_update_tensorwise(struct memoryx *mx, const struct memoryx_tensorwise *how,
                                       const struct memoryx_rule *rule, int64_t step,
                                       struct vtime *at)
{
    struct tensorwise t = {.how = how, .mx = mx, .rule = rule};
    if (!how) return WSC_OK;
    TRY_NEW(t.squares, WSC_MEM_MEMORYX, mx->net->model->n_tensors);
    t.row_mean = wsc_alloc(WSC_MEM_MEMORYX, (size_t)mx->net->model->n_tensors, sizeof *t.row_mean);
    enum wsc_err rc = t.row_mean ? WSC_OK : WSC_NOMEM;
    if (!rc) rc = how->update(&t, step, at);
    wsc_free(t.squares);
    wsc_free(t.row_mean);
    return rc;
}
