/** Attention of new tokens towards cached keys and values, for generation: the one operation whose
 *  formula no program of the mesh is compared with. */
#ifndef WSC_CYCLES_CACHED_H
#define WSC_CYCLES_CACHED_H
#include <wsc/cycles_ops.h>

double cycles_cached_attention(const struct cycles_layout *l);
/** Cycles of cross attention of new tokens. Keys and values of the encoder's output lie on the rows
 *  of their source; all beams of a source use the same ones. */
double cycles_cached_cross(const struct cycles_layout *l);
#endif
