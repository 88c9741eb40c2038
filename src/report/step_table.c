// SPDX-License-Identifier: Apache-2.0
/* Reports the breakdown of one step (struct timeline_step): modules, critical path by part and by
 * kind of segment, load of the links. It prints tables and writes critical_path.csv, links.csv and
 * op_profile.csv. */
#include "step_table.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_MODULES = 10, MOST_GROUPS = 16, MOST_PARTS = VTIME_N_PARTS, MOST_KINDS = 16 };

/* A time as a share of the step. */
static double share_of(const struct timeline_step *a, int64_t ps)
{
    return a->step_time_ps ? (double)ps / (double)a->step_time_ps : 0;
}

/* ---- modules --------------------------------------------------------------------------------- */

static void add_module(struct out_table *table, const struct timeline_step *a, const char *name,
                       int64_t ps)
{
    out_table_cell(table, "%s", name);
    out_table_cell(table, "%.3f", (double)ps * 1e-9);
    out_table_cell(table, "%.2f", 100 * share_of(a, ps));
}

/* The Model Zoo prints its ten longest modules in a table of psql's style. One row more has the sum
 * of the others, so that the rows add up to the step. */
static enum wsc_err print_modules(const struct timeline_step *a)
{
    static const char *const head[] = {"MODULE NAME", "CSX TIME (in ms)", "% CSX TIME"};
    struct out_table *table;
    int64_t rest_ps = 0;
    TRY(out_table_new(&table, "lrr", head));
    for (int i = 0; i < a->n_modules; i++) {
        if (i < MOST_MODULES)
            add_module(table, a, a->module[i].name, a->module[i].ps);
        else
            rest_ps += a->module[i].ps;
    }
    if (a->n_modules > MOST_MODULES) {
        char name[32];
        (void)snprintf(name, sizeof name, "(%d others)", a->n_modules - MOST_MODULES);
        add_module(table, a, name, rest_ps);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* ---- the critical path ----------------------------------------------------------------------- */

int report_path_parts(const struct timeline_step *a, struct timeline_module *part, int most)
{
    int n = 0;
    for (int i = 0; i < a->n_path; i++) {
        const struct timeline_segment *s = &a->path[i];
        int k = 0;
        while (k < n && strcmp(part[k].name, s->part) != 0)
            k++;
        if (k == most) continue;
        if (k == n) {
            (void)snprintf(part[n].name, sizeof part[n].name, "%s", s->part);
            part[n++].ps = 0;
        }
        part[k].ps += s->end_ps - s->begin_ps;
    }
    for (int i = 1; i < n; i++) {
        const struct timeline_module moving = part[i];
        int at = i;
        for (; at > 0 && part[at - 1].ps < moving.ps; at--)
            part[at] = part[at - 1];
        part[at] = moving;
    }
    return n;
}

/* The critical path by part, longest first. */
static enum wsc_err print_parts(const struct timeline_step *a)
{
    static const char *const head[] = {"critical path", "time", "fraction"};
    struct timeline_module part[MOST_PARTS];
    struct out_table *table;
    char time[32], share[OUT_PERCENT_SIZE];
    int64_t sum = 0;
    const int n = report_path_parts(a, part, MOST_PARTS);
    TRY(out_table_new(&table, "lrr", head));
    for (int i = 0; i < n; i++) {
        out_step_time(time, sizeof time, part[i].ps);
        out_table_cell(table, "%s", part[i].name);
        out_table_cell(table, "%s", time);
        out_table_cell(table, "%s", out_percent(share, 4, share_of(a, part[i].ps)));
        sum += part[i].ps;
    }
    out_step_time(time, sizeof time, sum);
    out_table_cell(table, "the step");
    out_table_cell(table, "%s", time);
    out_table_cell(table, "%s", out_percent(share, 4, share_of(a, sum)));
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* "layers.12 backward, micro-batch 3" as "layers.* backward". */
static void without_numbers(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *c = text; *c && *c != ',' && n + 2 < size; c++) {
        const bool digit = strchr("0123456789", *c) != NULL;
        if (digit && n && out[n - 1] == '*') continue;
        out[n] = *c;
        if (digit) out[n] = '*';
        n++;
    }
    out[n] = '\0';
}

/* Part and kind of a segment, without the numbers of wafer, layer and micro-batch. */
static void group_name(const struct timeline_segment *s, char *name, size_t size)
{
    char who[48], what[64];
    without_numbers(s->who, who, sizeof who);
    without_numbers(s->what, what, sizeof what);
    (void)snprintf(name, size, "%s, %s, %s", s->part, who, what);
}

/* Longest first, for qsort(). */
static int by_time(const void *a, const void *b)
{
    const struct report_group *x = a, *y = b;
    if (x->ps != y->ps) return x->ps < y->ps ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Groups beyond the longest become one, so that the rows add up to the step. */
static void join_rest(struct report_group *group, int *n)
{
    const int last = MOST_GROUPS - 1;
    if (*n <= MOST_GROUPS) return;
    struct report_group *rest = &group[last];
    (void)snprintf(rest->name, sizeof rest->name, "(%d others)", *n - last);
    for (int i = MOST_GROUPS; i < *n; i++) {
        rest->n += group[i].n;
        rest->ps += group[i].ps;
    }
    *n = MOST_GROUPS;
}

enum wsc_err report_path_groups(const struct timeline_step *a, struct report_group **out, int *n)
{
    struct report_group *group;
    TRY_NEW(group, WSC_MEM_REPORT, a->n_path);
    *n = 0;
    for (int i = 0; i < a->n_path; i++) {
        char name[sizeof group->name];
        int k = 0;
        group_name(&a->path[i], name, sizeof name);
        while (k < *n && strcmp(group[k].name, name) != 0)
            k++;
        if (k == *n) memcpy(group[(*n)++].name, name, sizeof name);
        group[k].ps += a->path[i].end_ps - a->path[i].begin_ps;
        group[k].n++;
    }
    qsort(group, (size_t)*n, sizeof *group, by_time);
    join_rest(group, n);
    *out = group;
    return WSC_OK;
}

/* The critical path by kind of segment. */
static enum wsc_err print_groups(const struct timeline_step *a)
{
    static const char *const head[] = {"segments of the path, by what they are", "number", "time",
                                       "fraction"};
    struct out_table *table;
    struct report_group *g = NULL;
    int n = 0;
    TRY(report_path_groups(a, &g, &n));
    enum wsc_err rc = out_table_new(&table, "lrrr", head);
    for (int i = 0; i < n && !rc; i++) {
        char time[32], share[OUT_PERCENT_SIZE];
        out_step_time(time, sizeof time, g[i].ps);
        out_table_cell(table, "%s", g[i].name);
        out_table_cell(table, "%d", g[i].n);
        out_table_cell(table, "%s", time);
        out_table_cell(table, "%s", out_percent(share, 4, share_of(a, g[i].ps)));
    }
    if (!rc) rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    wsc_free(g);
    return rc;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* "MemoryX shard 3" to "MemoryX shard": links of a kind are alike. */
static void kind_of(const struct timeline_link *l, char *text, size_t size)
{
    const int from = (int)strcspn(l->from, "0123456789"), to = (int)strcspn(l->to, "0123456789");
    (void)snprintf(text, size, "%.*sto %.*s", from, l->from, to > 0 ? to - 1 : 0, l->to);
}

int report_link_kinds(const struct timeline_step *a, struct report_link_kind *kind, int most)
{
    int n = 0;
    for (int i = 0; i < a->n_links; i++) {
        const struct timeline_link *l = &a->link[i];
        char name[sizeof kind->name];
        int k = 0;
        kind_of(l, name, sizeof name);
        while (k < n && strcmp(kind[k].name, name) != 0)
            k++;
        if (k == most) continue;
        if (k == n) {
            kind[n] = (struct report_link_kind){.least_busy_ps = l->busy_ps};
            memcpy(kind[n++].name, name, sizeof name);
        }
        kind[k].n++;
        kind[k].bytes += l->bytes;
        if (l->busy_ps < kind[k].least_busy_ps) kind[k].least_busy_ps = l->busy_ps;
        if (l->busy_ps > kind[k].most_busy_ps) kind[k].most_busy_ps = l->busy_ps;
    }
    return n;
}

/* Load of the links by kind: the busiest stands for its kind. */
static enum wsc_err print_links(const struct timeline_step *a)
{
    static const char *const head[] = {"links", "number", "bytes each", "busy, least",
                                       "busy, most"};
    struct report_link_kind kind[MOST_KINDS];
    struct out_table *table;
    const int n = report_link_kinds(a, kind, MOST_KINDS);
    TRY(out_table_new(&table, "lrrrr", head));
    for (int i = 0; i < n; i++) {
        char bytes[32], share[OUT_PERCENT_SIZE];
        out_si_unit(bytes, sizeof bytes, (double)kind[i].bytes / kind[i].n, "B");
        out_table_cell(table, "%s", kind[i].name);
        out_table_cell(table, "%d", kind[i].n);
        out_table_cell(table, "%s", bytes);
        out_table_cell(table, "%s", out_percent(share, 2, share_of(a, kind[i].least_busy_ps)));
        out_table_cell(table, "%s", out_percent(share, 2, share_of(a, kind[i].most_busy_ps)));
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

enum wsc_err report_step_print(const struct timeline_step *a)
{
    char time[32], events[32];
    out_step_time(time, sizeof time, a->step_time_ps);
    out_si(events, sizeof events, (double)a->n_events);
    (void)printf("\n%s: a step of %s on %lld system%s, %s events\n", a->model, time,
                 (long long)a->num_csx, wsc_plural(a->num_csx), events);
    TRY(print_modules(a));
    (void)printf("\n");
    TRY(print_parts(a));
    (void)printf("\n");
    TRY(print_groups(a));
    (void)printf("\n");
    return print_links(a);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* critical_path.csv: a line for each segment. */
static enum wsc_err write_path(const char *dir, const struct timeline_step *a)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "begin_ps,end_ps,part,who,what\n");
    for (int i = 0; i < a->n_path; i++) {
        const struct timeline_segment *s = &a->path[i];
        wsc_text_add(&t, "%lld,%lld,%s,%s,", (long long)s->begin_ps, (long long)s->end_ps, s->part,
                     s->who);
        out_text_csv(&t, s->what);
        wsc_text_add(&t, "\n");
    }
    return out_text_write(&t, dir, "critical_path.csv");
}

/* links.csv: a line for each link and direction. */
static enum wsc_err write_links(const char *dir, const struct timeline_step *a)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "from,to,rate_bytes_per_s,messages,bytes,busy_ps,busy_fraction\n");
    for (int i = 0; i < a->n_links; i++) {
        const struct timeline_link *l = &a->link[i];
        wsc_text_add(&t, "%s,%s,%lld,%lld,%lld,%lld,%.6f\n", l->from, l->to,
                     (long long)l->rate_bytes_per_s, (long long)l->n_messages, (long long)l->bytes,
                     (long long)l->busy_ps, share_of(a, l->busy_ps));
    }
    return out_text_write(&t, dir, "links.csv");
}

/* op_profile.csv: a line for each module. */
static enum wsc_err write_modules(const char *dir, const struct timeline_step *a)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "module,time_ps,fraction\n");
    for (int i = 0; i < a->n_layers; i++)
        wsc_text_add(&t, "%s,%lld,%.6f\n", a->layer[i].name, (long long)a->layer[i].ps,
                     share_of(a, a->layer[i].ps));
    return out_text_write(&t, dir, "op_profile.csv");
}

enum wsc_err report_step_write(const char *dir, const struct timeline_step *a)
{
    TRY(wsc_file_mkdir(dir));
    TRY(write_path(dir, a));
    TRY(write_links(dir, a));
    return write_modules(dir, a);
}
