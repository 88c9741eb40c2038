/** Documents of the inputs one after the other, inside `data`: the list of files, the reader at a
 *  position in one of them, and the table of formats. */
#ifndef WSC_DATA_DOCUMENTS_H
#define WSC_DATA_DOCUMENTS_H
#include "json_documents.h"

/** A file to be read: one that the user named, or one in a named folder. */
struct data_input {
    char *path;
    const struct data_format *format; /**< borrowed */
    int64_t bytes, changed_ns;        /**< size on disk, time of the last change */
    uint64_t device, inode;           /**< which file it is, whatever its path */
};
struct data_inputs {
    struct data_input *file; /**< in the given order; files of a folder by path */
    int n, room;
    int64_t bytes;
    int n_ignored; /**< number of files in folders whose ending is of no format */
};
/** @p format is a word of DATA_TEXT_FORMATS, or NULL: by the ending of each file.  A file that is
 *  there twice, also under another path, stays and has a warning. */
enum wsc_err data_inputs_list(struct data_inputs *inputs, const char *const *path, int n,
                              const char *format) WSC_CHECKED;
void data_inputs_fini(struct data_inputs *inputs);

/** A reader at a position in one file. */
struct data_docs {
    const struct data_inputs *inputs; /**< borrowed */
    const char *key;                  /**< key of JSON objects, or name of a column; borrowed */
    enum data_errors errors;
    int at; /**< index of the file; inputs->n at the end */
    struct data_stream *stream;
    const struct data_format *format; /**< format of the file */
    struct data_json json;
    char delimiter;        /**< CSV: ',' or tab */
    int column, n_columns; /**< CSV: column of the text, number of columns */
    bool quoted, at_start; /**< CSV: state of the field that is being read */
    bool begun;            /**< text: the document of the file has begun */
    int64_t packed_before; /**< bytes on disk of the files before this one */
};

/** Most endings of names that a format has. */
enum { DATA_MAX_ENDINGS = 4 };
/** Functions of a format. They are called with the file open, and its stream at the position where
 *  the last call left it. */
struct data_format {
    const char *name;
    const char *ending[DATA_MAX_ENDINGS];
    /** Begin a file. */
    enum wsc_err (*begin)(struct data_docs *d);
    /** Begin the next document, if there is one. */
    enum wsc_err (*next)(struct data_docs *d, bool *found);
    /** Read up to @p room bytes (at least 8) of the document; *ended: it has no more. */
    enum wsc_err (*read)(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                         bool *ended);
};
/** Each format X, in the order of DATA_TEXT_FORMATS; data_format_<X> is its row. */
#define DATA_EACH_TEXT_FORMAT(XX) XX(text) XX(jsonl) XX(csv) XX(tsv)
#define DECLARE(name)             extern const struct data_format data_format_##name;
DATA_EACH_TEXT_FORMAT(DECLARE)
#undef DECLARE

/** Begin the next document of all files; *found false: there are no more. */
enum wsc_err data_docs_next(struct data_docs *d, bool *found) WSC_CHECKED;
enum wsc_err data_docs_read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                            bool *ended) WSC_CHECKED;
/** The position of the next document: a file and an offset in its stream. */
struct data_place {
    int64_t file, offset;
};
struct data_place data_docs_place(const struct data_docs *d);
/** Move to a position that data_docs_place() returned before for the same inputs. */
enum wsc_err data_docs_go(struct data_docs *d, const struct data_place *place) WSC_CHECKED;
/** Bytes on disk that were read. */
int64_t data_docs_done(const struct data_docs *d);
void data_docs_close(struct data_docs *d);
#endif
