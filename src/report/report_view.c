// SPDX-License-Identifier: Apache-2.0
/* Checks the rows of a sweep and sorts them by model and number of systems, for the CSV, the plot
 * and the page. It also splits the loss against linear scaling by the parts of a step. */
#include "report_view.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row whose numbers can be drawn on logarithmic axes. */
static WSC_CHECKED enum wsc_err check_row(const struct scaling_row *r)
{
    const struct {
        const char *name;
        double value;
    } real[] = {{"tokens_per_s", r->tokens_per_s},
                {"samples_per_s", r->samples_per_s},
                {"speedup", r->speedup},
                {"efficiency", r->efficiency},
                {"mfu", r->mfu},
                {"joules_per_token", r->joules_per_token}};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        if (isfinite(real[i].value)) continue;
        return WSC_RAISE(WSC_NUMERIC, "%s on %lld systems: %s is %g, expected a finite number",
                         r->model, (long long)r->num_csx, real[i].name, real[i].value);
    }
    if (r->num_csx < 1 || r->tokens_per_s <= 0 || r->step_time_ps < 1) {
        return WSC_RAISE(
            WSC_NUMERIC, "%s: %lld systems, %g tokens/s, a step of %lld ps; expected more than 0",
            r->model, (long long)r->num_csx, r->tokens_per_s, (long long)r->step_time_ps);
    }
    return WSC_OK;
}

/* Refuse what cannot be drawn before any file is written. */
static WSC_CHECKED enum wsc_err check_input(const struct report_scaling *s)
{
    if (s->n_rows < 1) return WSC_RAISE(WSC_USAGE, "no node count was swept, nothing to report");
    for (int i = 0; i < s->n_rows; i++)
        TRY(check_row(&s->row[i]));
    for (int i = 0; i < s->n_points; i++) {
        double n = s->point[i].num_csx, rate = s->point[i].tokens_per_s;
        if (isfinite(n) && n > 0 && isfinite(rate) && rate > 0) continue;
        return WSC_RAISE(WSC_NUMERIC, "published point %d: %g tokens/s on %g systems", i, rate, n);
    }
    return WSC_OK;
}

/* Stable, and quick for rows that come nearly in order, as they do. */
static void sort_by_nodes(struct scaling_row *row, int n)
{
    for (int i = 1; i < n; i++) {
        struct scaling_row moving = row[i];
        int at = i;
        for (; at > 0 && row[at - 1].num_csx > moving.num_csx; at--)
            row[at] = row[at - 1];
        row[at] = moving;
    }
}

/* True when no earlier row has the model of row i. */
static bool opens_model(const struct report_scaling *s, int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(s->row[k].model, s->row[i].model)) return false;
    return true;
}

/* Copy the rows model by model, in the order in which models first appear. */
static void group_rows(struct report_view *v)
{
    const struct report_scaling *s = v->in;
    int n = 0;
    for (int i = 0; i < s->n_rows; i++) {
        if (!opens_model(s, i)) continue;
        struct report_span *span = &v->model[v->n_models++];
        span->first = n;
        for (int k = i; k < s->n_rows; k++)
            if (!strcmp(s->row[k].model, s->row[i].model)) v->row[n++] = s->row[k];
        span->end = n;
        sort_by_nodes(&v->row[span->first], span->end - span->first);
    }
}

/* Ascending order for qsort(). */
static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Node counts of the sweep, each once. */
static void collect_ticks(struct report_view *v)
{
    for (int i = 0; i < v->in->n_rows; i++)
        v->tick[i] = v->row[i].num_csx;
    qsort(v->tick, (size_t)v->in->n_rows, sizeof *v->tick, by_value);
    for (int i = 0; i < v->in->n_rows; i++)
        if (!v->n_ticks || v->tick[i] != v->tick[v->n_ticks - 1])
            v->tick[v->n_ticks++] = v->tick[i];
}

enum wsc_err report_view_make(struct report_view *v, const struct report_scaling *s)
{
    *v = (struct report_view){.in = s};
    TRY(check_input(s));
    enum wsc_err rc = WSC_NOMEM;
    v->row = wsc_alloc(WSC_MEM_REPORT, (size_t)s->n_rows, sizeof *v->row);
    v->model = wsc_alloc(WSC_MEM_REPORT, (size_t)s->n_rows, sizeof *v->model);
    v->tick = wsc_alloc(WSC_MEM_REPORT, (size_t)s->n_rows, sizeof *v->tick);
    TRY_GOTO(v->row && v->model && v->tick ? WSC_OK : WSC_NOMEM, failed);
    group_rows(v);
    collect_ticks(v);
    return WSC_OK;
failed:
    report_view_fini(v);
    return rc;
}

void report_view_fini(struct report_view *v)
{
    wsc_free(v->row);
    wsc_free(v->model);
    wsc_free(v->tick);
    *v = (struct report_view){0};
}

const struct scaling_row *report_view_find(const struct report_view *v, int m, int64_t num_csx)
{
    for (int i = v->model[m].first; i < v->model[m].end; i++)
        if (v->row[i].num_csx == num_csx) return &v->row[i];
    return NULL;
}

