/** Files: reads whole files, and writes files that appear complete or not at all.
 *
 *  A file is written under a temporary name, synced and renamed, then the folder is synced. A crash
 *  leaves the older file or the new one, never a part (Pillai et al., OSDI 2014). Paths are those
 *  of the operating system, of any length. Nothing here is collective: one process of a job writes
 *  a file.
 *
 *  Start reading at wsc_file_publish(). <wsc/out.h> writes results with it, <wsc/store.h> HDF5
 *  files.
 *
 *      TRY(wsc_file_mkdir_above(path));
 *      TRY(wsc_file_replace(path, text, strlen(text))); */
#ifndef WSC_FILE_H
#define WSC_FILE_H
#include <wsc/err.h>
#include <wsc/mem.h>

#include <stddef.h>
#include <stdint.h>

/** Read all of @p path, which may be a pipe, at most @p most bytes.  *@p bytes is owned by the
 *  caller (wsc_free()), counted under @p tag, and has a NUL after its *@p n bytes, so that a text
 *  can be used as a string; NULL, and *@p n 0 or more, on failure.  WSC_IO when the file cannot be
 *  opened or read, WSC_FORMAT when it is longer than @p most, WSC_NOMEM. */
enum wsc_err wsc_file_read(enum wsc_mem_tag tag, const char *path, int64_t most, char **bytes,
                           size_t *n) WSC_CHECKED;
/** Make the folder @p path and those above it, with the rights that the umask leaves; one that is
 *  there is no error.  WSC_IO names the folder that could not be made, or that exists and is none.
 */
enum wsc_err wsc_file_mkdir(const char *path) WSC_CHECKED;
/** Make the folders above @p path, not @p path itself; a path without a slash needs none.  Errors
 *  as those of wsc_file_mkdir(). */
enum wsc_err wsc_file_mkdir_above(const char *path) WSC_CHECKED;
/** Sync the closed file @p tmp, rename it to @p path, sync the folder.  Both are on one file
 *  system.  An older file @p path is replaced at once; readers that have it open keep it.  WSC_IO
 *  when @p path is neither a regular file nor a symbolic link (a device such as /dev/null is
 *  refused, since a rename would replace it), or when the disk is full; @p tmp stays on failure,
 *  the caller removes it. */
enum wsc_err wsc_file_publish(const char *tmp, const char *path) WSC_CHECKED;
/** A new file beside the one that it will replace. */
struct wsc_beside {
    char *tmp; /**< `<path>.<pid>.tmp`, owned; NULL: none was begun */
    int lock;  /**< holds a lock on that file until its end, or that of the process */
};
/** Create the empty file `<path>.<pid>.tmp`, whose folder exists, and remove such files of @p path
 *  that no process has locked: processes that were killed left them.  WSC_IO names @p path,
 *  WSC_NOMEM; @p b has nothing to end then. */
enum wsc_err wsc_beside_begin(struct wsc_beside *b, const char *path) WSC_CHECKED;
/** Publish the file, which nobody writes any more, as @p path, or remove it when @p rc is a failure
 *  or publishing fails.  @return the failure; WSC_OK when nothing was begun and @p rc is WSC_OK. */
enum wsc_err wsc_beside_end(struct wsc_beside *b, const char *path, enum wsc_err rc) WSC_CHECKED;
/** Remove the file; nothing when none was begun. */
void wsc_beside_drop(struct wsc_beside *b);
/** Write @p n bytes to `<path>.<pid>.tmp` and publish that as @p path, see wsc_beside_begin(); the
 *  folder exists.  On failure (WSC_IO, WSC_NOMEM) nothing is left beside it and an older file is
 *  untouched. */
enum wsc_err wsc_file_replace(const char *path, const void *bytes, size_t n) WSC_CHECKED;
/** Write a copy of the file @p from, of any size, as wsc_file_replace() writes its bytes.  WSC_IO
 *  names the file that cannot be read or written. */
enum wsc_err wsc_file_copy(const char *from, const char *path) WSC_CHECKED;
#endif
