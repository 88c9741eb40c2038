/** Documents of the inputs one after the other, inside `data`: the list of files, the reader at one
 *  place of one of them, and the table of formats. */
#ifndef WSC_DATA_DOCUMENTS_H
#define WSC_DATA_DOCUMENTS_H
#include "json_documents.h"

/** A file to be read, of those that the user named or that stand in the folders named. */
struct data_input {
    char *path;
    const struct data_format *format; /**< borrowed */
    int64_t bytes, changed_ns;        /**< size on disk, time of the last change */
};
struct data_inputs {
    struct data_input *file; /**< in the order given; those of a folder by path */
    int n, room;
    int64_t bytes;
    int n_ignored; /**< files in folders whose ending says nothing */
};
/** @p format is "text", "jsonl", "csv", "tsv", or NULL: by the ending of each file. */
enum wsc_err data_inputs_list(struct data_inputs *inputs, const char *const *path, int n,
                              const char *format) WSC_CHECKED;
void data_inputs_fini(struct data_inputs *inputs);

/** A reader at one place of one file. */
struct data_docs {
    const struct data_inputs *inputs; /**< borrowed */
    const char *key;                  /**< of JSON objects, or column; borrowed */
    enum data_errors errors;
    int at; /**< file; inputs->n at the end */
    struct data_stream *stream;
    const struct data_format *format; /**< of that file */
    struct data_json json;
    char delimiter;        /**< CSV: ',' or tab */
    int column, n_columns; /**< CSV: of the text, in all */
    bool quoted, at_start; /**< CSV: the field being read */
    int64_t packed_before; /**< bytes on disk of the files before this one */
};

/** How documents stand in a file.  All are called with the file open and its stream where the last
 *  call left it. */
struct data_format {
    const char *name;
    const char *ending[4];
    /** At the start of a file. */
    enum wsc_err (*begin)(struct data_docs *d);
    /** Go into the next document, when there is one. */
    enum wsc_err (*next)(struct data_docs *d, bool *found);
    /** Up to @p room bytes (at least 8) of it; *ended: that was the last of it. */
    enum wsc_err (*read)(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                         bool *ended);
};
extern const struct data_format data_format_text, data_format_jsonl, data_format_csv,
    data_format_tsv;

/** The next document of all files; *found false: there is none any more. */
enum wsc_err data_docs_next(struct data_docs *d, bool *found) WSC_CHECKED;
enum wsc_err data_docs_read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                            bool *ended) WSC_CHECKED;
/** Where the next document is looked for: a file and an offset in its stream. */
struct data_place {
    int64_t file, offset;
};
struct data_place data_docs_place(const struct data_docs *d);
/** Go to a place that data_docs_place() gave before, in the same inputs. */
enum wsc_err data_docs_go(struct data_docs *d, const struct data_place *place) WSC_CHECKED;
/** Bytes on disk that were read. */
int64_t data_docs_done(const struct data_docs *d);
void data_docs_close(struct data_docs *d);
#endif
