/** A JSON text read as it comes (RFC 8259), inside `data`: lines of any length, in little memory.
 *
 *  Nothing is kept: the caller asks for what must come next, and every mistake is an error with
 *  file, line and column.
 */
#ifndef WSC_DATA_JSON_DOCUMENTS_H
#define WSC_DATA_JSON_DOCUMENTS_H
#include "text_stream.h"

struct data_json {
    struct data_stream *stream;
    bool one_line; /**< a newline is not white space: JSON Lines */
    int32_t high;  /**< first half of a surrogate pair, whose second half follows; or 0 */
};
/** The next character that is not white space, without consuming it; -1 at the end. */
enum wsc_err data_json_peek(struct data_json *j, int *c) WSC_CHECKED;
/** Consume the character @p c, which must come next. */
enum wsc_err data_json_expect(struct data_json *j, char c) WSC_CHECKED;
/** After a member or element: consume ',' (*more) or @p close (not *more). */
enum wsc_err data_json_more(struct data_json *j, char close, bool *more) WSC_CHECKED;
/** Read up to @p room bytes (at least 8) of the string whose opening quote was consumed; *ended:
 *  the closing quote was consumed too. */
enum wsc_err data_json_string(struct data_json *j, unsigned char *out, int64_t room, int64_t *n,
                              bool *ended) WSC_CHECKED;
/** A whole string with its quotes into @p text (NUL-terminated, at most @p size - 1 bytes and none
 *  of them NUL: else an error). */
enum wsc_err data_json_word(struct data_json *j, char *text, int64_t size) WSC_CHECKED;
/** A whole number from 0 to @p max. */
enum wsc_err data_json_index(struct data_json *j, int64_t max, int64_t *value) WSC_CHECKED;
/** Skip a value of any kind. */
enum wsc_err data_json_skip(struct data_json *j) WSC_CHECKED;
#endif
