/** Checks at the end of a run: waiting operations when nothing moves any more, and active PEs at
 *  the limit of cycles. run.c calls both; an error has the cycle of waits in its message. */
#ifndef WSC_MESH_DEADLOCK_H
#define WSC_MESH_DEADLOCK_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>

enum wsc_err mesh_check_end(struct mesh *m);
/* True when mesh_check_end() would report something about the PEs of this process. */
bool mesh_is_left(struct mesh *m);
/* At the limit of cycles: WSC_OK when everything finished in the last cycle, else an error that
 * names what still moves. */
enum wsc_err mesh_check_limit(struct mesh *m);
#endif
