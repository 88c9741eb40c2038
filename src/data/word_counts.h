/** Words of texts with the number of their occurrences, inside `data`, from which vocabularies are
 *  learned. bpe_train.c and wordpiece_train.c define the words. */
#ifndef WSC_DATA_WORD_COUNTS_H
#define WSC_DATA_WORD_COUNTS_H
#include "document_feed.h"
#include "word_table.h"

/** Words and counts; all owned. */
struct data_word_counts {
    struct data_words *word;
    int64_t *count, room; /**< indexed by the number of the word */
    int64_t n_bytes;      /**< of text that was read */
    struct data_inputs inputs;
    struct data_feed feed;
};
/** Count the complete words of a piece of text; *@p used: their bytes, all if @p ended. */
typedef enum wsc_err (*data_count_fn)(void *ctx, struct data_word_counts *c,
                                      const unsigned char *text, int64_t n, bool ended,
                                      int64_t *used);
/** Check that @p request can train a vocabulary that starts with @p n_start tokens; WSC_USAGE has
 *  the reason if not. */
enum wsc_err data_word_counts_check(const struct data_train_bpe *request, int n_start) WSC_CHECKED;
/** Read the inputs of @p request up to their end or to max_bytes, and count each piece by @p count.
 *  Call data_word_counts_fini() also after an error. WSC_USAGE when there is no word. */
enum wsc_err data_word_counts_read(struct data_word_counts *c, const struct data_train_bpe *request,
                                   data_count_fn count, void *ctx) WSC_CHECKED;
void data_word_counts_fini(struct data_word_counts *c);
/** Add 1 to the count of the word of @p n bytes. */
enum wsc_err data_word_count(struct data_word_counts *c, const unsigned char *word,
                             int64_t n) WSC_CHECKED;
#endif
