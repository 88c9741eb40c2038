/** The entries of a zip file whose data are stored as they are: zip_directory.c, for
 * torch_weights.c.
 */
#ifndef WSC_CONVERT_ZIP_DIRECTORY_H
#define WSC_CONVERT_ZIP_DIRECTORY_H
#include "weight_files.h"

#include <wsc/err.h>

#include <stdint.h>

/** An entry: its data are bytes [at, at + bytes) of the file, which has them. */
struct convert_zip_entry {
    const char *name; /**< in the directory's text */
    int64_t at, bytes;
    uint32_t sum; /**< CRC-32 of the data */
};
/** The entries of a file, sorted by name. */
struct convert_zip {
    char *text;                      /**< owned: the names */
    struct convert_zip_entry *entry; /**< owned */
    int n_entries;
};
/** Read the central directory (with zip64) of @p f.  Errors, each with what is wrong: no directory,
 *  several disks, encrypted or compressed entries, data outside of the file, a local header with
 *  another name, two entries of one name. */
enum wsc_err convert_zip_read(struct convert_zip *zip, const struct convert_file *f) WSC_CHECKED;
/** Entry @p name, or NULL. */
const struct convert_zip_entry *convert_zip_find(const struct convert_zip *zip, const char *name);
/** The data of an entry of at most CONVERT_MAX_TEXT_BYTES, owned by the caller, its checksum
 *  verified. */
enum wsc_err convert_zip_load(const struct convert_file *f, const struct convert_zip_entry *entry,
                              uint8_t **bytes) WSC_CHECKED;
void convert_zip_fini(struct convert_zip *zip);
#endif
