/** Which tensors of the two sides belong together, and which row of the one is which row of the
 *  other. */
#ifndef WSC_CONVERT_TENSOR_MAP_H
#define WSC_CONVERT_TENSOR_MAP_H
#include "hf_key.h"
#include "json_file.h"

#include <wsc/err.h>
#include <wsc/model.h>
#include <wsc/store.h>

#include <stdbool.h>
#include <stdint.h>

enum { CONVERT_MAX_PARTS = 3 };
/** A Hugging Face tensor and the one to three of ours that are its lines. */
struct convert_pair {
    char hf[CONVERT_NAME_BYTES];
    int layout;
    int n_parts;
    int tensor[CONVERT_MAX_PARTS];   /**< of model->tensor */
    float factor[CONVERT_MAX_PARTS]; /**< of the values on their way to Hugging Face */
    int64_t lines[CONVERT_MAX_PARTS], n_lines;
    int64_t width; /**< input features; 1 for vectors */
    int n_dims;
    int64_t groups, head_dim, rotary_dim;
};
/** Does the model multiply embeddings, scores or logits by what no key of a folder says?  And must
 *  its tied embedding become two tensors for that? */
bool convert_has_factors(const struct model *model);
bool convert_unties(const struct model *model);
/** The pairs of a model, in the order of the family's table. */
struct convert_map {
    struct convert_pair *pair; /**< owned */
    int n_pairs;
};
/** Every tensor of the model must have its place; @p bare: names without the family's prefix. */
enum wsc_err convert_map_create(struct convert_map *map, const struct convert_side *cs,
                                bool bare) WSC_CHECKED;
void convert_map_fini(struct convert_map *map);
/** Attribute of a checkpoint: the types its tensors had in the folder it came from, as JSON. */
#define CONVERT_DTYPES "__source_dtypes__"
/** What a checkpoint holds of @p t. */
static inline struct store_tensor convert_tensor_of(const struct model_tensor *t)
{
    return (struct store_tensor){t->name, t->alias, t->n_dims, t->shape, t->also};
}
/** Shape of the Hugging Face tensor. */
void convert_pair_shape(const struct convert_pair *pair, int64_t shape[2]);
/** Line of the Hugging Face tensor that row @p row of part @p part is, and back. */
int64_t convert_pair_line(const struct convert_pair *pair, int part, int64_t row);
int64_t convert_pair_row(const struct convert_pair *pair, int64_t line, int *part);
/** Warn where the params that the checkpoint @p file was trained with are of another model: its
 *  tensors may have the same shapes. */
enum wsc_err convert_check_past(const struct zoo_params *params,
                                struct store_file *file) WSC_CHECKED;
#endif
