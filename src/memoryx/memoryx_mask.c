// SPDX-License-Identifier: Apache-2.0
/* Masks of sparse tensors: the first mask by init_method of the entry of params, and zeros outside
 * masks. Random masks and masks by magnitude are exact selections over shards (memoryx_select.c);
 * masks of non-zeros and the regular pattern need no other shard. memoryx_spawn_masks() runs the
 * program before the first pass; memoryx_regrow.c computes later masks. */
#include "memoryx_mask.h"
#include "memoryx_optimizer.h"

#include "memoryx_bits.h"
#include "memoryx_mask_count.h"
#include "memoryx_select.h"
#include "memoryx_selected.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* ---- zeros outside --------------------------------------------------------------------------- */

void memoryx_mask_apply(const struct memoryx_part *s, float *x)
{
    if (s->mask) memoryx_bits_apply(s->mask, s->n, x);
}

/* cstorch prunes states with the shape of the weight, but not statistics by row or column. */
void memoryx_prune(struct memoryx *mx, int tensor)
{
    const struct memoryx_part *s = &mx->part[tensor];
    memoryx_mask_apply(s, s->w);
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state state =
            memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[tensor], k);
        if (state.name && state.extent == MEMORYX_ELEMENTS) memoryx_mask_apply(s, s->state[k]);
    }
}

/* ---- first masks ----------------------------------------------------------------------------- */

static void set_bit(uint64_t *mask, int64_t i)
{
    mask[i / MEMORYX_WORD_BITS] |= 1ULL << i % MEMORYX_WORD_BITS;
}

static void mask_all(const struct memoryx_part *s)
{
    for (int64_t i = 0; i < s->n; i++)
        set_bit(s->mask, i);
}

static void mask_what_is_there(const struct memoryx_part *s)
{
    for (int64_t i = 0; i < s->n; i++)
        if (s->w[i] != 0) set_bit(s->mask, i);
}

/* The regular pattern of cstorch: every row keeps one element in 1 / density, and each next row is
 * rolled by this distance, rounded down. Arithmetic in fp32 as in cstorch. */
static void mask_checkerboard(const struct memoryx_part *s, const struct model_tensor *t,
                              float sparsity)
{
    const double density = 1.0 - (double)sparsity;
    const int64_t cols = t->n_dims > 1 ? t->shape[1] : t->shape[0];
    const int64_t length = cols + (int64_t)ceil((double)cols / density + 1e-5) - 1;
    const int64_t roll = t->n_dims > 1 ? (int64_t)floor(1.0 / density - 1e-5) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = s->first + i, row = at / cols;
        const int64_t q = (at % cols + row % length * roll) % length;
        const float before = floorf((float)q * (float)density + 1e-5F);
        const float after = floorf((float)(q + 1) * (float)density + 1e-5F);
        if (before != after) set_bit(s->mask, i);
    }
}

uint64_t memoryx_mask_seed(const struct memoryx *mx, const struct zoo_sparsity *entry)
{
    return entry->seed == CONF_NULL ? mx->config.seed : (uint64_t)entry->seed;
}

/* Number of elements that release 1.7 keeps in a column, before the whole tensor is pruned to its
 * number. */
static int64_t of_a_column(const struct zoo_sparsity *entry, const struct model_tensor *t)
{
    return t->shape[0] - (int64_t)(entry->sparsity.init * (double)t->shape[0]);
}

/* A selection for the first mask of tensor @p tensor. */
static struct memoryx_selection first_selection(const struct memoryx *mx, int tensor,
                                                const struct zoo_sparsity *entry)
{
    const struct model_tensor *t = &mx->net->model->tensor[tensor];
    const bool random = entry->init_method == ZOO_MASK_RANDOM;
    const bool columns = entry->init_method == ZOO_MASK_BALANCED_TOPK;
    const int64_t groups = columns ? t->shape[1] : zoo_sparsity_groups(entry);
    return (struct memoryx_selection){
        .tensor = tensor,
        .k = columns ? of_a_column(entry, t) : zoo_sparsity_target(entry, t->n_elems, 0) / groups,
        .n_groups = groups,
        .by_columns = columns || entry->in_groups > 0,
        .keys = random ? memoryx_keys_random : memoryx_keys_magnitude,
        .mx = mx,
        .seed = memoryx_mask_seed(mx, entry),
        .stream = memoryx_mask_stream(tensor, 0),
        .of = mx->part[tensor].w,
        .taken = mx->part[tensor].mask};
}

