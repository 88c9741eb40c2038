/** Positions of a model's tokens on the mesh: tables of rotary angles on the PEs, the rows of a
 *  fixed table, and the operations by which positions and windows change attention scores. */
#ifndef WSC_PROGRAMS_POSITIONS_H
#define WSC_PROGRAMS_POSITIONS_H
#include "program_scores.h"
#include "program_state.h"

#include <wsc/err.h>

/** Write the cosines and sines of the micro-batch's positions to the PEs, if the model rotates
 *  heads and they are not there yet. */
enum wsc_err programs_write_angles(struct programs_model *k);
/** Rotate the pairs of features of @p x, queries or keys, by their positions, or back with @p
 *  back. */
enum wsc_err programs_rotate_tile(struct programs_model *k, const struct programs_tile *x,
                                  bool back);
/** Add rows of sines (T, C) to @p x, as a learned table of positions would be added. */
enum wsc_err programs_add_sines(struct programs_model *k, const struct programs_tile *x);
/** Soft cap, slopes and windows of sample @p sample of each lane in the current layer. */
struct programs_shaping programs_shaping_of(const struct programs_model *k, int sample);
#endif
