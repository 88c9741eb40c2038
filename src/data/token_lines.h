/** Text files of tokens: a vocabulary with one token per line, and lines of tokens separated by
 *  spaces, as the Model Zoo's dynamic loaders of T5 and the Transformer read them. */
#ifndef WSC_DATA_TOKEN_LINES_H
#define WSC_DATA_TOKEN_LINES_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** A vocabulary: the number of a token is that of its line. */
struct data_vocabulary {
    struct data_words *words; /**< owned */
    bool lower;
    int32_t unk, sos, eos, pad; /**< <unk>, <s>, </s>, <pad>, which every vocabulary has */
};
/** Read the vocabulary at @p path, with @p lower in lower case.  Errors name the file. */
enum wsc_err data_vocabulary_open(struct data_vocabulary *v, const char *path,
                                  bool lower) WSC_CHECKED;
void data_vocabulary_close(struct data_vocabulary *v);
/** Number of tokens of the vocabulary. */
int64_t data_vocabulary_n(const struct data_vocabulary *v);

/** A file in memory with the offsets of its lines. */
struct data_lines {
    char *bytes;    /**< owned */
    int64_t *start; /**< owned, n + 1: offset of each line, and the end of the file */
    int64_t n, room;
};
/** Read the file at @p path. */
enum wsc_err data_lines_open(struct data_lines *l, const char *path) WSC_CHECKED;
void data_lines_close(struct data_lines *l);
/** Number of tokens of line @p i. */
int64_t data_lines_count(const struct data_lines *l, int64_t i);
/** Store the ids of tokens [first, first + n) of line @p i, as far as there are any. Returns their
 *  number. */
int64_t data_lines_ids(const struct data_lines *l, const struct data_vocabulary *v, int64_t i,
                       int64_t first, int64_t n, int32_t *ids);
#endif
