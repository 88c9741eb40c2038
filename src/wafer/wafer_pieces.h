/** A stage that is computed while its weights come and its gradients leave.
 *  wafer_stage.c asks once a stage, and then calls the pass; see wafer_pieces.c.
 */
#ifndef WSC_WAFER_PIECES_H
#define WSC_WAFER_PIECES_H
#include "wafer_state.h"

/* Decide whether the stage @p s, whose weights are at least on their way, is computed part by part;
 * waits for all of its weights if not. */
enum wsc_err wafer_pieces_choose(const struct wafer *w, const struct stream_at *at,
                                 struct wafer_stage *s);
/* The stage's forward pass; its time is in @p s. */
enum wsc_err wafer_pieces_forward(struct wafer *w, const struct stream_at *at,
                                  struct wafer_stage *s);
/* The stage's backward pass: its gradients, s->n_sums vectors, leave as they are made. */
enum wsc_err wafer_pieces_backward(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s);
#endif
