/** Characters by the rules of BERT's tokenizer: which ones separate words, which ones are left out,
 *  and letters in lower case. bert_words.c makes words of them. */
#ifndef WSC_DATA_BERT_CHARACTERS_H
#define WSC_DATA_BERT_CHARACTERS_H
#include <stdbool.h>
#include <stdint.h>

/** Characters that one character becomes, at most. */
enum { DATA_BERT_MOST_LETTERS = 4 };
/** True for Unicode category Zs and for control characters that separate words. */
bool data_bert_is_space(int32_t c);
/** True for a character that is a word of its own: punctuation or a Chinese character. */
bool data_bert_is_alone(int32_t c);
/** True for control characters and the replacement character; if @p lowered also for marks of
 *  category Mn. */
bool data_bert_is_dropped(int32_t c, bool lowered);
/** @p c in lower case, decomposed and without marks; returns the number of characters. */
int data_bert_plain(int32_t c, int32_t out[DATA_BERT_MOST_LETTERS]);
/** Write the text in lower case, as Python's str.lower() has single letters, at most @p room bytes
 * of whole characters; bytes that are not UTF-8 stay as they are. Returns the number of bytes. */
int64_t data_bert_lower(const char *text, int64_t n, char *out, int64_t room);
#endif
