/** One fabric on several MPI ranks: what `wsc mesh KERNEL` under mpirun hands to the mesh, and what
 *  it refuses then. */
#ifndef WSC_APP_MESH_RANKS_H
#define WSC_APP_MESH_RANKS_H
#include "requests.h"

#include <wsc/comm.h>
#include <wsc/mesh.h>

/** Fill @p share for the ranks of @p comm (borrowed), band p on rank p. */
void app_mesh_share(struct mesh_share *share, struct comm *comm);
/** WSC_USAGE for what `wsc mesh` cannot do on several ranks: pictures, traces, surveys. */
enum wsc_err app_mesh_check_ranks(const struct app_mesh *o, struct comm *comm) WSC_CHECKED;
#endif
