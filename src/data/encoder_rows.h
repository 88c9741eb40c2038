/** Rows of a sample of an encoder, as its readers fill them and batches take them: input ids,
 *  labels and where they count, padding, token types; of packed texts also how far each token is
 *  from the ends of its text. */
#ifndef WSC_DATA_ENCODER_ROWS_H
#define WSC_DATA_ENCODER_ROWS_H
/** Rows of a sample, each of T numbers. */
enum {
    DATA_ROW_IDS,
    DATA_ROW_MASK, /**< 1 where the label counts */
    DATA_ROW_LABELS,
    DATA_ROW_ATTENDS, /**< 0 of padding */
    DATA_ROW_TYPES,
    DATA_ENCODER_ROWS,
    DATA_ROW_SPAN = DATA_ENCODER_ROWS, /**< places after a token in its text; 0 of padding */
    DATA_ROW_POSITION,                 /**< places before it in its text; 0 of padding */
    DATA_PACKED_ROWS
};
#endif
