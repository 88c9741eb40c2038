/** The object "breakdown" of metrics.jsonl and performance.json. */
#ifndef WSC_JOB_JSON_BREAKDOWN_H
#define WSC_JOB_JSON_BREAKDOWN_H
#include <wsc/out.h>
#include <wsc/vtime.h>

/* Append the five parts of a time, ps. */
void job_json_breakdown(struct out_json *j, const struct vtime_breakdown *b);
#endif
