// SPDX-License-Identifier: Apache-2.0
/* Reading a whole configuration file into memory: wsc_file_read() with the error codes of a
 * configuration.  Called on rank 0 for params and machine files. */
#include <wsc/conf.h>

#include <wsc/file.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 16 << 20 }; /* the largest file that is accepted */

enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes)
{
    *bytes = NULL;
    *n_bytes = 0;
    if (access(path, R_OK))
        return WSC_RAISE(WSC_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat info;
    if (!stat(path, &info) && S_ISDIR(info.st_mode))
        return WSC_RAISE(WSC_CONFIG, "%s: is a folder, a file was expected", path);
    enum wsc_err rc = wsc_file_read(WSC_MEM_CONF, path, MAX_BYTES, bytes, n_bytes);
    if (rc == WSC_FORMAT)
        return WSC_RAISE(WSC_CONFIG, "%s: larger than %d MiB, which no configuration is", path,
                         MAX_BYTES >> 20);
    return rc;
}
