// SPDX-License-Identifier: Apache-2.0
/* Reading a whole configuration file into memory.  The size is bounded while reading, not asked for
 * before, so that pipes and files that grow are safe too.  Called on rank 0 for params and machine
 * files. */
#include <wsc/conf.h>

#include <wsc/mem.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The largest file that is accepted, 16 MiB, and bytes that are read at a time. */
enum { MAX_BYTES = 16 << 20, STEP_BYTES = 1 << 16 };

/* Read to the end; *bytes is grown as needed and is the caller's to free, also after an error. */
static enum wsc_err read_all(FILE *f, const char *path, char **bytes, size_t *n_bytes)
{
    size_t n = 0, capacity = 0;
    do {
        if (n + STEP_BYTES >= capacity) {
            capacity = 2 * capacity + 2 * (size_t)STEP_BYTES;
            char *longer = wsc_realloc(WSC_MEM_CONF, *bytes, capacity, 1);
            if (!longer) return WSC_NOMEM;
            *bytes = longer;
        }
        n += fread(*bytes + n, 1, STEP_BYTES, f);
        if (ferror(f)) return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (n > MAX_BYTES)
            return WSC_RAISE(WSC_CONFIG, "%s: larger than %d MiB, which no configuration is", path,
                             MAX_BYTES >> 20);
    } while (!feof(f));
    (*bytes)[n] = '\0';
    *n_bytes = n;
    return WSC_OK;
}

enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes)
{
    *bytes = NULL;
    *n_bytes = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return WSC_RAISE(WSC_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = read_all(f, path, bytes, n_bytes);
    (void)fclose(f);
    if (rc) {
        wsc_free(*bytes);
        *bytes = NULL;
    }
    return rc;
}
