// SPDX-License-Identifier: Apache-2.0
/* Loads the models and machines that published rows name, with their overrides, and predicts the
 * figure of one row on a machine. */
#include "validation_impl.h"

#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SETS = 64 };

/* ---- machines -------------------------------------------------------------------------------- */

static enum wsc_err load_machine(struct hw_machine *out, const struct validation_comparison *c,
                                 const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/%s.yaml", c->cluster_dir, name);
    TRY(hw_machine_read(path, &text, &n));
    enum wsc_err rc = hw_machine_parse(out, path, text, n, c->sets, c->n_sets);
    wsc_free(text);
    return rc;
}

static bool same_grid(const struct hw_machine *a, const struct hw_machine *b)
{
    return a->wafer.pe_cols == b->wafer.pe_cols && a->wafer.pe_rows == b->wafer.pe_rows;
}

static enum wsc_err find_machine(struct validation_cases *cases,
                                 const struct validation_comparison *c, const char *name,
                                 const struct hw_machine **out)
{
    int i = 0;
    while (i < cases->n_machines && strcmp(cases->name[i], name) != 0)
        i++;
    if (i == VALIDATION_MAX_MACHINES)
        return WSC_RAISE(WSC_CONFIG, "more than %d machines in published figures", i);
    if (i == cases->n_machines) {
        cases->n_machines++;
        (void)snprintf(cases->name[i], sizeof cases->name[i], "%s", name);
        TRY(load_machine(&cases->machine[i], c, name));
    }
    const bool stands_in = c->cluster && same_grid(c->cluster, &cases->machine[i]);
    *out = stands_in ? c->cluster : &cases->machine[i];
    return WSC_OK;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* The row's overrides `a=b;c=d`, cut in place, before those of the comparison. */
static int collect_sets(const struct validation_comparison *c, char *text,
                        struct conf_set set[MAX_SETS])
{
    int n = 0;
    for (char *item = strsep(&text, ";"); item && n < MAX_SETS; item = strsep(&text, ";"))
        if (*item) set[n++].text = item;
    for (int i = 0; i < c->n_sets && n < MAX_SETS; i++)
        set[n++] = c->sets[i];
    return n;
}

static enum wsc_err load_model(struct validation_case *item, const struct validation_comparison *c)
{
    const struct validation_figure *ref = item->ref;
    char path[PATH_MAX], set_text[sizeof ref->set];
    struct conf_set set[MAX_SETS];
    char *bytes = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/%s.yaml", c->params_dir, ref->model);
    (void)snprintf(set_text, sizeof set_text, "%s", ref->set);
    const int n_sets = collect_sets(c, set_text, set);
    TRY(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = zoo_params_parse(&item->params, path, bytes, n, set, n_sets);
    wsc_free(bytes);
    item->params.train_input.micro_batch_size = ref->micro_batch;
    if (ref->msl) item->params.model.max_position_embeddings = ref->msl;
    if (ref->global_batch) item->params.train_input.batch_size = ref->global_batch;
    if (ref->num_csx) item->params.runconfig.num_csx = ref->num_csx;
    return rc;
}

static enum wsc_err load(struct validation_cases *cases, const struct validation_comparison *c,
                         unsigned kinds)
{
    for (int i = 0; i < c->n_refs; i++) {
        struct validation_case *item = &cases->item[cases->n];
        if (!(kinds & (1U << c->ref[i].kind))) continue;
        item->ref = &c->ref[i];
        cases->n++;
        TRY(load_model(item, c));
        TRY(find_machine(cases, c, item->ref->cluster, &item->cluster));
    }
    return WSC_OK;
}

enum wsc_err validation_cases_load(struct validation_cases **out,
                                   const struct validation_comparison *c, unsigned kinds)
{
    struct validation_cases *cases;
    TRY_NEW(cases, WSC_MEM_SCALING, 1);
    *out = cases;
    TRY_NEW(cases->item, WSC_MEM_SCALING, c->n_refs + 1);
    return load(cases, c, kinds);
}

void validation_cases_free(struct validation_cases **cases)
{
    struct validation_cases *c = *cases;
    if (!c) return;
    for (int i = 0; i < c->n; i++)
        zoo_params_fini(&c->item[i].params);
    for (int i = 0; i < c->n_machines; i++)
        hw_machine_fini(&c->machine[i]);
    wsc_free(c->item);
    wsc_free(c);
    *cases = NULL;
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Throughput of num_csx systems over that of one with the same batch per system. */
static enum wsc_err predict_speedup(const struct validation_case *item,
                                    const struct hw_machine *cluster,
                                    const struct scaling_row *many, double *speedup)
{
    const struct scaling_model model = {item->ref->id, &item->params};
    const int64_t per_system = item->ref->global_batch / item->ref->num_csx;
    struct scaling_row one;
    TRY(scaling_point(&model, cluster, 1, per_system > 0 ? per_system : 1, &one));
    *speedup = many->tokens_per_s / one.tokens_per_s;
    return WSC_OK;
}

enum wsc_err validation_predict(const struct validation_case *item,
                                const struct hw_machine *cluster, double *value,
                                struct scaling_row *row)
{
    const struct scaling_model model = {item->ref->id, &item->params};
    const struct validation_figure *ref = item->ref;
    struct scaling_row here;
    if (!row) row = &here;
    TRY(scaling_point(&model, cluster, ref->num_csx, ref->global_batch, row));
    switch (ref->quantity) {
    case VALIDATION_TIME:
    case VALIDATION_RATE:
        *value = validation_figure_of_rate(ref, row->samples_per_s);
        break;
    case VALIDATION_SPEEDUP:
        return predict_speedup(item, cluster, row, value);
    case VALIDATION_EFFICIENCY:
        TRY(predict_speedup(item, cluster, row, value));
        *value /= (double)ref->num_csx;
        break;
    case VALIDATION_BOUNDARY:
        *value = (double)(row->breakdown.reduce_wait_ps + row->breakdown.boundary_ps) * 1e-12;
        break;
    case VALIDATION_OTHER:
        return WSC_RAISE(WSC_CONFIG, "%s: a figure that cannot be predicted", ref->id);
    }
    return WSC_OK;
}
