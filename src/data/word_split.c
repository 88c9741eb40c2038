// SPDX-License-Identifier: Apache-2.0
/* Text into words, as the pattern of GPT-2's tokenizer does (Radford et al. 2019, encoder.py):
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The alternatives begin with different characters, so one look at the next character or two
 * decides which of them matches, and no engine for patterns is needed. */
#include "word_split.h"
#include "unicode_classes.h"
#include "utf8.h"

#include <wsc/data.h>
#include <wsc/mem.h>

#include <string.h>

enum { N_POINTS = 0x110000 };

/* \s of the pattern: the property White_Space (Unicode 14, PropList.txt). */
static const int32_t spaces[][2] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

/* Give the class @p which to all code points of the ranges. */
static void mark(unsigned char *class, const int32_t (*range)[2], size_t n, enum data_class which)
{
    for (size_t i = 0; i < n; i++)
        for (int32_t point = range[i][0]; point <= range[i][1]; point++)
            class[point] = (unsigned char)which;
}

enum wsc_err data_classes_create(unsigned char **out)
{
    *out = wsc_alloc(WSC_MEM_DATA, N_POINTS, 1);
    if (!*out) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "classes of characters");
    mark(*out, letters, sizeof letters / sizeof *letters, DATA_LETTER);
    mark(*out, numbers, sizeof numbers / sizeof *numbers, DATA_NUMBER);
    mark(*out, spaces, sizeof spaces / sizeof *spaces, DATA_SPACE);
    return WSC_OK;
}

int data_space_length(const char *text)
{
    const int64_t n = (int64_t)strnlen(text, 4);
    const int length = n ? data_utf8_length((const unsigned char *)text, n) : 0;
    if (length <= 0) return 0;
    const int32_t point = data_utf8_point((const unsigned char *)text, length);
    bool space = point >= 0x1C && point <= 0x1F;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        space = space || (point >= spaces[i][0] && point <= spaces[i][1]);
    return space ? length : 0;
}

/* A piece of text that is divided into words. */
struct piece {
    const unsigned char *class, *text;
    int64_t n;
    bool end; /* the text ends with it */
};

/* Find the class of the character at @p at, and return its length; 0: the piece ends in it or
 * before it. A byte that is not part of a character has class OTHER. */
static int look(const struct piece *p, int64_t at, enum data_class *class)
{
    if (at == p->n) return 0;
    if (p->text[at] < 0x80) {
        *class = p->class[p->text[at]];
        return 1;
    }
    int length = data_utf8_length(p->text + at, p->n - at);
    if (length == 0 && !p->end) return 0;
    *class = length > 0 ? p->class[data_utf8_point(p->text + at, length)] : DATA_OTHER;
    return length > 0 ? length : 1;
}

/* End of the run of characters of @p class that continues at @p at; 0: the text is too short to
 * find it. */
static int64_t run_end(const struct piece *p, int64_t at, enum data_class class)
{
    enum data_class here = class;
    int n;
    while ((n = look(p, at, &here)) && here == class)
        at += n;
    return n || p->end ? at : 0;
}

/* The length of 's, 't, 're, 've, 'm, 'll or 'd; -1: the text is too short to find it. */
static int contraction(const struct piece *p)
{
    static const char two[] = "stmd", pairs[][3] = {"re", "ve", "ll"};
    if (p->n < 2) return p->end ? 0 : -1;
    if (p->text[1] && strchr(two, p->text[1])) return 2;
    for (int i = 0; i < 3; i++) {
        if (p->text[1] != (unsigned char)pairs[i][0]) continue;
        if (p->n < 3) return p->end ? 0 : -1;
        if (p->text[2] == (unsigned char)pairs[i][1]) return 3;
    }
    return 0;
}

/* End of white space that does not begin a word: all of it at the end of the text, else all but its
 * last character, which may begin the next word, but at least one. */
static int64_t space_end(const struct piece *p)
{
    enum data_class class = DATA_SPACE;
    int64_t at = 0, last = 0;
    for (int n; (n = look(p, at, &class)) && class == DATA_SPACE; at += n)
        last = at;
    if (at == p->n || class == DATA_SPACE) return p->end ? at : 0;
    return last ? last : at;
}

int64_t data_split_word(const unsigned char *class, const unsigned char *text, int64_t n, bool end)
{
    const struct piece p = {class, text, n, end};
    enum data_class first = DATA_OTHER, lead = DATA_OTHER;
    int64_t at = look(&p, 0, &first);
    if (!at) return 0;
    if (text[0] == '\'') {
        int length = contraction(&p);
        if (length) return length < 0 ? 0 : length;
    }
    lead = first;
    if (text[0] == ' ') {
        int next = look(&p, 1, &lead);
        if (!next) return end ? 1 : 0;
        if (lead != DATA_SPACE) at = 1 + next;
    }
    if (lead == DATA_SPACE) return space_end(&p);
    return run_end(&p, at, lead);
}
