// SPDX-License-Identifier: Apache-2.0
/* The object "breakdown" of metrics.jsonl and performance.json: where the time of a step or of a
 * run went, in picoseconds (docs/decisions/0003).  Called by job_metrics.c and job_performance.c.
 */
#include "json_breakdown.h"

void job_json_breakdown(struct out_json *j, const struct vtime_breakdown *b)
{
    out_json_open(j, "breakdown");
    out_json_int(j, "compute", b->compute_ps);
    out_json_int(j, "weights_wait", b->weights_wait_ps);
    out_json_int(j, "reduce_wait", b->reduce_wait_ps);
    out_json_int(j, "boundary", b->boundary_ps);
    out_json_int(j, "input_wait", b->input_wait_ps);
    out_json_close(j);
}
