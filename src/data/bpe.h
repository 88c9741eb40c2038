/** Byte-pair encoding over bytes, as GPT-2 does it, inside `data` (Sennrich, Haddow, Birch 2016;
 *  Radford et al. 2019): the alphabet of its files, the encoder, and the reader of the files. */
#ifndef WSC_DATA_BPE_H
#define WSC_DATA_BPE_H
#include "word_split.h"
#include "word_table.h"

#include <wsc/data.h>

/* bpe_alphabet.c */

/** The character by which vocab.json and merges.txt write @p byte: itself where it is printable in
 *  Latin-1, else one of those from U+0100 on. */
int32_t data_bpe_char(int byte);
/** Bytes of a token as written there, into @p bytes (of at least strlen(text)); -1: it has other
 *  characters (a special token). */
int64_t data_bpe_bytes(const char *text, unsigned char *bytes);
/** A token's bytes as written there, into @p text (2 n + 1 bytes). */
void data_bpe_text(const unsigned char *bytes, int64_t n, char *text);

/* bpe.c */

struct data_bpe;
enum wsc_err data_bpe_create(struct data_bpe **out) WSC_CHECKED;
/** NULL allowed. */
void data_bpe_destroy(struct data_bpe **bpe);
/** Token @p id is @p bytes; the bytes are new. */
enum wsc_err data_bpe_add_token(struct data_bpe *b, const unsigned char *bytes, int64_t n,
                                int32_t id) WSC_CHECKED;
/** The next merge: the pair of tokens and what it becomes.  *known: the pair was there before. */
enum wsc_err data_bpe_add_merge(struct data_bpe *b, int32_t left, int32_t right, int32_t id,
                                bool *known) WSC_CHECKED;
/** Id of a token, or -1. */
int32_t data_bpe_find(const struct data_bpe *b, const unsigned char *bytes, int64_t n);
/** Largest id and 1; the bytes of an id (n = 0 and NULL for one that is not used). */
int32_t data_bpe_vocab_size(const struct data_bpe *b);
const unsigned char *data_bpe_token(const struct data_bpe *b, int32_t id, int64_t *n);
/** To be called when all tokens are there: every byte has one. */
enum wsc_err data_bpe_finish(struct data_bpe *b, const char *path) WSC_CHECKED;
/** Ids of the whole words of @p text: at most n, *used bytes. */
enum wsc_err data_bpe_encode(struct data_bpe *b, const struct data_text *text, int32_t *ids,
                             int64_t *n_ids, int64_t *used) WSC_CHECKED;

/* bpe_load.c */

/** Read vocab.json and merges.txt. */
enum wsc_err data_bpe_load(struct data_bpe **out, const char *vocab_path,
                           const char *merges_path) WSC_CHECKED;
#endif
