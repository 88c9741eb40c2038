/** Folders and small files that the making of a dataset writes: beside the place, synced, renamed,
 *  and never over what is not ours. */
#ifndef WSC_DATA_DATASET_FOLDER_H
#define WSC_DATA_DATASET_FOLDER_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Refuse a folder @p dir that holds anything not made by us; a missing or empty one is fine. */
enum wsc_err data_folder_check(const char *dir) WSC_CHECKED;
/** Make @p dir with its parents.  Of what an earlier run left in it the finished files stay when
 *  @p keep says so. */
enum wsc_err data_folder_begin(const char *dir, bool keep) WSC_CHECKED;
/** Put @p tmp in the place of @p dir, which passed data_folder_check(). */
enum wsc_err data_folder_finish(const char *tmp, const char *dir) WSC_CHECKED;
/** The bytes of `<dir>/<name>`, at most @p most, owned by the caller; *@p text is NULL when there
 * is no such file, which is no error. */
enum wsc_err data_file_read(const char *dir, const char *name, int64_t most, char **text,
                            size_t *n) WSC_CHECKED;
/** Write `<dir>/<name>` by @p put: beside, synced, renamed. */
enum wsc_err data_file_write(const char *dir, const char *name,
                             void (*put)(FILE *f, const void *what), const void *what) WSC_CHECKED;
/** Remove a folder of ours with its files; nothing happens to one that is not. */
void data_folder_remove(const char *dir);
/** The text by which our data_params.json is known again. */
#define DATA_CREATED_BY "\"created_by\": \"wsc data\""
#endif
