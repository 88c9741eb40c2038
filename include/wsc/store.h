/** Files in HDF5: datasets and checkpoints.  Owns HDF5.
 *
 *  HDF5's own printer is silenced; its innermost reason becomes part of our one-line error.  Files
 *  of others are not trusted: links, external storage, filters, types and sizes are checked before
 *  a byte is read, and another process looks at a file first.  Whatever is written goes to
 *  `<path>.tmp` and is synced and renamed, so a crash never costs an older file and a file under
 *  its final name is complete.  HDF5 is not thread-safe: one thread at a time.
 *
 *  Errors: WSC_IO for the operating system, with HDF5's reason; WSC_FORMAT for the content of a
 *  file, with file and dataset; WSC_USAGE for names that cannot be; WSC_MPI; WSC_NOMEM.  Collective
 *  functions are called by every rank of the file's group in the same order, and all succeed or all
 *  fail.
 *
 *      TRY(store_create(&f, "model.mdl", NULL));
 *      TRY(store_define(f, "model.w", STORE_F32, 2, (int64_t[]){4, 8}));
 *      TRY(store_describe(f));
 *      TRY(store_write(f, "model.w", 0, 32, values));
 *      TRY(store_commit(&f));
 *
 *  Start reading at struct store_group for checkpoints, store_samples_open() for datasets. */
#ifndef WSC_STORE_H
#define WSC_STORE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Hidden subcommand with which a program that opens HDF5 files is started to look at them. */
#define STORE_PROBE_COMMAND "probe-hdf5"
/** First call in the main() of every program that opens HDF5 files.  When this process was started
 *  by store_probe() it looks at files until its parent ends, then the result is true: return from
 *  main().  Otherwise it notes that this program's own file can be started so, and the result is
 *  false. */
bool store_probe_served(int argc, char **argv);
/** Start @p program (borrowed) from now on instead of this program's own file. */
void store_probe_with(const char *program);
/** Let another process look at all of HDF5 file @p path but its values.  A file over which HDF5
 *  falls, or takes more than 5 s of processor time or 120 s in all, is WSC_FORMAT here instead of
 * the end of this process; when no process can be started, that is WSC_IO, and without a program to
 *  start WSC_USAGE.  For sample files opened for the first time; store_open() does it itself.  Not
 * collective; one thread at a time. */
enum wsc_err store_probe(const char *path) WSC_CHECKED;

/** The HDF5 library that the program runs with. */
struct store_library {
    char version[32];
    bool parallel;  /**< several ranks can write one file */
    bool deflate;   /**< compressed datasets can be read */
    bool checksums; /**< datasets with checksums of HDF5's own can be read */
};
/** Describe the library; cheap, opens no file. */
void store_library(struct store_library *library);

/* ---- sample files (Model Zoo GPT HDF5) ------------------------------------------------------- */

/** A sample file open for reading: dataset `data` (n, 3, T), or (n, 5, T) for variable-length
 *  sequences packed together, or a *corpus*: rank-1 `data`, where sample i is input tokens [iT, iT
 *  + T) with the labels one further and mask 1.  Any integer type. */
struct store_samples;
/** Open and check a sample file.  @p corpus_T is the sequence length of a corpus file (<= 0:
 *  unknown, such files are refused); other files carry their own.  A missing attribute n_examples
 *  is accepted.  WSC_IO, WSC_FORMAT; *@p out is NULL then.  Not collective. */
enum wsc_err store_samples_open(struct store_samples **out, const char *path,
                                int64_t corpus_T) WSC_CHECKED;
/** Find out whether the sample file at @p path has a dataset @p name.  WSC_IO, WSC_FORMAT. */
enum wsc_err store_samples_have(const char *path, const char *name, bool *have) WSC_CHECKED;
/** Open dataset @p name (static) of shape (n, rows, T), with 1 to 6 rows, or (n, T), one row: files
 *  of masked tokens have `data` and `labels`, those of pairs six features.  Errors as those of
 * store_samples_open(). */
