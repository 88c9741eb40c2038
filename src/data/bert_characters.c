// SPDX-License-Identifier: Apache-2.0
/* Classes and spellings of characters for BERT's tokenizer (tokenization.py of its release), by
 * binary search in the tables of bert_points.h, which are made from Python's unicodedata; Korean
 * syllables are decomposed by the formula of the Unicode standard, 3.12. */
#include "bert_characters.h"
#include "bert_points.h"
#include "utf8.h"

#include <string.h>

#define N_OF(table) ((int64_t)(sizeof(table) / sizeof *(table)))

/* Index of the last row whose first column is at most @p c; -1: none. Rows have @p bytes bytes. */
static int64_t row_before(int32_t c, const void *table, size_t bytes, int64_t n)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        int32_t first;
        memcpy(&first, (const char *)table + (size_t)middle * bytes, sizeof first);
        if (first <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

static bool within(int32_t c, const int32_t (*range)[2], int64_t n)
{
    const int64_t i = row_before(c, range, sizeof *range, n);
    return i >= 0 && c <= range[i][1];
}

bool data_bert_is_space(int32_t c)
{
    static const int32_t spaces[][2] = {
        {'\t', '\n'},     {'\r', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
        {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
    return within(c, spaces, N_OF(spaces));
}

bool data_bert_is_alone(int32_t c)
{
    static const int32_t chinese[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
                                         {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
                                         {0x2A700, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    return within(c, punctuation, N_OF(punctuation)) || within(c, chinese, N_OF(chinese));
}

bool data_bert_is_dropped(int32_t c, bool lowered)
{
    return within(c, controls, N_OF(controls)) || (lowered && within(c, marks, N_OF(marks)));
}

/* Tables of what becomes of letters. */
struct spellings {
    const int32_t (*runs)[4], (*pairs)[2], (*lists)[5];
    int64_t n_runs, n_pairs, n_lists;
};

static int spell(const struct spellings *s, int32_t c, int32_t out[DATA_BERT_MOST_LETTERS])
{
    int64_t i = row_before(c, s->runs, sizeof *s->runs, s->n_runs);
    int n = 0;
    out[0] = c;
    if (i >= 0 && c <= s->runs[i][1] && (c - s->runs[i][0]) % s->runs[i][2] == 0) {
        out[0] = s->runs[i][3] + (c - s->runs[i][0]);
        return 1;
    }
    i = row_before(c, s->pairs, sizeof *s->pairs, s->n_pairs);
    if (i >= 0 && s->pairs[i][0] == c) {
        out[0] = s->pairs[i][1];
        return 1;
    }
    i = row_before(c, s->lists, sizeof *s->lists, s->n_lists);
    if (i < 0 || s->lists[i][0] != c) return 1;
    for (n = 0; n < DATA_BERT_MOST_LETTERS && s->lists[i][n + 1]; n++)
        out[n] = s->lists[i][n + 1];
    return n;
}

int data_bert_plain(int32_t c, int32_t out[DATA_BERT_MOST_LETTERS])
{
    static const struct spellings plain = {.runs = plain_runs,
                                           .pairs = plain_pairs,
                                           .lists = plain_lists,
                                           .n_runs = N_OF(plain_runs),
                                           .n_pairs = N_OF(plain_pairs),
                                           .n_lists = N_OF(plain_lists)};
    enum { FIRST = 0xAC00, LAST = 0xD7A3, VOWELS = 21, FINALS = 28 };
    if (c < FIRST || c > LAST) return spell(&plain, c, out);
    const int32_t syllable = c - FIRST, final = syllable % FINALS;
    out[0] = 0x1100 + syllable / (VOWELS * FINALS);
    out[1] = 0x1161 + syllable / FINALS % VOWELS;
    out[2] = 0x11A7 + final;
    return final ? 3 : 2;
}

static int small_letters(int32_t c, int32_t out[DATA_BERT_MOST_LETTERS])
{
    static const struct spellings small = {.runs = small_runs,
                                           .pairs = small_pairs,
                                           .lists = small_lists,
                                           .n_runs = N_OF(small_runs),
                                           .n_pairs = N_OF(small_pairs),
                                           .n_lists = N_OF(small_lists)};
    return spell(&small, c, out);
}

/* The bytes of one character in lower case; those of a byte that is not UTF-8 are that byte. */
static int lower_one(const unsigned char *text, int length, unsigned char out[16])
{
    int32_t letter[DATA_BERT_MOST_LETTERS];
    int used = 0;
    if (length <= 0) {
        out[0] = *text;
        return 1;
    }
    const int n = small_letters(data_utf8_point(text, length), letter);
    for (int i = 0; i < n; i++)
        used += data_utf8_put(letter[i], out + used);
    return used;
}

int64_t data_bert_lower(const char *text, int64_t n, char *out, int64_t room)
{
    int64_t used = 0;
    for (int64_t at = 0; at < n;) {
        const unsigned char *from = (const unsigned char *)text + at;
        unsigned char bytes[4 * DATA_BERT_MOST_LETTERS];
        const int length = data_utf8_length(from, n - at), more = lower_one(from, length, bytes);
        if (used + more > room) return used;
        memcpy(out + used, bytes, (size_t)more);
        used += more;
        at += length > 0 ? length : 1;
    }
    return used;
}
