// SPDX-License-Identifier: Apache-2.0
/* Sparse tensors of a model: the entry of the params' `sparsity` that each one takes, and how many
 * of its weights are kept after a number of updates.  Counts follow from the params alone, so that
 * every role knows them, with values and without.  model_create() calls; the formulas are in
 * src/zoo/zoo_sparsity.c. */
#include "model_sparsity.h"

#include <wsc/mem.h>

/* What cstorch asks of the tensors of an entry: a dimension that the groups divide; rows and
 * columns where masks are chosen by column. */
static enum wsc_err check_shape(const struct model_tensor *t, const struct zoo_sparsity *s,
                                const char *place)
{
    const long long groups = zoo_sparsity_groups(s);
    const bool in = s->in_groups > 0, by_column = s->init_method == ZOO_MASK_BALANCED_TOPK;
    bool divides = false;
    if ((in || by_column) && t->n_dims != 2)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s: %s is no matrix", place,
                                      in ? "balance_in_groups" : "init_method: balanced-topk",
                                      t->name),
                            "param_filter selects tensors by their names");
    for (int d = 0; d < t->n_dims; d++)
        divides = divides || t->shape[d] % groups == 0;
    if (divides) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: balance_%s_groups: no dimension of %s is a multiple of "
                                  "%lld",
                                  place, in ? "in" : "out", t->name, groups),
                        "param_filter selects tensors by their names");
}

/* Patterns stay with the params: a copy of their pointers would be owned twice. */
enum wsc_err model_take_sparsity(struct model *model, const struct zoo_params *params)
{
    const struct zoo_sparsities *list = &params->sparsity;
    for (int i = 0; i < model->n_tensors; i++) {
        struct model_tensor *t = &model->tensor[i];
        t->sparsity = zoo_sparsity_find(list, t->name, t->n_dims);
        if (t->sparsity >= 0 && zoo_sparsity_keeps_dense(&list->entry[t->sparsity]))
            t->sparsity = -1;
        if (t->sparsity >= 0)
            TRY(check_shape(t, &list->entry[t->sparsity], zoo_params_place(params, "sparsity")));
    }
    if (!list->n) return WSC_OK;
    TRY_NEW(model->sparsity, WSC_MEM_MODEL, list->n);
    for (int i = 0; i < list->n; i++) {
        model->sparsity[i] = list->entry[i];
        model->sparsity[i].names = (struct zoo_patterns){0};
    }
    return WSC_OK;
}

const struct zoo_sparsity *model_sparsity_of(const struct model *model, int tensor)
{
    const int entry = model->tensor[tensor].sparsity;
    return entry < 0 || !model->sparsity ? NULL : &model->sparsity[entry];
}

int64_t model_kept(const struct model *model, int tensor, int64_t step)
{
    const struct zoo_sparsity *s = model_sparsity_of(model, tensor);
    const int64_t n = model->tensor[tensor].n_elems;
    return s ? zoo_sparsity_count(s, n, step) : n;
}

bool model_sends_dense_gradient(const struct model *model, int tensor, int64_t step)
{
    const struct zoo_sparsity *s = model_sparsity_of(model, tensor);
    return !s || zoo_sparsity_needs_dense_gradient(s, step);
}

bool model_is_sparse(const struct model *model)
{
    for (int i = 0; i < model->n_tensors; i++)
        if (model_sparsity_of(model, i)) return true;
    return false;
}

bool model_has_masks(const struct model *model)
{
    for (int i = 0; i < model->n_tensors; i++)
        if (model->tensor[i].selected) return true;
    return model_is_sparse(model);
}

/* True when no tensor's name matches the pattern. */
static bool is_unmatched(const struct model *model, const struct zoo_sparsity *s, int pattern)
{
    for (int i = 0; i < model->n_tensors; i++)
        if (zoo_sparsity_matches(s, pattern, model->tensor[i].name)) return false;
    return true;
}

const char *model_unmatched_pattern(const struct model *model, const struct zoo_params *params,
                                    int *at)
{
    const struct zoo_sparsities *list = &params->sparsity;
    for (; *at < list->n * ZOO_MAX_PATTERNS; ++*at) {
        const struct zoo_sparsity *s = &list->entry[*at / ZOO_MAX_PATTERNS];
        const int k = *at % ZOO_MAX_PATTERNS;
        if (k < s->names.n && is_unmatched(model, s, k)) {
            ++*at;
            return s->names.pattern[k];
        }
    }
    return NULL;
}
