// SPDX-License-Identifier: Apache-2.0
/* Computes the amounts of a stage in a step: bytes of weights and gradients on the emulated links,
 * parameters that MemoryX updates, elements among which it chooses masks, densities for the wafer's
 * cycles. They follow from counts of kept weights (model_density.c), which are functions of params
 * and step. A ledger in the net keeps the amounts of a few steps, because roles are not all in the
 * same step. Roles on several threads read it; one of them at a time writes a page. */
#include "stream_ledger.h"

#include <wsc/check.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdatomic.h>

/* Bytes on the links. Hall, Schreiber, Lie: 32 bits per parameter and direction; gradients are sent
 * in 32 bits. */
enum { GRADIENT_BYTES = 4, DENSE_VALUE_BYTES = 2 };

/* Bytes of a tensor in the shorter form: its non-zeros with @p each bytes, or all elements. */
static int64_t least_bytes(int64_t kept, double each, int64_t dense)
{
    const double sparse = ceil((double)kept * each);
    return sparse < (double)dense ? (int64_t)sparse : dense;
}

static void add_tensor(const struct hw *hw, const struct model *model, int tensor, int64_t updates,
                       struct stream_amounts *a)
{
    const struct hw_stream *s = &hw->cluster->stream;
    const int64_t n = model->tensor[tensor].n_elems, value = num_format_bytes(model->format);
    const int64_t kept = model_kept_at(model, tensor, updates);
    const bool whole = updates >= 0 && model_sends_dense_gradient(model, tensor, updates);
    const double each = s->sparse_weight_bytes + (double)(value - DENSE_VALUE_BYTES);
    a->weight_bytes += kept < n ? least_bytes(kept, each, n * value) : n * value;
    if (model->tensor[tensor].frozen) return;
    a->grad_bytes += kept < n && !whole
                         ? least_bytes(kept, s->sparse_gradient_bytes, n * GRADIENT_BYTES)
                         : n * GRADIENT_BYTES;
}

void stream_amounts_of(const struct hw *hw, const struct model *model, int stage, int64_t updates,
                       struct stream_amounts *out)
{
    const struct model_stage *st = &model->stage[stage];
    *out = (struct stream_amounts){0};
    for (int v = 0; v < st->n_views; v++) {
        const int tensor = st->view[v].tensor;
        add_tensor(hw, model, tensor, updates, out);
        if (model->tensor[tensor].first_stage != stage) continue;
        if (model->tensor[tensor].frozen) continue;
        out->updated += model_kept_at(model, tensor, updates);
        if (updates >= 0 && model_chooses_mask(model, tensor, updates))
            out->selected += model->tensor[tensor].n_elems;
    }
    out->sparse = model_density_at(model, stage, updates, &out->density);
    if (out->sparse) out->key = wsc_hash64(&out->density, sizeof out->density, 1) | 1;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* Number of steps that roles of a rank may be in at once, plus one. */
enum { N_PAGES = 4 };

struct page {
    _Atomic int64_t updates;      /* number of updates of the step; UNWRITTEN: the page is empty */
    struct stream_amounts *stage; /* owned, n_stages */
};
struct stream_ledger {
    struct page page[N_PAGES];
    int oldest;
    /* set while a thread writes a page, which takes less time than a sleep of the others */
    atomic_flag writes;
};
static const int64_t UNWRITTEN = INT64_MIN;

enum wsc_err stream_ledger_create(struct stream_ledger **out, const struct model *model)
{
    struct stream_ledger *l;
    TRY_NEW(*out, WSC_MEM_STREAM, 1);
    l = *out;
    atomic_flag_clear(&l->writes);
    for (int i = 0; i < N_PAGES; i++) {
        atomic_store(&l->page[i].updates, UNWRITTEN);
        TRY_NEW(l->page[i].stage, WSC_MEM_STREAM, model->n_stages);
    }
    return WSC_OK;
}

void stream_ledger_destroy(struct stream_ledger **ledger)
{
    if (!*ledger) return;
    for (int i = 0; i < N_PAGES; i++)
        wsc_free((*ledger)->page[i].stage);
    wsc_free(*ledger);
    *ledger = NULL;
}

/* The page of the step; NULL: it was not written yet. */
static const struct page *find_page(const struct stream_ledger *l, int64_t updates)
{
    for (int i = 0; i < N_PAGES; i++)
        if (atomic_load_explicit(&l->page[i].updates, memory_order_acquire) == updates)
            return &l->page[i];
    return NULL;
}

/* Write a page over the oldest one, which no role needs any more. Only the caller writes. */
static const struct page *write_page(const struct stream_net *net, int64_t updates)
{
    struct stream_ledger *l = net->ledger;
    WSC_CHECK(l, "a net without a ledger");
    struct page *p = &l->page[l->oldest];
    l->oldest = (l->oldest + 1) % N_PAGES;
    atomic_store(&p->updates, UNWRITTEN);
    for (int s = 0; s < net->model->n_stages; s++)
        stream_amounts_of(net->hw, net->model, s, updates, &p->stage[s]);
    atomic_store_explicit(&p->updates, updates, memory_order_release);
    return p;
}

static const struct page *page_of(const struct stream_net *net, int64_t updates)
{
    struct stream_ledger *l = net->ledger;
    const struct page *p = find_page(l, updates);
    if (p) return p;
    while (atomic_flag_test_and_set_explicit(&l->writes, memory_order_acquire))
        continue;
    p = find_page(l, updates);
    if (!p) p = write_page(net, updates);
    atomic_flag_clear_explicit(&l->writes, memory_order_release);
    return p;
}

const struct stream_amounts *stream_amounts(const struct stream_net *net, int stage,
                                            int64_t updates)
{
    /* Dense models have one page for all steps. */
    return &page_of(net, net->model->sparsity ? updates : 0)->stage[stage];
}
