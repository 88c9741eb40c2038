/** Open files with weights and the tensors in them, whatever their format: safetensors.h and
 *  torch_weights.h add the tensors of a file, weight_shards.h opens a model of one file or several.
 */
#ifndef WSC_CONVERT_WEIGHT_FILES_H
#define WSC_CONVERT_WEIGHT_FILES_H
#include <wsc/convert.h>
#include <wsc/err.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <stdint.h>

/** Most dimensions of a tensor; a file with more is refused. */
enum { CONVERT_MAX_DIMS = 8 };
/** Name of the type, as safetensors has it: "BF16". */
const char *convert_dtype_name(enum convert_dtype dtype);
/** Size of a value in bytes. */
int64_t convert_dtype_bytes(enum convert_dtype dtype);
/** The format of products (num.h) that @p dtype is. */
enum num_format convert_dtype_format(enum convert_dtype dtype);

/** A tensor of a file. */
struct convert_tensor {
    const char *name; /**< owned by the files */
    enum convert_dtype dtype;
    const char *type; /**< name of the stored type, as safetensors has it: "I64"; static */
    int n_dims;
    int64_t shape[CONVERT_MAX_DIMS];
    int64_t n;         /**< elements */
    int64_t bytes;     /**< n times the size of one */
    int file;          /**< index of the file */
    int64_t at;        /**< offset of its first byte in the file */
    int64_t stride[2]; /**< in elements, of the matrix (shape[0], rest); {width, 1}: row-major */
};

/** A file with weights that is open. */
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
/** Open @p path as the last of the files, without tensors: a regular file. */
enum wsc_err convert_files_append(struct convert_files *files, const char *path) WSC_CHECKED;
/** Refuse a name with control characters: names are shown in messages and tables, and the
 *  characters would control the terminal. */
enum wsc_err convert_check_name(const struct convert_files *files, const char *name) WSC_CHECKED;
/** Add a tensor of the last file; a copy of @p name becomes its name. */
enum wsc_err convert_files_add(struct convert_files *files, const struct convert_tensor *t,
                               const char *name) WSC_CHECKED;
/** The stride of a row-major tensor. */
void convert_tensor_pack(struct convert_tensor *t);
/** Read @p n bytes from byte @p at on; the file must have them. */
enum wsc_err convert_file_read(const struct convert_file *f, void *out, int64_t n,
                               int64_t at) WSC_CHECKED;
/** Read rows [row, row + rows) and columns [column, column + columns) of @p t seen as a matrix of
 *  shape[0] rows (a vector: one column) as fp32 into @p out (rows, columns), row-major. */
enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void convert_files_close(struct convert_files **files);
#endif
