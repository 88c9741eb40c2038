// SPDX-License-Identifier: Apache-2.0
/* The 256 printable characters by which GPT-2 writes bytes in vocab.json and merges.txt (Radford et
 * al. 2019, encoder.py, bytes_to_unicode): a printable byte of Latin-1 is itself, the k-th of the
 * 68 others is U+0100 + k.  A space is U+0120, a newline U+010A. */
#include "bpe.h"
#include "utf8.h"

#include <string.h>

/* Latin-1 without control characters, spaces and the soft hyphen. */
static bool is_printable(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/* Number of non-printable bytes below @p byte: these bytes are 0 to 0x20, 0x7F to 0xA0, 0xAD. */
static int count_before(int byte)
{
    if (byte <= 0x20) return byte;
    return byte == 0xAD ? 0x21 + 0x22 : byte - 0x7F + 0x21;
}

int32_t data_bpe_char(int byte)
{
    return is_printable(byte) ? byte : 0x100 + count_before(byte);
}

/* The byte of a character, or -1. */
static int byte_of(int32_t point)
{
    static const int n_other = 0x21 + 0x22 + 1;
    if (point < 0x100) return is_printable(point) ? point : -1;
    int k = point - 0x100;
    if (k >= n_other) return -1;
    return k < 0x21 ? k : k < 0x21 + 0x22 ? k - 0x21 + 0x7F : 0xAD;
}

int64_t data_bpe_bytes(const char *text, unsigned char *bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    int64_t left = (int64_t)strlen(text), n = 0;
    while (left) {
        int length = data_utf8_length(at, left);
        int byte = length > 0 ? byte_of(data_utf8_point(at, length)) : -1;
        if (byte < 0) return -1;
        bytes[n++] = (unsigned char)byte;
        at += length;
        left -= length;
    }
    return n;
}

void data_bpe_text(const unsigned char *bytes, int64_t n, char *text)
{
    for (int64_t i = 0; i < n; i++)
        text += data_utf8_put(data_bpe_char(bytes[i]), (unsigned char *)text);
    *text = '\0';
}
