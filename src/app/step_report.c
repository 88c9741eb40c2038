// SPDX-License-Identifier: Apache-2.0
/* Step breakdown for `wsc scale --breakdown` and `wsc run --trace`: op profile, critical path and
 * load of links of the newest step of a timeline, collected for the reports, and the files of its
 * trace and schedule. */
#include "step_report.h"

#include <wsc/log.h>
#include <wsc/mem.h>

void app_breakdown_fini(struct app_breakdown *b)
{
    wsc_free(b->path);
    wsc_free(b->link);
    wsc_free(b->module);
    wsc_free(b->layer);
    *b = (struct app_breakdown){0};
}

/* Path, links and profile of the newest step; the arrays are the report's. */
static enum wsc_err collect(struct app_breakdown *b, const struct timeline *t)
{
    struct vtime_breakdown parts;
    struct timeline_step *r = &b->report;
    TRY(timeline_path(t, &b->path, &r->n_path));
    TRY(timeline_links(t, &b->link, &r->n_links));
    TRY(timeline_profile(t, false, &b->module, &r->n_modules));
    TRY(timeline_profile(t, true, &b->layer, &r->n_layers));
    timeline_step(t, &r->step_time_ps, &parts);
    r->n_events = timeline_n_events(t);
    r->path = b->path;
    r->link = b->link;
    r->module = b->module;
    r->layer = b->layer;
    return WSC_OK;
}

/* The trace, with a warning where it ends before the step. */
static enum wsc_err write_trace(const struct timeline *t, const char *path)
{
    enum { MOST_EVENTS = 120000 };
    struct timeline_trace_size size;
    TRY(timeline_trace(t, path, MOST_EVENTS, &size));
    if (size.n_drawn < size.n_bars)
        WSC_WARNING("%s: has the first %lld of %lld bars, because a trace has at most %d events; "
                    "hint: fewer steps of runconfig.op_profiler_config, or fewer micro-batches or "
                    "layers",
                    path, (long long)size.n_drawn, (long long)size.n_bars, MOST_EVENTS);
    return WSC_OK;
}

enum wsc_err app_breakdown_make(struct app_breakdown *b, const struct timeline *t,
                                const char *trace, const char *goal)
{
    enum wsc_err rc = collect(b, t);
    if (!rc && trace) rc = write_trace(t, trace);
    if (!rc && goal) rc = timeline_goal(t, goal);
    if (rc) app_breakdown_fini(b);
    return rc;
}
