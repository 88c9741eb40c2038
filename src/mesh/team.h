/** The cycles of a run, with a thread of the host for each region; the bits do not depend on
 *  their number. */
#ifndef WSC_MESH_TEAM_H
#define WSC_MESH_TEAM_H
#include "mesh_state.h"

#include <wsc/err.h>

/* Run all cycles, each region on a thread of its own. */
enum wsc_err mesh_team_run(struct mesh *m);
#endif
