/** The pairs of tensors of both sides, and the row of one tensor for each row of the other.
 *  from_hf.c and to_hf.c use the pairs. */
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
/** A Hugging Face tensor, and the one to three tensors of this program that have its lines. */
struct convert_pair {
    char hf[CONVERT_NAME_BYTES];
    int layout;
    int n_parts;
    int tensor[CONVERT_MAX_PARTS];   /**< of model->tensor */
    float factor[CONVERT_MAX_PARTS]; /**< factor of the values in the direction to Hugging Face */
    float offset;                    /**< what the values have less there, after the factor */
    int64_t lines[CONVERT_MAX_PARTS], n_lines;
    int64_t width; /**< input features; 1 for vectors */
    int n_dims;
    int64_t groups, head_dim, rotary_dim;
};
/** True when the model has a factor of embeddings, scores or logits that no key of a folder
 *  expresses. convert_unties(): its tied embedding must become two tensors for it. */
bool convert_has_factors(const struct model *model);
bool convert_unties(const struct model *model);
/** The pairs of a model, in the order of the family's table. */
struct convert_map {
    struct convert_pair *pair; /**< owned */
    int n_pairs;
};
/** Every tensor of the model must have a partner; @p bare: names without the family's prefix. */
enum wsc_err convert_map_create(struct convert_map *map, const struct convert_side *cs,
                                bool bare) WSC_CHECKED;
void convert_map_fini(struct convert_map *map);
/** Attribute of a checkpoint: the types its tensors had in the folder it came from, as JSON. */
#define CONVERT_DTYPES "__source_dtypes__"
/** Shape of the Hugging Face tensor. */
void convert_pair_shape(const struct convert_pair *pair, int64_t shape[2]);
/** Line of the Hugging Face tensor for row @p row of part @p part, and the inverse. */
int64_t convert_pair_line(const struct convert_pair *pair, int part, int64_t row);
int64_t convert_pair_row(const struct convert_pair *pair, int64_t line, int *part);
/** Warn if the params with which the checkpoint @p file was trained are of another model, whose
 *  tensors may have equal shapes. */
enum wsc_err convert_check_past(const struct zoo_params *params,
                                struct store_file *file) WSC_CHECKED;
#endif
