/** A CSV or TSV file in memory with the offsets of its records, so that any record can be read: the
 *  samples of encoders. csv_documents.c reads such files as streams of texts. */
#ifndef WSC_DATA_TABLE_FILE_H
#define WSC_DATA_TABLE_FILE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

struct data_table;
/** Read the file and find its records; the first one has the names of the columns. With @p tabs
 *  fields are separated by tabs and nothing is quoted, else RFC 4180; a quote inside a field that
 * does not begin with one is a byte of it. *@p out is NULL after an error. */
enum wsc_err data_table_open(struct data_table **out, const char *path, bool tabs) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_table_close(struct data_table **table);
/** Number of records after the first one. */
int64_t data_table_n(const struct data_table *t);
/** The number of the column @p name, or -1. WSC_FORMAT when two have that name. */
enum wsc_err data_table_column(struct data_table *t, const char *name, int *column) WSC_CHECKED;
/** Column @p column of record @p i without its quotes, borrowed until the next call; *@p n bytes.
 *  WSC_FORMAT when the record has fewer columns. */
enum wsc_err data_table_field(struct data_table *t, int64_t i, int column, const char **text,
                              int64_t *n) WSC_CHECKED;
/** An error at record @p i: its file and line, then @p what. */
enum wsc_err data_table_bad(const struct data_table *t, int64_t i, const char *what) WSC_CHECKED;

/** Read the numbers of a list such as "[1, 2]" or "1" into @p out, at most @p room. Returns their
 *  number; -1: not such a list. */
int64_t data_list_numbers(const char *text, int64_t n, int32_t *out, int64_t room);
/** Read the next text of a list of texts as Python prints it, "['a', \"b's\"]", or separated by
 *  spaces, "a b", from *@p at on, without its escapes, into @p out (@p room bytes). Returns its
 *  bytes; -1 after the last text, -2 for a malformed list. */
int64_t data_list_text(const char *text, int64_t n, int64_t *at, char *out, int64_t room);
#endif
