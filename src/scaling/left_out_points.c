// SPDX-License-Identifier: Apache-2.0
/* Points of a sweep that do not fit the machine: which they are, and the rows without them.  A
 * sweep is a rectangle of models and numbers of systems, and so is what is left of it. Numbers of
 * systems that have not the wafer or node of a fault are found before the sweep. */
#include <wsc/scaling.h>
#include <wsc/stream.h>

#include <limits.h>
#include <stddef.h>
#include <string.h>

const char *scaling_left_out(const struct scaling_row *row, int n)
{
    for (int i = 0; i < n; i++)
        if (*row[i].left_out) return row[i].left_out;
    return NULL;
}

/* Reports a point that goes; @p other: the reason of one that takes it along. */
static void report(const struct scaling_points *p, const struct scaling_row *row, const char *other)
{
    p->gone(p->ctx, row, *row->left_out ? row->left_out : other);
}

static bool has_point(const struct scaling_points *p, int model)
{
    for (int i = 0; i < p->n_counts; i++)
        if (!*p->row[model * p->n_counts + i].left_out) return true;
    return false;
}

static void drop_model(struct scaling_points *p, int model)
{
    struct scaling_row *row = &p->row[(ptrdiff_t)model * p->n_counts];
    const int after = --p->n_models - model;
    for (int i = 0; i < p->n_counts; i++)
        report(p, &row[i], "");
    memmove(&p->model[model], &p->model[model + 1], (size_t)after * sizeof *p->model);
    memmove(row, row + p->n_counts, (size_t)(after * p->n_counts) * sizeof *row);
}

static bool fits_all(const struct scaling_points *p, int count)
{
    for (int m = 0; m < p->n_models; m++)
        if (*p->row[m * p->n_counts + count].left_out) return false;
    return true;
}

static void drop_count(struct scaling_points *p, int count)
{
    int kept = 0;
    for (int i = 0; i < p->n_models * p->n_counts; i++)
        if (i % p->n_counts == count)
            report(p, &p->row[i], "another model does not fit on so many systems");
        else
            p->row[kept++] = p->row[i];
    p->n_counts--;
    memmove(&p->num_csx[count], &p->num_csx[count + 1],
            (size_t)(p->n_counts - count) * sizeof *p->num_csx);
}

void scaling_drop_left_out(struct scaling_points *p)
{
    for (int m = p->n_models - 1; m >= 0; m--)
        if (!has_point(p, m)) drop_model(p, m);
    for (int i = p->n_counts - 1; p->n_models && i >= 0; i--)
        if (!fits_all(p, i)) drop_count(p, i);
}

enum wsc_err scaling_fault_without_place(const struct hw_machine *cluster, int64_t num_csx,
                                         int *fault)
{
    struct stream_topology *t = NULL;
    *fault = -1;
    TRY(stream_topology_create(&t, 1, (int)num_csx, (int)cluster->swarmx.fanout));
    const int n_places[HW_N_PLACES] = {
        [HW_PLACE_WAFER] = t->n_machine_wafers,
        [HW_PLACE_NODE] = t->n_machine_nodes,
        [HW_PLACE_SHARD] = INT_MAX, /* their number does not depend on that of the systems */
    };
    stream_topology_destroy(&t);
    for (int i = 0; i < cluster->faults.n && *fault < 0; i++) {
        const struct hw_fault *f = &cluster->faults.item[i];
        if (f->where != CONF_NULL && f->where >= n_places[f->place]) *fault = i;
    }
    return WSC_OK;
}
