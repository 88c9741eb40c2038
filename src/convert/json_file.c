// SPDX-License-Identifier: Apache-2.0
/* Reads JSON files with a limit on their size, and errors with line and column; makes paths of the
 * files of a folder. */
#include "json_file.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <sys/stat.h>

/* Duplicate keys are an error: which of them counts is not defined. */
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

enum wsc_err convert_path(char path[CONVERT_PATH_BYTES], const char *dir, const char *name)
{
    if (snprintf(path, CONVERT_PATH_BYTES, "%s/%s", dir, name) < CONVERT_PATH_BYTES) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s: the path is too long", dir);
}

enum wsc_err convert_json_bytes(const char *path, char **bytes, size_t *n)
{
    struct stat info;
    *bytes = NULL;
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) /* opening a pipe would wait */
        return WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    return wsc_file_read(WSC_MEM_CONVERT, path, CONVERT_MAX_TEXT_BYTES, bytes, n);
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
