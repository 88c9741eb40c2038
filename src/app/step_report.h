/** Step breakdown: one step of the virtual timeline, taken apart for the reports.
 *
 *  `wsc run --trace` and `wsc scale --anatomy` print and write it.
 */
#ifndef WSC_APP_STEP_REPORT_H
#define WSC_APP_STEP_REPORT_H
#include <wsc/err.h>
#include <wsc/timeline.h>

/** A step breakdown: profile, critical path, links. */
struct app_breakdown {
    struct timeline_step report;
    struct timeline_segment *path;  /**< owned */
    struct timeline_link *link;     /**< owned */
    struct timeline_module *module; /**< owned */
};
/** Take the step of @p job apart; write a trace and a GOAL schedule where paths are given. */
enum wsc_err app_breakdown_make(struct app_breakdown *b, struct timeline_job *job,
                                const char *model, const char *trace, const char *goal) WSC_CHECKED;
void app_breakdown_fini(struct app_breakdown *b);
#endif
