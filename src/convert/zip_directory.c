// SPDX-License-Identifier: Apache-2.0
/* The central directory of a zip file (PKWARE, .ZIP File Format Specification 6.3.10, sections
 * 4.3.7 to 4.3.16 and 4.5.3): the end record is found from the file's end, its zip64 form before it
 * where a count or a length is all ones, then one header per entry.  Data are taken as stored;
 * torch.save compresses nothing.  torch_weights.c calls. */
#include "zip_directory.h"
#include "json_file.h"

#include <wsc/mem.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    HEADER_BYTES = 46,
    LOCAL_BYTES = 30,
    MAX_COMMENT = 65535,
    MAX_ENTRY_NAME = 512
};
static const uint32_t end_mark = 0x06054b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50,
                      header_mark = 0x02014b50, local_mark = 0x04034b50;

/* Little-endian numbers of @p n bytes. */
static uint64_t number(const uint8_t *at, int n)
{
    uint64_t x = 0;
    for (int i = n - 1; i >= 0; i--)
        x = x << 8 | at[i];
    return x;
}

static enum wsc_err bad(const struct convert_file *f, const char *what)
{
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: zip directory: %s", f->path, what),
                        "is it a file of torch.save, and is it complete?");
}

/* ---- the end records ------------------------------------------------------------------------- */

/* Position of the directory. */
struct directory {
    uint64_t at, bytes, n;
};

/* The last end record whose comment ends at the end of the file; -1: none. */
static int64_t find_end(const uint8_t *tail, int64_t n)
{
    for (int64_t i = n - END_BYTES; i >= 0; i--)
        if (number(tail + i, 4) == end_mark &&
            i + END_BYTES + (int64_t)number(tail + i + 20, 2) == n)
            return i;
    return -1;
}

/* The zip64 end record, which the locator before the end record at @p end points to. */
static enum wsc_err read_end64(const struct convert_file *f, int64_t end, struct directory *d)
{
    uint8_t locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES + END64_BYTES) return bad(f, "its zip64 record is missing");
    TRY(convert_file_read(f, locator, LOCATOR_BYTES, end - LOCATOR_BYTES));
    const uint64_t at = number(locator + 8, 8);
    if (number(locator, 4) != locator_mark || at > (uint64_t)(end - LOCATOR_BYTES - END64_BYTES))
        return bad(f, "its zip64 record is missing");
    TRY(convert_file_read(f, record, END64_BYTES, (int64_t)at));
    if (number(record, 4) != end64_mark) return bad(f, "its zip64 record is missing");
    if (number(record + 16, 4) || number(record + 20, 4) ||
        number(record + 24, 8) != number(record + 32, 8))
        return bad(f, "it has several disks");
    *d = (struct directory){
        .n = number(record + 32, 8), .bytes = number(record + 40, 8), .at = number(record + 48, 8)};
    return WSC_OK;
}

