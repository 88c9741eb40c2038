// SPDX-License-Identifier: Apache-2.0
/* A sweep over the sparsity of the models: the same sweep with a constant fraction of zeros in the
 * tensors that are sparse, those of the params' own `sparsity`, or of cstorch's default filter
 * where there is none.  RigL and SET keep their updates, from step 0 on; masks that would have
 * another fraction in the simulated steps become static.
 * Called by scaling_variants.c. */
#include "scaling_sparsity.h"

#include <wsc/mem.h>

/* Models of a sweep with entries of their own. */
struct sparse_models {
    struct scaling_model *model; /* owned, as the next two */
    struct zoo_params *params;   /* shallow copies */
    struct zoo_sparsity *entry;
};

/* The entry with the updates of its masks from step 0 on, so that the first steps, which are
 * simulated, have masks. */
static struct zoo_sparsity from_the_start(const struct zoo_sparsity *entry)
{
    struct zoo_sparsity s = *entry;
    s.update.start = 0;
    return s;
}

const char *scaling_static_reason(const struct zoo_sparsity *entry)
{
    const struct zoo_sparsity s = from_the_start(entry);
    if (entry->sparsity.kind != ZOO_FRACTION_CONSTANT)
        return "the fraction of zeros changes during the training";
    return zoo_sparsity_updates(&s, 0) ? NULL : "no mask is made before the first step";
}

/* The entry with its filter and another fraction; tensors that the params keep dense stay dense. A
 * mask without zeros has nothing to exchange. */
static struct zoo_sparsity with_fraction(const struct zoo_sparsity *entry, double sparsity)
{
    struct zoo_sparsity s = from_the_start(entry);
    if (zoo_sparsity_keeps_dense(entry)) return s;
    if (!(sparsity > 0) || scaling_static_reason(entry)) s.algorithm = ZOO_SPARSITY_STATIC;
    s.sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT, .init = sparsity};
    return s;
}

/* True when the section makes no tensor sparse. */
static bool is_dense(const struct zoo_sparsities *list)
{
    for (int i = 0; i < list->n; i++)
        if (!zoo_sparsity_keeps_dense(&list->entry[i])) return false;
    return true;
}

/* Write the entries of @p list with the fraction @p sparsity, and if none of them is sparse, one of
 * the default filter, for the tensors that they do not name. Returns their number. */
static int make_entries(const struct zoo_sparsities *list, double sparsity,
                        struct zoo_sparsity *out)
{
    static const struct zoo_sparsity all = {.algorithm = ZOO_SPARSITY_STATIC,
                                            .init_method = ZOO_MASK_RANDOM,
                                            .in_groups = CONF_NULL,
                                            .out_groups = CONF_NULL,
                                            .seed = CONF_NULL};
    for (int k = 0; k < list->n; k++)
        out[k] = with_fraction(&list->entry[k], sparsity);
    if (!is_dense(list) || list->n == ZOO_MAX_SPARSITIES) return list->n;
    out[list->n] = all;
    out[list->n].sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT, .init = sparsity};
    return list->n + 1;
}

static enum wsc_err make(struct sparse_models *m, const struct scaling_sweep *sweep,
                         double sparsity)
{
    TRY_NEW(m->model, WSC_MEM_SCALING, sweep->n_models);
    TRY_NEW(m->params, WSC_MEM_SCALING, sweep->n_models);
    TRY_NEW(m->entry, WSC_MEM_SCALING, sweep->n_models * ZOO_MAX_SPARSITIES);
    for (int i = 0; i < sweep->n_models; i++) {
        const struct zoo_params *from = sweep->model[i].params;
        struct zoo_sparsity *entry = &m->entry[(int64_t)i * ZOO_MAX_SPARSITIES];
        const int n = make_entries(&from->sparsity, sparsity, entry);
        m->params[i] = *from;
        m->params[i].sparsity = (struct zoo_sparsities){n, entry};
        m->model[i] = (struct scaling_model){sweep->model[i].name, &m->params[i]};
    }
    return WSC_OK;
}

enum wsc_err scaling_at_sparsity(const struct scaling_sweep *sweep, double sparsity,
                                 struct scaling_row **rows)
{
    struct sparse_models m = {0};
    struct scaling_sweep s = *sweep;
    enum wsc_err rc = make(&m, sweep, sparsity);
    s.model = m.model;
    s.progress = NULL; /* a sparsity is one unit of it */
    if (!rc) rc = scaling_run(&s, rows);
    wsc_free(m.entry);
    wsc_free(m.params);
    wsc_free(m.model);
    return rc;
}