enum wsc_err store_samples_open_dataset(struct store_samples **out, const char *path,
                                        const char *name) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void store_samples_close(struct store_samples **samples);
/** Number of samples of the file. */
int64_t store_samples_n(const struct store_samples *s);
/** Tokens of a sample of the file. */
int64_t store_samples_T(const struct store_samples *s);
/** Rows of a sample: 3 (input_ids, attention_mask, labels), or 5 for packed sequences. */
int store_samples_rows(const struct store_samples *s);
/** Read sample @p i, 0 <= i < n, as int32 (rows, T); values beyond int32 come out as its largest or
 *  smallest. */
enum wsc_err store_samples_read(struct store_samples *s, int64_t i, int32_t *out) WSC_CHECKED;
/** Bytes for the digits of a 64-bit number, its sign and a NUL. */
enum { STORE_DIGITS = 24 };
/** Write value @p at, 0 <= at < rows T, of sample @p i as the file has it, also beyond int32, for a
 *  message.  WSC_IO. */
enum wsc_err store_samples_digits(struct store_samples *s, int64_t i, int64_t at,
                                  char text[STORE_DIGITS]) WSC_CHECKED;

/** A sample file being written: (n, 3, T), chunk (1, 3, T), shuffle, gzip level 4 and checksums,
 *  attribute n_examples.  The same samples give the same bytes. */
struct store_samples_writer;
/** Types of the numbers of a sample file being written. */
enum store_int { STORE_INT32, STORE_UINT16 };
/** What a sample file being written will hold: n samples of T tokens. */
struct store_samples_shape {
    /** Samples, and tokens of each, at least 1. */
    int64_t n, T;
    /** Type in the file. */
    enum store_int type;
    bool vsl;   /**< two rows more: attention_span, position_ids */
    bool pairs; /**< 6 rows: those of a chosen and of a rejected text */
    /** 2 rows of T, ids and mask, and a second dataset `labels` (n, 3, predictions): masked tokens
     *  of an encoder, their places and their weights; 0: none. */
    int64_t predictions;
};
/** Begin `<path>.tmp`; *@p out is NULL after an error.  Not collective. */
enum wsc_err store_samples_create(struct store_samples_writer **out, const char *path,
                                  const struct store_samples_shape *shape) WSC_CHECKED;
/** Write the next @p k samples, (k, rows, T) row-major; values that fit the type. */
enum wsc_err store_samples_append(struct store_samples_writer *w, const int32_t *data,
                                  int64_t k) WSC_CHECKED;
/** Write the labels of the next @p k samples, (k, 3, predictions), of a file that has such. */
enum wsc_err store_samples_append_labels(struct store_samples_writer *w, const int32_t *labels,
                                         int64_t k) WSC_CHECKED;
/** Sync and rename to the final name; fails unless n samples came.  The file is closed, and on
 *  failure removed, whatever happens. */
enum wsc_err store_samples_finish(struct store_samples_writer **w) WSC_CHECKED;
/** Close and remove; NULL allowed. */
void store_samples_discard(struct store_samples_writer **w);
/** Create, append and finish in one call, for @p n samples (n, 3, T) in memory, as STORE_INT32. */
enum wsc_err store_samples_write(const char *path, const int32_t *data, int64_t n,
                                 int64_t T) WSC_CHECKED;

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** A communicator of MPI (MPI_Comm), which parallel HDF5 takes as it is; opaque, since MPI belongs
 *  to comm. */
struct store_communicator;
/** The processes that write a checkpoint together.  One process: all zero but size = 1, or NULL in
 *  its place. */
struct store_group {
    /** Communicator of the ranks that hold MemoryX shards, borrowed as long as the file is open;
     * NULL: alone, without MPI, then the next three are not used. */
    const struct store_communicator *communicator;
    /** The largest *@p x of all processes; collective over the communicator. */
    enum wsc_err (*max)(void *ctx, int64_t *x);
    /** Sums of @p x over all processes, element by element, modulo 2^64; collective over the
     *  communicator. */
    enum wsc_err (*sum)(void *ctx, uint64_t *x, int n);
    void *ctx;      /**< for max and sum, borrowed */
    int rank, size; /**< of this process, of the group */
};

