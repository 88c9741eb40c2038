// SPDX-License-Identifier: Apache-2.0
/* Selective gradients (model.selective_grad, SelectiveGrad of cerebras.pytorch 2.10): only weights
 * of a matrix with |w| >= 2.25 std of the |w| of their column train. The gradients of the others
 * are set to zero, and the update leaves them and their states out. The choice is made once, from
 * the initial weights of the training, and kept in checkpoints as `<tensor>_requires_grad`. Columns
 * are divided over shards, so a round among them computes the largest |w|, and a second one the
 * sums of |w| and w^2 in fixed point, where the order does not matter. memoryx_mask.c runs the
 * program; memoryx_update.c calls the other functions in every update. */
#include "memoryx_selected.h"
#include "memoryx_optimizer.h"

#include "memoryx_bits.h"
#include "memoryx_exchange.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Fraction bits of a fixed-point number: values are at most 1, and a column has at most 2^20. */
enum { FIXED_BITS = 60, SUMS = 2 };
__extension__ typedef __int128 fixed;

static const float threshold = 2.25F;

/* Elements of a row; a vector is one column. */
static int64_t n_cols(const struct model_tensor *t)
{
    return t->n_dims > 1 ? t->shape[1] : 1;
}

static bool is_due(const struct memoryx *mx, int i)
{
    return mx->part[i].chosen_due;
}

/* ---- the largest magnitude of each tensor ---------------------------------------------------- */

static enum wsc_err join_largest(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                                 struct comm_buf **total)
{
    const int n = mx->net->model->n_tensors;
    (void)ctx;
    TRY(comm_buf_create(mx->net->comm, total, n * (int64_t)sizeof(float)));
    float *out = comm_buf_data(*total);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int m = 0; m < mx->n_shards; m++)
        for (int i = 0; i < n; i++)
            out[i] = fmaxf(out[i], ((const float *)comm_buf_data(part[m]))[i]);
    return WSC_OK;
}

static enum wsc_err find_largest(struct memoryx *mx, struct comm_buf **total)
{
    const int n = mx->net->model->n_tensors;
    const struct memoryx_round round = {.index = MEMORYX_ROUND_SELECT, .combine = join_largest};
    struct comm_buf *own = NULL;
    struct vtime ignored = {0};
    TRY(comm_buf_create(mx->net->comm, &own, n * (int64_t)sizeof(float)));
    float *largest = comm_buf_data(own);
    for (int i = 0; i < n; i++) {
        largest[i] = 0;
        for (int64_t k = 0; is_due(mx, i) && k < mx->part[i].n; k++)
            largest[i] = fmaxf(largest[i], fabsf(mx->part[i].w[k]));
    }
    return memoryx_exchange(mx, &round, own, total, &ignored);
}

/* A power of two at or above the largest magnitude. */
static double unit_of(float largest)
{
    int exponent = 0;
    (void)frexp((double)largest, &exponent);
    return ldexp(1.0, exponent);
}

/* ---- sums of columns ------------------------------------------------------------------------- */

static int64_t n_sums(const struct memoryx *mx)
{
    int64_t n = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        n += is_due(mx, i) ? SUMS * n_cols(&mx->net->model->tensor[i]) : 0;
    return n;
}

static void add_columns(const struct memoryx *mx, int i, double unit, fixed *sum)
{
    const struct memoryx_part *s = &mx->part[i];
    const int64_t cols = n_cols(&mx->net->model->tensor[i]);
    const double one = ldexp(1.0, FIXED_BITS);
    for (int64_t k = 0; k < s->n; k++) {
        const double x = fabs((double)s->w[k]) / unit;
        fixed *column = sum + SUMS * ((s->first + k) % cols);
        column[0] += (fixed)(x * one);
        column[1] += (fixed)(x * x * one);
    }
}

static enum wsc_err join_sums(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                              struct comm_buf **total)
{
    const int64_t n = n_sums(mx);
    (void)ctx;
    TRY(comm_buf_create(mx->net->comm, total, n * (int64_t)sizeof(fixed)));
    fixed *out = comm_buf_data(*total);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int m = 0; m < mx->n_shards; m++)
        for (int64_t k = 0; k < n; k++)
            out[k] += ((const fixed *)comm_buf_data(part[m]))[k];
    return WSC_OK;
}

