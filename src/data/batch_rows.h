/** The rows that a batch has beside ids, labels and loss mask, inside `data`: those of packed texts
 *  and those of encoders. */
#ifndef WSC_DATA_BATCH_ROWS_H
#define WSC_DATA_BATCH_ROWS_H
#include <wsc/data.h>

/** Make the rows of packed texts (attention_span, position_ids) and those of encoders (attends,
 *  token_types, targets) where they are wanted and missing, and release those that are not wanted:
 *  a batch that was filled from another source must not keep them.  WSC_NOMEM. */
enum wsc_err data_batch_rows(struct data_batch *b, bool packed, bool encoder) WSC_CHECKED;
#endif
