// SPDX-License-Identifier: Apache-2.0
/* Reads meta.dat, the list of a folder's files: a line has the name of a file and its number of
 * samples; for translations the file of sources, that of targets, and their number. */
#include "meta_files.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <string.h>

enum wsc_err data_word_in(const char *line, int k, char **word)
{
    *word = NULL;
    for (;; k--) {
        line += strspn(line, " \t");
        const size_t n = strcspn(line, " \t\r\n");
        if (!n) return WSC_OK;
        if (!k) break;
        line += n;
    }
    TRY_MEM(*word, wsc_asprintf(WSC_MEM_DATA, "%.*s", (int)strcspn(line, " \t\r\n"), line));
    return WSC_OK;
}

enum wsc_err data_meta_word(const char *dir, int k, int word, char **name)
{
    enum { MOST = 1 << 26 };
    char *path, *bytes = NULL;
    size_t n = 0;
    TRY_MEM(path, wsc_asprintf(WSC_MEM_DATA, "%s/meta.dat", dir));
    enum wsc_err rc = wsc_file_read(WSC_MEM_DATA, path, MOST, &bytes, &n);
    wsc_free(path);
    *name = NULL;
    for (const char *line = bytes; !rc && line && *line && k >= 0;) {
        const size_t length = strcspn(line, "\r\n");
        if (length && k-- == 0) rc = data_word_in(line, word, name);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    wsc_free(bytes);
    return rc;
}

enum wsc_err data_meta_path(const char *dir, const char *name, char **path)
{
    const size_t n = strlen(dir);
    if (*name == '/')
        *path = wsc_strdup(WSC_MEM_DATA, name);
    else
        *path = wsc_asprintf(WSC_MEM_DATA, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
    return *path ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "path of samples");
}
