/** What the links of a run with sparse weights carried, beside what dense ones would have.
 *
 *  Called by job_log.c for the end of a run, and by job_performance.c for performance.json. */
#ifndef WSC_JOB_PAYLOAD_H
#define WSC_JOB_PAYLOAD_H
#include <wsc/out.h>
#include <wsc/stream.h>

/** Bytes of payloads, by link of the tree; borrowed. */
struct job_payload {
    const struct stream_carried *link;
    int n; /**< 0: nothing is reported */
    const struct stream_topology *machine;
};
/** Print the totals of all links and of those between ranks on stdout. */
enum wsc_err job_payload_print(const struct job_payload *p) WSC_CHECKED;
/** Add the object "payload" with totals and every link. */
void job_payload_json(struct out_json *j, const struct job_payload *p);
#endif
