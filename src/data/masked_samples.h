/** HDF5 files of masked tokens: `data` (n, 2, T) with input_ids and attention_mask, or for packed
 *  texts (n, 4, T) with attention_span and position_ids too; `labels` (n, 1, T) with -100 for
 *  tokens that do not count, or (n, 3, P) with labels, their positions and their mask. */
#ifndef WSC_DATA_MASKED_SAMPLES_H
#define WSC_DATA_MASKED_SAMPLES_H
#include <wsc/err.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

struct data_masked;
/** Open and check a file of samples of @p T tokens. @p input: whether texts are packed (use_vsl),
 *  and whether the model needs token types and labels of pairs, which such files do not have. *@p
 *  out is NULL after an error. */
enum wsc_err data_masked_open(struct data_masked **out, const char *path, int64_t T,
                              const struct zoo_input *input) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_masked_close(struct data_masked **masked);
int64_t data_masked_n(const struct data_masked *m);
/** Read sample @p i into the rows of encoder_rows.h; rows that every encoder has must be 0 before.
 *  */
enum wsc_err data_masked_read(struct data_masked *m, int64_t i, int32_t *rows) WSC_CHECKED;
#endif
