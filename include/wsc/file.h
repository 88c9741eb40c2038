/** Files that are read whole, and files that appear whole.  Layer 0.
 *
 *  What is written gets its final name when all of it is on disk: written beside, synced, renamed,
 *  the folder synced.  A crash leaves the older file or the new one, never a part.
 *  Start reading at wsc_file_publish().
 */
#ifndef WSC_FILE_H
#define WSC_FILE_H
#include <wsc/err.h>
#include <wsc/mem.h>

#include <stddef.h>
#include <stdint.h>

/** Read all of @p path, which may be a pipe, at most @p most bytes.  *@p bytes is owned by the
 *  caller, counted under @p tag, and has a NUL after its *@p n bytes; NULL on failure.  WSC_IO when
 *  the file cannot be opened or read, WSC_FORMAT when it is longer. */
enum wsc_err wsc_file_read(enum wsc_mem_tag tag, const char *path, int64_t most, char **bytes,
                           size_t *n) WSC_CHECKED;
/** Make the folder @p path and those above it; one that is there is no error. */
enum wsc_err wsc_file_mkdir(const char *path) WSC_CHECKED;
/** Make the folders above @p path. */
enum wsc_err wsc_file_mkdir_above(const char *path) WSC_CHECKED;
/** Sync the closed file @p tmp, rename it to @p path, sync the folder.  @p tmp stays on failure. */
enum wsc_err wsc_file_publish(const char *tmp, const char *path) WSC_CHECKED;
/** Write @p n bytes to `<path>.<pid>.tmp` and publish that as @p path; nothing is left beside it
 *  on failure. */
enum wsc_err wsc_file_replace(const char *path, const void *bytes, size_t n) WSC_CHECKED;
#endif
