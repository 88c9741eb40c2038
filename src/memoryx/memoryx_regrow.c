// SPDX-License-Identifier: Apache-2.0
/* Masks that change. Gradual magnitude pruning (Zhu and Gupta 2017) keeps the largest weights of
 * the tensor. SET (Mocanu et al. 2018) and RigL (Evci et al. 2020) drop the smallest weights of the
 * mask, then add elements up to the target: at random, or those with the largest gradients of all
 * elements. A weight that is dropped and added in one update keeps its value; other added weights
 * and their states start from zero. All choices are exact selections over shards
 * (memoryx_select.c). Steps count applied updates: a step that loss scaling skips changes nothing.
 */
#include "memoryx_regrow.h"

#include "memoryx_mask.h"
#include "memoryx_mask_count.h"
#include "memoryx_select.h"

#include <wsc/mem.h>

#include <string.h>

/* ---- gradients ------------------------------------------------------------------------------- */

/* Keep the gradient of all elements, by which RigL adds elements. */
static enum wsc_err keep_gradient(struct memoryx_part *s)
{
    TRY_NEW(s->dense, WSC_MEM_MEMORYX, s->n);
    memcpy(s->dense, s->g, (size_t)s->n * sizeof *s->dense);
    return WSC_OK;
}

enum wsc_err memoryx_mask_gradients(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct zoo_sparsity *entry = model_sparsity_of(mx->net->model, i);
        struct memoryx_part *s = &mx->part[i];
        if (!s->mask) continue;
        if (zoo_sparsity_needs_dense_gradient(entry, mx->mask_step)) TRY(keep_gradient(s));
        memoryx_mask_apply(s, s->g);
    }
    return WSC_OK;
}

void memoryx_drop_gradients(struct memoryx *mx)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        wsc_free(mx->part[i].dense);
        mx->part[i].dense = NULL;
    }
}

/* ---- counts ---------------------------------------------------------------------------------- */

enum wsc_err memoryx_report_masks(struct memoryx *mx, int64_t step)
{
    const int n = mx->net->model->n_tensors;
    if (!mx->kept) return WSC_OK;
    for (int i = 0; i < n; i++)
        mx->kept[i] = mx->part[i].mask ? memoryx_mask_count(&mx->part[i]) : mx->part[i].n;
    TRY(memoryx_add_counts(mx, step, mx->kept, n));
    mx->batch.kept = mx->kept;
    mx->batch.mask_step = mx->mask_step;
    return WSC_OK;
}

/* ---- an update of masks ---------------------------------------------------------------------- */

/* Tensors whose masks are updated, and the selections of one phase of the update. */
struct update {
    struct memoryx *mx;
    int64_t step;
    int n;            /* number of tensors that are due */
    int *tensor;      /* owned (n_tensors) */
    int64_t *count;   /* owned (n_tensors): kept elements over all shards, indexed as `tensor` */
    uint64_t **taken; /* owned (n_tensors), each owned: new masks */
    struct memoryx_selection *list; /* owned (n_tensors) */
};

static const struct zoo_sparsity *entry_of(const struct update *u, int k)
{
    return model_sparsity_of(u->mx->net->model, u->tensor[k]);
}

static bool drops(const struct zoo_sparsity *entry)
{
    return entry->algorithm == ZOO_SPARSITY_SET || entry->algorithm == ZOO_SPARSITY_RIGL;
}

/* Select the largest weights, @p n over all groups; of equal ones, those of the mask come first. */
static struct memoryx_selection by_weight(const struct update *u, int k, int64_t n)
{
    const struct zoo_sparsity *e = entry_of(u, k);
    return (struct memoryx_selection){.tensor = u->tensor[k],
                                      .k = n / zoo_sparsity_groups(e),
                                      .n_groups = zoo_sparsity_groups(e),
                                      .by_columns = e->in_groups > 0,
                                      .keys = drops(e) ? memoryx_keys_kept : memoryx_keys_magnitude,
                                      .mx = u->mx,
                                      .of = u->mx->part[u->tensor[k]].w,
                                      .taken = u->taken[k]};
}

/* Count the elements of the present masks over all shards, because the counts of masks from a
 * checkpoint or from the weights are not known otherwise. */
