/** JSON files, small files and paths, with limits, because the folders may come from other users.
 *  */
#ifndef WSC_CONVERT_JSON_FILE_H
#define WSC_CONVERT_JSON_FILE_H
#include <wsc/err.h>

#include <jansson.h>
#include <stddef.h>

enum {
    CONVERT_NAME_BYTES = 192,
    CONVERT_PATH_BYTES = 4096,
    CONVERT_MAX_TEXT_BYTES = 16 << 20, /**< of a JSON file or header */
    CONVERT_BLOCK_ELEMS = 1 << 22      /**< values in memory at a time */
};
/** Parse @p n bytes of @p path: an object, or an error with line and column.  The caller owns
 *  *@p out (json_decref). */
enum wsc_err convert_json_parse(json_t **out, const char *path, const char *bytes,
                                size_t n) WSC_CHECKED;
/** Read and parse a file of at most CONVERT_MAX_TEXT_BYTES. */
enum wsc_err convert_json_read(json_t **out, const char *path) WSC_CHECKED;
/** `<dir>/<name>`, or an error when that is too long. */
enum wsc_err convert_path(char path[CONVERT_PATH_BYTES], const char *dir,
                          const char *name) WSC_CHECKED;
/** The bytes of a file of at most CONVERT_MAX_TEXT_BYTES, owned by the caller. */
enum wsc_err convert_json_bytes(const char *path, char **bytes, size_t *n) WSC_CHECKED;
#endif