/** A checkpoint open for writing or reading.
 *
 *  Layout: datasets at the root named by the dotted key, contiguous, little-endian; root attributes
 *  `__version__` (0.5, the layout of cstorch 2.4 to 2.10), `__wsc_version__` (ours), `__digest__`
 *  and, last, `__SUCCESS__`.  Every dataset has an attribute `__sum__` over its elements, which
 *  does not depend on who wrote which part; the digest covers all names, shapes and sums.
 *
 *  Files of cstorch 1.7 to 2.10 are read: chunks compressed with LZ4, bfloat16 in 16-bit integers,
 *  quoted names, numbers, second names and tensors of one value that have no dataset of their own.
 *  Python objects in them are passed over, external links are not followed. */
struct store_file;
/** Create `<path>.tmp`, replacing one that a crash left.  Collective over @p group; all ranks
 *  succeed or all fail. */
enum wsc_err store_create(struct store_file **out, const char *path,
                          const struct store_group *group) WSC_CHECKED;
/** Open for reading.  A file that says it is ours or cstorch's must be complete and of a version we
 *  know; a plain HDF5 file with tensors at its root is accepted.  Not collective. */
enum wsc_err store_open(struct store_file **out, const char *path) WSC_CHECKED;
/** The path that the file was opened or created with, for messages; borrowed. */
const char *store_path(const struct store_file *f);
/** Check that every element was written exactly once, mark complete, flush to disk, rename to the
 *  final name (group rank 0), sync the folder.  Collective, all succeed or all fail; a rank whose
 *  store_write failed calls it like the others.  The file is closed whatever happens; on failure
 *  nothing is left and an older file of that name is untouched. */
enum wsc_err store_commit(struct store_file **file) WSC_CHECKED;
/** Close without keeping (a file being written is removed; then collective); NULL allowed. */
void store_close(struct store_file **file);
/** Open, then read every dataset and compare it with its `__sum__` where it has one, and all of
 *  them with the file's `__digest__`.  Reads the whole file: for use before a checkpoint is
 *  trusted.  Not collective. */
enum wsc_err store_check(const char *path) WSC_CHECKED;

/** Types of a dataset in memory (float, double, int64_t, unsigned char); the file has them
 *  little-endian, truth values as h5py writes them: an enumeration of 8 bits. */
enum store_type { STORE_F32, STORE_F64, STORE_I64, STORE_BOOL };
/** Add a dataset of rank 0 to 2, row-major; @p shape has @p n_dims extents.  Collective: every rank
 *  of the group defines the same datasets in the same order.  Room on the disk is reserved at once,
 *  so a full disk shows here. */
enum wsc_err store_define(struct store_file *f, const char *name, enum store_type type, int n_dims,
                          const int64_t *shape) WSC_CHECKED;
/** Write elements [first, first + n) of the flattened dataset, in its type.  Independent: the
 *  ranks' parts together cover each element once. */
enum wsc_err store_write(struct store_file *f, const char *name, int64_t first, int64_t n,
                         const void *data) WSC_CHECKED;
/** Read elements [first, first + n) of the flattened dataset as @p type: any float type comes as
 *  F32 or F64, any integer type as I64, truth values and integers as BOOL: not 0 is true.
 * WSC_FORMAT when the dataset is missing or of another kind. Not collective. */
enum wsc_err store_read(struct store_file *f, const char *name, enum store_type type, int64_t first,
                        int64_t n, void *data) WSC_CHECKED;
/** Read dataset @p name, which must hold one whole number in [@p lo, @p hi]; @p value stays as it
 * was otherwise.  Not collective. */
enum wsc_err store_read_i64(struct store_file *f, const char *name, int64_t lo, int64_t hi,
                            int64_t *value) WSC_CHECKED;
/** A part of a dataset of rank 2: rows [row, row + rows) and columns [column, column + columns); of
 *  rank 1: of its only column. */
