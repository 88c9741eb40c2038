// SPDX-License-Identifier: Apache-2.0
/* Which steps of a training with changing masks cost the same: those that keep as many weights, and
 * before and after which masks of the same entries are computed.  Counts follow from params alone,
 * so that all steps are examined without a simulation. Called by scaling_schedule.c. */
#include "alike_steps.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdlib.h>

enum { MOST_EXAMINED = 1 << 16, MOST_COMBINATIONS = 32 };

double scaling_alike_kept(const struct zoo_sparsity *e, int64_t step)
{
    const int64_t n = 1 << 24; /* every integer up to it is an fp32 number */
    return (double)zoo_sparsity_count(e, n, step) / (double)n;
}

bool scaling_alike_same_updates(const struct scaling_alike *a, const struct scaling_alike *b)
{
    return a->updates == b->updates && a->before == b->before;
}

/* Examined step @p i of @p n: each one; or one of each equal part, at a place that differs from
 * part to part, so that it does not follow a period of the updates. */
static int64_t examined(int64_t i, int64_t n, int64_t steps)
{
    const double golden = 0.6180339887498949;
    const double inside = n < steps ? fmod((double)i * golden, 1) : 0;
    return (int64_t)(((double)i + inside) * ((double)steps / (double)n));
}

/* Entries that compute masks after @p step updates; no time goes into the first masks. */
static unsigned updates_at(const struct zoo_sparsities *list, int64_t step)
{
    unsigned bits = 0;
    for (int e = 0; e < list->n && step > 0; e++) {
        const struct zoo_sparsity *s = &list->entry[e];
        if (s->algorithm != ZOO_SPARSITY_STATIC && zoo_sparsity_updates(s, step)) bits |= 1U << e;
    }
    return bits;
}

/* Weights differ, so that entries that change in opposite ways do not make a constant. */
static double kept_at(const struct zoo_sparsities *list, int64_t step)
{
    double sum = 0;
    for (int e = 0; e < list->n; e++)
        sum += scaling_alike_kept(&list->entry[e], step) / (e + 1);
    return sum;
}

static void examine(const struct zoo_sparsities *list, int64_t steps, struct scaling_alike *each,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t step = examined(i, n, steps);
        each[i] = (struct scaling_alike){.updates = updates_at(list, step + 1),
                                         .before = updates_at(list, step),
                                         .kept = kept_at(list, step),
                                         .n = 1,
                                         .step = step};
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct scaling_alike *x = a, *y = b;
    if (x->updates != y->updates) return x->updates < y->updates ? -1 : 1;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    if (x->kept != y->kept) return x->kept < y->kept ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Sort @p n entries and join equal ones; returns how many are left. */
static int join(struct scaling_alike *each, int n)
{
    int last = 0;
    qsort(each, (size_t)n, sizeof *each, by_cost);
    for (int i = 1; i < n; i++) {
        if (scaling_alike_same_updates(&each[i], &each[last]) && each[i].kept == each[last].kept) {
            each[last].n += each[i].n;
            each[last].step = each[i].step;
        } else {
            each[++last] = each[i];
        }
    }
    return last + 1;
}

static int combinations(const struct scaling_alike *group, int n)
{
    int different = 1;
    for (int i = 1; i < n; i++)
        different += !scaling_alike_same_updates(&group[i], &group[i - 1]);
    return different;
}

enum wsc_err scaling_alike_find(const struct zoo_sparsities *list, int64_t steps,
                                struct scaling_alike **group, int *n)
{
    const int64_t n_examined = steps < MOST_EXAMINED ? steps : MOST_EXAMINED;
    *n = 0;
    TRY_NEW(*group, WSC_MEM_SCALING, n_examined);
    examine(list, steps, *group, n_examined);
    *n = join(*group, (int)n_examined);
    if (combinations(*group, *n) <= MOST_COMBINATIONS) return WSC_OK;
    for (int i = 0; i < *n; i++) {
        (*group)[i].updates = (*group)[i].updates != 0;
        (*group)[i].before = (*group)[i].before != 0;
    }
    *n = join(*group, *n);
    return WSC_OK;
}