static enum wsc_err sum_columns(struct memoryx *mx, const float *largest, struct comm_buf **total)
{
    const int64_t n = n_sums(mx);
    const struct memoryx_round round = {.index = MEMORYX_ROUND_SELECT, .combine = join_sums};
    struct comm_buf *own = NULL;
    struct vtime ignored = {0};
    TRY(comm_buf_create(mx->net->comm, &own, n * (int64_t)sizeof(fixed)));
    fixed *at = comm_buf_data(own);
    memset(at, 0, (size_t)n * sizeof *at);
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        if (!is_due(mx, i)) continue;
        add_columns(mx, i, unit_of(largest[i]), at);
        at += SUMS * n_cols(&mx->net->model->tensor[i]);
    }
    return memoryx_exchange(mx, &round, own, total, &ignored);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Standard deviation of the n magnitudes of a column, over n - 1 as in torch.std(). For n = 1 it is
 * NaN, and the weight does not train. */
static float deviation(const fixed *sum, double n, double unit)
{
    const double one = ldexp(1.0, FIXED_BITS);
    WSC_CHECK(sum, "no sums of a column");
    const double mean = (double)sum[0] / one / n, squares = (double)sum[1] / one / n;
    return (float)(unit * sqrt(fmax(0, squares - mean * mean) * n / (n - 1)));
}

static enum wsc_err choose(struct memoryx_part *s, const struct model_tensor *t, double unit,
                           const fixed *sum)
{
    const int64_t cols = n_cols(t);
    float *least;
    TRY_NEW(least, WSC_MEM_MEMORYX, cols);
    for (int64_t c = 0; c < cols; c++)
        least[c] = threshold * deviation(sum + SUMS * c, (double)t->shape[0], unit);
    memset(s->chosen, 0, (size_t)memoryx_mask_words(s->n) * sizeof *s->chosen);
    for (int64_t k = 0; k < s->n; k++)
        if (fabsf(s->w[k]) >= least[(s->first + k) % cols])
            s->chosen[k / MEMORYX_WORD_BITS] |= UINT64_C(1) << k % MEMORYX_WORD_BITS;
    s->chosen_due = false;
    wsc_free(least);
    return WSC_OK;
}

enum wsc_err memoryx_choose_selected(struct memoryx *mx)
{
    struct comm_buf *largest = NULL, *sums = NULL;
    if (!n_sums(mx)) return WSC_OK;
    TRY(find_largest(mx, &largest));
    enum wsc_err rc = sum_columns(mx, comm_buf_data(largest), &sums);
    const fixed *at = rc ? NULL : comm_buf_data(sums);
    for (int i = 0; i < mx->net->model->n_tensors && !rc; i++) {
        const struct model_tensor *t = &mx->net->model->tensor[i];
        if (!is_due(mx, i)) continue;
        rc = choose(&mx->part[i], t, unit_of(((const float *)comm_buf_data(largest))[i]), at);
        at += SUMS * n_cols(t);
    }
    comm_buf_unref(&largest);
    comm_buf_unref(&sums);
    return rc;
}

/* ---- an update ------------------------------------------------------------------------------- */

void memoryx_select_gradients(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        if (mx->part[i].chosen)
            memoryx_bits_apply(mx->part[i].chosen, mx->part[i].n, mx->part[i].g);
}

void memoryx_hold_unselected(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct memoryx_part *s = &mx->part[i];
        if (!s->chosen) continue;
        memcpy(s->held, s->w, (size_t)s->n * sizeof *s->held);
        memoryx_bits_apply(s->chosen, s->n, s->w);
        for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
            const struct memoryx_state state =
                memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[i], k);
            if (state.name && state.extent == MEMORYX_ELEMENTS)
                memoryx_bits_apply(s->chosen, s->n, s->state[k]);
        }
    }
}

/* Give the weights that do not train their values again; in the update they were zeros. */
void memoryx_release_unselected(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct memoryx_part *s = &mx->part[i];
        for (int64_t k = 0; s->chosen && k < s->n; k++)
            if (!(s->chosen[k / MEMORYX_WORD_BITS] >> k % MEMORYX_WORD_BITS & 1))
                s->w[k] = s->held[k];
    }
}