struct store_box {
    int64_t row, rows, column, columns;
};
/** Read a box of dataset @p name as STORE_F32 into @p out (rows, columns).  Not collective. */
enum wsc_err store_read_box(struct store_file *f, const char *name, const struct store_box *box,
                            float *out) WSC_CHECKED;
/** Add a second name @p alias for the dataset @p name (tied tensors).  Collective. */
enum wsc_err store_link(struct store_file *f, const char *name, const char *alias) WSC_CHECKED;
/** Set what cstorch shall read as the number @p key, with a dataset of that name or without; known
 *  to all ranks.  Every rank of the group calls it. */
enum wsc_err store_set_number(struct store_file *f, const char *key, enum store_type type,
                              double value) WSC_CHECKED;
/** A number of a checkpoint and where this process keeps it: exactly one of the pointers, both
 *  borrowed.  In a file it is a dataset of one element and a number for cstorch. */
struct store_counter {
    const char *name;
    int64_t *whole;    /**< as STORE_I64 */
    double *real;      /**< as STORE_F64 */
    int64_t low, high; /**< what *whole may be in a file that is read; not used with real */
};
/** Define @p n counters with their present values, before store_describe().  Collective: every rank
 *  of the group defines the same ones. */
enum wsc_err store_define_counters(struct store_file *f, const struct store_counter *c,
                                   int n) WSC_CHECKED;
/** Write the present values; by one rank of the group. */
enum wsc_err store_write_counters(struct store_file *f, const struct store_counter *c,
                                  int n) WSC_CHECKED;
/** Read those that the file has, in the order of the table; others stay as they are.  WSC_FORMAT
 *  for one that is no number, or out of range.  Not collective. */
enum wsc_err store_read_counters(struct store_file *f, const struct store_counter *c,
                                 int n) WSC_CHECKED;
/** Write the tree of keys (`__spec__`) and what each value is (`<key>.__metadata__`), which make
 *  the file a state dict for cstorch; after all definitions.  Names below "wsc." stay out of it, a
 *  model's tensors are in it under the second level that store_define_tensor() gives them.
 *  Collective. */
enum wsc_err store_describe(struct store_file *f) WSC_CHECKED;
/** Set text attribute @p name of the root.  Collective. */
enum wsc_err store_set_text(struct store_file *f, const char *name, const char *value) WSC_CHECKED;
/** Text attribute @p name of the root, owned by the caller.  Not collective. */
enum wsc_err store_get_text(struct store_file *f, const char *name, char **value) WSC_CHECKED;
/** Is there a dataset @p name, or a value without one? */
bool store_has(const struct store_file *f, const char *name);
/** Is there an attribute @p name at the root? */
bool store_has_text(const struct store_file *f, const char *name);
/** Shape of a dataset; fails when it does not exist.  @p shape holds 2; a scalar has n_dims 0. */
enum wsc_err store_shape(const struct store_file *f, const char *name, int *n_dims,
                         int64_t *shape) WSC_CHECKED;
/** Something in a file, see store_visit(); borrowed. */
struct store_item {
    const char *name;
    const char *type; /**< the stored one, e.g. "float32" */
    /** Rank, and extents (n_dims). */
    int n_dims;
    const int64_t *shape;
    const char *same_as; /**< the name of which this one is another; NULL */
};
/** What store_visit() calls; an error ends the visit. */
typedef enum wsc_err (*store_visit_fn)(void *ctx, const struct store_item *item);
/** Visit all that the file holds, in name order; passes on the error of @p visit. */
enum wsc_err store_visit(struct store_file *f, store_visit_fn visit, void *ctx) WSC_CHECKED;

/* ---- tensors of a model ---------------------------------------------------------------------- */

/** A tensor that a checkpoint should hold; borrowed. */
struct store_tensor {
    const char *name, *alias; /**< Model Zoo names; the second "" when there is none */
    /** Rank, 1 or 2, and extents. */
    int n_dims;
    const int64_t *shape;
    const char *also; /**< a third name; "" when there is none */
};
/** Room for a name with its NUL; digits of a step in the name of a checkpoint. */
enum { STORE_NAME_BYTES = 192, STORE_STEP_DIGITS = 18 };
/** The largest step of a checkpoint: STORE_STEP_DIGITS digits of its file's name. */
#define STORE_LAST_STEP INT64_C(999999999999999999)
/** Add the tensor as STORE_F32 under all its names, and under all below the "model." level that a
 *  state dict adds.  Collective. */
