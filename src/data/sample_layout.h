/** Samples of the corpus of tokens, inside `data`: how the corpus is cut, and the rows of a sample.
 *  Without use_vsl a sample is the next T tokens, regardless of the ends of texts. With use_vsl it
 *  has as many whole texts as fit, one after the other; of a text of n tokens with its EOS, n - 1
 *  are inputs, and the tokens after them labels; a text of more than T is cut into pieces of T.
 *  `<folder>/samples` then has the tokens of each sample, so that memory does not grow with their
 *  number. */
#ifndef WSC_DATA_SAMPLE_LAYOUT_H
#define WSC_DATA_SAMPLE_LAYOUT_H
#include "corpus.h"

enum { DATA_MOST_ROWS = 5 };

struct data_samples;
/** Cut the finished @p corpus; it and @p make are borrowed. */
enum wsc_err data_samples_open(struct data_samples **out, struct data_corpus *corpus,
                               const struct data_make *make, const char *folder) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_samples_close(struct data_samples **samples);
int64_t data_samples_n(const struct data_samples *s);
/** Number of rows: 3, or 5 with use_vsl. */
int data_samples_rows(const struct data_samples *s);
/** Make the rows (R, T) of sample @p i: input_ids, attention_mask, labels, attention_span,
 *  position_ids. The first *@p n_places positions have a label, the others are padding. */
enum wsc_err data_samples_read(struct data_samples *s, int64_t i, int32_t *rows,
                               int64_t *n_places) WSC_CHECKED;
#endif
