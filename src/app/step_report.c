// SPDX-License-Identifier: Apache-2.0
/* Step breakdown for `wsc scale --anatomy` and `wsc run --trace`: walks a step on the virtual
 * timeline and collects its op profile, critical path and load of links for the reports. */
#include "step_report.h"

#include <wsc/mem.h>

void app_breakdown_fini(struct app_breakdown *b)
{
    wsc_free(b->path);
    wsc_free(b->link);
    wsc_free(b->module);
    *b = (struct app_breakdown){0};
}

static enum wsc_err collect(struct app_breakdown *b, const struct timeline *t)
{
    struct vtime_breakdown parts;
    struct timeline_step *r = &b->report;
    TRY(timeline_path(t, &b->path, &r->n_path));
    TRY(timeline_links(t, &b->link, &r->n_links));
    TRY(timeline_profile(t, &b->module, &r->n_modules));
    timeline_step(t, &r->step_time_ps, &parts);
    r->n_events = timeline_n_events(t);
    r->path = b->path;
    r->link = b->link;
    r->module = b->module;
    return WSC_OK;
}

enum wsc_err app_breakdown_make(struct app_breakdown *b, struct timeline_job *job,
                                const char *model, const char *trace, const char *goal)
{
    enum { MOST_TRACE_EVENTS = 120000 };
    struct timeline *t = NULL;
    *b = (struct app_breakdown){.report = {.model = model, .num_csx = job->num_csx}};
    job->trace = trace != NULL;
    job->schedule = goal != NULL;
    TRY(timeline_create(&t, job));
    enum wsc_err rc = collect(b, t);
    if (!rc && trace) rc = timeline_trace(t, trace, MOST_TRACE_EVENTS);
    if (!rc && goal) rc = timeline_goal(t, goal);
    timeline_destroy(&t);
    if (rc) app_breakdown_fini(b);
    return rc;
}
