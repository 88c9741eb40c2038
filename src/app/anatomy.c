// SPDX-License-Identifier: Apache-2.0
/* What `wsc scale` and `wsc run` share: take a step apart, print and write it. */
#include "app.h"

#include <wsc/mem.h>

void app_anatomy_fini(struct app_anatomy *a)
{
    wsc_free(a->path);
    wsc_free(a->link);
    wsc_free(a->module);
    *a = (struct app_anatomy){0};
}

static enum wsc_err collect(struct app_anatomy *a, const struct timeline *t)
{
    struct vtime_breakdown parts;
    struct report_anatomy *r = &a->report;
    TRY(timeline_path(t, &a->path, &r->n_path));
    TRY(timeline_links(t, &a->link, &r->n_links));
    TRY(timeline_profile(t, &a->module, &r->n_modules));
    timeline_step(t, &r->step_time_ps, &parts);
    r->n_events = timeline_n_events(t);
    r->path = a->path;
    r->link = a->link;
    r->module = a->module;
    return WSC_OK;
}

enum wsc_err app_anatomy_make(struct app_anatomy *a, struct timeline_job *job, const char *model,
                              const char *trace, const char *goal)
{
    enum { MOST_TRACE_EVENTS = 120000 };
    struct timeline *t = NULL;
    *a = (struct app_anatomy){.report = {.model = model, .num_csx = job->num_csx}};
    job->trace = trace != NULL;
    job->schedule = goal != NULL;
    TRY(timeline_create(&t, job));
    enum wsc_err rc = collect(a, t);
    if (!rc && trace) rc = timeline_trace(t, trace, MOST_TRACE_EVENTS);
    if (!rc && goal) rc = timeline_goal(t, goal);
    timeline_destroy(&t);
    if (rc) app_anatomy_fini(a);
    return rc;
}
