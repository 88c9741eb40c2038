// SPDX-License-Identifier: Apache-2.0
/* Loads the models and machines that published rows name, with their overrides.  validate.c and
 * calibrate.c predict them with quantities.c. */
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

/* A machine that stands in for none of the rows would be compared with nothing. */
static enum wsc_err check_stands_in(const struct validation_cases *cases,
                                    const struct hw_machine *m)
{
    char known[VALIDATION_MAX_MACHINES * 96] = "";
    size_t n = 0;
    for (int i = 0; i < cases->n_machines; i++) {
        const struct hw_machine *other = &cases->machine[i];
        if (same_grid(m, other)) return WSC_OK;
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s %lld x %lld", i ? ", " : "",
                              cases->name[i], (long long)other->wafer.pe_cols,
                              (long long)other->wafer.pe_rows);
    }
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: no published figure is of a wafer of %lld x %lld PEs", m->file,
                  (long long)m->wafer.pe_cols, (long long)m->wafer.pe_rows),
        "the published figures are of %s", known);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* The row's overrides `a=b;c=d`, cut in place, before those of the comparison. */
static int collect_sets(const struct validation_comparison *c, char *text,
                        struct conf_set set[MAX_SETS])
{
    int n = 0;
    for (char *item = strsep(&text, ";"); item && n < MAX_SETS; item = strsep(&text, ";"))
        if (*item) set[n++] = (struct conf_set){.text = item};
    for (int i = 0; i < c->n_sets && n < MAX_SETS; i++)
        set[n++] = c->sets[i];
    return n;
}

static enum wsc_err load_model(struct validation_case *item, const struct validation_comparison *c)
{
    const struct validation_figure *ref = item->ref;
    char path[PATH_MAX], set_text[sizeof ref->set];
    struct conf_set set[MAX_SETS] = {0};
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
                         unsigned kinds, bool measured_only)
{
    for (int i = 0; i < c->n_refs; i++) {
        struct validation_case *item = &cases->item[cases->n];
        const bool context = c->ref[i].kind == VALIDATION_KIND_CONTEXT;
        if (!(kinds & (1U << c->ref[i].kind))) continue;
        if (context && !validation_figure_complete(&c->ref[i])) continue;
        if (measured_only && !validation_figure_measured(&c->ref[i])) continue;
        item->ref = &c->ref[i];
        cases->n++;
        TRY(load_model(item, c));
        TRY(find_machine(cases, c, item->ref->cluster, &item->cluster));
    }
    return c->cluster ? check_stands_in(cases, c->cluster) : WSC_OK;
}

enum wsc_err validation_cases_load(struct validation_cases **out,
                                   const struct validation_comparison *c, unsigned kinds,
                                   bool measured_only)
{
    struct validation_cases *cases;
    TRY_NEW(cases, WSC_MEM_SCALING, 1);
    *out = cases;
    TRY_NEW(cases->item, WSC_MEM_SCALING, c->n_refs + 1);
    return load(cases, c, kinds, measured_only);
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
