// SPDX-License-Identifier: Apache-2.0
/* Reads the bytes of a file: plain, gzip (RFC 1952) or zstd (RFC 8878), by the magic number at its
 * start. Compressed data may have several consecutive members or frames. zlib's own file functions
 * ignore data after a gzip member that are not another member; here they are an error, because they
 * may be the rest of the text, except for zeros, with which tapes fill their last block.
 * text_stream.c checks the result as UTF-8. */
#include "unpack.h"

#include <wsc/mem.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 1 << 17, GZIP_WINDOW = 15 + 16 /* with gzip's header, without zlib's */ };

enum kind { PLAIN, GZIP, ZSTD };

struct data_unpack {
    const char *path; /* borrowed */
    FILE *file;
    enum kind kind;
    unsigned char *in; /* owned, bytes [at, n) are not used yet */
    size_t at, n;
    int64_t n_read;  /* bytes of the file so far */
    bool within;     /* inside a member or frame */
    bool packed;     /* at least one member or frame has ended */
    z_stream gz;     /* GZIP */
    ZSTD_DCtx *zstd; /* ZSTD, owned */
};

/* ---- the file -------------------------------------------------------------------------------- */

static enum wsc_err cannot_read(const struct data_unpack *u, const char *why)
{
    return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", u->path, why);
}

/* Read bytes into the buffer, unless the file has ended. */
static enum wsc_err refill(struct data_unpack *u)
{
    if (u->at < u->n) return WSC_OK;
    errno = 0;
    u->at = 0;
    u->n = fread(u->in, 1, IN_BYTES, u->file);
    if (ferror(u->file)) return cannot_read(u, strerror(errno));
    u->n_read += (int64_t)u->n;
    return WSC_OK;
}

static bool starts_with(const struct data_unpack *u, const char *magic, size_t n)
{
    return u->n - u->at >= n && !memcmp(u->in + u->at, magic, n);
}

/* The kind by the magic number at the start of the file. */
static enum wsc_err prepare(struct data_unpack *u)
{
    errno = 0;
    u->file = fopen(u->path, "rb");
    if (!u->file)
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", u->path,
                         strerror(errno ? errno : ENOMEM));
    TRY_NEW(u->in, WSC_MEM_DATA, IN_BYTES);
    TRY(refill(u));
    if (starts_with(u, "\x1F\x8B", 2)) {
        if (inflateInit2(&u->gz, GZIP_WINDOW) != Z_OK) return cannot_read(u, "no memory for zlib");
        u->kind = GZIP;
    } else if (starts_with(u, "\x28\xB5\x2F\xFD", 4)) {
        u->zstd = ZSTD_createDCtx();
        if (!u->zstd) return cannot_read(u, "no memory for zstd");
        u->kind = ZSTD;
    }
    return WSC_OK;
}

enum wsc_err data_unpack_open(struct data_unpack **out, const char *path)
{
    struct data_unpack *u = NULL;
    *out = NULL;
    TRY_NEW(u, WSC_MEM_DATA, 1);
    u->path = path;
    enum wsc_err rc = prepare(u);
    if (rc) data_unpack_close(&u);
    *out = u;
    return rc;
}

void data_unpack_close(struct data_unpack **unpack)
{
    struct data_unpack *u = *unpack;
    if (!u) return;
    if (u->file) (void)fclose(u->file); /* errors are ignored: the file was only read */
    if (u->kind == GZIP) (void)inflateEnd(&u->gz);
    (void)ZSTD_freeDCtx(u->zstd);
    wsc_free(u->in);
    wsc_free(u);
    *unpack = NULL;
}

int64_t data_unpack_used(const struct data_unpack *u)
{
    return u->n_read - (int64_t)(u->n - u->at);
}

/* ---- the three kinds ------------------------------------------------------------------------- */

static void read_plain(struct data_unpack *u, unsigned char *out, int64_t room, int64_t *n)
{
    const size_t left = u->n - u->at, most = (size_t)room;
    const size_t k = left < most ? left : most;
    memcpy(out, u->in + u->at, k);
    u->at += k;
    *n = (int64_t)k;
}

/* After a member: begin another one, or accept zeros up to the end; anything else is an error. */
static enum wsc_err next_member(struct data_unpack *u)
{
    if (starts_with(u, "\x1F", 1)) {
        if (inflateReset(&u->gz) != Z_OK) return cannot_read(u, "zlib cannot begin again");
        return WSC_OK;
    }
    while (u->at < u->n) {
        if (u->in[u->at])
            return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                          "%s: something follows the compressed data, from byte "
                                          "%lld on",
                                          u->path, (long long)data_unpack_used(u)),
                                "what follows is neither gzip nor read: cut it off, or compress it "
                                "too");
        u->at++;
        TRY(refill(u));
    }
    return WSC_OK;
}

/* inflate() processes what input and output allow; a member may end in the middle of the buffer. */
static enum wsc_err expand_gzip(struct data_unpack *u, unsigned char *out, int64_t room, int64_t *n)
{
    u->gz.next_in = u->in + u->at;
    u->gz.avail_in = (uInt)(u->n - u->at);
    u->gz.next_out = out;
    u->gz.avail_out = (uInt)room;
    const int code = inflate(&u->gz, Z_NO_FLUSH);
    u->at = u->n - u->gz.avail_in;
    *n = room - (int64_t)u->gz.avail_out;
    u->within = code != Z_STREAM_END;
    u->packed |= code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return WSC_OK;
    return cannot_read(u, u->gz.msg ? u->gz.msg : zError(code));
}

/* Frames follow each other without a call; a result of 0 means that a frame has ended. */
static enum wsc_err expand_zstd(struct data_unpack *u, unsigned char *out, int64_t room, int64_t *n)
{
    ZSTD_outBuffer to = {out, (size_t)room, 0};
    ZSTD_inBuffer from = {u->in, u->n, u->at};
    const size_t left = ZSTD_decompressStream(u->zstd, &to, &from);
    if (ZSTD_isError(left)) return cannot_read(u, ZSTD_getErrorName(left));
    u->at = from.pos;
    u->within = left != 0;
    *n = (int64_t)to.pos;
    return WSC_OK;
}

static enum wsc_err expand(struct data_unpack *u, unsigned char *out, int64_t room, int64_t *n)
{
    if (u->kind == GZIP) return expand_gzip(u, out, room, n);
    if (u->kind == ZSTD) return expand_zstd(u, out, room, n);
    read_plain(u, out, room, n);
    return WSC_OK;
}

/* A file that ends within a member or frame is an error, not a short text. */
enum wsc_err data_unpack_read(struct data_unpack *u, unsigned char *out, int64_t room, int64_t *n)
{
    for (*n = 0; !*n;) {
        TRY(refill(u));
        if (u->packed && !u->within) TRY(next_member(u));
        const bool ended = u->at == u->n;
        if (ended && !u->within) break;
        /* at the end of the file: the data that the library still has */
        TRY(expand(u, out, room, n));
        if (ended && u->within && !*n) return cannot_read(u, "unexpected end of file");
    }
    return WSC_OK;
}
