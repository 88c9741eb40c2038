// SPDX-License-Identifier: Apache-2.0
/* `micro_batch_size: explore`: the emulated speed at every micro-batch that divides the share of a
 * system, as the Model Zoo's own search reports it. */
#include <wsc/mem.h>
#include <wsc/scaling.h>

/* Sequences of a system that has most. */
static int64_t share_of(const struct zoo_params *p)
{
    return (p->train_input.batch_size - 1) / p->runconfig.num_csx + 1;
}

/* Sizes that divide the share, within the bounds of the params. */
static bool is_tried(const struct zoo_input *in, int64_t share, int64_t size)
{
    const int64_t least = in->explore_min == CONF_NULL ? 1 : in->explore_min;
    const int64_t most = in->explore_max == CONF_NULL ? share : in->explore_max;
    return share % size == 0 && size >= least && size <= most;
}

/* One point for each size; one that does not fit the wafer is left out. */
static enum wsc_err try_all(const struct scaling_model *model, const struct hw_machine *cluster,
                            struct scaling_row *row, int *n)
{
    struct zoo_params params = *model->params; /* shallow: one number differs */
    const struct scaling_model one = {model->name, &params};
    const struct zoo_input *in = &model->params->train_input;
    const int64_t share = share_of(&params);
    for (int64_t size = 1; size <= share; size++) {
        if (!is_tried(in, share, size)) continue;
        params.train_input.micro_batch_size = size;
        enum wsc_err rc =
            scaling_point(&one, cluster, params.runconfig.num_csx, in->batch_size, &row[*n]);
        if (rc && rc != WSC_CAPACITY) return rc;
        *n += !rc;
    }
    return WSC_OK;
}

/* Sizes that will be tried: room for the rows. */
static int count(const struct zoo_params *p)
{
    const int64_t share = share_of(p);
    int n = 0;
    for (int64_t size = 1; size <= share; size++)
        n += is_tried(&p->train_input, share, size);
    return n;
}

enum wsc_err scaling_explore(const struct scaling_model *model, const struct hw_machine *cluster,
                             struct scaling_row **rows, int *n, int *best)
{
    struct scaling_row *row;
    *rows = NULL;
    *n = *best = 0;
    TRY_NEW(row, WSC_MEM_SCALING, count(model->params));
    enum wsc_err rc = try_all(model, cluster, row, n);
    if (!rc && !*n)
        rc = wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                    "%s: train_input.micro_batch_size: no size within the bounds "
                                    "divides the %lld sequences of a system and fits",
                                    model->params->file, (long long)share_of(model->params)),
                          "wider bounds of explore, or another batch_size");
    for (int i = 1; i < *n && !rc; i++)
        if (row[i].step_time_ps < row[*best].step_time_ps) *best = i;
    if (rc)
        wsc_free(row);
    else
        *rows = row;
    return rc;
}
