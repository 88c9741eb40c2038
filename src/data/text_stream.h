/** One input file as a stream of bytes, inside `data`: plain, gzip or zstd, known by its first
 *  bytes; checked as UTF-8; with the line and column of every byte.
 *
 *  Readers look at buffer[at .. n) after data_stream_fill() and say with data_stream_take() how
 *  much they used.
 */
#ifndef WSC_DATA_TEXT_STREAM_H
#define WSC_DATA_TEXT_STREAM_H
#include <wsc/data.h>
#include <wsc/err.h>

#include <stdarg.h>
#include <stdio.h>

struct data_stream {
    const char *path; /**< borrowed */
    enum data_errors errors;
    struct data_stream_file *file;
    unsigned char *buffer;
    int64_t at, n;
    int64_t offset;           /**< of buffer[0] in the stream */
    int64_t line, line_start; /**< of buffer[at]: its line from 1, the offset where that begins */
    int64_t packed_done;      /**< bytes of the file on disk that were read */
};
enum wsc_err data_stream_open(struct data_stream **out, const char *path,
                              enum data_errors errors) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_stream_close(struct data_stream **s);
/** Read on when all bytes are used; *n is n - at, and 0 only at the end of the file. */
enum wsc_err data_stream_fill(struct data_stream *s, int64_t *n) WSC_CHECKED;
void data_stream_take(struct data_stream *s, int64_t n);
/** Skip @p n bytes, which must be in the buffer. */
enum wsc_err data_stream_skip(struct data_stream *s, int64_t n) WSC_CHECKED;
/** Skip a byte order mark, if there is one at the current position. */
enum wsc_err data_stream_skip_mark(struct data_stream *s) WSC_CHECKED;
/** `path:line:column: ...` of buffer[at]. */
enum wsc_err data_stream_raise_at(struct data_stream *s, const char *file, int line,
                                  const char *format, ...)
    __attribute__((format(printf, 4, 5), cold)) WSC_CHECKED;
#define data_stream_raise(s, ...) data_stream_raise_at((s), __FILE__, __LINE__, __VA_ARGS__)
#endif
