/** Trained weights by the distance from a query to a key, on the mesh: relative positions (Raffel
 *  et al. 2020), with a weight for each head and bucket of distances, or slopes of ALiBi (Press et
 *  al. 2022). They come in with the embeddings, to every column of their head, and stay for all
 *  layers; the sums of their gradients over the layers leave with those of the embeddings.
 *  program_softmax.c applies them to scores. */
#ifndef WSC_PROGRAMS_DISTANCE_H
#define WSC_PROGRAMS_DISTANCE_H
#include "program_scores.h"
#include "program_state.h"

#include <wsc/err.h>

/** Reserve memory for weights by distance, in a model that has them. */
enum wsc_err programs_reserve_distances(struct programs_model *k);
void programs_distances_fini(struct programs_model *k);
/** Load the weights of the stage and set the sums of their gradients to 0; nothing where the model
 *  has none. */
enum wsc_err programs_take_distances(struct programs_model *k);
/** Send the gradients of each leaf off the fabric; nothing where the model has none. */
enum wsc_err programs_give_distances(struct programs_model *k);
/** The weights that act on the scores of sample @p sample of each lane. */
struct programs_by_distance programs_by_distance_of(const struct programs_model *k, int sample);
#endif
