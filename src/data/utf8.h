/** Characters of UTF-8 (RFC 3629): lengths, code points, writing.  Readers of text and tokenizers
 *  share it. */
#ifndef WSC_DATA_UTF8_H
#define WSC_DATA_UTF8_H
#include <stdint.h>

/** Bytes of the character at @p text (n >= 1). 0: the text ends inside it. -k: the first k bytes
 *  are not a character (the longest beginning of one, or a byte that begins none). */
int data_utf8_length(const unsigned char *text, int64_t n);
/** The code point of a character with known length. */
int32_t data_utf8_point(const unsigned char *text, int length);
/** Write a character, return its length, at most 4. */
int data_utf8_put(int32_t point, unsigned char *out);
#endif
