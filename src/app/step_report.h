/** Step breakdown: one step of the virtual timeline, taken apart for the reports.
 *
 *  `wsc run --trace` and `wsc scale --breakdown` print and write it.
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
    struct timeline_module *layer;  /**< owned */
};
/** Collect the newest step of @p t in @p b, whose report has the model and num_csx already; write a
 *  trace of all steps and a GOAL schedule where paths are given. */
enum wsc_err app_breakdown_make(struct app_breakdown *b, const struct timeline *t,
                                const char *trace, const char *goal) WSC_CHECKED;
/** Release what a breakdown collected. */
void app_breakdown_fini(struct app_breakdown *b);
#endif
