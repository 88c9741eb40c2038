/** Paragraphs of SQuAD-style JSON (Rajpurkar et al. 2016, 2018), inside `data`: a text, and
 *  questions with the positions of their answers in it. */
#ifndef WSC_DATA_SQUAD_JSON_H
#define WSC_DATA_SQUAD_JSON_H
#include "text_stream.h"

/** A text in memory that grows. */
struct data_squad_text {
    char *bytes; /**< owned, n bytes and a NUL */
    int64_t n, room;
};
struct data_squad_question {
    struct data_squad_text text, answer; /**< the first answer; n -1: it has none */
    /** position of the answer, in characters from the start of the text */
    int64_t start;
    int64_t n_further; /**< answers after the first one, which are not read */
    bool impossible;   /**< the text does not have the answer */
};
struct data_squad_paragraph {
    struct data_squad_text context;
    struct data_squad_question *question; /**< owned */
    int64_t n, room;                      /**< room: questions for which memory exists */
};
/** Function that processes a paragraph. */
typedef enum wsc_err (*data_squad_fn)(void *ctx, const struct data_squad_paragraph *p);
/** Call @p take for each paragraph of the file.  WSC_FORMAT with file, line and column; errors of
 *  @p take. */
enum wsc_err data_squad_read(struct data_stream *stream, data_squad_fn take, void *ctx) WSC_CHECKED;
#endif