/* Make the first mask of one tensor, or add the selection that it needs to @p list. */
static void begin_mask(struct memoryx *mx, int tensor, struct memoryx_selection *list, int *n)
{
    const struct zoo_sparsity *entry = model_sparsity_of(mx->net->model, tensor);
    const struct memoryx_part *s = &mx->part[tensor];
    memset(s->mask, 0, (size_t)memoryx_mask_words(s->n) * sizeof *s->mask);
    if (!zoo_sparsity_updates(entry, 0))
        mask_all(s);
    else if (entry->init_method == ZOO_MASK_FROM_ZEROS)
        mask_what_is_there(s);
    else if (entry->init_method == ZOO_MASK_CHECKERBOARD)
        mask_checkerboard(s, &mx->net->model->tensor[tensor], zoo_sparsity_after(entry, 0));
    else
        list[(*n)++] = first_selection(mx, tensor, entry);
}

/* Prune masks by column that keep more elements than their tensors should, by magnitude alone. */
static enum wsc_err trim_columns(struct memoryx *mx, struct memoryx_selection *list, int n)
{
    enum wsc_err rc = WSC_OK;
    int n_trimmed = 0;
    for (int k = 0; k < n && !rc; k++) {
        const struct zoo_sparsity *entry = model_sparsity_of(mx->net->model, list[k].tensor);
        const int64_t n_elems = mx->net->model->tensor[list[k].tensor].n_elems;
        const int64_t kept = zoo_sparsity_target(entry, n_elems, 0);
        if (entry->init_method != ZOO_MASK_BALANCED_TOPK || list[k].k * list[k].n_groups <= kept)
            continue;
        struct memoryx_selection *s = &list[n_trimmed++];
        *s = list[k];
        s->k = kept;
        s->n_groups = 1;
        s->mask = mx->part[s->tensor].mask;
        s->taken = wsc_alloc(WSC_MEM_MEMORYX, (size_t)memoryx_mask_words(mx->part[s->tensor].n),
                             sizeof *s->taken);
        if (!s->taken) rc = WSC_RAISE(WSC_NOMEM, "no memory for a mask");
    }
    if (!rc) rc = memoryx_select(mx, 0, list, n_trimmed);
    for (int k = 0; k < n_trimmed; k++) {
        const struct memoryx_part *s = &mx->part[list[k].tensor];
        if (!rc) memcpy(s->mask, list[k].taken, (size_t)memoryx_mask_words(s->n) * sizeof *s->mask);
        wsc_free(list[k].taken);
    }
    return rc;
}

enum wsc_err memoryx_run_masks(void *arg)
{
    struct memoryx *mx = arg;
    const int n_tensors = mx->net->model->n_tensors;
    struct memoryx_selection *list;
    int n = 0;
    TRY_NEW(list, WSC_MEM_MEMORYX, n_tensors);
    for (int i = 0; i < n_tensors; i++)
        if (mx->part[i].mask_due) begin_mask(mx, i, list, &n);
    enum wsc_err rc = memoryx_select(mx, 0, list, n);
    if (!rc) rc = trim_columns(mx, list, n);
    wsc_free(list);
    for (int i = 0; i < n_tensors && !rc; i++) {
        if (mx->part[i].mask) memoryx_prune(mx, i);
        mx->part[i].mask_due = false;
    }
    if (!rc) rc = memoryx_compare_masks(mx);
    return rc ? rc : memoryx_choose_selected(mx);
}
