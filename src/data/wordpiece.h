/** WordPiece (Schuster and Nakajima 2012; Devlin et al. 2019): a vocabulary, one token a line, and
 *  text cut into words and the longest pieces that the vocabulary has. */
#ifndef WSC_DATA_WORDPIECE_H
#define WSC_DATA_WORDPIECE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

struct data_wordpiece;
/** Read the vocabulary at @p path, a vocab.txt or a tokenizer.json of the WordPiece kind. With @p
 *  lower its tokens are converted to lower case, like the texts. Every vocabulary has [UNK], [CLS],
 *  [SEP], [PAD] and [MASK]. Errors name the file; *@p out is NULL then. */
enum wsc_err data_wordpiece_open(struct data_wordpiece **out, const char *path,
                                 bool lower) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_wordpiece_close(struct data_wordpiece **wordpiece);
/** Tokens of the vocabulary. */
int64_t data_wordpiece_n(const struct data_wordpiece *w);
/** Ids of the special tokens. */
struct data_special {
    int32_t unk, cls, sep, pad, mask;
};
struct data_special data_wordpiece_special(const struct data_wordpiece *w);
/** Id of the token of @p n bytes; -1 if there is none. */
int32_t data_wordpiece_find(const struct data_wordpiece *w, const char *bytes, int64_t n);
/** The text of token @p id, which is in the vocabulary; borrowed. */
const char *data_wordpiece_text(const struct data_wordpiece *w, int32_t id);
/** Id of the token of @p n bytes; that of [UNK] if there is none. */
int32_t data_wordpiece_id(const struct data_wordpiece *w, const char *bytes, int64_t n);
/** True for a piece that continues a word. */
bool data_wordpiece_continues(const struct data_wordpiece *w, int32_t id);
/** Store at most @p room ids of a text of @p n bytes in @p ids; *@p n_ids: their number. Bytes that
 *  are not UTF-8 are left out. */
void data_wordpiece_encode(const struct data_wordpiece *w, const char *text, int64_t n,
                           int32_t *ids, int64_t room, int64_t *n_ids);
#endif
