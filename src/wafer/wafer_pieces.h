/** A stage that is computed while its weights arrive and its gradients are sent. wafer_stage.c
 *  calls wafer_pieces_choose() for each stage, then forward or backward. */
#ifndef WSC_WAFER_PIECES_H
#define WSC_WAFER_PIECES_H
#include "wafer_state.h"

/* Decide whether the stage @p s, whose weights are arriving or are there, is computed part by part.
 * If not, wait for all of its weights. */
enum wsc_err wafer_pieces_choose(const struct wafer *w, const struct stream_at *at,
                                 struct wafer_stage *s);
/* Run the forward pass of the stage; its time is in @p s. */
enum wsc_err wafer_pieces_forward(struct wafer *w, const struct stream_at *at,
                                  struct wafer_stage *s);
/* Run the backward pass of the stage: its gradients, s->n_sums vectors, are sent as they are
 * computed. */
enum wsc_err wafer_pieces_backward(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s);
#endif