enum wsc_err store_define_tensor(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Add the mask of the tensor as STORE_BOOL under the names of the tensor with `_mask` after them,
 * as releases from 2.2 on have it.  Collective. */
enum wsc_err store_define_mask(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Find under which name the file holds the mask of a tensor: beside it, or among the states of the
 *  optimizer of masks of releases 1.8 to 2.1; false when under none. */
bool store_find_mask(const struct store_file *f, const struct store_tensor *t,
                     char name[STORE_NAME_BYTES]);
/** Add which weights of the tensor train as STORE_BOOL, under the names of the tensor with
 *  `_requires_grad` after them.  Collective. */
enum wsc_err store_define_selected(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Find under which name the file holds which weights of a tensor train; false when under none. */
bool store_find_selected(const struct store_file *f, const struct store_tensor *t,
                         char name[STORE_NAME_BYTES]);
/** Find under which name the file holds a tensor: the first, the second, the third, that of
 * release 2.0, one of them below the "model." level that a flattened state dict adds, or the first
 * two without the level "policy_model." or "ref_model." of preference optimization, or with the
 * former; false when under none. */
bool store_find_tensor(const struct store_file *f, const struct store_tensor *t,
                       char name[STORE_NAME_BYTES]);
/** Fails unless dataset @p name has the tensor's shape; the error has both. */
enum wsc_err store_check_shape(const struct store_file *f, const char *name,
                               const struct store_tensor *t) WSC_CHECKED;
/** Datasets named "model...." that are none of the @p n tensors or their masks and no buffers that
 * can be computed (slopes of ALiBi, counts of metrics): the first of them, owned by the file, and
 * their number. State of other parts of a trainer may stand beside. */
enum wsc_err store_count_unknown(const struct store_file *f, const struct store_tensor *t, int n,
                                 const char **first, int *n_unknown) WSC_CHECKED;

/* ---- folders of checkpoints ------------------------------------------------------------------ */

/** What stands for the step in the name of a checkpoint. */
#define STORE_STEP "{step}"
/** A folder of checkpoints, and their name: one STORE_STEP in it.  Borrowed texts. */
struct store_folder {
    const char *dir, *name;
};
/** Path of the checkpoint of step @p step, which need not be there; owned by the caller.
 *  WSC_NOMEM. */
enum wsc_err store_step_path(const struct store_folder *folder, int64_t step,
                             char **path) WSC_CHECKED;
/** Path of the newest checkpoint, with a step or with `<step>_<YYYYmmdd_HHMMSS>` as a trainer
 * writes where that name was taken, by step and stamp, with a step below @p below (INT64_MAX: of
 * all) and its step; *path NULL when none or when there is no such folder.  Left-over `.tmp` files
 * are ignored.  Owned by the caller. */
enum wsc_err store_newest(const struct store_folder *folder, int64_t below, char **path,
                          int64_t *step) WSC_CHECKED;
/** Remove left-over `.tmp` files of an earlier crash, and of the checkpoints up to @p newest all
 * but the last @p keep (keep <= 0: all stay).  When some would go, the checkpoint of step @p newest
 * is read back first (store_check), and none goes when it fails.  Files of later steps are left
 *  alone.  Not while a checkpoint is being written. */
enum wsc_err store_prune(const struct store_folder *folder, int64_t newest,
                         int64_t keep) WSC_CHECKED;
/** Claim the folder @p dir for this process until store_release() or its end, however it ends;
 *  fails when another process has it.  *@p claim is -1 on file systems without locks. */
enum wsc_err store_claim(const char *dir, int *claim) WSC_CHECKED;
/** Give the claim of store_claim() back; -1 allowed. */
void store_release(int claim);
#endif
