/** Translation of the routes of colours, as a program states them, to the channels in which
 *  wavelets wait; done once, before the first cycle of a run. */
#ifndef WSC_MESH_LINK_H
#define WSC_MESH_LINK_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_link(struct mesh *m);
/* Free the routes that were collected before mesh_link(). */
void mesh_cells_free(struct mesh *m);
/* Set whether data of channel @p ch at router @p at of the fabric can take the short path of
 * router.c, and over which side. Call it after a change of ch->tx. */
void mesh_channel_set_fast_side(const struct mesh *m, int64_t at, struct mesh_channel *ch);
#endif
