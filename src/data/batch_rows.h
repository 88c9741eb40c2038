/** Rows of a batch besides ids, labels and loss mask, inside `data`: those of packed texts and
 *  those of encoders. */
#ifndef WSC_DATA_BATCH_ROWS_H
#define WSC_DATA_BATCH_ROWS_H
#include <wsc/data.h>

/** Allocate the missing rows of packed texts (attention_span, position_ids) and of encoders
 *  (attends, token_types, targets) that are wanted, and free those that are not: a batch that was
 *  filled from another source must not keep them. WSC_NOMEM. */
enum wsc_err data_batch_rows(struct data_batch *b, bool packed, bool encoder) WSC_CHECKED;
#endif
