/** What the files of `data` share: characters, output folders, the description of a dataset.
 * Readers of documents share documents.h, the byte-pair encoding bpe.h. */
#ifndef WSC_DATA_IMPL_H
#define WSC_DATA_IMPL_H
#include <wsc/data.h>

#include <stdbool.h>
#include <stdio.h>

/* utf8.c */

/** Bytes of the character at @p text (n >= 1); 0: it is cut by the end; -k: the first k bytes are
 *  not one (the longest part of one, or a byte that begins none). */
int data_utf8_length(const unsigned char *text, int64_t n);
/** Its code point, given its length. */
int32_t data_utf8_point(const unsigned char *text, int length);
/** Write a character, return its length, at most 4. */
int data_utf8_put(int32_t point, unsigned char *out);

/* permute.c */

/** Element @p i of the permutation of [0, n) that belongs to (seed, epoch): O(1) memory and time,
 *  by a Feistel network with cycle walking. */
int64_t data_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch);

/* tokenizer.c */

/** "byte" or "bpe". */
const char *data_tokenizer_kind(const struct data_tokenizer *t);
/** Largest id and 1. */
int64_t data_tokenizer_vocab_size(const struct data_tokenizer *t);
/** Changes with the files of the tokenizer. */
uint64_t data_tokenizer_identity(const struct data_tokenizer *t);

/* dataset_folder.c */

/** Refuse a folder @p dir that holds anything not made by us; a missing or empty one is fine. */
enum wsc_err data_folder_check(const char *dir) WSC_CHECKED;
/** Make @p dir with its parents.  Of what an earlier run left in it the finished files stay when
 *  @p keep says so. */
enum wsc_err data_folder_begin(const char *dir, bool keep) WSC_CHECKED;
/** Put @p tmp in the place of @p dir, which passed data_folder_check(). */
enum wsc_err data_folder_finish(const char *tmp, const char *dir) WSC_CHECKED;
/** The bytes of `<dir>/<name>`, at most @p most, owned by the caller; *@p text is NULL when there
 * is no such file, which is no error. */
enum wsc_err data_file_read(const char *dir, const char *name, int64_t most, char **text,
                            size_t *n) WSC_CHECKED;
/** Write `<dir>/<name>` by @p put: beside, synced, renamed. */
enum wsc_err data_file_write(const char *dir, const char *name,
                             void (*put)(FILE *f, const void *what), const void *what) WSC_CHECKED;
/** Remove a folder of ours with its files; nothing happens to one that is not. */
void data_folder_remove(const char *dir);

/* dataset_params.c */

/** A JSON string with its quotes. */
void data_params_string(FILE *f, const char *text);

/** Counts of one part, for its data_params.json. */
struct data_part {
    int64_t first, n_samples;   /**< in the order of samples */
    int64_t n_tokens, n_masked; /**< positions; those with mask 0 */
    int64_t n_bytes, n_chars;   /**< of its text; characters of UTF-8 */
    int64_t *label_count;       /**< by id; owned by make_dataset.c */
};
/** Entropy of label_count, nats. */
double data_part_entropy(const struct data_part *part, int64_t vocab_size);
/** Write `<dir>/data_params.json` in the Model Zoo's keys. */
enum wsc_err data_params_write(const char *dir, const struct data_make *make,
                               const struct data_made *made,
                               const struct data_part *part) WSC_CHECKED;
/** The text by which our data_params.json is known again. */
#define DATA_CREATED_BY "\"created_by\": \"wsc data\""
#endif
