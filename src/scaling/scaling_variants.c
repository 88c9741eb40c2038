// SPDX-License-Identifier: Apache-2.0
/* Variants of a sweep: mechanisms switched off one at a time (the scaling-loss breakdown), faults
 * left out one at a time, one constant at many values.  Each variant is a whole sweep of a machine
 * that differs in one thing; `wsc scale --effects`, `--fault` and `--sweep` show them. */
#include "scaling_sparsity.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- variants -------------------------------------------------------------------------------- */

void scaling_variants_free(struct scaling_variant **variants, int n)
{
    for (int i = 0; *variants && i < n; i++)
        wsc_free((*variants)[i].row);
    wsc_free(*variants);
    *variants = NULL;
}

/* The sweep on another machine; a variant is one unit of progress, whatever its points. */
static enum wsc_err run_variant(const struct scaling_sweep *sweep, const struct hw_machine *cluster,
                                struct scaling_variant *v)
{
    struct scaling_sweep s = *sweep;
    s.cluster = cluster;
    s.progress = NULL;
    return scaling_run(&s, &v->row);
}

/* Variant @p i of @p n is next. */
static void announce(const struct scaling_sweep *sweep, const char *part, int i, int n)
{
    if (sweep->progress) sweep->progress(sweep->progress_ctx, part, i, n, NULL);
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

static int count_effects(const struct hw_machine *cluster)
{
    struct hw_machine c = *cluster; /* a shallow copy, for its switches */
    const char *name;
    int n = 0;
    while (hw_effect(&c, n, &name))
        n++;
    return n;
}

/* Variant 0 is the machine itself, the last one, number @p last, has none of the mechanisms. */
static enum wsc_err run_effect(const struct scaling_sweep *sweep, int i, int last,
                               struct scaling_variant *v)
{
    struct hw_machine cluster = *sweep->cluster; /* a shallow copy: only numbers differ */
    const char *name;
    bool *on;
    (void)snprintf(v->name, sizeof v->name, "%s", i ? "none of them" : "all");
    for (int k = 0; (on = hw_effect(&cluster, k, &name)); k++) {
        if (i == k + 1) (void)snprintf(v->name, sizeof v->name, "without %s", name);
        if (i == k + 1 || i == last) *on = false;
    }
    return run_variant(sweep, &cluster, v);
}

enum wsc_err scaling_effects(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                             int *n)
{
    *n = count_effects(sweep->cluster) + 2;
    TRY_NEW(*variants, WSC_MEM_SCALING, *n);
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < *n && !rc; i++) {
        announce(sweep, "effects", i, *n);
        rc = run_effect(sweep, i, *n - 1, &(*variants)[i]);
    }
    if (rc) scaling_variants_free(variants, *n);
    return rc;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* @p item: room for all faults; variant 0 has them all. */
static enum wsc_err run_without(const struct scaling_sweep *sweep, int i, struct hw_fault *item,
                                struct scaling_variant *v)
{
    struct hw_machine cluster = *sweep->cluster; /* a shallow copy with a list of its own */
    const struct hw_fault_list *all = &sweep->cluster->faults;
    cluster.faults = (struct hw_fault_list){.item = item};
    for (int k = 0; k < all->n; k++)
        if (k != i - 1) item[cluster.faults.n++] = all->item[k];
    (void)snprintf(v->name, sizeof v->name, "%s%s", i ? "without " : "with all faults",
                   i ? all->item[i - 1].text : "");
    return run_variant(sweep, &cluster, v);
}

enum wsc_err scaling_faults(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                            int *n)
{
    struct hw_fault *item;
    *n = sweep->cluster->faults.n + 1;
    TRY_NEW(item, WSC_MEM_SCALING, *n);
    *variants = wsc_alloc(WSC_MEM_SCALING, (size_t)*n, sizeof **variants);
    enum wsc_err rc = *variants ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "faults");
    for (int i = 0; i < *n && !rc; i++) {
        announce(sweep, "faults", i, *n);
        rc = run_without(sweep, i, item, &(*variants)[i]);
    }
    wsc_free(item);
    if (rc) scaling_variants_free(variants, *n);
    return rc;
}

/* ---- one constant ---------------------------------------------------------------------------- */

/* The sweep with value @p i. */
static enum wsc_err run_value(const struct scaling_sweep *sweep,
                              const struct scaling_values *values, int i, struct scaling_variant *v)
{
    struct hw_machine cluster = *sweep->cluster; /* a shallow copy: only numbers differ */
    struct scaling_sweep s = *sweep;
    v->value = values->value[i];
    if (values->sparsity) {
        (void)snprintf(v->name, sizeof v->name, "%g", v->value);
        return scaling_at_sparsity(sweep, v->value, &v->row);
    }
    if (values->global_batch) {
        s.global_batch = (int64_t)v->value;
        (void)snprintf(v->name, sizeof v->name, "%lld", (long long)s.global_batch);
    } else {
        hw_constant_write(&values->constant, v->value, v->name, sizeof v->name);
        hw_constant_write_exact(&values->constant, v->value, v->exact, sizeof v->exact);
        TRY(hw_constant_set(&values->constant, &cluster, v->value));
    }
    return run_variant(&s, &cluster, v);
}

/* The error @p rc of the sweep with @p value, as one of that value. */
static enum wsc_err of_value(enum wsc_err rc, const struct scaling_values *values,
                             const char *value)
{
    char why[1024];
    const char *prefix = values->global_batch || values->sparsity ? "" : "cluster.";
    if (!rc) return WSC_OK;
    (void)snprintf(why, sizeof why, "%s", wsc_err_message());
    return WSC_RAISE(rc, "--sweep %s%s=%s: %s", prefix, values->constant.path, value, why);
}

/* Values that look equal with few digits get all of them. */
static void tell_apart(struct scaling_variant *variants, int n)
{
    for (int i = 0; i < n; i++) {
        bool twice = false;
        for (int k = i + 1; k < n; k++) {
            if (strcmp(variants[k].name, variants[i].name) != 0) continue;
            if (!*variants[k].exact || !strcmp(variants[k].exact, variants[i].exact)) continue;
            (void)snprintf(variants[k].name, sizeof variants[k].name, "%s", variants[k].exact);
            twice = true;
        }
        if (twice)
            (void)snprintf(variants[i].name, sizeof variants[i].name, "%s", variants[i].exact);
    }
}

enum wsc_err scaling_vary(const struct scaling_sweep *sweep, const struct scaling_values *values,
                          struct scaling_variant **variants, int *n)
{
    *n = values->n;
    TRY_NEW(*variants, WSC_MEM_SCALING, *n);
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < *n && !rc; i++) {
        announce(sweep, "values", i, *n);
        rc = run_value(sweep, values, i, &(*variants)[i]);
        rc = of_value(rc, values, (*variants)[i].name);
    }
    if (!rc) tell_apart(*variants, *n);
    if (rc) scaling_variants_free(variants, *n);
    return rc;
}
