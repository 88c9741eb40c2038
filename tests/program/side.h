/** Jobs that mostly wait, several at a time, each in a process of its own.
 *
 *  A job is a function that fills a result and asserts nothing: CUnit counts in its own process.
 */
#ifndef WSC_TEST_SIDE_H
#define WSC_TEST_SIDE_H
#include <stdbool.h>

/** What a job found. */
struct side_result {
    int n_done;       /**< faults that it brought about */
    int n_restarts;   /**< of the run, after them */
    int n_lost;       /**< checkpoints that were there before a fault and not after it */
    int n_early;      /**< ended before the fault: the host was too busy to start in time */
    double said_s;    /**< how long the run says that it waited before it gave up */
    double slowest_s; /**< from a fault to the end of what it ended, or to the next start */
    bool failed;
    char why[600]; /**< of a failure: what was wrong, for the developer */
};
typedef void (*side_job)(int i, struct side_result *r);
typedef void (*side_done)(int i, const struct side_result *r);
/** Run job(0) .. job(n - 1), at most @p at_once together, and done() here as each ends, in any
 *  order.  A job that takes longer than @p limit_s, or dies, has failed. */
void side_by_side(int n, int at_once, int limit_s, side_job job, side_done done);
/** Note a failure, the first one with its text. */
void side_fail(struct side_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif
