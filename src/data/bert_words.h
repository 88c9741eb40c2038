/** Words and sentences of a text by the rules of BERT, before WordPiece divides the words.
 *  wordpiece.c, tokenizer.c and wordpiece_train.c call. */
#ifndef WSC_DATA_BERT_WORDS_H
#define WSC_DATA_BERT_WORDS_H
#include <stdbool.h>
#include <stdint.h>

/** Characters of the longest word that is not [UNK]; bytes for a word with one character more. */
enum { DATA_BERT_LONGEST_WORD = 100, DATA_BERT_WORD_BYTES = 4 * (DATA_BERT_LONGEST_WORD + 1) };
/** Copy the next word of the text from *@p at on to @p word (DATA_BERT_WORD_BYTES), in lower case
 *  and without accents if @p lowered. Returns its bytes, 0 after the last word. */
int64_t data_bert_word(bool lowered, const char *text, int64_t n, int64_t *at, char *word);
/** True for a word with more characters than WordPiece accepts. */
bool data_bert_too_long(const char *word, int64_t n);
/** Bytes of the text that end with a complete word: the text after the last white space may
 *  continue. 0: no word is complete. */
int64_t data_bert_whole(const unsigned char *text, int64_t n);
/** What ends after a sentence: nothing but the text, the sentence, or also the document. */
enum data_bert_end { DATA_BERT_OPEN, DATA_BERT_SENTENCE, DATA_BERT_DOCUMENT };
/** Bytes of the first sentence with the white space after it. */
int64_t data_bert_sentence(const unsigned char *text, int64_t n, enum data_bert_end *end);
#endif
