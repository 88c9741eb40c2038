/** A table of byte strings, inside `data`, numbered in the order of insertion: an open hash table
 *  over the consecutive texts. bpe.c has tokens and words in it. */
#ifndef WSC_DATA_WORD_TABLE_H
#define WSC_DATA_WORD_TABLE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

struct data_words;
enum wsc_err data_words_create(struct data_words **out) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_words_destroy(struct data_words **words);
/** Number of the string, or -1. */
int64_t data_words_find(const struct data_words *w, const unsigned char *text, int64_t n);
/** Number of the string, which is added if it is new; *added may be NULL. */
enum wsc_err data_words_add(struct data_words *w, const unsigned char *text, int64_t n,
                            int64_t *number, bool *added) WSC_CHECKED;
int64_t data_words_count(const struct data_words *w);
/** The string of a number; borrowed until the next addition. */
const unsigned char *data_words_text(const struct data_words *w, int64_t number, int64_t *n);
/** Bytes of memory of the table. */
int64_t data_words_bytes(const struct data_words *w);
/** Remove all strings, and keep the memory. */
void data_words_clear(struct data_words *w);
#endif
