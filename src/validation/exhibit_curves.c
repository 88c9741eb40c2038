// SPDX-License-Identifier: Apache-2.0
/* Predicts the rows of exhibits and simulates their curves, each point with its 90 % band, which
 * is made as that of a row (bands.c): the spread over sampled machines and the deviation of the
 * fitted rows. */
#include "validation_impl.h"

#include <wsc/validation_exhibits.h>

#include <wsc/mem.h>
#include <wsc/model.h>

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* The next item of a list separated by blanks, copied to @p item; false at the end, and of an
 * exhibit that has no such list. */
static bool next_item(const char **list, char *item, size_t size)
{
    if (!*list) return false;
    const char *p = *list + strspn(*list, " \n");
    const size_t n = strcspn(p, " \n");
    if (!n) return false;
    (void)snprintf(item, size, "%.*s", (int)n, p);
    *list = p + n;
    return true;
}

enum { ITEM_BYTES = 96 };

/* ---- rows ------------------------------------------------------------------------------------ */

static bool matches(const char *patterns, const char *id)
{
    char pattern[ITEM_BYTES];
    while (next_item(&patterns, pattern, sizeof pattern))
        if (!fnmatch(pattern, id, 0)) return true;
    return false;
}

/* Every pattern of an exhibit must name a row. */
static WSC_CHECKED enum wsc_err check_patterns(const struct validation_comparison *c,
                                               const char *path, const struct validation_exhibit *e)
{
    char pattern[ITEM_BYTES];
    for (const char *list = e->rows; next_item(&list, pattern, sizeof pattern);) {
        bool found = false;
        for (int i = 0; i < c->n_refs && !found; i++)
            found = !fnmatch(pattern, c->ref[i].id, 0);
        if (!found)
            return WSC_RAISE(WSC_CONFIG,
                             "%s:%d:%d: exhibit %.40s: no published figure matches \"%s\"", path,
                             e->rows_at.line, e->rows_at.column, e->id, pattern);
    }
    return WSC_OK;
}

static bool is_named(const struct validation_exhibits *e, const char *id)
{
    for (int k = 0; k < e->n; k++)
        if (matches(e->item[k].rows, id)) return true;
    return false;
}

enum wsc_err validation_exhibits_missing(const struct validation_comparison *c,
                                         const struct validation_exhibits *e,
                                         struct wsc_text *names)
{
    for (int i = 0; i < c->n_refs; i++)
        if (c->ref[i].kind != VALIDATION_KIND_CONTEXT && !is_named(e, c->ref[i].id))
            wsc_text_add(names, "%s%s", names->n ? ", " : "", c->ref[i].id);
    return wsc_text_check(names);
}

/* The rows that any exhibit names, each once, in the order of the files, and those that constants
 * were fitted on: bands are made of their deviation, whichever exhibits are drawn. */
static enum wsc_err choose_figures(const struct validation_comparison *c,
                                   const struct validation_exhibits *e,
                                   struct validation_reproduction *out, int *n)
{
    *n = 0;
    TRY_NEW(out->figure, WSC_MEM_SCALING, c->n_refs + 1);
    for (int i = 0; i < e->n; i++)
        TRY(check_patterns(c, e->path, &e->item[i]));
    for (int i = 0; i < c->n_refs; i++) {
        if (validation_figure_fitted(&c->ref[i]) || is_named(e, c->ref[i].id))
            out->figure[(*n)++] = c->ref[i];
    }
    return WSC_OK;
}

static bool is_predicted(const struct validation_reproduced *r, const struct validation_figure *f)
{
    for (int i = 0; i < r->n_rows; i++)
        if (r->row[i]->ref == f) return true;
    return false;
}

/* The rows of one exhibit among all of them: those that say enough for a prediction, and the
 * others, which are only shown. */
