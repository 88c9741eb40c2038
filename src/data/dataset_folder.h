/** Folders and small files of a dataset. They are written under a temporary name, synced and
 *  renamed, and never replace files of other programs. */
#ifndef WSC_DATA_DATASET_FOLDER_H
#define WSC_DATA_DATASET_FOLDER_H
#include <wsc/data.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Create @p dir, in which files of a part are written, with its parents. The complete files in it
 *  are kept when an interrupted run of request @p identity (data_state_identity()) wrote them, and
 *  removed otherwise. 0: a request that cannot be resumed; the folder is emptied. */
enum wsc_err data_folder_begin(const char *dir, uint64_t identity) WSC_CHECKED;
/** Rename @p tmp to @p dir, the folder of a part that passed data_folder_check_parts(). */
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
/** Names of the folders of the parts in an output folder, in the order of enum data_part_name. */
extern const char *const data_part_folder[DATA_N_PARTS];
/** Refuse an output folder in which the folder of a part has files that this program has not made;
 *  missing and empty folders are accepted. Warn of parts of an earlier dataset that this one, whose
 *  fraction of them is 0, will remove. */
enum wsc_err data_folder_check_parts(const struct data_make *make) WSC_CHECKED;
/** Remove `<out>/<part>` of each part without samples, which passed data_folder_check_parts() and
 *  which an earlier dataset may have left: its texts may be among those of the parts that remain.
 *  Call it when the other parts are complete. */
enum wsc_err data_folder_remove_empty(const char *out,
                                      const int64_t n_samples[DATA_N_PARTS]) WSC_CHECKED;
/** The text that identifies a data_params.json of this program. */
#define DATA_CREATED_BY "\"created_by\": \"wsc data\""
#endif
