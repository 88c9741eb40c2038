/** Attention of new tokens towards cached keys and values, for generation: the one operation whose
 *  formula no program of the mesh is compared with. */
#ifndef WSC_CYCLES_CACHED_H
#define WSC_CYCLES_CACHED_H
#include <wsc/cycles_ops.h>

double cycles_cached_attention(const struct cycles_layout *l);
/** Attention of new tokens to the encoder's output, whose keys and values lie on the rows of their
 *  source and serve all beams of it. */
double cycles_cached_cross(const struct cycles_layout *l);
#endif
