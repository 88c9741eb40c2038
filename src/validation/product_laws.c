// SPDX-License-Identifier: Apache-2.0
/* Predictions for published figures of single products.
 *
 * Programs of pr0f3ss/SpMM_Cerebras keep tiles of a matrix in the PEs, as <wsc/cycles_tiles.h> has
 * it; `wsc validate --mesh --products` runs their rows on the mesh.  Products with streamed weights
 * are those of cycles_product() on the whole machine, with a stage's latency each. */
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

/* ---- streamed weights ------------------------------------------------------------------------ */

/* Overrides `cluster.KEY=VALUE` of a row, in place. */
static enum wsc_err override_machine(struct hw_machine *machine, const char *sets)
{
    char text[sizeof((struct validation_product *)0)->set], *rest = text;
    (void)snprintf(text, sizeof text, "%s", sets);
    for (char *item = strsep(&rest, ";"); item; item = strsep(&rest, ";")) {
        struct hw_constant constant;
        double value;
        char *equals = strchr(item, '=');
        if (!equals || strncmp(item, "cluster.", 8) != 0) continue;
        *equals = '\0';
        TRY(hw_constant_find(item, &constant));
        TRY(hw_constant_read(&constant, equals + 1, &value));
        TRY(hw_constant_set(&constant, machine, value));
    }
    return WSC_OK;
}

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
    TRY(override_machine(&m, r->set));
    const double each = stream_cycles(r, &m) / (double)m.wafer.clock_hz +
                        wsc_seconds((double)hw_stage_latency_ps(&m, 0, 0, false));
    r->predicted = r->floor_s + r->count * each;
    return WSC_OK;
}

/* ---- FLOPs ----------------------------------------------------------------------------------- */

static enum wsc_err flop_ratio(struct validation_product *r,
                               const struct validation_folders *folders)
{
    char path[PATH_MAX], *bytes = NULL;
    struct zoo_params params;
    struct model *model = NULL;
    size_t n = 0;
    const struct conf_set set = {.text = r->set};
    validation_name_file(folders, r->model, path, sizeof path);
    TRY(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = zoo_params_parse(&params, path, bytes, n, &set, *r->set != '\0');
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
