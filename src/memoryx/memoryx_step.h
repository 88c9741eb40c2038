/** The two programs of a shard; memoryx_spawn() makes fibers of them.
 *  One sends weights, the other takes gradients and updates.
 */
#ifndef WSC_MEMORYX_STEP_H
#define WSC_MEMORYX_STEP_H
#include <wsc/err.h>

/* @p mx: struct memoryx.  Sends the weights of all steps of mx->pass. */
enum wsc_err memoryx_run_send(void *mx);
/* @p mx: struct memoryx.  Takes the gradients of all steps of mx->pass and updates. */
enum wsc_err memoryx_run_take(void *mx);
#endif
