/** Tensors of safetensors files: types, headers, values.  safetensors_shards.h opens a model of one
 *  file or several. */
#ifndef WSC_CONVERT_SAFETENSORS_H
#define WSC_CONVERT_SAFETENSORS_H
#include <wsc/convert.h>
#include <wsc/err.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <stdint.h>

/** More dimensions than any weight has; a file with more is refused. */
enum { CONVERT_MAX_DIMS = 8 };
/** Name in the format: "BF16". */
const char *convert_dtype_name(enum convert_dtype dtype);
/** Size of a value in bytes. */
int64_t convert_dtype_bytes(enum convert_dtype dtype);

/** A tensor of a safetensors file, row-major. */
struct convert_tensor {
    const char *name; /**< owned by the files it belongs to */
    enum convert_dtype dtype;
    int n_dims;
    int64_t shape[CONVERT_MAX_DIMS];
    int64_t n;     /**< elements */
    int64_t bytes; /**< of its data */
    int file;      /**< which of the files */
    int64_t at;    /**< of its first byte in that file */
};

/** The format of products (num.h) that @p dtype is. */
enum num_format convert_dtype_format(enum convert_dtype dtype);

/** A safetensors file that is open. */
struct convert_file {
    char *path; /**< owned */
    int fd;
    int64_t bytes;
};
/** One file, or all shards of a model. */
struct convert_files {
    struct convert_file *file; /**< owned */
    int n_files, file_room;
    struct convert_tensor *tensor; /**< owned, sorted by name; names owned */
    int n_tensors, room;
};
/** NULL allowed. */
void convert_files_close(struct convert_files **files);
/** Read rows [row, row + rows) and columns [column, column + columns) of @p t seen as a matrix of
 *  shape[0] rows (a vector: one column) as fp32 into @p out (rows, columns), row-major. */
enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out) WSC_CHECKED;
/** Open file @p path as the next of @p files and add its tensors, unsorted. */
enum wsc_err convert_file_add(struct convert_files *files, const char *path) WSC_CHECKED;
#endif
