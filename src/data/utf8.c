// SPDX-License-Identifier: Apache-2.0
/* UTF-8 (RFC 3629): finds the length of a character, and writes one. Overlong forms, surrogates and
 * values above U+10FFFF are malformed; the length of a malformed part follows the practice of
 * replacing maximal subparts (Unicode 14, section 3.9). */
#include "utf8.h"

#include <stddef.h>

/* RFC 3629, section 4: lead bytes of well-formed sequences and the range of the byte after each. */
static const struct lead {
    unsigned char from, to, length, next_lo, next_hi;
} leads[] = {
    {0x00, 0x7F, 1, 0, 0},       {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

/* The row of a lead byte; NULL for one that begins no character. */
static const struct lead *find_lead(unsigned char byte)
{
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++)
        if (byte >= leads[k].from && byte <= leads[k].to) return &leads[k];
    return NULL;
}

int data_utf8_length(const unsigned char *text, int64_t n)
{
    const struct lead *lead = find_lead(text[0]);
    if (!lead) return -1;
    if (lead->length == 1) return 1;
    if (n < 2) return 0;
    if (text[1] < lead->next_lo || text[1] > lead->next_hi) return -1;
    for (int i = 2; i < lead->length; i++) {
        if (i >= n) return 0;
        if ((text[i] & 0xC0) != 0x80) return -i;
    }
    return lead->length;
}

int32_t data_utf8_point(const unsigned char *text, int length)
{
    static const unsigned char lead_bits[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    int32_t point = text[0] & lead_bits[length];
    for (int i = 1; i < length; i++)
        point = point << 6 | (text[i] & 0x3F);
    return point;
}

int data_utf8_put(int32_t point, unsigned char *out)
{
    if (point < 0x80) {
        out[0] = (unsigned char)point;
        return 1;
    }
    int length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, point >>= 6)
        out[i] = (unsigned char)(0x80 | (point & 0x3F));
    out[0] = (unsigned char)((0xF00 >> length & 0xFF) | point);
    return length;
}
