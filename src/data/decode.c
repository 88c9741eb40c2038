// SPDX-License-Identifier: Apache-2.0
/* Converts token ids to text, for `wsc run --mode generate`; ids of the byte tokenizer are bytes. A
 * model may generate any bytes, so control characters, which could be commands of the terminal, and
 * malformed UTF-8, which it cannot show, become '?'. */
#include "utf8.h"

#include <wsc/data.h>

#include <string.h>

/* True for tab, newline, and all characters except C0, DEL and C1. */
static bool is_shown(int32_t point)
{
    return point == '\t' || point == '\n' || (point >= 0x20 && point < 0x7F) || point >= 0xA0;
}

/* Copy the leading ids that are bytes, at most @p room. */
static int64_t take_bytes(const int32_t *ids, int64_t n, unsigned char *bytes, int64_t room)
{
    int64_t k = 0;
    for (; k < n && k < room && ids[k] >= 0 && ids[k] < 256; k++)
        bytes[k] = (unsigned char)ids[k];
    return k;
}

void data_decode_bytes(const int32_t *ids, int64_t n, char *text)
{
    unsigned char bytes[4];
    for (int64_t i = 0; i < n;) {
        int64_t k = take_bytes(ids + i, n - i, bytes, 4);
        int length = k ? data_utf8_length(bytes, k) : 0;
        if (length > 0 && is_shown(data_utf8_point(bytes, length))) {
            memcpy(text + i, bytes, (size_t)length);
            i += length;
        } else {
            text[i++] = '?';
        }
    }
    text[n] = '\0';
}