static enum wsc_err link_rows(const struct validation_table *all, struct validation_reproduced *r)
{
    TRY_NEW(r->row, WSC_MEM_SCALING, all->n_rows + 1);
    TRY_NEW(r->context, WSC_MEM_SCALING, all->n_figures + 1);
    for (int i = 0; i < all->n_rows; i++)
        if (matches(r->exhibit->rows, all->row[i].ref->id)) r->row[r->n_rows++] = &all->row[i];
    for (int i = 0; i < all->n_figures; i++) {
        const struct validation_figure *f = &all->figure[i];
        if (matches(r->exhibit->rows, f->id) && !is_predicted(r, f)) r->context[r->n_context++] = f;
    }
    return WSC_OK;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static int n_models(const struct validation_exhibit *e)
{
    char item[ITEM_BYTES];
    int n = 0;
    for (const char *list = e->models; next_item(&list, item, sizeof item);)
        n++;
    return n;
}

/* Models and machines of all curves: as if each were a published figure, without its value. */
static enum wsc_err load_curves(const struct validation_comparison *c,
                                const struct validation_exhibits *e,
                                struct validation_reproduction *out)
{
    struct validation_comparison all = *c;
    int n = 0;
    for (int i = 0; i < e->n; i++)
        n += n_models(&e->item[i]);
    TRY_NEW(out->model, WSC_MEM_SCALING, n + 1);
    n = 0;
    for (int i = 0; i < e->n; i++) {
        const struct validation_exhibit *x = &e->item[i];
        char item[ITEM_BYTES];
        for (const char *list = x->models; next_item(&list, item, sizeof item); n++) {
            struct validation_figure *f = &out->model[n];
            *f = (struct validation_figure){
                .micro_batch = CONF_AUTO, .msl = x->msl, .kind = VALIDATION_KIND_VALIDATION};
            (void)snprintf(f->id, sizeof f->id, "%.47s", item);
            (void)snprintf(f->model, sizeof f->model, "%.47s", item);
            (void)snprintf(f->cluster, sizeof f->cluster, "%.31s", x->cluster);
            (void)snprintf(f->set, sizeof f->set, "%.127s", x->set ? x->set : "");
        }
    }
    all.ref = out->model;
    all.n_refs = n;
    return validation_cases_load(&out->curves, &all, 1U << VALIDATION_KIND_VALIDATION, false);
}

/* The points of @p sweep as further points of the curve, with their bands; @p form: deviation of
 * the fitted rows. */
static enum wsc_err add_points(const struct scaling_sweep *sweep, double form,
                               struct validation_curve *curve)
{
    double spread[VALIDATION_MAX_COUNTS];
    int n_machines = 0;
    struct scaling_row *row = NULL;
    enum wsc_err rc = scaling_run(sweep, &row);
    if (!rc) rc = validation_curve_spread(sweep, row, spread, &n_machines);
    for (int i = 0; i < sweep->n_counts && !rc; i++) {
        const double half = validation_half_band(spread[i], form);
        curve->row[curve->n] = row[i];
        curve->n_machines[curve->n] = n_machines;
        curve->below[curve->n] = 1 / half;
        curve->above[curve->n++] = half;
    }
    wsc_free(row);
    return rc;
}

static enum wsc_err draw_curve(const struct validation_exhibit *e,
                               const struct validation_case *item, struct comm *comm, double form,
                               struct validation_curve *curve)
{
    static const int64_t one[] = {1};
    const struct scaling_model model = {item->ref->id, &item->params};
    struct scaling_sweep sweep = {.model = &model,
                                  .n_models = 1,
                                  .num_csx = e->num_csx.item,
                                  .n_counts = e->num_csx.n,
                                  .batch_per_csx = e->batch_per_csx,
                                  .cluster = item->cluster,
                                  .comm = comm};
    curve->model = item->ref->id;
    curve->msl = model_sequence_length(&item->params);
    TRY_NEW(curve->row, WSC_MEM_SCALING, VALIDATION_MAX_COUNTS);
    TRY_NEW(curve->n_machines, WSC_MEM_SCALING, VALIDATION_MAX_COUNTS);
    TRY_NEW(curve->below, WSC_MEM_SCALING, VALIDATION_MAX_COUNTS);
    TRY_NEW(curve->above, WSC_MEM_SCALING, VALIDATION_MAX_COUNTS);
    if (e->picture == VALIDATION_SYSTEMS) return add_points(&sweep, form, curve);
    sweep.num_csx = one;
    sweep.n_counts = 1;
    for (int i = 0; i < e->batch.n; i++) {
        sweep.batch_per_csx = e->batch.item[i];
        TRY(add_points(&sweep, form, curve));
    }
    return WSC_OK;
}

/* @p next: the first case of this exhibit; moved past its last. */
static enum wsc_err draw_curves(const struct validation_reproduction *all, int *next,
                                struct comm *comm, struct validation_reproduced *r)
{
    const int n = n_models(r->exhibit);
    TRY_NEW(r->curve, WSC_MEM_SCALING, n + 1);
    for (int i = 0; i < n; i++) {
        const struct validation_case *item = &all->curves->item[(*next)++];
        r->cluster = item->cluster;
        r->n_curves = i + 1;
        enum wsc_err rc =
            draw_curve(r->exhibit, item, comm, all->result.report.fitted_deviation, &r->curve[i]);
        if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, r->exhibit->id);
    }
    return WSC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum wsc_err predict_rows(const struct validation_comparison *c,
                                 const struct validation_exhibits *e,
                                 struct validation_reproduction *out)
{
    struct validation_comparison chosen = *c;
    TRY(choose_figures(c, e, out, &chosen.n_refs));
    chosen.ref = out->figure;
    return validation_run(&chosen, &out->result);
}

enum wsc_err validation_reproduce(const struct validation_comparison *comparison,
                                  const struct validation_exhibits *exhibits, struct comm *comm,
                                  struct validation_reproduction *out)
{
    int next = 0;
    *out = (struct validation_reproduction){0};
    TRY_NEW(out->item, WSC_MEM_SCALING, exhibits->n + 1);
    for (int i = 0; i < exhibits->n; i++) {
        struct validation_reproduced *r = &out->item[out->n++];
        r->exhibit = &exhibits->item[i];
        TRY(validation_exhibit_texts(comparison, exhibits->path, r));
    }
    TRY(predict_rows(comparison, exhibits, out));
    TRY(load_curves(comparison, exhibits, out));
    for (int i = 0; i < out->n; i++) {
        struct validation_reproduced *r = &out->item[i];
        if (comparison->progress)
            comparison->progress(comparison->progress_ctx, "curves", i, out->n, r->exhibit->id);
        TRY(link_rows(&out->result.report, r));
        TRY(draw_curves(out, &next, comm, r));
        TRY(validation_exhibit_place(r));
    }
    return WSC_OK;
}

static void free_curve(struct validation_curve *c)
{
    wsc_free(c->row);
    wsc_free(c->n_machines);
    wsc_free(c->below);
    wsc_free(c->above);
}

void validation_reproduction_fini(struct validation_reproduction *r)
{
    for (int i = 0; i < r->n; i++) {
        for (int k = 0; k < r->item[i].n_curves; k++)
            free_curve(&r->item[i].curve[k]);
        wsc_free(r->item[i].curve);
        wsc_free(r->item[i].curve_of);
        wsc_free(r->item[i].title);
        wsc_free(r->item[i].note);
        wsc_free(r->item[i].row);
        wsc_free(r->item[i].context);
    }
    wsc_free(r->item);
    validation_result_fini(&r->result);
    validation_cases_free(&r->curves);
    wsc_free(r->figure);
    wsc_free(r->model);
    *r = (struct validation_reproduction){0};
}
