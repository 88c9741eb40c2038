/** Samples of the Model Zoo's T5HDF5DataProcessor: pairs of sequences, source and target, a dataset
 *  of shape (n, T) for each feature: input_ids, attention_mask, decoder_input_ids,
 *  decoder_attention_mask, labels. */
#ifndef WSC_DATA_SEQ2SEQ_SAMPLES_H
#define WSC_DATA_SEQ2SEQ_SAMPLES_H
#include <wsc/err.h>
#include <wsc/zoo.h>

#include <stdint.h>

struct data_seq2seq;
/** Open a file of pairs with the lengths of @p input.  *@p out is NULL after an error. */
enum wsc_err data_seq2seq_open(struct data_seq2seq **out, const char *path,
                               const struct zoo_input *input) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_seq2seq_close(struct data_seq2seq **pairs);
int64_t data_seq2seq_n(const struct data_seq2seq *p);
/** Sample @p i as rows (DATA_ENCODER_ROWS, T_source + T_target), source first; rows are 0 before.
 */
enum wsc_err data_seq2seq_read(struct data_seq2seq *p, int64_t i, int32_t *rows) WSC_CHECKED;
#endif
