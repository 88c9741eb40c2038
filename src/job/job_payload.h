/** What the links of a run carried, beside the least, and beside what dense weights would have.
 *
 *  Called by job_log.c for the end of a run, and by job_performance.c for
 * performance.json. */
#ifndef WSC_JOB_PAYLOAD_H
#define WSC_JOB_PAYLOAD_H
#include <wsc/out.h>
#include <wsc/stream.h>

/** Bytes of payloads, by link of the tree; borrowed. */
struct job_payload {
    const struct stream_carried *link;
    int n; /**< 0: nothing is reported */
    const struct stream_topology *machine;
    bool sparse; /**< some weights are: dense bytes are printed beside */
};
/** Log the bytes of sparse weights beside dense ones, after passes without gradients. */
void job_payload_log(const struct job_payload *p);
/** Log the gradients of all links beside the least; with @p table print the totals of sparse
 *  weights on stdout. */
enum wsc_err job_payload_print(const struct job_payload *p, bool table) WSC_CHECKED;
/** Add the object "payload" with totals and every link. */
void job_payload_json(struct out_json *j, const struct job_payload *p);
#endif
