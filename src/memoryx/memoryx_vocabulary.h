/** Token tables whose checkpoint has another vocabulary. memoryx_checkpoint.c calls for each
 *  tensor, and loads its rows. */
#ifndef WSC_MEMORYX_VOCABULARY_H
#define WSC_MEMORYX_VOCABULARY_H
#include "memoryx_state.h"

/* Number of rows of a table, and elements of a row; a vector of biases of logits has rows of one
 * element. */
struct memoryx_rows {
    int64_t n, cols;
};
/* *@p n_rows: number of rows of dataset @p name for tensor @p t, if that is a token table with
 * another number of rows; else 0. WSC_FORMAT unless runconfig.new_vocabulary allows it. */
enum wsc_err memoryx_other_rows(const struct memoryx_config *config, const struct model_tensor *t,
                                struct store_file *file, const char *name,
                                int64_t *n_rows) WSC_CHECKED;
/* Read this shard's part of tensor @p tensor from the @p n_rows rows of dataset @p name; additional
 * rows start as runconfig.new_vocabulary says. */
enum wsc_err memoryx_load_rows(struct memoryx *mx, int tensor, struct store_file *file,
                               const char *name, int64_t n_rows) WSC_CHECKED;
#endif