/* Numbers of the end record that are all ones are in the zip64 record instead. */
static enum wsc_err find_directory(const struct convert_file *f, struct directory *d)
{
    const int64_t n = f->bytes < END_BYTES + MAX_COMMENT ? f->bytes : END_BYTES + MAX_COMMENT;
    uint8_t *tail;
    TRY_NEW(tail, WSC_MEM_CONVERT, n);
    enum wsc_err rc = convert_file_read(f, tail, n, f->bytes - n);
    const int64_t i = rc ? -1 : find_end(tail, n);
    const uint8_t *end = tail + (i < 0 ? 0 : i);
    if (!rc && i < 0) rc = bad(f, "it has no end record");
    if (!rc) {
        *d = (struct directory){
            .n = number(end + 10, 2), .bytes = number(end + 12, 4), .at = number(end + 16, 4)};
        if (d->n == UINT16_MAX || d->bytes == UINT32_MAX || d->at == UINT32_MAX)
            rc = read_end64(f, f->bytes - n + i, d);
        else if (number(end + 4, 2) || number(end + 6, 2) || number(end + 8, 2) != d->n)
            rc = bad(f, "it has several disks");
    }
    wsc_free(tail);
    TRY(rc);
    if (d->bytes > CONVERT_MAX_TEXT_BYTES || d->n > d->bytes / HEADER_BYTES)
        return bad(f, "its length does not fit its number of entries");
    if (d->at > (uint64_t)f->bytes || d->bytes > (uint64_t)f->bytes - d->at)
        return bad(f, "it lies outside of the file");
    return WSC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* A header of the directory and its contents. */
struct header {
    const uint8_t *at;
    uint64_t bytes, packed, local; /* lengths, and offset of the local header */
    uint64_t n_name, n_extra, n_comment;
};

/* The zip64 extra field (0x0001) has, in order, the numbers that are all ones in the header. */
static bool read_extra(struct header *h)
{
    uint64_t *wide[] = {&h->bytes, &h->packed, &h->local};
    const uint8_t *extra = h->at + HEADER_BYTES + h->n_name, *end = extra + h->n_extra;
    int next = 0;
    while (next < 3 && *wide[next] != UINT32_MAX)
        next++;
    while (end - extra >= 4 && (uint64_t)(end - extra - 4) >= number(extra + 2, 2)) {
        const uint64_t n = number(extra + 2, 2);
        for (uint64_t used = 0; number(extra, 2) == 1 && next < 3 && used + 8 <= n; used += 8) {
            *wide[next++] = number(extra + 4 + used, 8);
            while (next < 3 && *wide[next] != UINT32_MAX)
                next++;
        }
        extra += 4 + n;
    }
    return next == 3;
}

/* The data begin after the local header, whose lengths may differ from those of the directory:
 * torch pads with its extra field. */
static enum wsc_err find_data(const struct convert_file *f, const struct header *h,
                              struct convert_zip_entry *e)
{
    uint8_t local[LOCAL_BYTES + MAX_ENTRY_NAME];
    const uint64_t need = LOCAL_BYTES + h->n_name;
    if (h->local > (uint64_t)f->bytes || need > (uint64_t)f->bytes - h->local)
        return bad(f, "an entry lies outside of the file");
    TRY(convert_file_read(f, local, (int64_t)need, (int64_t)h->local));
    if (number(local, 4) != local_mark || number(local + 26, 2) != h->n_name ||
        memcmp(local + LOCAL_BYTES, h->at + HEADER_BYTES, h->n_name) != 0)
        return bad(f, "an entry differs from its header in the file");
    const uint64_t before = h->local + need + number(local + 28, 2);
    if (before > (uint64_t)f->bytes || h->bytes > (uint64_t)f->bytes - before)
        return bad(f, "an entry lies outside of the file");
    e->at = (int64_t)before;
    e->bytes = (int64_t)h->bytes;
    return WSC_OK;
}

/* Read one entry; its name is terminated in place, over the first byte of the next header. */
static enum wsc_err read_entry(const struct convert_file *f, uint8_t *at, uint64_t left,
                               struct convert_zip_entry *e, uint64_t *used)
{
    if (left < HEADER_BYTES || number(at, 4) != header_mark)
        return bad(f, "an entry has no header");
    struct header h = {at,
                       number(at + 24, 4),
                       number(at + 20, 4),
                       number(at + 42, 4),
                       number(at + 28, 2),
                       number(at + 30, 2),
                       number(at + 32, 2)};
    *used = HEADER_BYTES + h.n_name + h.n_extra + h.n_comment;
    if (*used > left || h.n_name > MAX_ENTRY_NAME) return bad(f, "an entry is too long");
    if (number(at + 8, 2) & 1) return bad(f, "an entry is encrypted");
    if (number(at + 10, 2)) return bad(f, "an entry is compressed");
    if (!read_extra(&h) || h.bytes != h.packed) return bad(f, "an entry has no length");
    if (memchr(at + HEADER_BYTES, 0, h.n_name)) return bad(f, "an entry has no name");
    TRY(find_data(f, &h, e));
    e->sum = (uint32_t)number(at + 16, 4);
    /* the name is moved over the header, which has been read */
    memmove(at, at + HEADER_BYTES, h.n_name);
    at[h.n_name] = '\0';
    e->name = (const char *)at;
    return WSC_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct convert_zip_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum wsc_err read_entries(struct convert_zip *zip, const struct convert_file *f,
                                 const struct directory *d)
{
    uint64_t at = 0, used = 0;
    TRY_NEW(zip->text, WSC_MEM_CONVERT, d->bytes + 1);
    TRY_NEW(zip->entry, WSC_MEM_CONVERT, d->n);
    TRY(convert_file_read(f, zip->text, (int64_t)d->bytes, (int64_t)d->at));
    for (uint64_t i = 0; i < d->n; i++, at += used)
        TRY(read_entry(f, (uint8_t *)zip->text + at, d->bytes - at, &zip->entry[i], &used));
    zip->n_entries = (int)d->n;
    if (at != d->bytes) return bad(f, "it has more bytes than entries");
    if (d->n) qsort(zip->entry, (size_t)d->n, sizeof *zip->entry, by_name);
    for (int i = 1; i < zip->n_entries; i++)
        if (!strcmp(zip->entry[i].name, zip->entry[i - 1].name))
            return WSC_RAISE(WSC_FORMAT, "%s: zip directory: two entries have the name %s", f->path,
                             zip->entry[i].name);
    return WSC_OK;
}

enum wsc_err convert_zip_read(struct convert_zip *zip, const struct convert_file *f)
{
    struct directory d = {0};
    *zip = (struct convert_zip){0};
    enum wsc_err rc = find_directory(f, &d);
    if (!rc) rc = read_entries(zip, f, &d);
    if (rc) convert_zip_fini(zip);
    return rc;
}

void convert_zip_fini(struct convert_zip *zip)
{
    wsc_free(zip->text);
    wsc_free(zip->entry);
    *zip = (struct convert_zip){0};
}

const struct convert_zip_entry *convert_zip_find(const struct convert_zip *zip, const char *name)
{
    const struct convert_zip_entry key = {.name = name};
    if (!zip->n_entries) return NULL;
    return bsearch(&key, zip->entry, (size_t)zip->n_entries, sizeof key, by_name);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* CRC-32 of zip (ISO 3309): reflected, begun and ended with all ones. */
static uint32_t crc32(const uint8_t *bytes, int64_t n)
{
    uint32_t sum = UINT32_MAX;
    for (int64_t i = 0; i < n; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320U : 0);
    }
    return ~sum;
}

enum wsc_err convert_zip_load(const struct convert_file *f, const struct convert_zip_entry *entry,
                              uint8_t **bytes)
{
    *bytes = NULL;
    if (entry->bytes > CONVERT_MAX_TEXT_BYTES)
        return WSC_RAISE(WSC_FORMAT, "%s: %s: has %lld bytes, more than %d", f->path, entry->name,
                         (long long)entry->bytes, CONVERT_MAX_TEXT_BYTES);
    TRY_NEW(*bytes, WSC_MEM_CONVERT, entry->bytes + 1);
    enum wsc_err rc = convert_file_read(f, *bytes, entry->bytes, entry->at);
    if (!rc && crc32(*bytes, entry->bytes) != entry->sum)
        rc = WSC_RAISE(WSC_FORMAT, "%s: %s: the checksum differs: the file is damaged", f->path,
                       entry->name);
    if (!rc) return WSC_OK;
    wsc_free(*bytes);
    *bytes = NULL;
    return rc;
}
