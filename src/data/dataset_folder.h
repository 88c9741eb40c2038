/** Folders and small files of a dataset. They are written under a temporary name, synced and
 *  renamed, and never replace files of other programs. */
#ifndef WSC_DATA_DATASET_FOLDER_H
#define WSC_DATA_DATASET_FOLDER_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Refuse a folder @p dir with files that this program has not made; a missing or empty folder is
 *  accepted. */
enum wsc_err data_folder_check(const char *dir) WSC_CHECKED;
/** Create @p dir with its parents. If @p keep, the complete files of an earlier run are kept. */
enum wsc_err data_folder_begin(const char *dir, bool keep) WSC_CHECKED;
/** Rename @p tmp to @p dir, which passed data_folder_check(). */
enum wsc_err data_folder_finish(const char *tmp, const char *dir) WSC_CHECKED;
/** The bytes of `<dir>/<name>`, at most @p most, owned by the caller; *@p text is NULL when there
 * is no such file, which is no error. */
enum wsc_err data_file_read(const char *dir, const char *name, int64_t most, char **text,
                            size_t *n) WSC_CHECKED;
/** Write `<dir>/<name>` by @p put, under a temporary name; then sync and rename it. */
enum wsc_err data_file_write(const char *dir, const char *name,
                             void (*put)(FILE *f, const void *what), const void *what) WSC_CHECKED;
/** Remove a folder that this program has made, with its files; does nothing for another folder. */
void data_folder_remove(const char *dir);
/** The text that identifies a data_params.json of this program. */
#define DATA_CREATED_BY "\"created_by\": \"wsc data\""
#endif
