// SPDX-License-Identifier: Apache-2.0
#include <wsc/data.h>

#include <stddef.h>

/* RFC 3629, section 4: the lead bytes of well-formed sequences and the range of the byte after
 * each.  0xC2 begins at 0xA0 instead of 0x80 to leave out the C1 control characters. */
static const struct lead {
    int32_t from, to;
    int length;
    int32_t next_lo, next_hi;
} leads[] = {
    {'\t', '\n', 1, 0, 0},       {0x20, 0x7E, 1, 0, 0},       {0xC2, 0xC2, 2, 0xA0, 0xBF},
    {0xC3, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

static const struct lead *find_lead(int32_t id)
{
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++)
        if (id >= leads[k].from && id <= leads[k].to) return &leads[k];
    return NULL;
}

/* Bytes of the character that begins at ids[0], or 0 when there is none. */
static int character_length(const int32_t *ids, int64_t n)
{
    const struct lead *lead = find_lead(ids[0]);
    if (!lead || n < lead->length) return 0;
    if (lead->length > 1 && (ids[1] < lead->next_lo || ids[1] > lead->next_hi)) return 0;
    for (int i = 2; i < lead->length; i++)
        if (ids[i] < 0x80 || ids[i] > 0xBF) return 0;
    return lead->length;
}

void data_decode_bytes(const int32_t *ids, int64_t n, char *text)
{
    for (int64_t i = 0; i < n;) {
        int length = character_length(ids + i, n - i);
        if (!length) text[i++] = '?';
        for (int64_t end = i + length; length && i < end; i++)
            text[i] = (char)(unsigned char)ids[i];
    }
    text[n] = '\0';
}
