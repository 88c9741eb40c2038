/** Checkpoints of other programs: Hugging Face folders to `.mdl` files and back.  Layer 3.
 *
 *  A Hugging Face model is a folder with config.json and model.safetensors, or shards of it with
 *  model.safetensors.index.json.  Here a model is a checkpoint with the Model Zoo's tensor names
 *  and a params file.  One table per family (src/convert/hf_families.c) says which tensors and
 * which configuration keys belong together; the same table serves both directions, and a folder
 * that went through both has the same bytes in every tensor.
 *
 *  Files of others are not trusted: every length, offset and shape is checked before memory is
 *  taken.  Values move in blocks, so memory does not grow with a tensor or a model.  What is
 *  written gets its final name when it is complete.  Not collective: one process.
 *  Start reading at struct convert_job.
 */
#ifndef WSC_CONVERT_H
#define WSC_CONVERT_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/store.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- safetensors ----------------------------------------------------------------------------- */

/** Types of the format that hold weights; others are read past. */
enum convert_dtype { CONVERT_F32, CONVERT_F16, CONVERT_BF16, CONVERT_OTHER };
enum { CONVERT_MAX_DIMS = 8 };
/** Name in the format ("BF16") and size in bytes. */
const char *convert_dtype_name(enum convert_dtype dtype);
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

/** One file, or all shards of a model. */
struct convert_files;
/** Open @p path: a .safetensors file, or a folder with model.safetensors or
 *  model.safetensors.index.json.  Errors: a header that is longer than the file or than 16 MiB, is
 *  no JSON, or names a type twice as large as its bytes; data that overlap, leave gaps or end
 *  beyond the file; a shard that is missing or holds other tensors than the index says. */
enum wsc_err convert_files_open(struct convert_files **out, const char *path) WSC_CHECKED;
/** NULL allowed. */
void convert_files_close(struct convert_files **files);
/** Number of tensors, tensor @p i in name order, tensor @p name or NULL. */
int convert_files_n(const struct convert_files *files);
const struct convert_tensor *convert_files_tensor(const struct convert_files *files, int i);
const struct convert_tensor *convert_files_find(const struct convert_files *files,
                                                const char *name);
/** Read rows [row, row + rows) and columns [column, column + columns) of @p t seen as a matrix of
 *  shape[0] rows (a vector: one column) as fp32 into @p out (rows, columns), row-major. */
enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out) WSC_CHECKED;

/* ---- conversion ------------------------------------------------------------------------------ */

/** Tells how far it is, in bytes of the input's values. */
typedef void (*convert_progress_fn)(void *ctx, int64_t done, int64_t total);

/** Both directions.  Strings are borrowed. */
struct convert_job {
    const char *input;          /**< from Hugging Face: the folder; to it: the checkpoint */
    const char *params;         /**< to Hugging Face: the params file */
    const char *family;         /**< to Hugging Face: a name of convert_family_names() */
    const struct conf_set *set; /**< overrides of the params */
    int n_sets;
    const char *out;          /**< folder, made when it is not there */
    enum convert_dtype dtype; /**< to Hugging Face: of the tensors; CONVERT_OTHER: as they were */
    int64_t shard_bytes;      /**< to Hugging Face: largest file */
    bool lenient; /**< leave out what is missing on one side, with a warning, instead of failing */
    convert_progress_fn progress; /**< NULL: none */
    void *progress_ctx;
};
struct convert_result {
    const char *family;
    int64_t n_tensors, n_params, n_files; /**< written */
    int64_t n_left_out; /**< lenient: tensors of the input or the model without a counterpart */
    char checkpoint[4096], params[4096]; /**< written: "" = none */
};
/** Folder to `<out>/model.mdl` and `<out>/params.yaml`.  The family is that of config.json. */
enum wsc_err convert_from_hf(const struct convert_job *job,
                             struct convert_result *result) WSC_CHECKED;
/** Checkpoint and params to `<out>/config.json` and `<out>/model.safetensors`, or shards and their
 *  index when the tensors exceed job->shard_bytes. */
enum wsc_err convert_to_hf(const struct convert_job *job,
                           struct convert_result *result) WSC_CHECKED;
/** Names of all families with commas between, for messages and help. */
const char *convert_family_names(void);
#endif
