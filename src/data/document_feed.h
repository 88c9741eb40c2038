/** Pieces of the text of documents that end where words end, inside `data`: a word is never cut
 *  between two calls of the tokenizer, which would give other ids. */
#ifndef WSC_DATA_DOCUMENT_FEED_H
#define WSC_DATA_DOCUMENT_FEED_H
#include "documents.h"

struct data_feed {
    struct data_docs docs;
    unsigned char *text; /**< unused text of the document */
    int64_t n, room;
    bool ended; /**< all of the document has been read */
};
enum wsc_err data_feed_open(struct data_feed *f, const struct data_inputs *inputs, const char *key,
                            enum data_errors errors) WSC_CHECKED;
void data_feed_close(struct data_feed *f);
/** Begin the next document. */
enum wsc_err data_feed_next(struct data_feed *f, bool *found) WSC_CHECKED;
/** Read more text of the document. The buffer grows for a long word, up to a limit. */
enum wsc_err data_feed_more(struct data_feed *f) WSC_CHECKED;
/** Mark the first @p n bytes as used. */
void data_feed_drop(struct data_feed *f, int64_t n);
/** Skip @p n bytes of the document. */
enum wsc_err data_feed_skip(struct data_feed *f, int64_t n) WSC_CHECKED;
#endif