/* Neighbours on a logarithmic axis differ by at least @p ratio; the last one stays. */
static int thin(int64_t *tick, int n, double ratio)
{
    int kept = 0;
    int64_t last = tick[n - 1];
    for (int i = 0; i < n; i++)
        if (!kept || (double)tick[i] >= ratio * (double)tick[kept - 1]) tick[kept++] = tick[i];
    if (tick[kept - 1] != last) tick[kept > 1 ? kept - 1 : kept++] = last;
    return kept;
}

int report_ticks_choose(int64_t *tick, int n, int most)
{
    const double touching = 1.12;
    int kept = 0;
    if (n <= most) return thin(tick, n, touching);
    int64_t last = tick[n - 1];
    for (int i = 0; i < n; i++)
        if (!(tick[i] & (tick[i] - 1))) tick[kept++] = tick[i];
    if (!kept || tick[kept - 1] != last) tick[kept++] = last;
    double ratio = 1.3;
    do {
        kept = thin(tick, kept, ratio);
        ratio *= 1.3;
    } while (kept > most);
    return kept;
}

int report_end_of_model(const struct report_scaling *s, int first)
{
    int end = first;
    while (end < s->n_rows && !strcmp(s->row[end].model, s->row[first].model))
        end++;
    return end;
}

void report_varied_order(const struct report_scaling *s, int *order)
{
    for (int k = 0; k < s->n_varied; k++) {
        int at = k;
        for (; at > 0 && s->varied[order[at - 1]].value > s->varied[k].value; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

const char *const report_part_name[REPORT_N_PARTS] = {"compute", "waiting for weights",
                                                      "waiting for the reduction of gradients",
                                                      "step boundary", "waiting for input"};

void report_parts(const struct vtime_breakdown *b, double part[static REPORT_N_PARTS])
{
    part[0] = (double)b->compute_ps;
    part[1] = (double)b->weights_wait_ps;
    part[2] = (double)b->reduce_wait_ps;
    part[3] = (double)b->boundary_ps;
    part[4] = (double)b->input_wait_ps;
}

/* What a step takes longer than with linear scaling, ps: then every part of it would take
 * ideal = (batch / batch_0) (N_0 / N) times what it took in the first row. linear: the whole step
 * with linear scaling, ps, more than 0. */
struct loss {
    double total, linear, part[REPORT_N_PARTS];
};

/* Loss of a row against the base, in total and by part. */
static struct loss loss_between(const struct scaling_row *base, const struct scaling_row *row)
{
    struct loss loss = {0};
    double base_part[REPORT_N_PARTS], part[REPORT_N_PARTS];
    double batches =
        base->global_batch > 0 ? (double)row->global_batch / (double)base->global_batch : 1.0;
    double ideal = batches * (double)base->num_csx / (double)row->num_csx;
    report_parts(&base->breakdown, base_part);
    report_parts(&row->breakdown, part);
    for (int i = 0; i < REPORT_N_PARTS; i++)
        loss.part[i] = part[i] - ideal * base_part[i];
    loss.linear = ideal * (double)base->step_time_ps;
    loss.total = (double)row->step_time_ps - loss.linear;
    return loss;
}

/* Every part that changed, largest first. */
static void add_causes(struct wsc_text *t, const struct loss *loss)
{
    const double least_ps = 0.5;
    bool named[REPORT_N_PARTS] = {false};
    for (int n = 0; n < REPORT_N_PARTS; n++) {
        char time[32];
        int most = -1;
        for (int i = 0; i < REPORT_N_PARTS; i++)
            if (!named[i] && (most < 0 || fabs(loss->part[i]) > fabs(loss->part[most]))) most = i;
        named[most] = true;
        if (fabs(loss->part[most]) < least_ps) {
            if (n) wsc_text_add(t, ".");
            return;
        }
        out_si_unit(time, sizeof time, wsc_seconds(fabs(loss->part[most])), "s");
        wsc_text_add(t, "%s%s %c%s", n ? ", " : " By cause: ", report_part_name[most],
                     loss->part[most] < 0 ? '-' : '+', time);
    }
    wsc_text_add(t, ".");
}

void report_loss_words(struct wsc_text *t, const struct report_view *v, int m)
{
    const struct scaling_row *base = &v->row[v->model[m].first];
    const struct scaling_row *last = &v->row[v->model[m].end - 1];
    if (base->num_csx == last->num_csx) {
        wsc_text_add(t, "Only one node count was swept: there is nothing to compare with.");
        return;
    }
    struct loss loss = loss_between(base, last);
    char step[32], lost[32];
    out_step_time(step, sizeof step, last->step_time_ps);
    out_si_unit(lost, sizeof lost, wsc_seconds(fabs(loss.total)), "s");
    wsc_text_add(t,
                 "From %lld to %lld systems throughput grows %.2f times. A step takes %s, %s "
                 "(%.3g %%) %s than with linear scaling.",
                 (long long)base->num_csx, (long long)last->num_csx,
                 last->tokens_per_s / base->tokens_per_s, step, lost,
                 100.0 * fabs(loss.total) / loss.linear, loss.total < 0 ? "less" : "more");
    add_causes(t, &loss);
}
