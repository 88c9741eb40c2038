// SPDX-License-Identifier: Apache-2.0
/* Points of a sweep that do not fit the machine: which they are, and the rows without them.  A
 * sweep is a rectangle of models and numbers of systems, and so is what is left of it. */
#include <wsc/scaling.h>

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
