/** Samples of the Model Zoo's T5HDF5DataProcessor: pairs of sequences, source and target, a dataset
 *  of shape (n, T) for each feature: input_ids, attention_mask, decoder_input_ids,
 *  decoder_attention_mask, labels. */
#ifndef WSC_DATA_PAIR_SAMPLES_H
#define WSC_DATA_PAIR_SAMPLES_H
#include <wsc/err.h>

#include <stdint.h>

struct data_pairs;
/** Open a file of pairs of @p T_source and @p T_target tokens.  *@p out is NULL after an error. */
enum wsc_err data_pairs_open(struct data_pairs **out, const char *path, int64_t T_source,
                             int64_t T_target) WSC_CHECKED;
/** NULL inside allowed. */
void data_pairs_close(struct data_pairs **pairs);
int64_t data_pairs_n(const struct data_pairs *p);
/** Sample @p i as rows (DATA_ENCODER_ROWS, T_source + T_target), source first; rows are 0 before.
 */
enum wsc_err data_pairs_read(struct data_pairs *p, int64_t i, int32_t *rows) WSC_CHECKED;
#endif
