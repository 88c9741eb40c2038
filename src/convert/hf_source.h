/** A folder's config.json with its text, so that errors have file, line, column and key, also when
 *  the params made from it are refused. */
#ifndef WSC_CONVERT_HF_SOURCE_H
#define WSC_CONVERT_HF_SOURCE_H
#include <wsc/err.h>

#include <jansson.h>
#include <stdio.h>

struct convert_family;
/** A folder's config.json. */
struct convert_source {
    const char *path; /**< for messages, borrowed */
    char *text;       /**< its bytes, owned, with a NUL after them */
    size_t n;         /**< of the bytes */
    json_t *json;     /**< the object, owned */
};
/** Parse @p n bytes of config.json. Free with convert_source_fini(), also after an error; @p path
 *  is borrowed. */
enum wsc_err convert_source_parse(struct convert_source *s, const char *path, const char *bytes,
                                  size_t n) WSC_CHECKED;
/** Read the file @p path. Free with convert_source_fini(), also after an error. */
enum wsc_err convert_source_read(struct convert_source *s, const char *path) WSC_CHECKED;
void convert_source_fini(struct convert_source *s);
/** The class of the folder, the first of `architectures`; NULL: there is none. */
const char *convert_source_class(const struct convert_source *s);
/** Raise "path:line:column: key: text", with the position of the top-level key @p key if it exists.
 *  */
enum wsc_err convert_source_raise(const struct convert_source *s, enum wsc_err code,
                                  const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Warn with "path:line:column: key: text". */
void convert_source_warn(const struct convert_source *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** Raise the error @p rc of params that were made from @p s and parsed under its path again, with
 *  the keys and positions of config.json. */
enum wsc_err convert_source_blame(const struct convert_source *s,
                                  const struct convert_family *family, enum wsc_err rc);
#endif