static enum wsc_err count_kept(struct update *u)
{
    for (int k = 0; k < u->n; k++)
        u->count[k] = memoryx_mask_count(&u->mx->part[u->tensor[k]]);
    return memoryx_add_counts(u->mx, u->step, u->count, u->n);
}

/* Select what is kept of each mask: the largest weights. */
static enum wsc_err keep_largest(struct update *u)
{
    const int64_t at = u->mx->mask_step;
    for (int k = 0; k < u->n; k++) {
        const struct zoo_sparsity *e = entry_of(u, k);
        const int64_t n = u->mx->net->model->tensor[u->tensor[k]].n_elems;
        u->count[k] =
            drops(e) ? zoo_sparsity_dropped_to(e, u->count[k], at) : zoo_sparsity_target(e, n, at);
        u->list[k] = by_weight(u, k, u->count[k]);
    }
    return memoryx_select(u->mx, u->step, u->list, u->n);
}

/* SET and RigL: add elements outside the kept ones, up to the target. */
static enum wsc_err regrow(struct update *u)
{
    const int64_t at = u->mx->mask_step;
    int n = 0;
    for (int k = 0; k < u->n; k++) {
        const struct zoo_sparsity *e = entry_of(u, k);
        const int64_t n_elems = u->mx->net->model->tensor[u->tensor[k]].n_elems;
        const int64_t target = zoo_sparsity_target(e, n_elems, at);
        if (!drops(e) || target <= u->count[k]) continue;
        struct memoryx_selection *s = &u->list[n++];
        *s = by_weight(u, k, target - u->count[k]);
        s->keys = memoryx_keys_magnitude;
        s->mask = u->taken[k];
        s->outside = true;
        s->of = u->mx->part[u->tensor[k]].dense;
        if (e->algorithm == ZOO_SPARSITY_RIGL) continue;
        s->keys = memoryx_keys_random;
        s->seed = memoryx_mask_seed(u->mx, e);
        s->stream = memoryx_mask_stream(u->tensor[k], zoo_sparsity_n_updates(e, at));
    }
    return memoryx_select(u->mx, u->step, u->list, n);
}

static void free_update(struct update *u)
{
    for (int k = 0; u->taken && k < u->n; k++)
        wsc_free(u->taken[k]);
    wsc_free(u->taken);
    wsc_free(u->tensor);
    wsc_free(u->count);
    wsc_free(u->list);
}

static enum wsc_err begin_update(struct update *u)
{
    const struct model *model = u->mx->net->model;
    TRY_NEW(u->tensor, WSC_MEM_MEMORYX, model->n_tensors);
    TRY_NEW(u->count, WSC_MEM_MEMORYX, model->n_tensors);
    TRY_NEW(u->taken, WSC_MEM_MEMORYX, model->n_tensors);
    TRY_NEW(u->list, WSC_MEM_MEMORYX, model->n_tensors);
    for (int i = 0; i < model->n_tensors; i++) {
        const struct zoo_sparsity *e = model_sparsity_of(model, i);
        if (!e || !zoo_sparsity_updates(e, u->mx->mask_step)) continue;
        const int k = u->n++;
        u->tensor[k] = i;
        TRY_NEW(u->taken[k], WSC_MEM_MEMORYX, memoryx_mask_words(u->mx->part[i].n));
    }
    return WSC_OK;
}

static enum wsc_err compute_masks(struct update *u)
{
    TRY(begin_update(u));
    if (!u->n) return WSC_OK;
    TRY(count_kept(u));
    TRY(keep_largest(u));
    TRY(regrow(u));
    for (int k = 0; k < u->n; k++) {
        struct memoryx_part *s = &u->mx->part[u->tensor[k]];
        memcpy(s->mask, u->taken[k], (size_t)memoryx_mask_words(s->n) * sizeof *s->mask);
    }
    return WSC_OK;
}

enum wsc_err memoryx_update_masks(struct memoryx *mx, int64_t step)
{
    struct update u = {.mx = mx, .step = step};
    /* Elements outside the mask that decay and momentum have changed do not compete. */
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        if (mx->part[i].mask) memoryx_prune(mx, i);
    mx->mask_step++;
    const enum wsc_err rc = compute_masks(&u);
    for (int k = 0; k < u.n && !rc; k++)
        memoryx_prune(mx, u.tensor[k]);
    free_update(&u);
    return rc;
}
