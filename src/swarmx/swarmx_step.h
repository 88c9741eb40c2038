/** The two programs of a SwarmX node; swarmx_spawn() makes fibers of them.
 *  One broadcasts weights, the other adds what comes up.
 */
#ifndef WSC_SWARMX_STEP_H
#define WSC_SWARMX_STEP_H
#include <wsc/err.h>

/* @p sx: struct swarmx.  Broadcasts the weights of all steps of sx->pass. */
enum wsc_err swarmx_run_down(void *sx);
/* @p sx: struct swarmx.  Adds what comes up in all steps of sx->pass. */
enum wsc_err swarmx_run_up(void *sx);
#endif
