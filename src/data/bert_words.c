// SPDX-License-Identifier: Apache-2.0
/* Divides a text into words and sentences for WordPiece, by the rules of BERT (tokenization.py of
 * its release): at white space, punctuation and Chinese characters. Lower case and the removal of
 * accents cover Latin, Greek and Cyrillic letters. A sentence ends at a full stop, an exclamation
 * or question mark before white space, a document at a line without text. wordpiece.c calls. */
#include "bert_words.h"
#include "utf8.h"

#include <stddef.h>
#include <string.h>

/* Letters of Latin-1 (from U+00C0) and of Latin Extended-A (from U+0100) without their accents;
 * '.': the letter has no accent. */
static const char latin[] = "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
                            "AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl."
                            "...NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz.";

static int32_t without_accent(int32_t c)
{
    static const int32_t pairs[][2] = {
        {0x401, 0x435}, {0x451, 0x435}, {0x419, 0x438}, {0x439, 0x438}, {0x386, 0x3B1},
        {0x388, 0x3B5}, {0x389, 0x3B7}, {0x38A, 0x3B9}, {0x38C, 0x3BF}, {0x38E, 0x3C5},
        {0x38F, 0x3C9}, {0x3AC, 0x3B1}, {0x3AD, 0x3B5}, {0x3AE, 0x3B7}, {0x3AF, 0x3B9},
        {0x3CC, 0x3BF}, {0x3CD, 0x3C5}, {0x3CE, 0x3C9}};
    if (c >= 0xC0 && c < 0x180) return latin[c - 0xC0] == '.' ? c : latin[c - 0xC0];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == c) return pairs[i][1];
    return c;
}

static int32_t lower(int32_t c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7)) return c + 32;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) return c | 1;
    if (c >= 0x139 && c <= 0x148) return c + (c & 1);
    if (c >= 0x391 && c <= 0x3A9) return c + 32;
    if (c >= 0x410 && c <= 0x42F) return c + 32;
    return c >= 0x400 && c <= 0x40F ? c + 80 : c;
}

static bool within(int32_t c, const int32_t (*range)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= range[i][0] && c <= range[i][1]) return true;
    return false;
}

/* True for Unicode category Zs and for control characters that separate words. */
static bool is_space(int32_t c)
{
    static const int32_t spaces[][2] = {
        {'\t', '\n'},     {'\r', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
        {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
    return within(c, spaces, sizeof spaces / sizeof *spaces);
}

/* True for characters that are separate words: punctuation and Chinese characters. */
static bool stands_alone(int32_t c)
{
    static const int32_t alone[][2] = {
        {'!', '/'},         {':', '@'},       {'[', '`'},         {'{', '~'},
        {0xA1, 0xA1},       {0xA7, 0xA7},     {0xAB, 0xAB},       {0xB6, 0xB7},
        {0xBB, 0xBB},       {0xBF, 0xBF},     {0x2010, 0x2027},   {0x2030, 0x205E},
        {0x3001, 0x3003},   {0x3008, 0x3011}, {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
        {0xF900, 0xFAFF},   {0xFF01, 0xFF0F}, {0x20000, 0x2A6DF}, {0x2A700, 0x2CEAF},
        {0x2F800, 0x2FA1F},
    };
    return within(c, alone, sizeof alone / sizeof *alone);
}

/* True for control characters, combining marks, and the replacement character. */
static bool is_dropped(int32_t c, bool lowered)
{
    static const int32_t dropped[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},
                                         {0x200B, 0x200F}, {0x202A, 0x202E}, {0xFEFF, 0xFEFF},
                                         {0xFFFD, 0xFFFD}};
    if (lowered && c >= 0x300 && c <= 0x36F) return true;
    return within(c, dropped, sizeof dropped / sizeof *dropped);
}

/* The character at @p text, with its length in *length; -1 for a byte that is not one. */
static int32_t character(const char *text, int64_t n, int *length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const int found = data_utf8_length(bytes, n);
    *length = found > 0 ? found : found < 0 ? -found : 1;
    return found > 0 ? data_utf8_point(bytes, found) : -1;
}

int64_t data_bert_word(bool lowered, const char *text, int64_t n, int64_t *at, char *word)
{
    int64_t used = 0;
    while (*at < n) {
        int length;
        int32_t c = character(text + *at, n - *at, &length);
        const bool space = c >= 0 && is_space(c), alone = c >= 0 && stands_alone(c);
        if (used && (space || alone)) return used;
        *at += length;
        if (c < 0 || space || is_dropped(c, lowered)) continue;
        if (lowered) c = lower(without_accent(c));
        if (used + 4 <= DATA_BERT_WORD_BYTES)
            used += data_utf8_put(c, (unsigned char *)word + used);
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
