/** Rows of a sample of an encoder, as its readers fill them and batches take them: input ids,
 *  labels and their mask, padding, token types; for packed texts the distances of each token from
 *  the ends of its text. */
#ifndef WSC_DATA_ENCODER_ROWS_H
#define WSC_DATA_ENCODER_ROWS_H
/** Rows of a sample, each of T numbers. */
enum {
    DATA_ROW_IDS,
    DATA_ROW_MASK, /**< 1 if the label counts */
    DATA_ROW_LABELS,
    DATA_ROW_ATTENDS, /**< 0 for padding */
    DATA_ROW_TYPES,
    DATA_ENCODER_ROWS,
    DATA_ROW_SPAN = DATA_ENCODER_ROWS, /**< tokens after this one in its text; 0 for padding */
    DATA_ROW_POSITION,                 /**< tokens before this one in its text; 0 for padding */
    DATA_PACKED_ROWS
};
#endif
