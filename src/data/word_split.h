/** Ends of words, by the classes of characters, inside `data`. Byte-pair encoding processes one
 *  word at a time, when it learns and when it encodes. */
#ifndef WSC_DATA_WORD_SPLIT_H
#define WSC_DATA_WORD_SPLIT_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Classes of characters that the pattern distinguishes. */
enum data_class { DATA_OTHER, DATA_LETTER, DATA_NUMBER, DATA_SPACE };
/** Table of the class of every code point, 0x110000 bytes, owned by the caller. */
enum wsc_err data_classes_create(unsigned char **class) WSC_CHECKED;
/** Length of the first word of @p text; 0: the text is too short to find its end (never if @p end
 *  says that no text follows and n > 0). Bytes that are not UTF-8 count as characters that are
 *  neither letters nor numbers nor white space. */
int64_t data_split_word(const unsigned char *class, const unsigned char *text, int64_t n, bool end);
#endif
