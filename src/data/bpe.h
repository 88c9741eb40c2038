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
/** Free the object and set the pointer to NULL, which it may be before. */
void data_bpe_destroy(struct data_bpe **bpe);
/** Add token @p id with the bytes @p bytes, which no other token may have. */
enum wsc_err data_bpe_add_token(struct data_bpe *b, const unsigned char *bytes, int64_t n,
                                int32_t id) WSC_CHECKED;
/** Add the next merge: the pair of tokens and its result. *known: the pair had a merge before. */
enum wsc_err data_bpe_add_merge(struct data_bpe *b, int32_t left, int32_t right, int32_t id,
                                bool *known) WSC_CHECKED;
/** Id of a token, or -1. */
int32_t data_bpe_find(const struct data_bpe *b, const unsigned char *bytes, int64_t n);
/** Largest id plus 1. Bytes of an id (n = 0 and NULL for an unused one). */
int32_t data_bpe_vocab_size(const struct data_bpe *b);
const unsigned char *data_bpe_token(const struct data_bpe *b, int32_t id, int64_t *n);
/** Call after all tokens are added: an error unless every byte has a token. */
enum wsc_err data_bpe_finish(struct data_bpe *b, const char *path) WSC_CHECKED;
/** Store at most n ids of the complete words of @p text; *used: their bytes. */
enum wsc_err data_bpe_encode(struct data_bpe *b, const struct data_text *text, int32_t *ids,
                             int64_t *n_ids, int64_t *used) WSC_CHECKED;

/* bpe_load.c */

/** Read vocab.json and merges.txt. */
enum wsc_err data_bpe_load(struct data_bpe **out, const char *vocab_path,
                           const char *merges_path) WSC_CHECKED;
#endif
