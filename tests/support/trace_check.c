// SPDX-License-Identifier: Apache-2.0
#include "trace_check.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A bar, or an end of an arrow with end_ps 0. */
struct mark {
    int64_t row, begin_ps, end_ps;
};

static bool is_event(const json_t *e, const char *ph)
{
    return !strcmp(json_string_value(json_object_get(e, "ph")), ph);
}

static int64_t row_of(const json_t *e)
{
    return json_integer_value(json_object_get(e, "pid")) << 32 |
           json_integer_value(json_object_get(e, "tid"));
}

static int64_t ps_of(const json_t *e, const char *key)
{
    return llround(json_number_value(json_object_get(e, key)) * 1e6);
}

static enum wsc_err load(const char *path, json_t **file)
{
    json_error_t error;
    *file = json_load_file(path, 0, &error);
    return *file ? WSC_OK : WSC_RAISE(WSC_FORMAT, "%s: %s", path, error.text);
}

static struct mark mark_of(const json_t *e)
{
    const int64_t begin = ps_of(e, "ts");
    return (struct mark){row_of(e), begin, begin + ps_of(e, "dur")};
}

static int by_row_and_time(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->begin_ps > y->begin_ps) - (x->begin_ps < y->begin_ps);
}

static void count_ends(json_t *events, const struct mark *bar, struct trace_counts *out)
{
    int64_t tail_ps = 0;
    json_t *e;
    size_t i;
    json_array_foreach(events, i, e)
    {
        if (!is_event(e, "s") && !is_event(e, "f")) continue;
        const struct mark end = mark_of(e);
        out->n_loose += !bsearch(&end, bar, (size_t)out->n_bars, sizeof end, by_row_and_time);
        out->n_arrows += is_event(e, "s");
        out->n_backward += is_event(e, "f") && end.begin_ps < tail_ps;
        tail_ps = end.begin_ps; /* the two ends of an arrow follow each other */
    }
}

enum wsc_err trace_count(const char *path, struct trace_counts *out)
{
    json_t *file, *events, *e;
    size_t i;
    *out = (struct trace_counts){0};
    TRY(load(path, &file));
    events = json_object_get(file, "traceEvents");
    struct mark *bar = calloc(json_array_size(events) + 1, sizeof *bar);
    if (!bar) abort();
    json_array_foreach(events, i, e)
    {
        if (is_event(e, "X")) bar[out->n_bars++] = mark_of(e);
    }
    qsort(bar, (size_t)out->n_bars, sizeof *bar, by_row_and_time);
    for (int k = 1; k < out->n_bars; k++)
        out->n_overlaps += bar[k].row == bar[k - 1].row && bar[k].begin_ps < bar[k - 1].end_ps;
    count_ends(events, bar, out);
    free(bar);
    json_decref(file);
    return WSC_OK;
}

/* -1: there is no row of that name. */
static int64_t row_of_name(json_t *events, const char *name)
{
    json_t *e;
    size_t i;
    json_array_foreach(events, i, e)
    {
        const char *text = json_string_value(json_object_get(json_object_get(e, "args"), "name"));
        if (is_event(e, "M") && text && !strcmp(text, name)) return row_of(e);
    }
    return -1;
}

enum wsc_err trace_count_arrows(const char *path, const char *from, const char *to, int *n)
{
    json_t *file, *events, *e;
    size_t i;
    *n = 0;
    TRY(load(path, &file));
    events = json_object_get(file, "traceEvents");
    const int64_t tail = row_of_name(events, from), head = row_of_name(events, to);
    bool begun = false;
    json_array_foreach(events, i, e)
    {
        if (is_event(e, "s")) begun = row_of(e) == tail;
        *n += is_event(e, "f") && begun && row_of(e) == head;
    }
    json_decref(file);
    return WSC_OK;
}

enum wsc_err trace_count_bars(const char *path, const char *row, int *n)
{
    json_t *file, *events, *e;
    size_t i;
    *n = 0;
    TRY(load(path, &file));
    events = json_object_get(file, "traceEvents");
    const int64_t wanted = row_of_name(events, row);
    json_array_foreach(events, i, e) *n += is_event(e, "X") && row_of(e) == wanted;
    json_decref(file);
    return WSC_OK;
}
