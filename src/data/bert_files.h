/** Files of samples as the Model Zoo's data loaders of BERT read them, inside `data`: one file at a
 *  time, HDF5 or CSV by the loader.  bert_dataset.c fills them. */
#ifndef WSC_DATA_BERT_FILES_H
#define WSC_DATA_BERT_FILES_H
#include "wordpiece.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** A sample; arrays of T, of which the first n are tokens and the others padding. */
struct data_bert_row {
    int32_t *ids, *types;
    int32_t *spans, *positions; /**< of packed texts: tokens of the text after and before each */
    int32_t *labels, *mask;     /**< of masked tokens, at their places */
    int64_t n;
    bool random;             /**< the second text is none that follows the first */
    int64_t first, last;     /**< places of the answer */
    int64_t example, window; /**< of a question: its number, that of its sample */
    bool impossible;         /**< the text has no answer */
};
/** A loader. */
struct data_bert_loader {
    const char *name;
    const char *ending;   /**< of its files, with the dot */
    const char *features; /**< JSON, the list of what a sample has */
    const char *packed;   /**< those of packed texts; NULL: it has none */
    bool masks, may_pair; /**< masks are in the files; samples may be pairs of sentences */
    bool answers;
};
/** NULL: there is no such loader. */
const struct data_bert_loader *data_bert_loader_find(const char *name);

/** What a file will hold. */
struct data_bert_shape {
    const struct data_bert_loader *loader;
    const struct data_wordpiece *words; /**< borrowed */
    int64_t n, T, most;                 /**< samples, tokens, masked tokens */
    bool pairs, packed;
};
struct data_bert_file;
/** Begin `<path>.tmp`.  *@p out is NULL after an error. */
enum wsc_err data_bert_file_create(struct data_bert_file **out, const char *path,
                                   const struct data_bert_shape *shape) WSC_CHECKED;
enum wsc_err data_bert_file_put(struct data_bert_file *f,
                                const struct data_bert_row *row) WSC_CHECKED;
/** Sync and rename; the file is closed whatever happens. */
enum wsc_err data_bert_file_finish(struct data_bert_file **f) WSC_CHECKED;
/** Close and remove; NULL inside allowed. */
void data_bert_file_discard(struct data_bert_file **f);
#endif
