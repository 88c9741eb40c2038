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
    /** of packed texts: tokens of the text after and before each token */
    int32_t *spans, *positions;
    int32_t *labels, *mask; /**< of masked tokens, at their positions */
    int64_t n;
    bool random;             /**< the second text does not follow the first one */
    int64_t first, last;     /**< positions of the first and last token of the answer */
    int64_t example, window; /**< of a question: its number, and the number of its sample */
    bool impossible;         /**< the text has no answer */
};
/** A loader. */
struct data_bert_loader {
    const char *name;
    const char *ending;   /**< of its files, with the dot */
    const char *features; /**< JSON, the list of what a sample has */
    const char *packed;   /**< features of packed texts; NULL: the loader has none */
    bool masks, may_pair; /**< masks are in the files; samples may be pairs of sentences */
    bool answers;
};
/** NULL: there is no such loader. */
const struct data_bert_loader *data_bert_loader_find(const char *name);

/** The contents of a file that is being written. */
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
/** Sync and rename the file. It is closed also after an error. */
enum wsc_err data_bert_file_finish(struct data_bert_file **f) WSC_CHECKED;
/** Close and remove the file; *@p f may be NULL. */
void data_bert_file_discard(struct data_bert_file **f);
#endif
