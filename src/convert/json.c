// SPDX-License-Identifier: Apache-2.0
#include "convert_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum wsc_err convert_json_parse(json_t **out, const char *path, const char *bytes, size_t n)
{
    json_error_t e;
    *out = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &e);
    if (!*out) return WSC_RAISE(WSC_FORMAT, "%s:%d:%d: %s", path, e.line, e.column, e.text);
    if (json_is_object(*out)) return WSC_OK;
    json_decref(*out);
    *out = NULL;
    return WSC_RAISE(WSC_FORMAT, "%s:1:1: expected a JSON object", path);
}

static enum wsc_err read_bytes(const char *path, FILE *file, char **bytes, size_t *n)
{
    struct stat info;
    if (fstat(fileno(file), &info) || !S_ISREG(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    if (info.st_size > CONVERT_MAX_TEXT_BYTES)
        return WSC_RAISE(WSC_FORMAT, "%s: has %lld bytes, at most %d are read", path,
                         (long long)info.st_size, CONVERT_MAX_TEXT_BYTES);
    *n = (size_t)info.st_size;
    TRY_NEW(*bytes, WSC_MEM_CONVERT, *n + 1);
    if (fread(*bytes, 1, *n, file) == *n) return WSC_OK;
    wsc_free(*bytes);
    *bytes = NULL;
    return WSC_RAISE(WSC_IO, "%s: cannot be read", path);
}

enum wsc_err convert_json_bytes(const char *path, char **bytes, size_t *n)
{
    *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = read_bytes(path, file, bytes, n);
    (void)fclose(file);
    return rc;
}

enum wsc_err convert_json_read(json_t **out, const char *path)
{
    char *bytes = NULL;
    size_t n = 0;
    *out = NULL;
    TRY(convert_json_bytes(path, &bytes, &n));
    enum wsc_err rc = convert_json_parse(out, path, bytes, n);
    wsc_free(bytes);
    return rc;
}
