/** How a model lies on the emulated mesh of a wafer: lanes, and whether it fits.
 *  job_setup.c and job_generate.c ask before a pass; programs_model_create() lays the model out. */
#ifndef WSC_JOB_MESH_H
#define WSC_JOB_MESH_H
#include "job_state.h"

/** Let @p plan of @p batch, made for @p input, be that of the mesh, where values come from it; else
 *  nothing.  Lanes depend on params and machine alone, not on the number of wafers, since their
 *  columns decide the last bits of values.  A number of lanes that the wafer with most sequences
 *  cannot fill is WSC_CONFIG when @p must_fill. */
enum wsc_err job_mesh_plan(const struct job_state *s, const struct zoo_input *input,
                           const struct stream_batch *batch, bool training, bool must_fill,
                           struct cycles_plan *plan) WSC_CHECKED;
/** Try on a rank with wafers whether micro-batches of @p batch fit their memories by @p plan:
 *  WSC_CAPACITY. */
enum wsc_err job_mesh_try(const struct job_state *s, const struct stream_batch *batch,
                          bool training, const struct cycles_plan *plan) WSC_CHECKED;
#endif
