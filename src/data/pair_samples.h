/** HDF5 files of pairs for preference optimization: `data` (n, 6, T), or six datasets (n, T).
 *  source_files.c reads one pair at a time as two sequences. */
#ifndef WSC_DATA_PAIR_SAMPLES_H
#define WSC_DATA_PAIR_SAMPLES_H
#include <wsc/err.h>

#include <stdint.h>

/** Rows of a pair: input_ids, attention_mask (of the loss) and labels of the chosen text, then
 * those of the rejected one. */
enum { DATA_PAIR_ROWS = 6 };

struct data_pairs;
/** Open and check a file, of sequences of any length; *@p out is NULL after an error. */
enum wsc_err data_pairs_open(struct data_pairs **out, const char *path) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_pairs_close(struct data_pairs **pairs);
int64_t data_pairs_n(const struct data_pairs *p);
/** Tokens of a sequence. */
int64_t data_pairs_T(const struct data_pairs *p);
/** Pair @p i as rows (DATA_PAIR_ROWS, T). */
enum wsc_err data_pairs_read(struct data_pairs *p, int64_t i, int32_t *rows) WSC_CHECKED;
#endif
