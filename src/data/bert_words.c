// SPDX-License-Identifier: Apache-2.0
/* Divides a text into words and sentences for WordPiece, by the rules of BERT (tokenization.py of
 * its release): at white space, punctuation and Chinese characters; in lower case without accents
 * where the vocabulary is. A sentence ends at a full stop, an exclamation
 * or question mark before white space, a document at a line without text. wordpiece.c calls. */
#include "bert_words.h"
#include "bert_characters.h"
#include "utf8.h"

#include <stddef.h>
#include <string.h>

/* The character at @p text, with its length in *length; -1 for a byte that is not one. */
static int32_t character(const char *text, int64_t n, int *length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const int found = data_utf8_length(bytes, n);
    *length = found > 0 ? found : found < 0 ? -found : 1;
    return found > 0 ? data_utf8_point(bytes, found) : -1;
}

/* The letters of a character in a word, how many; 0: it is no part of one. */
static int letters_of(int32_t c, bool lowered, int32_t letter[DATA_BERT_MOST_LETTERS])
{
    if (c < 0 || data_bert_is_space(c) || data_bert_is_dropped(c, lowered)) return 0;
    letter[0] = c;
    return lowered ? data_bert_plain(c, letter) : 1;
}

int64_t data_bert_word(bool lowered, const char *text, int64_t n, int64_t *at, char *word)
{
    int64_t used = 0;
    while (*at < n) {
        int length;
        int32_t letter[DATA_BERT_MOST_LETTERS];
        const int32_t c = character(text + *at, n - *at, &length);
        const int n_letters = letters_of(c, lowered, letter);
        const bool alone = n_letters && (data_bert_is_alone(c) || data_bert_is_alone(letter[0]));
        if (used && (alone || (c >= 0 && data_bert_is_space(c)))) return used;
        *at += length;
        for (int i = 0; i < n_letters && used + 4 <= DATA_BERT_WORD_BYTES; i++)
            used += data_utf8_put(letter[i], (unsigned char *)word + used);
        if (alone) return used;
    }
    return used;
}

bool data_bert_too_long(const char *word, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += ((unsigned char)word[i] & 0xC0) != 0x80;
    return count > DATA_BERT_LONGEST_WORD;
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* True for white space of one byte, which separates lines and words of ordinary texts. */
static bool separates(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int64_t data_bert_whole(const unsigned char *text, int64_t n)
{
    while (n > 1 && !(separates(text[n - 2]) && !separates(text[n - 1])))
        n--;
    return n > 1 ? n - 1 : 0;
}

/* True when a sentence ends before byte @p at. Quotes and brackets may follow its mark. */
static bool ends_before(const unsigned char *text, int64_t at)
{
    while (at > 0 && text[at - 1] && strchr("\"')]", text[at - 1]))
        at--;
    return at > 0 && text[at - 1] && strchr(".!?", text[at - 1]);
}

int64_t data_bert_sentence(const unsigned char *text, int64_t n, enum data_bert_end *end)
{
    for (int64_t at = 0, after; at < n; at = after) {
        int lines = 0;
        for (after = at; after < n && separates(text[after]); after++)
            lines += text[after] == '\n';
        *end = lines > 1 ? DATA_BERT_DOCUMENT : DATA_BERT_SENTENCE;
        if (lines > 1 || (after > at && ends_before(text, at))) return after;
        if (after == at) after++;
    }
    *end = DATA_BERT_OPEN;
    return n;
}
