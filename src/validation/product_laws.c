// SPDX-License-Identifier: Apache-2.0
/* Predictions for published figures of single products.
 *
 * Programs of pr0f3ss/SpMM_Cerebras keep tiles of a matrix in the PEs, as <wsc/cycles_tiles.h> has
 * it; `wsc validate --mesh --products` runs their rows on the mesh.  Products with streamed weights
 * are those of cycles_product() on the whole machine, with a stage's latency each. */
#include "validation_impl.h"

#include <wsc/validation_products.h>

#include <wsc/cycles_ops.h>
#include <wsc/cycles_tiles.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tiles in the PEs ------------------------------------------------------------------------ */

/* The figures name matrices (n, k) and (k, m). */
static double tile_cycles(const struct validation_product *r)
{
    const struct cycles_tiles t = {.w = (double)r->w,
                                   .h = (double)r->h,
                                   .m = (double)r->n,
                                   .k = (double)r->k,
                                   .n = (double)r->m,
                                   .density = r->density,
                                   .dense = r->layout == VALIDATION_LAYOUT_GEMM};
    return r->most ? cycles_tiles_most(&t) : cycles_tiles_mean(&t);
}

/* ---- overrides ------------------------------------------------------------------------------- */

enum { SET_BYTES = sizeof((struct validation_product *)0)->set, MAX_SETS = SET_BYTES / 2 };

static WSC_CHECKED enum wsc_err at_set(enum wsc_err rc, const struct validation_product *r)
{
    return validation_at_place(rc, r->file, r->line, r->set_column, "set");
}

/* The overrides of a row, cut in place in @p text; each is one of the machine, or none is. */
static WSC_CHECKED enum wsc_err split_sets(const struct validation_product *r, bool of_machine,
                                           char text[SET_BYTES], struct conf_set set[MAX_SETS],
                                           int *n)
{
    char shown[CONF_QUOTE_BYTES];
    (void)snprintf(text, SET_BYTES, "%s", r->set);
    TRY(at_set(validation_split_sets(text, set, MAX_SETS, n), r));
    for (int i = 0; i < *n; i++) {
        if (!conf_set_cluster_path(set[i].text) == !of_machine) continue;
        return at_set(WSC_RAISE(WSC_CONFIG, "%s: %s", conf_quote(set[i].text, shown),
                                of_machine ? "expected cluster.KEY=VALUE, a number of the machine"
                                           : "is no key of the params"),
                      r);
    }
    return WSC_OK;
}

/* One override, `cluster.KEY=VALUE`, in place. */
static WSC_CHECKED enum wsc_err override_number(struct hw_machine *machine, char *item)
{
    struct hw_constant constant;
    double value;
    char shown[CONF_QUOTE_BYTES], *equals = strchr(item, '=');
    if (!equals) return WSC_RAISE(WSC_CONFIG, "%s: has no value", conf_quote(item, shown));
    *equals = '\0';
    TRY(hw_constant_find(item, &constant));
    TRY(hw_constant_read(&constant, equals + 1, &value));
    return hw_constant_set(&constant, machine, value);
}

static WSC_CHECKED enum wsc_err override_machine(struct hw_machine *machine,
                                                 const struct validation_product *r)
{
    char text[SET_BYTES];
    struct conf_set set[MAX_SETS];
    int n;
    TRY(split_sets(r, true, text, set, &n));
    for (int i = 0; i < n; i++)
        TRY(at_set(override_number(machine, text + (set[i].text - text)), r));
    return WSC_OK;
}

/* ---- streamed weights ------------------------------------------------------------------------ */

/* The lanes that are fastest, as the planner would choose them. */
static double stream_cycles(const struct validation_product *r, const struct hw_machine *machine)
{
    enum { MAX_LANES = 64 };
    const struct hw hw = {.cluster = machine};
    const struct model model = {.L = 1,
                                .C = r->k,
                                .H = 1,
                                .F = r->n,
                                .V = 1,
                                .T = 1,
                                .head_dim = r->k,
                                .kv_heads = 1,
                                .n_heads = 1,
                                .head = {{.tokens = 1}},
                                .format = NUM_FP32};
    double least = INFINITY;
    for (int lanes = 1; lanes <= MAX_LANES; lanes++) {
        struct cycles_layout l;
        cycles_layout_init(&l, &hw, &model, lanes, r->m);
        least = fmin(least, cycles_product(&l, &l.hidden, (double)r->n, r->density));
    }
    return least;
}

static enum wsc_err stream_seconds(struct validation_product *r, const struct hw_machine *machine)
{
    struct hw_machine m = *machine; /* a shallow copy: only numbers differ */
    TRY(override_machine(&m, r));
    const double each = stream_cycles(r, &m) / (double)m.wafer.clock_hz +
                        wsc_seconds((double)hw_stage_latency_ps(&m, 0, 0, false));
    r->predicted = r->floor_s + r->count * each;
    return WSC_OK;
}

/* ---- FLOPs ----------------------------------------------------------------------------------- */

static enum wsc_err flop_ratio(struct validation_product *r,
                               const struct validation_folders *folders)
{
    char path[PATH_MAX], text[SET_BYTES], *bytes = NULL;
    struct zoo_params params;
    struct model *model = NULL;
    struct conf_set set[MAX_SETS];
    size_t n = 0;
    int n_sets;
    TRY(split_sets(r, false, text, set, &n_sets));
    validation_name_file(folders, r->model, path, sizeof path);
    TRY(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = zoo_params_parse(&params, path, bytes, n, set, n_sets);
    const size_t prefix = sizeof VALIDATION_SET_OPTION - 1;
    if (rc && !strncmp(wsc_err_message(), VALIDATION_SET_OPTION, prefix)) rc = at_set(rc, r);
    wsc_free(bytes);
    if (!rc) rc = model_create(&model, &params, HW_STREAM_BLOCK);
    if (!rc)
        r->predicted =
            model_flop_per_token(model, true) / model_useful_flop_per_token(model, true, 0);
    model_destroy(&model);
    zoo_params_fini(&params);
    return rc;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static enum wsc_err predict(struct validation_product *r, const struct validation_folders *folders,
                            const struct hw_machine *machine)
{
    if (r->layout == VALIDATION_LAYOUT_STREAM) return stream_seconds(r, machine);
    if (r->layout == VALIDATION_LAYOUT_FLOPS) return flop_ratio(r, folders);
    if (*r->set) return at_set(WSC_RAISE(WSC_CONFIG, "the formulas of tiles have no overrides"), r);
    r->predicted = tile_cycles(r);
    return WSC_OK;
}

enum wsc_err validation_products_predict(struct validation_product *rows, int n,
                                         const struct validation_folders *folders,
                                         const struct hw_machine *machine)
{
    for (int i = 0; i < n; i++)
        TRY(predict(&rows[i], folders, machine));
    return WSC_OK;
}

bool validation_product_holds(const struct validation_product *row)
{
    return row->kind == VALIDATION_KIND_CONTEXT ||
           fabs(row->predicted / row->value - 1) <= row->tolerance;
}
