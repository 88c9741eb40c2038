/** The object "breakdown" of metrics.jsonl and performance.json.
 *
 *  Called by job_metrics.c and job_performance.c. */
#ifndef WSC_JOB_JSON_BREAKDOWN_H
#define WSC_JOB_JSON_BREAKDOWN_H
#include <wsc/out.h>
#include <wsc/vtime.h>

/** Append the five parts of a time, ps; they add up to it. */
void job_json_breakdown(struct out_json *j, const struct vtime_breakdown *b);
#endif
