/** Files in HDF5: datasets and checkpoints.  Layer 2.  Owns HDF5.
 *
 *  HDF5's own printer is silenced; its innermost reason becomes part of our one-line error.
 *  Checkpoints are written beside and renamed, so a crash never costs an older one.
 */
#ifndef WSC_STORE_H
#define WSC_STORE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- sample files (Model Zoo GPT HDF5) ------------------------------------------------------- */

struct store_samples;
enum wsc_err store_samples_open(struct store_samples **out, const char *path) WSC_CHECKED;
void store_samples_close(struct store_samples **samples);
/** Number of samples; tokens per sample; rows per sample (3: input_ids, attention_mask, labels). */
int64_t store_samples_n(const struct store_samples *s);
int64_t store_samples_T(const struct store_samples *s);
int store_samples_rows(const struct store_samples *s);
/** Sample @p i as int32 (rows, T). */
enum wsc_err store_samples_read(struct store_samples *s, int64_t i, int32_t *out) WSC_CHECKED;
/** Write @p n samples (n, 3, T) with attribute n_examples, chunk (1, 3, T), gzip level 4. */
enum wsc_err store_samples_write(const char *path, const int32_t *data, int64_t n,
                                 int64_t T) WSC_CHECKED;

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** Who writes or reads together.  One process: NULL, 0, 1. */
struct store_group {
    const void *mpi_comm; /**< MPI_Comm * of the ranks that hold MemoryX shards, borrowed; NULL = alone */
    int rank, size;
};

struct store_file;
/** Create `<path>.tmp`.  Collective over @p group. */
enum wsc_err store_create(struct store_file **out, const char *path,
                          const struct store_group *group) WSC_CHECKED;
/** Open for reading; checks that it is a complete file of a version we know.  Not collective. */
enum wsc_err store_open(struct store_file **out, const char *path) WSC_CHECKED;
/** Mark complete, flush to disk, rename to the final name (group rank 0), sync the folder.
 *  Collective.  The file is closed whatever happens. */
enum wsc_err store_commit(struct store_file **file) WSC_CHECKED;
/** Close without keeping (a file being written is removed); NULL allowed. */
void store_close(struct store_file **file);

/** float32 or double or int64 datasets of rank 1 or 2, named by the dotted key, contiguous.
 *  Collective: every rank of the group defines the same datasets in the same order. */
enum store_type { STORE_F32, STORE_F64, STORE_I64 };
enum wsc_err store_define(struct store_file *f, const char *name, enum store_type type, int n_dims,
                          const int64_t *shape) WSC_CHECKED;
/** Write or read elements [first, first + n) of the flattened dataset.  Independent. */
enum wsc_err store_write(struct store_file *f, const char *name, int64_t first, int64_t n,
                         const void *data) WSC_CHECKED;
enum wsc_err store_read(struct store_file *f, const char *name, int64_t first, int64_t n,
                        void *data) WSC_CHECKED;
/** A second name for the same dataset (tied tensors).  Collective. */
enum wsc_err store_link(struct store_file *f, const char *name, const char *alias) WSC_CHECKED;
/** Text attribute of the root.  Collective when writing; reading gives an owned string. */
enum wsc_err store_set_text(struct store_file *f, const char *name, const char *value) WSC_CHECKED;
enum wsc_err store_get_text(struct store_file *f, const char *name, char **value) WSC_CHECKED;
bool store_has(struct store_file *f, const char *name);
/** Shape of a dataset; fails when it does not exist.  @p shape holds 2. */
enum wsc_err store_shape(struct store_file *f, const char *name, int *n_dims, int64_t *shape) WSC_CHECKED;
/** Visit every root dataset, in name order. */
typedef enum wsc_err (*store_visit_fn)(void *ctx, const char *name, const char *type, int n_dims,
                                       const int64_t *shape);
enum wsc_err store_visit(struct store_file *f, store_visit_fn visit, void *ctx) WSC_CHECKED;
/** Path of the newest `checkpoint_<step>.mdl` in @p dir and its step; *path NULL when none.
 *  Left-over `.tmp` files are ignored.  Owned by the caller. */
enum wsc_err store_newest(const char *dir, char **path, int64_t *step) WSC_CHECKED;
/** Remove left-over `.tmp` files of an earlier crash, and all but the @p keep newest checkpoints
 *  (keep <= 0: all stay). */
enum wsc_err store_prune(const char *dir, int64_t keep) WSC_CHECKED;
#endif
