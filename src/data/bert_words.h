/** Words and sentences of a text as BERT cuts them, before WordPiece cuts the words: wordpiece.c,
 *  tokenizer.c and wordpiece_train.c ask. */
#ifndef WSC_DATA_BERT_WORDS_H
#define WSC_DATA_BERT_WORDS_H
#include <stdbool.h>
#include <stdint.h>

/** Room for a word; characters of the longest one that is not [UNK]. */
enum { DATA_BERT_WORD_BYTES = 400, DATA_BERT_LONGEST_WORD = 100 };
/** The next word of the text from *@p at on, in lower case and without accents with @p lowered,
 * into
 *  @p word (DATA_BERT_WORD_BYTES); its bytes, 0 after the last one. */
int64_t data_bert_word(bool lowered, const char *text, int64_t n, int64_t *at, char *word);
/** True for a word of more characters than WordPiece cuts. */
bool data_bert_too_long(const char *word, int64_t n);
/** Bytes of the text up to where something begins after the last white space: what follows may
 *  continue.  0: nothing is whole. */
int64_t data_bert_whole(const unsigned char *text, int64_t n);
/** What ends after a sentence: nothing (the text does), the sentence, the document with it. */
enum data_bert_end { DATA_BERT_OPEN, DATA_BERT_SENTENCE, DATA_BERT_DOCUMENT };
/** Bytes of the first sentence with the white space after it. */
int64_t data_bert_sentence(const unsigned char *text, int64_t n, enum data_bert_end *end);
#endif
