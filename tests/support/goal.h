/** A simulator of GOAL schedules in text form, as LogGOPSim runs them with L = o = g = G = O = 0:
 *  an operation starts when all that it requires has ended; a calc then waits for its cpu, which
 *  does one at a time; a recv ends when it has started and its message has been sent.
 *
 *  It knows nothing of the machine that a schedule came from.
 */
#ifndef WSC_TEST_GOAL_H
#define WSC_TEST_GOAL_H
#include <wsc/err.h>

#include <stdint.h>

struct goal_result {
    int64_t begin;    /**< what the head of the file states */
    int64_t makespan; /**< the latest end of all operations */
    int64_t n_operations, n_messages, n_ranks;
    int64_t n_delayed; /**< calcs that found their cpu busy */
};
/** Read and run @p path.  Errors name the line: unknown words, labels that are not defined,
 * messages without a partner, operations that never run. */
enum wsc_err goal_run(const char *path, struct goal_result *out) WSC_CHECKED;
#endif
